"""Who else works on a GPU while it is timed, through NVML, from outside the worker's box."""

import os
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOST_NAMED = 4


@dataclass(frozen=True)
class Neighbor:
    """A process with work on the GPU. share: of the SMs' time, percent; None where the driver does not tell."""

    pid: int
    name: str
    share: int | None

    @property
    def text(self) -> str:
        who = f"{self.name} (process {self.pid})" if self.name else f"process {self.pid}"
        return who if self.share is None else f"{who}, {self.share}% of the SMs"


class Watch:
    """Looks at one GPU until `found`. address: of the GPU on the PCI bus. ours: processes that are no others."""

    def __init__(self, address: str, ours: Collection[int] = ()) -> None:
        self._ours = set(ours) | {os.getpid()}
        self._nvml: Any = None
        self._handle: Any = None
        self._began_us = int(time.time() * 1e6)
        if not address:
            return
        try:
            import pynvml

            pynvml.nvmlInit()
            self._handle = pynvml.nvmlDeviceGetHandleByPciBusId(address.encode())
            self._nvml = pynvml
        except (ImportError, OSError):
            return
        except pynvml.NVMLError:
            return

    @property
    def uuid(self) -> str:
        """The GPU's UUID; empty where NVML does not tell."""
        if self._nvml is None:
            return ""
        try:
            told = self._nvml.nvmlDeviceGetUUID(self._handle)
        except self._nvml.NVMLError:
            return ""
        return told.decode() if isinstance(told, bytes) else str(told)

    def found(self) -> tuple[Neighbor, ...]:
        """Processes of others that did work since the watch began."""
        if self._nvml is None:
            return ()
        try:
            running = [int(one.pid) for one in self._nvml.nvmlDeviceGetComputeRunningProcesses(self._handle)]
        except self._nvml.NVMLError:
            return ()
        if not running:
            return ()
        try:
            used = self._nvml.nvmlDeviceGetProcessUtilization(self._handle, self._began_us)
            shares = busiest((int(one.pid), int(one.smUtil)) for one in used)
        except self._nvml.NVMLError:
            # Not supported, or nobody used the GPU at all: then a context that is merely open is no disturbance.
            return ()
        found = strangers(running, shares, self._ours)
        return tuple(Neighbor(pid, _name(pid), shares[pid]) for pid in found)


def strangers(
    running: Sequence[int], shares: Mapping[int, int], ours: Collection[int], proc: Path = Path("/proc")
) -> list[int]:
    """Who of the running processes did work and is not ours. shares: of the SMs' time by process.

    In a container the driver may count processes as the host does. Then none of them is known here as ours, and
    the busiest of those that are not known at all is taken for our own worker.
    """
    working = [pid for pid in running if pid and shares.get(pid)]
    others = [pid for pid in working if not is_descendant(pid, ours, proc)]
    unknown = [pid for pid in others if not (proc / str(pid)).exists()]
    if unknown and len(others) == len(working):
        others.remove(max(unknown, key=lambda pid: shares[pid]))
    return others


def busiest(samples: Any) -> dict[int, int]:
    """The largest share of each process."""
    shares: dict[int, int] = {}
    for pid, share in samples:
        shares[pid] = max(share, shares.get(pid, 0))
    return shares


def told(neighbors: Sequence[Neighbor]) -> str:
    """One clause that names them; empty for none."""
    if not neighbors:
        return ""
    named = ", ".join(one.text for one in neighbors[:MOST_NAMED])
    more = f" and {len(neighbors) - MOST_NAMED} more" if len(neighbors) > MOST_NAMED else ""
    return f"others worked on the GPU meanwhile: {named}{more}"


def is_descendant(pid: int, ancestors: Collection[int], proc: Path = Path("/proc")) -> bool:
    """Whether a process is one of them or was started by one."""
    for _ in range(64):
        if pid in ancestors:
            return True
        try:
            pid = int((proc / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return False
        if pid <= 1:
            return pid in ancestors
    return False


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return ""
