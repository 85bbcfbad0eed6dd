"""What CPU workers compiled, kept beside the compiled modules for the workers after them.

The code is made in a worker before a submission's kernel has run there: the runtime before anything
of a submission arrived, a module's code from its PTX alone, and it is only ever given back for the
same PTX. What the bytes mean is the CPU backend's affair, which takes them only if they fit.
"""

import hashlib
import sys

from judge.compiler.cache import DiskCache, default_folder
from judge.sandbox.view import PACKAGE_ROOT

MAX_CODE_BYTES = 64 << 20


class MachineCodeStore:
    """cache: where to keep it; None for the user's own. Every failure to read or write is taken for a miss."""

    def __init__(self, cache: DiskCache | None = None) -> None:
        self._cache = DiskCache(default_folder()) if cache is None else cache

    def runtime(self) -> bytes:
        """Code of the CPU device itself; empty where none is kept."""
        return self._cache.read(_runtime_key()) or b""

    def keep_runtime(self, code: bytes) -> None:
        if code:
            self._cache.write(_runtime_key(), code)

    def of_module(self, image: bytes) -> bytes:
        """Code made of a PTX image; empty where none is kept."""
        return self._cache.read(_module_key(image)) or b""

    def keep_module(self, image: bytes, code: bytes) -> None:
        if code:
            self._cache.write(_module_key(image), code)


def _runtime_key() -> str:
    # One a checkout and environment: two versions on one machine would else replace each other's at every start.
    return hashlib.sha256(f"cpu runtime {PACKAGE_ROOT} {sys.prefix}".encode()).hexdigest()


def _module_key(image: bytes) -> str:
    return hashlib.sha256(b"cpu code of " + image).hexdigest()
