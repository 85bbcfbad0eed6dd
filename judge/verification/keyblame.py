"""Which keys does an error come from? Holds the error of failing rows against what each tile of keys could do to it.

A right row is o = sum of P_j v_j over its keys, with weights P_j whose sum is 1. Let a kernel count the keys of one
tile t with a times their weight, in the values and in the sum l alike. With w = sum of P_j and c = sum of P_j v_j
over the tile it gets

    o' = (o + (a - 1) c) / (1 + (a - 1) w)        o' - o = (1 - a) (w o - c) / (1 - (1 - a) w)

so whatever a is, the error r = o' - o lies along d = w o - c. The share of r that the tile explains alone is
cos^2(r, d), and with b = (r . d) / (d . d) the part of its weight that is missing follows: 1 - a = b / (1 + b w),
which is 1 where the tile was left out and -1 where it was counted twice. Other errors have no reason to lie along a
d: among D dimensions a random direction has a share of about 1/D. A single key is a tile of its own, d = P_j (o - v_j).

What would blame without reason is left out: outputs of under MIN_DIMENSIONS; values that vary in few directions, as
those of a case made to be followed by hand do, where all d are parallel; tiles of next to no weight or of nearly all
(d = 0); factors a that no mistake gives. Where several tiles explain a row alike, as the two of a row that has only two
do, the one that comes out exactly left out or exactly counted twice is blamed, else none.

Rows are a random sample with a fixed seed whose size follows from counted operations, so that a report depends on
nothing but the outputs, and time and memory stay bounded.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from judge.problem import Arrays, Case, KeyAxis, Weighed
from judge.records import FailureMap, KeyCell, KeyMap

MOST_ROWS, LEAST_ROWS = 256, 8
FLOPS = 3e8
"""What the rows may cost; a row costs about PASSES times its share of the case."""

PASSES = 3
SHARE = 0.9
MIN_DIMENSIONS = 8
MIN_DIMENSIONS_OF_KEY = 16
"""Among thousands of keys one lies along an error of few dimensions by chance."""

MIN_WEIGHT = 1e-5
MOST_TIMES = 64.0
"""The largest factor a; below 0, to which rounding may take a tile left out, there is none."""

_BELOW_NONE = -0.1
_EXACT = 0.02
_PARALLEL = 4.0
"""Values vary in at least so many directions, counted by their participation ratio tr(G)^2 / tr(G^2)."""

_SAMPLED_VALUES = 64

_NEARLY = 0.1

Float64 = NDArray[np.float64]


class Fault(StrEnum):
    """What a kernel did to keys, as the subject of a sentence."""

    LEFT_OUT = "leaving out {}"
    TWICE = "counting {} twice"
    LESS = "giving {} too little weight"
    MORE = "giving {} too much weight"


@dataclass(frozen=True)
class _Blame:
    """What explains one row. key: where a single one does better than its tile."""

    row: int
    tile: int
    key: int | None
    block: int | None
    share: float
    left_out: float


@dataclass(frozen=True)
class _Fit:
    """How well tiles (or keys) explain rows: [tiles, rows] each."""

    share: Float64
    left_out: Float64


def blame_keys(
    axis: KeyAxis,
    case: Case,
    inputs: Arrays,
    got: Float64,
    want: Float64,
    wrong: NDArray[np.bool_],
    found: FailureMap,
    flops_of_row: float,
) -> KeyMap | None:
    """The keys behind the wrong rows of an output; None where no tile explains any.

    got, want, wrong: in the output's shape, [rows, columns, D]. found: its failure map, whose parts the cells follow.
    flops_of_row: what the reference needs for a row.
    """
    if wrong.ndim != 3 or wrong.shape[2] < MIN_DIMENSIONS:
        return None
    width = wrong.shape[2]
    error = (got - want).reshape(-1, width)
    rows = _sample(wrong.reshape(-1, width), error, flops_of_row)
    looked_at: list[int] = []
    blames: list[_Blame] = []
    most_keys = 0
    for part in axis.weighed(case, inputs, rows):
        looked_at += part.rows.tolist()
        most_keys = max(most_keys, part.values.shape[0])
        blames += _blames(part, error[part.rows], axis.tile)
    if not blames:
        return None
    cells = tuple(_cells(blames, looked_at, wrong.shape[1], found))
    return KeyMap(
        keys=most_keys,
        keys_in_tile=axis.tile,
        paged=axis.paged,
        down=axis.down,
        looked_at=len(looked_at),
        explained=len(blames),
        sentence=_sentence(axis, blames, len(looked_at), wrong.shape[1], most_keys),
        cells=cells,
    )


def _sample(wrong: NDArray[np.bool_], error: Float64, flops_of_row: float) -> NDArray[np.int64]:
    """Rows with something wrong and nothing that is no number, in random order."""
    rows = np.flatnonzero(wrong.any(axis=1) & np.isfinite(error).all(axis=1))
    affordable = int(FLOPS / max(1.0, PASSES * flops_of_row))
    count = min(rows.size, MOST_ROWS, max(LEAST_ROWS, affordable))
    return np.random.default_rng(0).permutation(rows)[:count].astype(np.int64)


def _blames(part: Weighed, error: Float64, tile: int) -> Iterator[_Blame]:
    """error: [rows, D], of the part's rows."""
    if not _vary(part.values):
        return
    out = part.weights @ part.values
    by_tile = _fit_tiles(part, out, error, tile)
    by_key = _fit_keys(part, out, error) if error.shape[1] >= MIN_DIMENSIONS_OF_KEY else None
    for place, row in enumerate(part.rows.tolist()):
        whole = _best(by_tile, place)
        single = None if by_key is None else _best(by_key, place)
        # Of a tile with one heavy key both explain the row; then the simpler word is the tile.
        if by_key is not None and single is not None and (
            whole is None or 1 - by_key.share[single, place] < (1 - by_tile.share[whole, place]) / 4
        ):  # fmt: skip
            fit, place_in_fit, number, key = by_key, single, single // tile, single
        elif whole is not None:
            fit, place_in_fit, number, key = by_tile, whole, whole, None
        else:
            continue
        block = part.blocks[number] if part.blocks else None
        share, left_out = fit.share[place_in_fit, place], fit.left_out[place_in_fit, place]
        yield _Blame(row, number, key, block, float(share), float(left_out))


