"""Where in a submission a launch that was refused at run time is written.

The worker knows the line and says in words what is wrong; which part of the line that is, and so the column,
is known here, where the line was read.
"""

import re

from judge.submission.model import LaunchLine, Submission

_PLACED = re.compile(r"line (\d+): (.*)", re.DOTALL)


def refused_at(message: str, submission: Submission) -> tuple[int, int] | None:
    """1-based line and column of what a launch or workspace message ("line 3: grid.x = 0: ...") is about.

    None where it names no line of the submission, as with a default launch.
    """
    placed = _PLACED.match(message)
    if placed is None:
        return None
    line, words = int(placed[1]), placed[2]
    for workspace in submission.workspaces:
        if workspace.line == line and words.startswith("workspace "):
            return line, workspace.count.column
    for launch in submission.launches:
        if launch.line == line:
            return line, _column(launch, words)
    return None


def _column(launch: LaunchLine, words: str) -> int:
    if words.startswith("grid"):
        return launch.grid.column
    if words.startswith("block"):
        return launch.block.column
    if words.startswith("shared") and launch.shared is not None:
        return launch.shared.column
    if words.startswith("the arguments") and launch.arguments:
        return launch.arguments[0].column
    return launch.kernel.column
