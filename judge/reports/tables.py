"""Aligned columns of figures; a column that no row fills is left out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from judge.reports.style import Style, inert


@dataclass(frozen=True)
class Column:
    """One column: its title and how to read a cell from a row; None is an empty cell.

    paint: the colors of a cell. right: align figures at their end. optional: left out, the last one
    first, while the table is wider than the terminal.
    """

    title: str
    cell: Callable[[Any], str | None]
    right: bool = False
    paint: Callable[[Any], tuple[str, ...]] | None = None
    optional: bool = False


def render_table(rows: Sequence[Any], columns: Sequence[Column], style: Style) -> str:
    """Title line and one line a row, indented by two, with a final newline."""
    cells = [[inert(column.cell(row) or "") for row in rows] for column in columns]
    filled = [(column, texts) for column, texts in zip(columns, cells, strict=True) if any(texts)]
    while _width(filled) > style.width and any(column.optional for column, _ in filled):
        filled.pop(max(place for place, (column, _) in enumerate(filled) if column.optional))
    widths = [_cell_width(column, texts) for column, texts in filled]
    title = "  ".join(_align(c.title, w, right=c.right) for (c, _), w in zip(filled, widths, strict=True))
    lines = ["  " + style.paint(title.rstrip(), "dim")]
    for number, row in enumerate(rows):
        parts = []
        for (column, texts), width in zip(filled, widths, strict=True):
            text = texts[number]
            padding = " " * (width - len(text))
            painted = style.paint(text, *column.paint(row)) if column.paint else text
            parts.append(padding + painted if column.right else painted + padding)
        lines.append("  " + "  ".join(parts).rstrip())
    return "\n".join(lines) + "\n"


def _cell_width(column: Column, texts: Sequence[str]) -> int:
    return max(len(column.title), *map(len, texts))


def _width(filled: Sequence[tuple[Column, list[str]]]) -> int:
    return sum(2 + _cell_width(column, texts) for column, texts in filled)


def _align(text: str, width: int, *, right: bool) -> str:
    return text.rjust(width) if right else text.ljust(width)
