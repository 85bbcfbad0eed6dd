"""A control group for one box, where this process may make one: the kernel itself then bounds the memory.

Both hierarchies are known: v2 (one folder, needs the memory controller handed down to this process's
children) and v1 (one folder a controller). Where neither can be written, the supervisor's watch on
resident memory is what bounds a box.
"""

import contextlib
import itertools
import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from judge.sandbox.owners import PREFIX, is_left, own_prefix

MAX_PROCESSES = 512
LIMIT_STEP_BYTES = 64 << 20
"""Cases differ by a few bytes, and to write a limit takes 2 ms."""

_counter = itertools.count()


@dataclass(frozen=True)
class Controllers:
    """Folders in which a box's group can be made. memory and pids may be the same one (v2)."""

    memory: Path
    pids: Path | None
    unified: bool


class Group:
    """A group; `entry_files` take the number of a process that is to join."""

    def __init__(self, controllers: Controllers, name: str) -> None:
        self._controllers = controllers
        self._memory = controllers.memory / name
        self._limit_bytes = 0
        self._folders = [self._memory]
        if controllers.pids is not None and not controllers.unified:
            self._folders.append(controllers.pids / name)
        for folder in self._folders:
            folder.mkdir()
        if controllers.unified:
            with contextlib.suppress(OSError):
                (self._memory / "memory.swap.max").write_text("0")
        with contextlib.suppress(OSError):
            (self._folders[-1] / "pids.max").write_text(str(MAX_PROCESSES))

    @property
    def entry_files(self) -> list[Path]:
        return [folder / "cgroup.procs" for folder in self._folders]

    def limit_memory(self, size_bytes: int) -> None:
        """Bound the memory, by this size or up to LIMIT_STEP_BYTES more."""
        limit_bytes = -(-size_bytes // LIMIT_STEP_BYTES) * LIMIT_STEP_BYTES
        if limit_bytes == self._limit_bytes:
            return
        name = "memory.max" if self._controllers.unified else "memory.limit_in_bytes"
        with contextlib.suppress(OSError):
            (self._memory / name).write_text(str(limit_bytes))
            self._limit_bytes = limit_bytes

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel killed a process of the group for its memory."""
        name = "memory.events" if self._controllers.unified else "memory.oom_control"
        try:
            killed = re.search(r"^oom_kill (\d+)", (self._memory / name).read_text(), re.M)
        except OSError:
            return False
        return killed is not None and int(killed[1]) > 0

    def remove(self) -> None:
        """Remove an empty group."""
        for folder in self._folders:
            with contextlib.suppress(OSError):
                folder.rmdir()


def new_group() -> Group | None:
    """A group for a box, or None where this process may not make one."""
    controllers = find_controllers()
    if controllers is None:
        return None
    try:
        return Group(controllers, f"{own_prefix()}{next(_counter)}")
    except OSError:
        return None


@cache
def find_controllers() -> Controllers | None:
    """Where groups can be made, tried once a process; groups of supervisors that are gone are removed."""
    own = _own_groups()
    found = None
    if "memory" in own:
        found = Controllers(own["memory"], own.get("pids"), unified=False)
    elif "" in own:
        found = Controllers(own[""], own[""], unified=True)
    if found is None or not _works(found):
        return None
    for folder in {found.memory, found.pids or found.memory}:
        _sweep(folder)
    return found


def _own_groups(root: Path = Path("/")) -> dict[str, Path]:
    """Folder of this process's group, by controller; v2 goes by the empty name."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
        mounts = (root / "proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return {}
    places: dict[str, tuple[str, str]] = {}
    for mount in mounts:
        left, _, right = mount.partition(" - ")
        fields, (kind, _, options) = left.split(), right.split(" ", 2)
        if kind == "cgroup2":
            places[""] = (fields[3], fields[4])
        elif kind == "cgroup":
            places.update(dict.fromkeys(options.split(","), (fields[3], fields[4])))
    found = {}
    for line in lines:
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            if name in places:
                base, place = places[name]
                inner = path.removeprefix(base) if base != "/" else path
                found[name] = root / place.lstrip("/") / inner.lstrip("/")
    return found


def _works(controllers: Controllers) -> bool:
    try:
        trial = Group(controllers, f"{own_prefix()}trial")
    except OSError:
        return False
    try:
        return os.access(
            trial.entry_files[0].with_name("memory.max" if controllers.unified else "memory.limit_in_bytes"), os.W_OK
        )
    finally:
        trial.remove()


def _sweep(folder: Path) -> None:
    for left in folder.glob(f"{PREFIX}*"):
        if is_left(left.name):
            with contextlib.suppress(OSError):
                left.rmdir()
