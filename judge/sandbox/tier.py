"""How well this machine can isolate a submission, found out by trying it.

    isolated    everything of restricted, in namespaces of its own (no part of the judge does this yet)
    restricted  seals and limits work: no path can be opened, no socket made, memory and time are bounded
    none        something of that failed; the reasons say what

The probe runs in a process of its own, because a seal cannot be undone.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

import judge

PROBE_LIMIT_S = 10.0
_PASSED = "sealed"


class Tier(StrEnum):
    ISOLATED = "isolated"
    RESTRICTED = "restricted"
    NONE = "none"


@dataclass(frozen=True)
class Isolation:
    """failures: what kept the tier from being restricted, empty otherwise."""

    tier: Tier
    failures: tuple[str, ...] = ()


@cache
def isolation() -> Isolation:
    """The tier of this machine, probed once a process; takes some 30 ms."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-s", "-m", "judge.sandbox.tier"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_LIMIT_S,
            check=False,
            env={"PYTHONPATH": str(Path(judge.__file__).parent.parent), "PATH": os.environ.get("PATH", "")},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Isolation(Tier.NONE, (f"the probe did not end: {type(error).__name__}",))
    said = done.stdout.decode("utf-8", "replace").split("\n")
    if done.returncode == 0 and said[0] == _PASSED:
        return Isolation(Tier.RESTRICTED)
    failures = tuple(line for line in said if line) or (f"the probe ended with code {done.returncode}",)
    return Isolation(Tier.NONE, failures)


def _probe() -> list[str]:
    """Seal this process and try what must not work; the failures."""
    import resource
    import socket

    from judge.sandbox.limits import ProcessLimits, apply_limits
    from judge.sandbox.seccomp import SealError, seal_network, seal_paths

    failures = []
    canary = __file__
    try:
        apply_limits(ProcessLimits(data_bytes=1 << 30, cpu_s=10))
        seal_network()
        seal_paths()
    except (SealError, OSError, ValueError) as error:
        return [str(error)]
    if resource.getrlimit(resource.RLIMIT_DATA)[0] > 1 << 30:
        failures.append("the memory limit does not hold")
    try:
        os.close(os.open(canary, os.O_RDONLY))
        failures.append("a sealed process can open a file")
    except FileNotFoundError:
        pass
    if os.path.exists(canary):
        failures.append("a sealed process can see that a file exists")
    try:
        socket.socket().close()
        failures.append("a sealed process can make a socket")
    except PermissionError:
        pass
    return failures


if __name__ == "__main__":
    found = _probe()
    sys.stdout.write("\n".join(found or [_PASSED]) + "\n")
    sys.stdout.flush()
    os._exit(1 if found else 0)
