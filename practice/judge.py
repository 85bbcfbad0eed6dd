"""The judge's front door in a checkout: `python practice/judge.py ...` from any folder.

It only finds the environment that `make setup` made and continues there as the `judge` command.
Standard library only, since it runs before anything is installed.
"""

import contextlib
import importlib.util
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
PYTHON = ENVIRONMENT / "bin" / "python"
HANDED_OVER = "JUDGE_HANDED_OVER"
NEEDED = ("numpy", "pydantic", "typer", "llvmlite", "cupy", "tree_sitter_cuda")


def main() -> None:
    if Path(sys.prefix).resolve() != ENVIRONMENT.resolve():
        # A broken environment could send us here again for ever, so the second time we stay.
        if PYTHON.exists() and os.environ.pop(HANDED_OVER, None) is None:
            os.environ[HANDED_OVER] = "1"
            os.execv(PYTHON, [str(PYTHON), str(Path(__file__).resolve()), *sys.argv[1:]])
        if not all(importlib.util.find_spec(name) for name in NEEDED):
            sys.exit(_explain())
    os.environ.pop(HANDED_OVER, None)
    # The script's own folder is on the path and holds this judge.py, which would shadow the package.
    own_folder = Path(__file__).resolve().parent
    sys.path[:] = [str(ROOT), *(entry for entry in sys.path if Path(entry).resolve() != own_folder)]
    try:
        from judge.cli.main import run
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
