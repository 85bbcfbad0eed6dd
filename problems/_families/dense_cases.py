"""The cases of dense attention, and how its timed ones are made."""

from typing import Any

from judge.problem import Case, Group
from problems._families import dense


def hidden(
    name: str, bh: int, n: int, d: int = 64, *, causal: bool = False, scale: float | None = None, **settings: Any
) -> Case:
    """A case of BH heads, N queries and keys; hidden unless the settings name another group."""
    group = settings.pop("group", Group.HIDDEN)
    settings.setdefault("time_limit_s", 5.0 if group is Group.HIDDEN else 10.0)
    return Case(name, group, dense.parameters(bh, n, d, causal, scale), **settings)


def sample(name: str, bh: int, n: int, d: int = 64, *, seed: int, **settings: Any) -> Case:
    """A case whose numbers everybody sees."""
    return hidden(name, bh, n, d, group=Group.SAMPLE, seed=seed, **settings)


def bench(name: str, bh: int, n: int, d: int, *, causal: bool) -> Case:
    """A case timed on a GPU."""
    return hidden(name, bh, n, d, causal=causal, group=Group.BENCH, family="uniform", time_limit_s=60.0)


SAMPLES = (
    sample("three-keys", 1, 3, 32, seed=1, doc="small enough to follow by hand"),
    sample("index", 1, 33, seed=2, family="index", doc="Q = 0 and V[j] = j: every output is the mean index, 16"),
    sample(
        "stairs",
        1,
        512,
        seed=3,
        family="stairs-rising",
        doc="logits 0, 1, 2, 3 and V = 1, 2, 3, 4 by quarter: 3.492653 everywhere; 6.439143 means O is not rescaled, "
        "1.356024 l is not, 2.5 neither",
    ),
)

BOOK = (
    sample("book", 8, 1000, seed=4, doc="the book's shape: N is no multiple of any tile"),
    sample("book-causal", 8, 1000, seed=5, causal=True, doc="the same with the causal mask"),
)

HIDDEN = (
    hidden("one-key", 2, 1),
    hidden("two-keys-causal", 2, 2, causal=True),
    hidden("tile-minus-1", 2, 31),
    hidden("tile", 2, 32, causal=True),
    hidden("tile-plus-1", 2, 33, causal=True),
    hidden("block-minus-1", 2, 63, causal=True),
    hidden("block", 3, 64),
    hidden("block-plus-1", 3, 65, causal=True),
    hidden("block-plus-1-full", 2, 65, scale=0.2),
    hidden("two-blocks-plus-1", 2, 129, causal=True),
    hidden("five-blocks-plus-1-causal", 1, 321, causal=True),
    hidden("many-heads", 67, 5, causal=True),
    hidden("head-32", 2, 70, 32, causal=True),
    hidden("head-128", 2, 70, 128),
    hidden("head-128-causal", 2, 50, 128, causal=True, scale=0.2),
    hidden("head-128-tiles-causal", 5, 200, 128, causal=True, doc="the widest heads over many tiles"),
    hidden("head-128-273-causal", 1, 273, 128, causal=True, doc="the widest heads over more than 256 keys"),
    hidden("other-scale", 2, 70, scale=0.3, doc="a scale that is not 1/sqrt(D)"),
    hidden("index-causal", 2, 129, family="index", causal=True),
    hidden("dims", 3, 33, family="dims"),
    hidden("stairs-falling", 1, 128, family="stairs-falling"),
    hidden("stairs-causal", 1, 128, family="stairs-rising", causal=True),
    hidden("cliff-rising", 1, 128, family="cliff-rising", doc="steps of 100"),
    hidden("cliff-falling", 1, 128, family="cliff-falling"),
    hidden("rising", 2, 100, family="rising"),
    hidden("falling", 2, 100, family="falling", causal=True),
    hidden("huge-scores", 2, 70, family="huge", doc="logits from 150: exp overflows without a maximum"),
    hidden("huge-scores-causal", 2, 70, family="huge", causal=True),
    hidden("deep-scores", 2, 33, family="deep", doc="logits near -20000, below any finite stand-in for -inf"),
    hidden("deep-scores-causal", 2, 33, family="deep", causal=True),
    hidden("deepest-scores", 2, 40, family="deepest", doc="logits near -245000"),
    hidden("levels", 4, 40, family="levels", doc="each head's scores lie near another level: 0, 150, -5000, -20000"),
    hidden("needle-last", 2, 97, family="needle-last", doc="the last key alone counts"),
    hidden("needle-first-causal", 2, 97, family="needle-first", causal=True),
    hidden("equal-scores", 2, 65, family="equal", causal=True),
)

CPU_CASES = (*SAMPLES, *BOOK, *HIDDEN)
