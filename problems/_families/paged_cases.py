"""The cases that every problem of the paged decode interface has, and how its timed ones are made."""

from collections.abc import Sequence
from typing import Any

from judge.problem import Case, Group
from problems._families.paged import parameters


def hidden(name: str, contexts: Sequence[int], heads: tuple[int, int] = (4, 2), d: int = 64, **settings: Any) -> Case:
    """A hidden case: heads = (query heads, KV heads); settings as in Case or in parameters of paged.py."""
    shape = {key: settings.pop(key) for key in ("scale", "spare_pages", "spare_columns") if key in settings}
    extra = {"contexts": tuple(contexts), **settings.pop("extra", {})}
    group = settings.pop("group", Group.HIDDEN)
    settings.setdefault("time_limit_s", 5.0 if group is Group.HIDDEN else 10.0)
    return Case(name, group, parameters(contexts, heads, d, **shape), extra=extra, **settings)


def sample(name: str, contexts: Sequence[int], heads: tuple[int, int], d: int, **settings: Any) -> Case:
    """A sample case; settings give its seed."""
    return hidden(name, contexts, heads, d, group=Group.SAMPLE, **settings)


def bench(name: str, contexts: Sequence[int]) -> Case:
    """A case timed on a GPU: 32 query heads on 8 KV heads, D 128."""
    return hidden(name, contexts, (32, 8), 128, group=Group.BENCH, family="uniform", time_limit_s=60.0)


SAMPLES = (
    sample("five-tokens", (5,), (2, 1), 32, seed=1, doc="one sequence, less than a page"),
    sample("index", (33,), (2, 1), 32, seed=2, family="index", doc="q = 0 and V[t] = t: every output is 16"),
    sample(
        "stairs",
        (512,),
        (2, 1),
        64,
        seed=3,
        family="stairs-rising",
        doc="logits 0, 1, 2, 3 and V = 1, 2, 3, 4 by quarter: 3.492653 everywhere",
    ),
)

BOOK = sample("book", (1, 17, 1000, 4096), (32, 8), 128, seed=4, doc="the book's shape")

BOOK_LENGTHS = sample(
    "book-lengths",
    (1, 17, 1000, 4096),
    (8, 2),
    64,
    seed=4,
    doc="the book's context lengths with a quarter of its heads",
)
"""In place of BOOK where size is not the point: an eighth of the work."""

HIDDEN = (
    hidden("context-1", (1, 1)),
    hidden("context-15", (15, 15)),
    hidden("context-16", (16, 16)),
    hidden("context-17", (17, 17)),
    hidden("context-1000", (1000,), (2, 2), 32),
    hidden("page-edges", (31, 32, 33, 1, 48), (4, 2)),
    hidden("many-sequences", tuple(1 + 7 * i % 40 for i in range(37)), (2, 1), 32),
    hidden("group-1", (40, 9), (4, 4)),
    hidden("group-4", (40, 9), (8, 2)),
    hidden("group-5", (40, 9), (10, 2)),
    hidden("group-6", (40, 9), (6, 1), 32),
    hidden("group-7", (40, 9), (14, 2), scale=0.2),
    hidden("group-8", (40, 9), (16, 2), 32),
    hidden("group-8-head-128", (40, 9), (8, 1), 128, doc="as many numbers of q as a group can have"),
    hidden("kv-head-of-each", (20,), (12, 3), family="heads", doc="V = KV head + 1"),
    hidden("head-32", (50, 21), (6, 2), 32, scale=0.3),
    hidden("head-128", (50, 21), (6, 2), 128),
    hidden("head-128-pages", (150, 71), (4, 2), 128, doc="the widest heads over many pages"),
    hidden("other-scale", (50, 21), (4, 2), scale=0.3, doc="a scale that is not 1/sqrt(D)"),
    hidden("dims", (19, 3), family="dims"),
    hidden("shared-prefix", (40, 37, 33), (4, 2), extra={"shared_pages": 2}, doc="sequences share their first pages"),
    hidden(
        "poison",
        (1, 17, 30),
        (4, 2),
        spare_pages=9,
        spare_columns=5,
        extra={"page_zero_unused": True},
        doc="page 0 and many others unused: NaN there, -1 in the table",
    ),
    hidden("stairs-falling", (128,), family="stairs-falling"),
    hidden("cliff-rising", (128, 64), family="cliff-rising", doc="steps of 100"),
    hidden("rising", (100, 33), family="rising"),
    hidden("falling", (100, 33), family="falling"),
    hidden("huge-scores", (70, 5), family="huge", doc="logits from 150: exp overflows without a maximum"),
    hidden("deep-scores", (70, 5), family="deep", doc="logits near -20000"),
    hidden("deepest-scores", (40, 1), family="deepest", doc="logits near -245000"),
    hidden(
        "levels",
        (20, 19, 18, 33),
        family="levels",
        doc="each sequence's scores lie near another level: 0, 150, -5000, -20000",
    ),
    hidden("needle-last", (97, 17, 1), family="needle-last", doc="the last token alone counts"),
    hidden("equal-scores", (65, 16), family="equal"),
)

EMPTY_AMONG_MANY = hidden(
    "empty-among-many",
    (3, 0, 20, 1, 0, 33, 7, 0, 16, 0, 2),
    (2, 1),
    32,
    doc="eleven sequences, some without a token: more than one round of eight",
)
"""For problems that have contexts of 0."""

CPU_CASES = (*SAMPLES, BOOK, *HIDDEN)
