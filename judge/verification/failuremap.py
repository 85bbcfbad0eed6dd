"""Where an output is wrong, as a map: heads or sequences down, blocks of rows across, the worst element in each cell.

A sentence names one pattern; a map shows what no sentence says: one head, the last block of rows, a staircase along
the diagonal. It is small enough for a report: MAX_ROWS times MAX_COLUMNS cells, and only those with something wrong.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from judge.records import CaseReport, FailureCell, FailureMap

MAX_ROWS, MAX_COLUMNS = 16, 32


def map_failures(
    output: str,
    axes: Sequence[str | int],
    got: NDArray[np.float64],
    want: NDArray[np.float64],
    wrong: NDArray[np.bool_],
) -> FailureMap | None:
    """The map of one output; None where nothing is wrong, and for a scalar.

    axes: the name of each axis, an int where it has none. got, want, wrong: in the output's shape. The first two
    axes span the map, further ones lie inside the cells; an output of one axis is a map of one row.
    """
    if not wrong.any() or wrong.ndim == 0:
        return None
    names = [axis if isinstance(axis, str) else f"axis {place}" for place, axis in enumerate(axes)]
    if wrong.ndim == 1:
        got, want, wrong, names = got[None], want[None], wrong[None], ["", *names]
    rows, columns = wrong.shape[:2]
    row_step, column_step = step_of(rows, MAX_ROWS), step_of(columns, MAX_COLUMNS)
    flat = len(axes) == 1
    cells = []
    for row in range(math.ceil(rows / row_step)):
        for column in range(math.ceil(columns / column_step)):
            first = (row * row_step, column * column_step)
            part = np.s_[first[0] : first[0] + row_step, first[1] : first[1] + column_step]
            count = int(wrong[part].sum())
            if not count:
                continue
            inside = _worst(got[part], want[part], wrong[part])
            index = (first[0] + inside[0], first[1] + inside[1], *inside[2:])
            cells.append(
                FailureCell(
                    row=row,
                    column=column,
                    wrong=count,
                    total=int(wrong[part].size),
                    index=index[1:] if flat else index,
                    got=_figure(got[index]),
                    want=_figure(want[index]),
                )
            )
    return FailureMap(
        output=output,
        row_axis=names[0],
        column_axis=names[1],
        rows=rows,
        columns=columns,
        row_step=row_step,
        column_step=column_step,
        cells=tuple(cells),
    )


def only_telling_maps(cases: Sequence[CaseReport], told: CaseReport) -> list[CaseReport]:
    """The cases with two maps at most, since forty would be most of a report: of the explained case, which is small,
    and of the one with the most parts, where a pattern shows."""
    widest = widest_map(cases)
    return [case if case is told or case is widest else _without_map(case) for case in cases]


def widest_map(cases: Sequence[CaseReport]) -> CaseReport:
    """The case whose map has the most parts, the first of several."""
    return max(cases, key=_parts)


def _parts(case: CaseReport) -> int:
    found = case.error.map if case.error else None
    return 0 if found is None else -(-found.rows // found.row_step) * -(-found.columns // found.column_step)


def _without_map(case: CaseReport) -> CaseReport:
    if case.error is None or case.error.map is None:
        return case
    return case.model_copy(update={"error": case.error.model_copy(update={"map": None})})


def step_of(size: int, most: int) -> int:
    """The smallest power of two that cuts so many indices into at most so many parts."""
    return 1 << max(0, math.ceil(math.log2(size / most)))


def _worst(got: NDArray[np.float64], want: NDArray[np.float64], wrong: NDArray[np.bool_]) -> tuple[int, ...]:
    """Index of the wrong element farthest from the truth; one that is no number before all others."""
    with np.errstate(invalid="ignore"):
        distance = np.nan_to_num(np.abs(got - want), nan=np.inf)
    distance[~wrong] = -1.0
    return tuple(int(i) for i in np.unravel_index(int(distance.argmax()), distance.shape))


def _figure(value: float) -> float | str:
    return float(value) if math.isfinite(value) else str(float(value))
