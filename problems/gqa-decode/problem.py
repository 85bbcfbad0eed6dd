"""gqa-decode: paged decode that reads each KV head once for all its query heads."""

from collections.abc import Sequence
from typing import Any

from judge.problem import Case, Group, Problem, Requirement, Tolerance
from problems._families import paged


def _case(name: str, contexts: Sequence[int], heads: tuple[int, int] = (4, 2), d: int = 64, **settings: Any) -> Case:
    shape = {key: settings.pop(key) for key in ("scale", "spare_pages", "spare_columns") if key in settings}
    extra = {"contexts": tuple(contexts), **settings.pop("extra", {})}
    group = settings.pop("group", Group.HIDDEN)
    settings.setdefault("time_limit_s", 5.0 if group is Group.HIDDEN else 10.0)
    return Case(name, group, paged.parameters(contexts, heads, d, **shape), extra=extra, **settings)


def _sample(name: str, contexts: Sequence[int], heads: tuple[int, int], d: int, **settings: Any) -> Case:
    return _case(name, contexts, heads, d, group=Group.SAMPLE, **settings)


def _bench(name: str, contexts: Sequence[int]) -> Case:
    return _case(name, contexts, (32, 8), 128, group=Group.BENCH, family="uniform", time_limit_s=60.0)


CASES = (
    _sample("five-tokens", (5,), (2, 1), 32, seed=1, doc="one sequence, less than a page"),
    _sample("index", (33,), (2, 1), 32, seed=2, family="index", doc="q = 0 and V[t] = t: every output is 16"),
    _sample(
        "stairs",
        (512,),
        (2, 1),
        64,
        seed=3,
        family="stairs-rising",
        doc="logits 0, 1, 2, 3 and V = 1, 2, 3, 4 by quarter: 3.492653 everywhere",
    ),
    _sample("book", (1, 17, 1000, 4096), (32, 8), 128, seed=4, doc="the book's shape"),
    _case("context-1", (1, 1)),
    _case("context-15", (15, 15)),
    _case("context-16", (16, 16)),
    _case("context-17", (17, 17)),
    _case("context-1000", (1000,), (2, 2), 32),
    _case("page-edges", (31, 32, 33, 1, 48), (4, 2)),
    _case("many-sequences", tuple(1 + 7 * i % 40 for i in range(37)), (2, 1), 32),
    _case("group-1", (40, 9), (4, 4)),
    _case("group-4", (40, 9), (8, 2)),
    _case("group-7", (40, 9), (14, 2)),
    _case("group-8", (40, 9), (16, 2), 32),
    _case("kv-head-of-each", (20,), (12, 3), family="heads", doc="V = KV head + 1"),
    _case("head-32", (50, 21), (6, 2), 32),
    _case("head-128", (50, 21), (6, 2), 128),
    _case("other-scale", (50, 21), (4, 2), scale=0.3, doc="a scale that is not 1/sqrt(D)"),
    _case("dims", (19, 3), family="dims"),
    _case("shared-prefix", (40, 37, 33), (4, 2), extra={"shared_pages": 2}, doc="sequences share their first pages"),
    _case(
        "poison",
        (1, 17, 30),
        (4, 2),
        spare_pages=9,
        spare_columns=5,
        extra={"page_zero_unused": True},
        doc="page 0 and many others unused: NaN there, -1 in the table",
    ),
    _case("stairs-falling", (128,), family="stairs-falling"),
    _case("cliff-rising", (128, 64), family="cliff-rising", doc="steps of 100"),
    _case("rising", (100, 33), family="rising"),
    _case("falling", (100, 33), family="falling"),
    _case("huge-scores", (70, 5), family="huge", doc="logits from 150: exp overflows without a maximum"),
    _case("deep-scores", (70, 5), family="deep", doc="logits near -20000"),
    _case("deepest-scores", (40, 1), family="deepest", doc="logits near -245000"),
    _case(
        "levels",
        (20, 19, 18, 33),
        family="levels",
        doc="each sequence's scores lie near another level: 0, 150, -5000, -20000",
    ),
    _case("needle-last", (97, 17, 1), family="needle-last", doc="the last token alone counts"),
    _case("equal-scores", (65, 16), family="equal"),
    _bench("bench-64x4096", (4096,) * 64),
    _bench("bench-mixed", tuple(range(128, 4097, 128))),
)

PROBLEM = Problem(
    id="gqa-decode",
    title="GQA decode that reads the cache once",
    summary="Paged decode where one pass over a KV head serves every query head that shares it.",
    buffers=paged.BUFFERS,
    parameters=paged.PARAMETERS,
    cases=CASES,
    generate=paged.generate,
    reference=paged.reference,
    naive=paged.naive,
    minimum_bytes=paged.minimum_bytes,
    minimum_flops=paged.minimum_flops,
    tolerances={
        "out": Tolerance(
            2e-5,
            2e-4,
            "float32 sums over 4096 tokens with __expf stay ten times below this; values are of order 1",
        )
    },
    mutants=paged.MUTANTS,
    default_launch=(
        "gqa_decode<D><<<dim3(num_kv_heads, num_seqs), 128>>>(q, k_cache, v_cache, block_table, "
        "context_lens, out, num_heads, num_kv_heads, max_blocks_per_seq, scale)"
    ),
    requirements=(
        Requirement(
            "read_amplification",
            1.1,
            "Read each K and V row once for all the query heads that share it: one block a sequence and KV head, "
            "not one a query head.",
            buffers=("k_cache", "v_cache"),
            # A shared page is rightly read once for each sequence that has it.
            applies=lambda case: paged.group(case) > 1 and not case.extra.get("shared_pages"),
        ),
    ),
)
