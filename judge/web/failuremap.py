"""The failure map as a picture with a table twin: cells stand out more the larger their errors."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from judge.records import FailureCell, FailureMap
from judge.verification.numbers import show_number
from judge.web import svg

CELL, LEFT, TOP = 20, 74, 26
SHARES = (1 / 100, 1 / 10, 1 / 3)
"""Where a stronger color begins, as shares of the largest error in the map."""


@dataclass(frozen=True)
class MapRow:
    """A row of the table twin. id: what a cell of the picture leads to."""

    id: str
    where: str
    wrong: str
    element: str
    got: str
    want: str


@dataclass(frozen=True)
class DrawnMap:
    output: str
    picture: Markup
    rows: Sequence[MapRow]
    row_axis: str
    column_axis: str


def draw_map(found: FailureMap, number: int = 0) -> DrawnMap:
    """number: of the map in its page, for the names of its rows."""
    rows, columns = -(-found.rows // found.row_step), -(-found.columns // found.column_step)
    parts: list[str] = [
        svg.tag("rect", x=LEFT, y=TOP, width=columns * CELL, height=rows * CELL, class_="map-right"),
        svg.text(LEFT - 6, 14, found.row_axis, anchor="end"),
        svg.text(LEFT, 14, axis_words(found.column_axis, found.columns, found.column_step)),
    ]
    every = max(1, rows // 8)
    parts += [
        svg.text(LEFT - 6, TOP + row * CELL + 14, indices(row, found.row_step, found.rows), anchor="end")
        for row in range(0, rows, every)
        if found.row_axis
    ]
    errors = [_error(cell) for cell in found.cells]
    most = max((error for error in errors if math.isfinite(error)), default=0.0)
    for cell, error in zip(found.cells, errors, strict=True):
        parts.append(_cell(found, cell, number, 1 + sum(error >= share * most for share in SHARES)))
    title = (
        f"Failure map of {found.output}: {found.row_axis or 'one row'} down, {found.column_axis} across; "
        f"{len(found.cells)} of {rows * columns} cells hold wrong elements. The table below has the values."
    )
    width, height = max(LEFT + columns * CELL + 10, 240), TOP + rows * CELL + 8
    return DrawnMap(
        found.output,
        svg.picture(width, height, title, parts, "picture map", "group"),
        [_row(found, cell, number) for cell in found.cells],
        found.row_axis,
        found.column_axis,
    )


def _error(cell: FailureCell) -> float:
    """Of the worst element; infinite where it is no number."""
    if isinstance(cell.got, str) or isinstance(cell.want, str):
        return math.inf
    return abs(cell.got - cell.want)


def _cell(found: FailureMap, cell: FailureCell, number: int, level: int) -> Markup:
    words = f"{place(found, cell)}: {cell.wrong} of {cell.total} wrong; {element(found, cell)} got "
    words += f"{show_number(cell.got)}, want {show_number(cell.want)}"
    shape = svg.tag(
        "rect",
        svg.tag("title", words),
        x=LEFT + cell.column * CELL + 1,
        y=TOP + cell.row * CELL + 1,
        width=CELL - 2,
        height=CELL - 2,
        class_=f"map-wrong-{level}",
    )
    # The table has a row for each cell, so that the keyboard needs no way through the picture.
    return svg.tag("a", shape, href=f"#{cell_id(cell, number)}", tabindex="-1", aria_hidden="true")


def cell_id(cell: FailureCell, number: int) -> str:
    return f"cell-{number}-{cell.row}-{cell.column}"


def _row(found: FailureMap, cell: FailureCell, number: int) -> MapRow:
    return MapRow(
        cell_id(cell, number),
        place(found, cell),
        f"{cell.wrong} of {cell.total}",
        element(found, cell),
        show_number(cell.got),
        show_number(cell.want),
    )


def place(found: FailureMap, cell: FailureCell) -> str:
    """A cell in words: "BH 0, N 32 to 63"."""
    across = f"{found.column_axis} {indices(cell.column, found.column_step, found.columns)}"
    if not found.row_axis:
        return across
    return f"{found.row_axis} {indices(cell.row, found.row_step, found.rows)}, {across}"


def element(found: FailureMap, cell: FailureCell) -> str:
    return f"{found.output}[{', '.join(map(str, cell.index))}]"


def indices(number: int, step: int, size: int) -> str:
    """Those of a part in words: "32 to 63"."""
    first, last = number * step, min((number + 1) * step, size) - 1
    return str(first) if first == last else f"{first} to {last}"


def axis_words(name: str, size: int, step: int) -> str:
    """What stands over an axis: "N 0 to 999, 32 in a cell"."""
    return f"{name} 0 to {size - 1}" + (f", {step} in a cell" if step > 1 else "")