def _vary(values: Float64) -> bool:
    """Whether values, [keys, D], differ in enough directions."""
    some = values[np.linspace(0, values.shape[0] - 1, min(values.shape[0], _SAMPLED_VALUES)).astype(int)]
    some = some - some.mean(axis=0)
    size = float(np.abs(some).max(initial=0.0))
    if size == 0.0 or not np.isfinite(size):
        return False
    gram = (some / size) @ (some / size).T
    return bool(np.trace(gram) ** 2 >= _PARALLEL * (gram**2).sum())


def _fit_tiles(part: Weighed, out: Float64, error: Float64, tile: int) -> _Fit:
    keys = part.values.shape[0]
    tiles = -(-keys // tile)
    weights = np.pad(part.weights, ((0, 0), (0, tiles * tile - keys))).reshape(-1, tiles, tile)
    values = np.pad(part.values, ((0, tiles * tile - keys), (0, 0))).reshape(tiles, tile, -1)
    own = np.matmul(weights.transpose(1, 0, 2), values)
    weight = weights.sum(axis=2).T
    rest = weight[:, :, None] * out
    scale = (own**2).sum(axis=2) + (rest**2).sum(axis=2)
    direction = rest - own
    along = np.einsum("trd,rd->tr", direction, error)
    return _fit(along, (direction**2).sum(axis=2), weight, error, 1e-18 * scale)


def _fit_keys(part: Weighed, out: Float64, error: Float64) -> _Fit:
    values, weight = part.values, part.weights.T
    squares = (out**2).sum(axis=1) + (values**2).sum(axis=1)[:, None]
    distance = squares - 2 * (values @ out.T)
    along = weight * ((error * out).sum(axis=1) - values @ error.T)
    # The distance comes from a difference of squares, which leaves fewer digits of it.
    return _fit(along, weight**2 * distance, weight, error, 1e-10 * weight**2 * squares)


def _fit(along: Float64, square: Float64, weight: Float64, error: Float64, least: Float64) -> _Fit:
    """along: r . d; square: d . d, no number where it is not above `least`."""
    with np.errstate(all="ignore"):
        coefficient = along / square
        left_out = coefficient / (1 + coefficient * weight)
        share = along**2 / (square * (error**2).sum(axis=1))
        times = 1 - left_out
        sound = (square > least) & (weight >= MIN_WEIGHT) & (1 + coefficient * weight > 0)
        sound &= (times >= _BELOW_NONE) & (times <= MOST_TIMES) & np.isfinite(share)
    return _Fit(np.where(sound, np.minimum(share, 1.0), 0.0), left_out)


def _best(fit: _Fit, place: int) -> int | None:
    """The tile to blame for a row, None where none or several are."""
    found = np.flatnonzero(fit.share[:, place] >= SHARE)
    if found.size > 1:
        found = found[np.abs(np.abs(fit.left_out[found, place]) - 1) < _EXACT]
    return int(found[0]) if found.size == 1 else None


def _cells(blames: Sequence[_Blame], looked_at: Sequence[int], across: int, found: FailureMap) -> Iterator[KeyCell]:
    def part(row: int) -> tuple[int, int]:
        first, second = divmod(row, across)
        return first // found.row_step, second // found.column_step

    looked: dict[tuple[int, int], int] = {}
    for row in looked_at:
        looked[part(row)] = looked.get(part(row), 0) + 1
    grouped: dict[tuple[tuple[int, int], int], list[_Blame]] = {}
    for blame in blames:
        grouped.setdefault((part(blame.row), blame.tile), []).append(blame)
    for (where, tile), members in sorted(grouped.items()):
        yield KeyCell(
            row=where[0],
            column=where[1],
            tile=tile,
            block=_common([blame.block for blame in members]),
            key=_single(members),
            rows=len(members),
            looked_at=looked[where],
            share=min(blame.share for blame in members),
            left_out=_median(members),
            index=divmod(min(blame.row for blame in members), across),
        )


def _common(numbers: Sequence[int | None]) -> int | None:
    return numbers[0] if len(set(numbers)) == 1 else None


def _single(blames: Sequence[_Blame]) -> int | None:
    """The key that nearly all rows of a tile blame alone."""
    keys = [blame.key for blame in blames if blame.key is not None]
    key = max(set(keys), key=keys.count, default=None)
    return key if key is not None and keys.count(key) >= SHARE * len(blames) else None


def _median(blames: Sequence[_Blame]) -> float:
    return float(np.median([blame.left_out for blame in blames]))


def _sentence(axis: KeyAxis, blames: Sequence[_Blame], looked_at: int, across: int, keys: int) -> str:
    """In words which tile explains most of the rows looked at; empty where none does."""
    tiles = [blame.tile for blame in blames]
    tile = max(set(tiles), key=lambda one: (tiles.count(one), -one))
    members = [blame for blame in blames if blame.tile == tile]
    if 2 * len(members) <= looked_at:
        return ""
    what = _page_named(axis, members, across) if axis.paged else _keys_named(axis, members, keys)
    count = f"all {looked_at}" if len(members) == looked_at else f"{len(members)} of {looked_at}"
    count = "the one failing row" if looked_at == 1 else f"{count} failing rows"
    return f"In {count} looked at the error is what {fault_of(_median(members)).format(what)} gives."


def _keys_named(axis: KeyAxis, members: Sequence[_Blame], keys: int) -> str:
    key, tile = _single(members), members[0].tile
    first, last = tile * axis.tile, min((tile + 1) * axis.tile, keys) - 1
    if key is not None or first == last:
        return f"key {first if key is None else key}"
    return f"keys {first} to {last}" if _whole(members) else f"one key of {first} to {last}, not always the same,"


def _page_named(axis: KeyAxis, members: Sequence[_Blame], across: int) -> str:
    sequences = {blame.row // across for blame in members}
    block, key = _common([blame.block for blame in members]), _single(members)
    of = f"sequence {next(iter(sequences))}" if len(sequences) == 1 else f"{len(sequences)} sequences"
    place = f"page {members[0].tile} of {of}" + (f" (block {block})" if block is not None else "")
    if key is not None:
        return f"token {key}, in {place},"
    return place if _whole(members) else f"one token in {place}, not always the same,"


def _whole(members: Sequence[_Blame]) -> bool:
    """Whether it is the tile as a whole that is to blame, and not one key of it here and another there."""
    return 2 * sum(blame.key is None for blame in members) >= len(members)


def fault_of(left_out: float) -> Fault:
    """What was done to keys of whose weight this share is missing."""
    if abs(left_out - 1) < _NEARLY:
        return Fault.LEFT_OUT
    if abs(left_out + 1) < _NEARLY:
        return Fault.TWICE
    return Fault.LESS if left_out > 0 else Fault.MORE
