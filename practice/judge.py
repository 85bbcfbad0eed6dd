"""The judge's front door in a checkout: `python practice/judge.py ...` from any folder.

It only finds the environment that `make setup` made and continues there as the `judge` command.
Standard library only, since it runs before anything is installed.
"""

import os
import signal


def _leave(*_: object) -> None:
    try:
        os.write(2, b"\nInterrupted.\n")
    finally:
        os._exit(130)


# Before the other imports, which take long enough to be interrupted; where it is ignored it stays so.
if callable(signal.getsignal(signal.SIGINT)):
    signal.signal(signal.SIGINT, _leave)

import contextlib  # noqa: E402
import importlib.util  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
PYTHON = ENVIRONMENT / "bin" / "python"
HANDED_OVER = "JUDGE_HANDED_OVER"
NEEDED = ("numpy", "pydantic", "typer", "llvmlite", "cupy", "tree_sitter_cuda")


def main() -> None:
    handed_over = os.environ.pop(HANDED_OVER, None) is not None
    if handed_over:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if Path(sys.prefix).resolve() != ENVIRONMENT.resolve():
        # A broken environment could send us here again for ever, so the second time we stay.
        if PYTHON.exists() and not handed_over:
            os.environ[HANDED_OVER] = "1"
            # Kept for the next interpreter until it can answer.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            os.execv(PYTHON, [str(PYTHON), str(Path(__file__).resolve()), *sys.argv[1:]])
        if not all(importlib.util.find_spec(name) for name in NEEDED):
            sys.exit(_explain())
    # The script's own folder is on the path and holds this judge.py, which would shadow the package.
    own_folder = Path(__file__).resolve().parent
    sys.path[:] = [str(ROOT), *(entry for entry in sys.path if Path(entry).resolve() != own_folder)]
    try:
        from judge.cli.entry import load

        run = load()
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("judge"):
            raise
        sys.exit(_explain())
    run()


def _explain() -> int:
    told = f"The judge is not set up yet. This one command does it:\n\n    make -C {ROOT} setup\n\n"
    # Straight to the descriptor: what stays in a buffer that cannot be written changes the exit code.
    with contextlib.suppress(OSError):
        os.write(2, os.fsencode(told))
    return 3


if __name__ == "__main__":
    main()
