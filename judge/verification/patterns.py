"""Where mismatches lie, in words.

The place of an error says more than its size: only the tail means a wrong bound, one head a wrong
offset, every other column a lane that never writes. The words use the names of the axes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_TILES = (128, 64, 32, 16, 8)
_PERIODS = (2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128)
_LISTED = 4
_ALL = "everywhere"


@dataclass(frozen=True)
class _AxisFinding:
    text: str
    touched: NDArray[np.bool_]


def describe_pattern(wrong: NDArray[np.bool_], axes: Sequence[str | int]) -> str:
    """One phrase for the set of wrong elements.

    wrong: boolean mask in the output's shape. axes: the name of each axis (an int where it has none).
    Raises ValueError when the number of names is not the number of axes.
    """
    if len(axes) != wrong.ndim:
        raise ValueError(f"{wrong.ndim} axes but {len(axes)} names")
    count = int(wrong.sum())
    if count == 0:
        return "nowhere"
    if count == wrong.size:
        return "every element"
    if count == 1:
        index = np.argwhere(wrong)[0]
        return "one element only, " + ", ".join(
            f"{_name(axis, k)} = {i}" for k, (axis, i) in enumerate(zip(axes, index, strict=True))
        )
    findings = [_axis_finding(wrong, k, _name(axis, k)) for k, axis in enumerate(axes)]
    partial = [f.text for f in findings if f.text]
    box = math.prod(int(f.touched.sum()) for f in findings)
    if count == box:
        return "; ".join(partial)
    inside = f"{count} of the {box} elements" if partial else f"{count} of {wrong.size} elements"
    rows = _whole_rows(wrong, axes)
    if rows:
        return "; ".join([rows, *partial[:-1]]) if len(partial) > 1 else rows
    return "; ".join([*partial, f"there, {inside}"]) if partial else f"scattered, {inside}"


def _name(axis: str | int, position: int) -> str:
    return axis if isinstance(axis, str) else f"axis {position}"


def _axis_finding(wrong: NDArray[np.bool_], axis: int, name: str) -> _AxisFinding:
    others = tuple(k for k in range(wrong.ndim) if k != axis)
    touched = np.asarray(wrong.any(axis=others) if others else wrong, dtype=np.bool_)
    return _AxisFinding("" if touched.all() else describe_indices(touched, name), touched)


def describe_indices(touched: NDArray[np.bool_], name: str) -> str:
    """Words for a set of indices along one axis: one index, head, tail, range, stride or a list."""
    size = touched.size
    indices = np.flatnonzero(touched)
    first, last, count = int(indices[0]), int(indices[-1]), indices.size
    if count == 1:
        return f"only the last index of {name} ({first})" if first == size - 1 else f"only {name} = {first}"
    if last - first + 1 == count:
        if last == size - 1:
            return f"only the last {count} of {name} (from {first} on{_tail_note(first, size)})"
        if first == 0:
            return f"only the first {count} of {name} (0 to {last})"
        return f"only {name} {first} to {last}"
    steps = np.diff(indices)
    if count > 2 and (steps == steps[0]).all():
        return f"every {_ordinal(int(steps[0]))} {name}, starting at {first}"
    periodic = _periodic(touched, name)
    if periodic:
        return periodic
    listed = ", ".join(str(i) for i in indices[:_LISTED])
    return f"{count} of {size} values of {name} ({listed}{', ...' if count > _LISTED else ''})"


def _tail_note(first: int, size: int) -> str:
    for tile in _TILES:
        if first and first % tile == 0 and size - first < tile:
            return f", after the last full tile of {tile}"
    return ""


def _periodic(touched: NDArray[np.bool_], name: str) -> str:
    for period in _PERIODS:
        if 2 * period > touched.size:
            break
        phase = touched[:period]
        if (touched == phase[np.arange(touched.size) % period]).all():
            inside = np.flatnonzero(phase)
            if inside[-1] - inside[0] + 1 == inside.size:
                return f"{name} mod {period} from {inside[0]} to {inside[-1]}"
            return f"{name} mod {period} in {{{', '.join(map(str, inside))}}}"
    return ""


def _whole_rows(wrong: NDArray[np.bool_], axes: Sequence[str | int]) -> str:
    if wrong.ndim < 2 or wrong.shape[-1] == 1:
        return ""
    rows = np.asarray(wrong.any(axis=-1), dtype=np.bool_)
    if not (rows == wrong.all(axis=-1)).all():
        return ""
    last = wrong.ndim - 1
    where = describe_pattern(rows, axes[:last])
    return f"whole rows of {_name(axes[last], last)} ({int(rows.sum())} of {rows.size} rows: {where})"


def _ordinal(number: int) -> str:
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return "other" if number == 2 else f"{number}{suffix}"
