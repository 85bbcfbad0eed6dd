"""Bytecode for what runs in boxes.

A box sees the package read-only, so its interpreter keeps nothing of what it compiles: without this every worker would
compile a hundred modules of its own again, which takes it longer than all the rest of its start.
"""

import importlib.util
import os
import py_compile
from contextlib import suppress
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
FOLDERS = ("", "backends", "compiler", "sandbox", "timing", "worker")
"""Of the package; the first is its own modules alone."""


@cache
def keep_bytecode() -> None:
    """Compile what is new or was changed, once a process; where nothing can be written nothing happens."""
    for source in _sources():
        with suppress(OSError, py_compile.PyCompileError):
            kept = importlib.util.cache_from_source(os.fspath(source))
            if not _up_to_date(source, Path(kept)):
                py_compile.compile(os.fspath(source), kept, doraise=True)


def _sources() -> list[Path]:
    found = list(PACKAGE.glob("*.py"))
    for folder in filter(None, FOLDERS):
        found += (PACKAGE / folder).rglob("*.py")
    return found


def _up_to_date(source: Path, kept: Path) -> bool:
    """As the interpreter decides: by the source's time and size, which stand in the bytecode's head."""
    told = source.stat()
    try:
        with kept.open("rb") as file:
            head = file.read(16)
    except FileNotFoundError:
        return False
    wanted = int(told.st_mtime) & 0xFFFFFFFF, told.st_size & 0xFFFFFFFF
    return (int.from_bytes(head[8:12], "little"), int.from_bytes(head[12:16], "little")) == wanted and (
        head[:4] == importlib.util.MAGIC_NUMBER
    )
