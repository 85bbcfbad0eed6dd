"""flash-forward: tiled attention with the online softmax, full and causal."""

from typing import Any

from judge.problem import Case, Group, Problem, Requirement, Tiers, Tolerance
from problems._families import dense


def _case(
    name: str, bh: int, n: int, d: int = 64, *, causal: bool = False, scale: float | None = None, **settings: Any
) -> Case:
    group = settings.pop("group", Group.HIDDEN)
    settings.setdefault("time_limit_s", 5.0 if group is Group.HIDDEN else 10.0)
    return Case(name, group, dense.parameters(bh, n, d, causal, scale), **settings)


def _sample(name: str, bh: int, n: int, d: int = 64, *, seed: int, **settings: Any) -> Case:
    return _case(name, bh, n, d, group=Group.SAMPLE, seed=seed, **settings)


def _bench(name: str, bh: int, n: int, d: int, *, causal: bool) -> Case:
    return _case(name, bh, n, d, causal=causal, group=Group.BENCH, family="uniform", time_limit_s=60.0)


CASES = (
    _sample("three-keys", 1, 3, 32, seed=1, doc="small enough to follow by hand"),
    _sample("index", 1, 33, seed=2, family="index", doc="Q = 0 and V[j] = j: every output is the mean index, 16"),
    _sample(
        "stairs",
        1,
        512,
        seed=3,
        family="stairs-rising",
        doc="logits 0, 1, 2, 3 and V = 1, 2, 3, 4 by quarter: 3.492653 everywhere; 6.439143 means O is not rescaled, "
        "1.356024 l is not, 2.5 neither",
    ),
    _sample("book", 8, 1000, seed=4, doc="the book's shape: N is no multiple of any tile"),
    _sample("book-causal", 8, 1000, seed=5, causal=True, doc="the same with the causal mask"),
    _case("one-key", 2, 1),
    _case("two-keys-causal", 2, 2, causal=True),
    _case("tile-minus-1", 2, 31),
    _case("tile", 2, 32, causal=True),
    _case("tile-plus-1", 2, 33, causal=True),
    _case("block-minus-1", 2, 63, causal=True),
    _case("block", 3, 64),
    _case("block-plus-1", 3, 65, causal=True),
    _case("block-plus-1-full", 2, 65, scale=0.2),
    _case("two-blocks-plus-1", 2, 129, causal=True),
    _case("many-heads", 67, 5, causal=True),
    _case("head-32", 2, 70, 32, causal=True),
    _case("head-128", 2, 70, 128),
    _case("head-128-causal", 2, 50, 128, causal=True, scale=0.2),
    _case("other-scale", 2, 70, scale=0.3, doc="a scale that is not 1/sqrt(D)"),
    _case("index-causal", 2, 129, family="index", causal=True),
    _case("dims", 3, 33, family="dims"),
    _case("stairs-falling", 1, 128, family="stairs-falling"),
    _case("stairs-causal", 1, 128, family="stairs-rising", causal=True),
    _case("cliff-rising", 1, 128, family="cliff-rising", doc="steps of 100"),
    _case("cliff-falling", 1, 128, family="cliff-falling"),
    _case("rising", 2, 100, family="rising"),
    _case("falling", 2, 100, family="falling", causal=True),
    _case("huge-scores", 2, 70, family="huge", doc="logits from 150: exp overflows without a maximum"),
    _case("huge-scores-causal", 2, 70, family="huge", causal=True),
    _case("deep-scores", 2, 33, family="deep", doc="logits near -20000, below any finite stand-in for -inf"),
    _case("deep-scores-causal", 2, 33, family="deep", causal=True),
    _case("deepest-scores", 2, 40, family="deepest", doc="logits near -245000"),
    _case("levels", 4, 40, family="levels", doc="each head's scores lie near another level: 0, 150, -5000, -20000"),
    _case("needle-last", 2, 97, family="needle-last", doc="the last key alone counts"),
    _case("needle-first-causal", 2, 97, family="needle-first", causal=True),
    _case("equal-scores", 2, 65, family="equal", causal=True),
    _bench("bench-4096-64", 16, 4096, 64, causal=False),
    _bench("bench-4096-64-causal", 16, 4096, 64, causal=True),
    _bench("bench-8192-128", 16, 8192, 128, causal=False),
    _bench("bench-8192-128-causal", 16, 8192, 128, causal=True),
)

PROBLEM = Problem(
    id="flash-forward",
    title="FlashAttention forward",
    summary="Attention in tiles with the online softmax, full and causal: the N x N scores never reach memory.",
    buffers=dense.BUFFERS,
    parameters=dense.PARAMETERS,
    cases=CASES,
    generate=dense.generate,
    reference=dense.reference,
    naive=dense.naive,
    minimum_bytes=dense.minimum_bytes,
    minimum_flops=dense.minimum_flops,
    tolerances={
        "O": Tolerance(
            3e-5,
            3e-4,
            "float32 sums of up to 8192 terms with __expf stay ten times below this; values are of order 1",
        )
    },
    mutants=dense.MUTANTS,
    timed=dense.timed(
        Tiers(0.1, 0.3, 0.6, "of float32 multiply-adds: one query a thread, tiles in shared memory, tiles in registers")
    ),
    default_launch=("flash_attn_fwd<D><<<dim3((N + 63) / 64, BH), 64>>>(Q, K, V, O, N, scale, causal)"),
    requirements=(
        Requirement(
            "flops_over_baseline",
            # Tiles of 64 queries make it 0.53, of 512 queries 0.76; without skipping it is 1.
            0.8,
            "With the causal mask, skip the tiles of keys that lie wholly above the diagonal: "
            "they are nearly half of the work.",
            baseline="book",
            applies=lambda case: case.name == "book-causal",
        ),
    ),
)
