"""Keeps what a worker writes to standard output and error: capped, inert, and never parsed."""

import os
import threading
from typing import IO

CAP_BYTES = 64 * 1024


def inert(text: str) -> str:
    """Text with every control and formatting character but newline and tab shown as an escape."""
    return "".join(c if c in "\n\t" or c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class LogDrain:
    """Reads a pipe to its end in a thread, so that its writer never blocks, and keeps the last bytes."""

    def __init__(self, stream: IO[bytes], cap_bytes: int = CAP_BYTES) -> None:
        self._stream = stream
        self._cap = cap_bytes
        self._kept = bytearray()
        self._dropped = 0
        self._thread = threading.Thread(target=self._drain, daemon=True)
        self._thread.start()

    def _drain(self) -> None:
        with self._stream:
            while chunk := os.read(self._stream.fileno(), 1 << 16):
                self._kept += chunk
                excess = len(self._kept) - self._cap
                if excess > 0:
                    del self._kept[:excess]
                    self._dropped += excess

    def text(self, wait_s: float = 0.5) -> str:
        """What was written so far; waits for the end of the pipe up to `wait_s` (a dead writer's last words)."""
        self._thread.join(wait_s)
        kept = inert(bytes(self._kept).decode("utf-8", "replace"))
        return f"[{self._dropped} bytes cut]\n{kept}" if self._dropped else kept
