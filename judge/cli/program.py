"""What this program is called on the user's command line, so that every command shown can be pasted."""

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

# Not behind a path: what was already put the user's way stays as it is.
_COMMAND = re.compile(
    r"(?<![\w./-])judge (?=(?:bench|compare|doctor|hint|profile|roofline|sanitize|serve|show|solution|start|stats|test|"
    r"token|verify|worker|workers)\b)"
)


def program_name() -> str:
    """`judge` where the shell finds it; else its path, or `python practice/judge.py`, as seen from here."""
    script = Path(sys.argv[0])
    if script.name != "judge.py":
        found = shutil.which("judge")
        if not script.is_file() or (found is not None and Path(found).samefile(script)):
            return "judge"
        return shlex.quote(os.path.relpath(script))
    # The checkout's script is told by the path that works from here.
    return f"python {shlex.quote(os.path.relpath(script))}"


def as_typed(text: str, problem: str = "PROBLEM") -> str:
    """A text of the core with `judge COMMAND` put the way this user calls it, and PROBLEM filled in."""
    name = program_name()
    return _COMMAND.sub(lambda _: f"{name} ", text.replace("PROBLEM", problem))
