"""A content-addressed store on disk: compiled modules and packs of headers, under their SHA-256.

Only the trusted parent reads and writes it, never a box. An entry is written to a temporary file and
renamed, so a reader sees a whole entry or none; each carries a checksum, so a damaged one is none.
When the store grows over its bound the entries used longest ago go. A disk that is full or read-only
only costs time: every failure to read or write is taken for a miss.
"""

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

MAX_BYTES = 512 << 20
_SUFFIX = ".kj"
_TEMPORARY_PREFIX = "new-"
_CHECKSUM_BYTES = 32


def default_folder() -> Path | None:
    """$XDG_CACHE_HOME/kernel-judge, usually ~/.cache/kernel-judge; None for a user without a home."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):
        return Path(base) / "kernel-judge"
    home = os.path.expanduser("~")
    return Path(home) / ".cache" / "kernel-judge" if os.path.isabs(home) else None


class DiskCache:
    """Keys are hexadecimal digests. folder None: nothing is kept."""

    def __init__(self, folder: Path | None, max_bytes: int = MAX_BYTES) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    def read(self, key: str) -> bytes | None:
        """The entry, or None where there is no sound one."""
        if self._folder is None:
            return None
        path = self._folder / f"{key}{_SUFFIX}"
        try:
            data = path.read_bytes()
        except OSError:
            return None
        checksum, content = data[:_CHECKSUM_BYTES], data[_CHECKSUM_BYTES:]
        if hashlib.sha256(content).digest() != checksum:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return content

    def write(self, key: str, data: bytes) -> None:
        if self._folder is None or len(data) > self._max_bytes // 4:
            return
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._make_room(_CHECKSUM_BYTES + len(data))
            handle, name = tempfile.mkstemp(prefix=_TEMPORARY_PREFIX, dir=self._folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(hashlib.sha256(data).digest() + data)
                os.replace(name, self._folder / f"{key}{_SUFFIX}")
            except OSError:
                os.unlink(name)
                raise

    def _make_room(self, wanted: int) -> None:
        assert self._folder is not None
        entries = []
        for entry in os.scandir(self._folder):
            if entry.name.endswith(_SUFFIX) or entry.name.startswith(_TEMPORARY_PREFIX):
                status = entry.stat()
                entries.append((status.st_mtime, status.st_size, entry.path))
        total = sum(size for _, size, _ in entries) + wanted
        for _, size, path in sorted(entries):
            if total <= self._max_bytes:
                return
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            total -= size
