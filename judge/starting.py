"""`python -m judge.starting MODULE ...` is `python -m MODULE ...` that starts in less processor time.

What is imported stays. To look through it for garbage while it grows takes a tenth of the start of a process, of which
a judge has many: so nothing is looked through until the module says that it is through with its imports.
"""

import gc
import runpy
import sys


def command(module: str) -> list[str]:
    """What starts a module of the judge as a process of its own; its arguments follow."""
    return [sys.executable, "-P", "-m", "judge.starting", module]


def put_off() -> None:
    """Collect no garbage until all is imported."""
    gc.disable()


def imported() -> None:
    """All is imported: collect garbage from here on, but never look for it among that."""
    gc.freeze()
    gc.enable()


if __name__ == "__main__":
    put_off()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
