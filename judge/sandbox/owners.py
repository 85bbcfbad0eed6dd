"""Names that say which process made a thing, so that what a killed one left can be found and removed.

The number of a process means something in its PID namespace alone: judges in two containers that share a folder for
temporary files see each other's folders and no process of theirs, and must leave them.
"""

import os
import re
from functools import cache
from pathlib import Path

PREFIX = "judge-box-"

_NAME = re.compile(rf"{PREFIX}(\d+)\.(\d+)-")


@cache
def _namespace() -> int:
    """0 without /proc, where nothing is known to be gone."""
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0


def own_prefix() -> str:
    """How names of this process's things begin."""
    return f"{PREFIX}{_namespace()}.{os.getpid()}-"


def is_left(name: str) -> bool:
    """Whether it is the name of a thing whose process is known to be gone."""
    found = _NAME.match(name)
    if found is None or _namespace() == 0 or int(found[1]) != _namespace():
        return False
    return not Path(f"/proc/{found[2]}").exists()
