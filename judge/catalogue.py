"""Finding problems on disk and loading one.

A problem is a folder with a problem.py that defines PROBLEM. Folders are looked for in
$JUDGE_PROBLEMS, else in the checkout this package lies in, else in the package's own data. The
judge never imports problems by name: the arrow points from them to it.

    <root>/problems/<id>/problem.py     loaded by path
    <root>/problems/_shared/            what problems share; imported by them as problems._shared
    <root>/reference/                   float64 mathematics; importable once a problem is loaded
"""

import hashlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from judge.errors import MachineError, UsageError
from judge.problem import Problem
from judge.spelling import nearest

ENVIRONMENT_VARIABLE = "JUDGE_PROBLEMS"
VALID_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def problems_folder() -> Path:
    """The folder whose subfolders are the problems.

    Raises UsageError when $JUDGE_PROBLEMS names no folder, MachineError when none is found at all.
    """
    named = os.environ.get(ENVIRONMENT_VARIABLE)
    if named:
        folder = Path(named).expanduser()
        if not folder.is_dir():
            raise UsageError(f"${ENVIRONMENT_VARIABLE} names {named}, which is no folder. Correct or unset it.")
        return folder.resolve()
    package = Path(__file__).resolve().parent
    for folder in (package.parent / "problems", package / "data" / "problems"):
        if folder.is_dir():
            return folder
    raise MachineError(f"No problems found. Run from a checkout, or set ${ENVIRONMENT_VARIABLE} to a problems folder.")


def find_problems() -> list[str]:
    """Ids of all problems, in the order a learner should meet them (order.txt, then by name)."""
    folder = problems_folder()
    found = {p.parent.name for p in folder.glob("*/problem.py") if VALID_ID.fullmatch(p.parent.name)}
    order = folder / "order.txt"
    listed = order.read_text(encoding="utf-8").split() if order.is_file() else []
    return [name for name in listed if name in found] + sorted(found - set(listed))


def problem_folder(problem_id: str) -> Path:
    """Raises UsageError, with the closest name, when there is no such problem."""
    known = find_problems()
    if problem_id not in known:
        raise UsageError(unknown_problem_message(problem_id, known))
    return problems_folder() / problem_id


def unknown_problem_message(problem_id: str, known: Iterable[str]) -> str:
    names = list(known)
    close = nearest(problem_id.lower().replace("_", "-"), names, 0.5)
    shown = problem_id if len(problem_id) <= 60 else problem_id[:57] + "..."
    advice = f"Did you mean {close}?" if close else f"Known problems: {', '.join(names) or 'none'}."
    return f"No problem is called {shown!r}. {advice}"


@lru_cache(maxsize=64)
def load_problem(problem_id: str) -> Problem:
    """Import a problem by path, with its folder and version filled in.

    Raises UsageError for an unknown id, MachineError when its problem.py defines no PROBLEM of that id.
    """
    folder = problem_folder(problem_id)
    _make_importable(folder.parent.parent)
    path = folder / "problem.py"
    module_name = f"judge_problem_{problem_id.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise MachineError(f"Cannot import {path}.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    problem = getattr(module, "PROBLEM", None)
    if not isinstance(problem, Problem):
        raise MachineError(f"{path} defines no PROBLEM. It must assign a judge.problem.Problem to that name.")
    if problem.id != problem_id:
        raise MachineError(f"{path} says id={problem.id!r}, but its folder is called {problem_id!r}. Make them equal.")
    return replace(problem, folder=folder, version=problem_version(folder))


def problem_version(folder: Path) -> str:
    """12 hex digits over every Python file that decides a verdict: the problem, what problems share, the reference."""
    root = folder.parent.parent
    shared = [p for p in folder.parent.glob("_*/**/*.py") if not p.is_relative_to(folder.parent / "_template")]
    files = sorted({*folder.rglob("*.py"), *shared, *(root / "reference").rglob("*.py")})
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def _make_importable(root: Path) -> None:
    # Appended, not put in front: nothing in a problems folder may shadow an installed package.
    if str(root) not in sys.path:
        sys.path.append(str(root))
