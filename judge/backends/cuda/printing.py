"""Catches what device printf writes while a launch runs.

The driver writes it to file descriptor 1 of the process when the device is synchronized. A pipe
stands in for the descriptor and a thread empties it, so that a flood is bounded in memory and can
not block the driver. A random mark, written after the C library's own buffer was flushed, tells
the reader that everything before it has arrived.
"""

import ctypes
import os
import secrets
import threading

CAP_BYTES = 64 * 1024
NOTICE = "\n[output cut: {dropped} more bytes]"


class PrintCapture:
    """Replaces file descriptor 1 for good; take() gives what was written since the last take().

    drained_s: how long take() waits for the reader.
    """

    def __init__(self, cap_bytes: int = CAP_BYTES, drained_s: float = 2.0) -> None:
        self._cap = cap_bytes
        self._drained_s = drained_s
        self._libc = ctypes.CDLL(None)
        self._kept = bytearray()
        self._dropped = 0
        self._tail = b""
        self._mark = b""
        self._seen = threading.Event()
        self._lock = threading.Lock()
        read_end, write_end = os.pipe()
        os.dup2(write_end, 1)
        os.close(write_end)
        threading.Thread(target=self._read, args=(read_end,), daemon=True).start()

    def take(self) -> str:
        """The text so far, undecodable bytes replaced, with a notice where the cap cut it."""
        with self._lock:
            self._seen.clear()
            self._mark = secrets.token_bytes(16)
        self._libc.fflush(None)
        os.write(1, self._mark)
        self._seen.wait(self._drained_s)
        with self._lock:
            text, dropped = bytes(self._kept), self._dropped
            self._kept.clear()
            self._dropped = 0
            self._mark = b""
        return text.decode("utf-8", "replace") + (NOTICE.format(dropped=dropped) if dropped else "")

    def _read(self, descriptor: int) -> None:
        while chunk := os.read(descriptor, 1 << 16):
            with self._lock:
                self._accept(chunk)

    def _accept(self, chunk: bytes) -> None:
        # The mark may arrive in two reads, so as many bytes as it has stay back in the tail.
        data = self._tail + chunk
        if self._mark and self._mark in data:
            before, _, data = data.partition(self._mark)
            self._keep(before)
            self._tail = b""
            self._keep(data)
            self._seen.set()
            return
        keep_back = min(len(data), 16)
        self._keep(data[: len(data) - keep_back])
        self._tail = data[len(data) - keep_back :]

    def _keep(self, data: bytes) -> None:
        room = max(self._cap - len(self._kept), 0)
        self._kept += data[:room]
        self._dropped += max(len(data) - room, 0)
