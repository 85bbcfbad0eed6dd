"""The map of the keys behind an error: parts of the output down, tiles of keys across, darker the more they explain.

Its table says the same cell by cell, with the head or sequence that the picture lays over one another.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from judge.records import FailureMap, KeyCell, KeyMap
from judge.verification.failuremap import MAX_COLUMNS, step_of
from judge.verification.keyblame import Fault, fault_of
from judge.verification.numbers import count_of
from judge.web import svg
from judge.web.failuremap import CELL, LEFT, TOP, axis_words, indices

SHARES = (1 / 4, 1 / 2, 9 / 10)
"""Where a darker color begins, as shares of the rows looked at."""


@dataclass(frozen=True)
class KeyRow:
    """A row of the table twin. id: what a cell of the picture leads to."""

    id: str
    where: str
    keys: str
    rows: str
    what: str
    share: str


@dataclass(frozen=True)
class DrawnKeys:
    picture: Markup
    rows: Sequence[KeyRow]
    looked_at: int
    explained: int
    sentence: str
    paged: bool


def draw_keys(found: FailureMap, number: int = 0) -> DrawnKeys | None:
    """number: of the map in its page, for the names of its rows. None where no keys are to blame."""
    keys = found.keys
    if keys is None or not keys.cells:
        return None
    down = (found.row_axis, found.rows, found.row_step) if keys.down == 0 else _across(found)
    tiles = -(-keys.keys // keys.keys_in_tile)
    step = step_of(tiles, MAX_COLUMNS)
    rows, columns = -(-down[1] // down[2]), -(-tiles // step)
    parts: list[str] = [
        svg.tag("rect", x=LEFT, y=TOP, width=columns * CELL, height=rows * CELL, class_="map-nothing"),
        svg.text(LEFT - 6, 14, down[0], anchor="end"),
        svg.text(LEFT, 14, _tiles_words(keys, tiles, step)),
    ]
    parts += [
        svg.text(LEFT - 6, TOP + row * CELL + 14, indices(row, down[2], down[1]), anchor="end")
        for row in range(0, rows, max(1, rows // 8))
    ]
    grouped: dict[tuple[int, int], list[int]] = {}
    for place, cell in enumerate(keys.cells):
        grouped.setdefault(((cell.row, cell.column)[keys.down], cell.tile // step), []).append(place)
    for (row, column), places in sorted(grouped.items()):
        parts.append(_cell(found, keys, number, row, column, places))
    title = (
        f"Keys behind the error of {found.output}: {down[0]} down, {'pages' if keys.paged else 'keys'} across; "
        f"one of them explains {keys.explained} of {keys.looked_at} failing rows. The table below has the values."
    )
    width, height = max(LEFT + columns * CELL + 10, 300), TOP + rows * CELL + 8
    return DrawnKeys(
        svg.picture(width, height, title, parts, "picture map", "group"),
        [_row(found, keys, cell, place, number) for place, cell in enumerate(keys.cells)],
        keys.looked_at,
        keys.explained,
        keys.sentence,
        keys.paged,
    )


def _across(found: FailureMap) -> tuple[str, int, int]:
    return found.column_axis, found.columns, found.column_step


def _tiles_words(keys: KeyMap, tiles: int, step: int) -> str:
    if keys.paged:
        return axis_words("page", tiles, step)
    return axis_words("key", keys.keys, keys.keys_in_tile * step)


def _cell(found: FailureMap, keys: KeyMap, number: int, row: int, column: int, places: Sequence[int]) -> Markup:
    cells = [keys.cells[place] for place in places]
    explained = sum(cell.rows for cell in cells)
    looked_at = sum({(cell.row, cell.column): cell.looked_at for cell in cells}.values())
    words = f"{part(found, cells[0])}: {blamed(keys, cells[0])} {missing(cells[0])} in {cells[0].rows} of "
    words += f"{count_of(cells[0].looked_at, 'row')} looked at"
    words += f", and {len(cells) - 1} more in the table" if len(cells) > 1 else ""
    shape = svg.tag(
        "rect",
        svg.tag("title", words),
        x=LEFT + column * CELL + 1,
        y=TOP + row * CELL + 1,
        width=CELL - 2,
        height=CELL - 2,
        class_=f"map-wrong-{1 + sum(explained >= share * looked_at for share in SHARES)}",
    )
    # As in the failure map: the table is the way of the keyboard.
    return svg.tag("a", shape, href=f"#{_id(places[0], number)}", tabindex="-1", aria_hidden="true")


def _id(place: int, number: int) -> str:
    return f"keys-{number}-{place}"


def _row(found: FailureMap, keys: KeyMap, cell: KeyCell, place: int, number: int) -> KeyRow:
    return KeyRow(
        _id(place, number),
        part(found, cell),
        blamed(keys, cell),
        f"{cell.rows} of {cell.looked_at}",
        missing(cell),
        f"{int(cell.share * 1000) / 10:.1f}%",
    )


def part(found: FailureMap, cell: KeyCell) -> str:
    """A part of the output in words: "BH 0, N 32 to 63"."""
    first = indices(cell.row, found.row_step, found.rows)
    return f"{found.row_axis} {first}, {found.column_axis} {indices(cell.column, found.column_step, found.columns)}"


def blamed(keys: KeyMap, cell: KeyCell) -> str:
    """The keys in words: "96 to 127", "page 3 (block 17)"."""
    tile = f"{'' if keys.paged else 'keys '}{indices(cell.tile, keys.keys_in_tile, keys.keys)}"
    if keys.paged:
        tile = f"page {cell.tile}" + (f" (block {cell.block})" if cell.block is not None else "")
    if cell.key is None:
        return tile
    return f"token {cell.key} in {tile}" if keys.paged else f"key {cell.key}"


def missing(cell: KeyCell) -> str:
    """What was done to them: "left out"."""
    fault = fault_of(cell.left_out)
    if fault is Fault.LEFT_OUT:
        return "left out"
    if fault is Fault.TWICE:
        return "counted twice"
    return f"{1 - cell.left_out:.3g} times their weight"
