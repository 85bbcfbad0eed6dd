"""How text reaches a terminal: color or none, its width, and hostile text made harmless.

Words carry the meaning and color only repeats it. NO_COLOR switches color off, FORCE_COLOR switches
it on where the output is no terminal; both set means off, as no-color.org asks.
"""

import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_MIN_WIDTH, _MAX_WIDTH = 40, 110


@dataclass(frozen=True)
class Style:
    """Where text goes: with color or without, and how wide it may be in columns."""

    color: bool = False
    width: int = 80

    def paint(self, text: str, *names: str) -> str:
        """Text in the named colors, or as it is without color."""
        if not self.color or not text:
            return text
        return f"\x1b[{';'.join(_CODES[name] for name in names)}m{text}\x1b[0m"

    def wrap(self, text: str, indent: int = 2, hang: int = 0) -> str:
        """Text broken at words to the width; paths and kernel names stay whole."""
        return textwrap.fill(
            text,
            self.width,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + hang),
            break_long_words=False,
            break_on_hyphens=False,
        )


def style_for(stream: TextIO | None = None, environment: Mapping[str, str] = os.environ) -> Style:
    """The style of a stream; stdout when none is given."""
    target = sys.stdout if stream is None else stream
    terminal = target.isatty()
    width = shutil.get_terminal_size((80, 24)).columns if terminal or "COLUMNS" in environment else 100
    return Style(wants_color(terminal, environment), max(_MIN_WIDTH, min(width, _MAX_WIDTH)))


def wants_color(terminal: bool, environment: Mapping[str, str]) -> bool:
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR", "0") not in {"", "0"}:
        return True
    return terminal and environment.get("TERM") != "dumb"


def inert(text: str) -> str:
    """Text that came from a submission, with nothing left in it that a terminal would obey.

    Control, direction and other invisible characters become their escapes; line ends and tabs stay.
    """
    return "".join(c if c in "\n\t" or not _obeyed(c) else _escape(c) for c in text)


def one_line(text: str) -> str:
    """As inert(), for a place that has one line: line ends become their escapes too."""
    return inert(text).replace("\n", "\\n").replace("\t", " ")


def _obeyed(character: str) -> bool:
    return unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def _escape(character: str) -> str:
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
