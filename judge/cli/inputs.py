"""Reading the file a user names, and finding out which problem it is for."""

import os
import re
import stat
import sys
from pathlib import Path

from judge.catalogue import ENVIRONMENT_VARIABLE, find_problems, problems_folder, unknown_problem_message
from judge.cli.program import program_name
from judge.errors import UsageError
from judge.reports.style import one_line
from judge.spelling import nearest

NAME_LIKENESS = 0.7
"""Of names of files: any two words of six letters that share an ending are alike at less."""

READ_LIMIT_BYTES = 64 << 20
"""Larger files are not even read; the submission's own, much smaller limit is checked by its reader."""

HEADER_LINES = 50
_HEADER = re.compile(r"^\s*(?://|/?\*+)\s*problem:\s*(\S+)", re.IGNORECASE)


def shown_name(name: str) -> str:
    """The name of a file as reports and messages show it: one line of valid Unicode that no terminal obeys.

    Bytes that are not UTF-8, which Python keeps as lone surrogates, become escapes such as \\xff.
    """
    return one_line(os.fsencode(name).decode("utf-8", errors="backslashreplace"))


def read_file(name: str) -> bytes:
    """The bytes of a submission; "-" is stdin.

    Raises UsageError when there is nothing that can be read.
    """
    if name == "-":
        return _read_standard_input()
    if not name:
        raise UsageError("The name of the file is empty. Give a .cu file, or - for standard input.")
    path = Path(name)
    shown = shown_name(name)
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise UsageError(f"{shown} is a folder. Give the .cu file in it{_files_in(path)}.")
        if not stat.S_ISREG(status.st_mode):
            raise UsageError(f"{shown} is no regular file. Give a .cu file, or - for standard input.")
        if status.st_size > READ_LIMIT_BYTES:
            raise UsageError(f"{shown} has {status.st_size >> 20} MiB, far more than any kernel. Give a .cu file.")
        return path.read_bytes()
    except FileNotFoundError:
        raise UsageError(_missing(name, path)) from None
    except PermissionError:
        raise UsageError(f"{shown} cannot be read: permission denied.") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{shown[:200]} cannot be read: {reason}.") from None


def known_problems() -> list[str]:
    """Ids of all problems, in the order to solve them; at least one.

    Raises UsageError where the folder of problems holds none.
    """
    known = find_problems()
    if not known:
        advice = f"Correct or unset ${ENVIRONMENT_VARIABLE}" if os.environ.get(ENVIRONMENT_VARIABLE) else "Restore them"
        raise UsageError(f"There are no problems in {shown_name(str(problems_folder()))}. {advice}.")
    return known


def find_problem_of(name: str, data: bytes, flag: str | None) -> str:
    """Problem id of a submission: the flag, else a `// problem: ID` header line, else file or folder name.

    Raises UsageError when an id is unknown or nothing tells.
    """
    known = known_problems()
    if flag is not None:
        if flag not in known:
            raise UsageError(unknown_problem_message(flag, known))
        return flag
    header = _from_header(data)
    if header is not None:
        line, problem_id = header
        if problem_id not in known:
            raise UsageError(f"{shown_name(name)}:{line}: {unknown_problem_message(problem_id, known)}")
        return problem_id
    if name != "-":
        path = Path(name).resolve()
        for part in (path.stem, *(parent.name for parent in path.parents)):
            candidate = part.lower().replace("_", "-")
            if candidate in known:
                return candidate
    raise UsageError(
        f"Which problem is {shown_name(name)} for? Add --problem ID, or put a line `// problem: ID` among its first "
        f"{HEADER_LINES}. Known problems: {', '.join(known)}."
    )


def other_problem_of(data: bytes, problem_id: str) -> tuple[int, str] | None:
    """Line and id of a header line that names another problem than the chosen one."""
    header = _from_header(data)
    return header if header is not None and header[1] != problem_id else None


def _from_header(data: bytes) -> tuple[int, str] | None:
    text = data[: 200 * HEADER_LINES].decode("utf-8", errors="replace")
    for number, line in enumerate(text.splitlines()[:HEADER_LINES], start=1):
        found = _HEADER.match(line)
        if found:
            return number, found.group(1)
    return None


def _read_standard_input() -> bytes:
    # None where the shell closed it.
    if sys.stdin is None:
        raise UsageError("Standard input is closed, so there is nothing to read. Give a .cu file, or pipe one in.")
    try:
        return sys.stdin.buffer.read(READ_LIMIT_BYTES)
    except OSError as error:
        raise UsageError(f"Standard input cannot be read: {error.strerror}.") from None


def _files_in(folder: Path) -> str:
    try:
        names = sorted(shown_name(p.name) for p in folder.glob("*.cu"))
    except OSError:
        return ""
    return f": {', '.join(names[:5])}" if names else ""


def _missing(name: str, path: Path) -> str:
    if name in find_problems():
        program = program_name()
        return f"There is no file {name}. Begin with `{program} start {name}`, then `{program} test {name}.cu`."
    try:
        around = [p.name for p in path.parent.glob("*.cu")]
    except OSError:
        around = []
    # All end in .cu: what is alike there says nothing.
    close = nearest(path.stem, [Path(one).stem for one in around], NAME_LIKENESS)
    shown = shown_name(name)
    shown = shown if len(shown) <= 200 else shown[:197] + "..."
    if path.is_symlink():
        return f"{shown} is a dangling link: {shown_name(os.readlink(path))}, where it leads, is not there."
    advice = f" Did you mean {shown_name(str(path.parent / f'{close}.cu'))}?" if close else ""
    return f"There is no file {shown}.{advice}"
