"""Catches what device printf writes while a launch runs.

The driver writes it to file descriptor 1 of the process, within whatever call synchronizes, and some
of those calls hold Python's lock. A file in memory stands in for the descriptor: nothing has to empty
it, so a flood cannot block the driver, and its sealed size is the cap.
"""

import ctypes
import fcntl
import mmap
import os

CAP_BYTES = 60 * 1024
NOTICE = "\n[output cut after {cap} bytes]"


class PrintCapture:
    """Replaces file descriptor 1 for good; take() gives what was written since the last take()."""

    def __init__(self, cap_bytes: int = CAP_BYTES) -> None:
        self._cap = cap_bytes
        libc = ctypes.CDLL(None)
        self._flush, self._purge = libc.fflush, libc["__fpurge"]
        self._stdout = ctypes.c_void_p.in_dll(libc, "stdout")
        file = os.memfd_create("printed", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        # A write over the end is refused page by page, so a full file ends at most a page before its size.
        os.ftruncate(file, cap_bytes + mmap.PAGESIZE)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
        os.dup2(file, 1)
        os.close(file)

    def take(self) -> str:
        """The text so far, undecodable bytes replaced, with a notice where the cap cut it."""
        self._flush(self._stdout)
        # What did not fit stays in the C library's buffer and would open the next text.
        self._purge(self._stdout)
        written = os.lseek(1, 0, os.SEEK_CUR)
        text = os.pread(1, min(written, self._cap), 0)
        os.lseek(1, 0, os.SEEK_SET)
        notice = NOTICE.format(cap=self._cap) if written > self._cap else ""
        return text.decode("utf-8", "replace") + notice
