"""Where the `judge` command begins: Ctrl-C ends it with a word and its exit code while the rest is still imported."""

import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from judge.cli.exits import Exit
from judge.starting import imported, put_off


def run() -> NoReturn:
    """Entry of the console script."""
    load()()


def load() -> Callable[[], NoReturn]:
    """The command line itself. Until it can be interrupted (see interruptible) Ctrl-C ends the process at once."""
    # Who starts it in the background of a shell has Ctrl-C ignored, which stays so.
    if callable(signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, _leave)
    put_off()
    from judge.cli.main import run as run_commands

    imported()
    return run_commands


def interruptible() -> None:
    """From here on Ctrl-C is a KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    # No exception: modules that are half imported catch some, and the streams are not prepared yet.
    try:
        os.write(2, b"\nInterrupted.\n")
    finally:
        os._exit(Exit.INTERRUPTED)
