"""The three standard streams as the rest of the command line may rely on them, whatever the shell did to them.

stdin   closed: sys.stdin stays None, and descriptor 0 is taken, so that no other file becomes it
stdout  what cannot be written is a MachineError, told once; for a reader that has gone the rest is dropped, so that
        `judge test FILE | head` ends with the exit code of the verdict
stderr  what cannot be written is dropped: progress that nobody sees is no reason to fail
"""

import errno
import io
import os
import sys
from typing import TYPE_CHECKING

from judge.errors import MachineError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def prepare_streams() -> None:
    """Replace the process's own streams; those that a caller put in their place are left alone."""
    _fill_closed_descriptors()
    if sys.stdout is sys.__stdout__:
        sys.stdout = _text_stream(_Results(1, "w", closefd=False), sys.__stdout__)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text_stream(_Remarks(2, "w", closefd=False), sys.__stderr__)


def results_begun() -> bool:
    """Whether anything went to stdout; False where the stream is not this module's."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if not isinstance(raw, _Results):
        return False
    sys.stdout.flush()
    return raw.begun


def drop_results() -> None:
    """Let all further writing to stdout go nowhere, what is still buffered included."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


class _Results(io.FileIO):
    begun = False

    def write(self, data: "ReadableBuffer", /) -> int | None:  # type: ignore[override]
        self.begun = True
        try:
            return super().write(data)
        except BrokenPipeError:
            drop_results()
            return memoryview(data).nbytes
        except OSError as error:
            # Else the flush at exit fails a second time, with a traceback.
            drop_results()
            reason = "it is closed" if error.errno == errno.EBADF else error.strerror
            raise MachineError(f"The result cannot be written to standard output: {reason}.") from None


class _Remarks(io.FileIO):
    def write(self, data: "ReadableBuffer", /) -> int | None:  # type: ignore[override]
        size = memoryview(data).nbytes
        try:
            written = super().write(data)
        except OSError:
            return size
        return size if written is None else written


def _fill_closed_descriptors() -> None:
    # Each stands open the wrong way round, so that its use fails as that of a closed one; but words for a closed
    # stderr are dropped anyway. In this order, since open() gives the lowest number that is free.
    for descriptor, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, mode), True)


def _text_stream(raw: io.FileIO, old: io.TextIOBase | None) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=getattr(old, "encoding", None) or "utf-8",
        errors="backslashreplace",
        line_buffering=isinstance(raw, _Remarks) or raw.isatty(),
    )
