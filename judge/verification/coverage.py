"""Do the cases of a problem contain the sizes at which kernels break?

Wrong bounds show at 1, around a multiple of the tile, and at a size that is a multiple of nothing.
Which sizes are asked for depends on the kernel interface: a sequence length N, decode contexts,
groups of query heads, numbers of splits or tiles.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from judge.problem import Case, Problem

TILES = (16, 32, 64, 128)


@dataclass(frozen=True)
class Axis:
    """One size that cases vary. applies: whether a problem has it. sizes: its values in a case."""

    name: str
    applies: Callable[[Problem], bool]
    sizes: Callable[[Case], tuple[int, ...]]
    required: frozenset[int]
    tile_edges: bool = False


def _has(*names: str) -> Callable[[Problem], bool]:
    return lambda problem: set(names) <= {p.name for p in problem.parameters}


def _parameter(name: str) -> Callable[[Case], tuple[int, ...]]:
    return lambda case: (int(case.parameters[name]),)


def _contexts(case: Case) -> tuple[int, ...]:
    return tuple(int(length) for length in case.extra.get("contexts", ()))


def _group(case: Case) -> tuple[int, ...]:
    return (int(case.parameters["num_heads"]) // int(case.parameters["num_kv_heads"]),)


AXES = (
    Axis("sequence length N", _has("N"), _parameter("N"), frozenset({1, 1000}), tile_edges=True),
    Axis(
        "context length",
        lambda problem: any(buffer.name == "context_lens" for buffer in problem.buffers),
        _contexts,
        frozenset({1, 15, 16, 17, 1000, 4096}),
    ),
    Axis("query heads a KV head", _has("num_heads", "num_kv_heads"), _group, frozenset({1, 4, 7, 8})),
    Axis("number of splits S", _has("S"), _parameter("S"), frozenset({1, 2})),
    Axis("number of tiles T", _has("T", "B"), _parameter("T"), frozenset({1, 2})),
    Axis("tile width B", _has("T", "B"), _parameter("B"), frozenset({1})),
)


def missing_sizes(problem: Problem) -> Iterator[str]:
    """Each size that no CPU case of the problem has, as a sentence."""
    cases = [case for case in problem.cases if case.cpu]
    for axis in AXES:
        if not axis.applies(problem):
            continue
        sizes = {size for case in cases for size in axis.sizes(case)}
        for size in sorted(axis.required - sizes):
            yield f"no case has {axis.name} {size}"
        if axis.tile_edges and not any({tile - 1, tile, tile + 1} <= sizes for tile in TILES):
            yield f"no tile in {TILES} has cases with {axis.name} one below it, equal and one above it"
    for group in ("sample", "hidden"):
        if not any(case.group == group for case in cases):
            yield f"there is no {group} case"
