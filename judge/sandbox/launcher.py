"""One thread that starts every box and lives as long as the process.

The kernel sends a box its death signal when the *thread* that started it ends (PR_SET_PDEATHSIG), so a
service whose requests come and go on threads must not start boxes on them.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

_lock = threading.Lock()
_launchers: dict[int, ThreadPoolExecutor] = {}


def on_launcher(start: Callable[[], T]) -> T:
    """Run a start on the launcher's thread and give its result or its exception."""
    with _lock:
        # By process: a forked child has no threads but the one that forked.
        launcher = _launchers.setdefault(os.getpid(), ThreadPoolExecutor(1, "judge-launcher"))
    return launcher.submit(start).result()
