"""From the bytes of a submission to what it says: encoding, directives, host code set aside.

Everything refused here is refused with the place and the way out; nothing is compiled yet.
"""

import hashlib

from judge.errors import SubmissionError
from judge.problem import Problem
from judge.submission.comments import Comment
from judge.submission.hostcode import HostCode, separate
from judge.submission.launchline import (
    MAX_LAUNCHES,
    MAX_WORKSPACES,
    body_of,
    directive_of,
    read_launch,
    read_workspace,
)
from judge.submission.model import LaunchLine, Submission, WorkspaceLine

MAX_BYTES = 256 * 1024
_BOM = b"\xef\xbb\xbf"


def read_submission(data: bytes, name: str, problem: Problem) -> Submission:
    """Read a submission.

    data: the file's bytes as they are. name: how messages call the file.
    Raises SubmissionError with line and column where there is one.
    """
    source = decode(data, problem.id)
    host = separate(source)
    launches, workspaces = _directives(host.comments, problem)
    default_launch = not launches
    notes = list(host.notes)
    if default_launch:
        launches = [read_launch(problem.default_launch, None, 1)]
        notes.append(f"no @launch line: the problem's default launch counts, {problem.default_launch}")
        notes.extend(_looks_like_launch(host))
    return Submission(
        name=name,
        source=source,
        device_source=host.device_source,
        launches=tuple(launches),
        workspaces=tuple(workspaces),
        default_launch=default_launch,
        set_aside=host.set_aside,
        notes=tuple(notes),
        sha256=hashlib.sha256(data).hexdigest(),
        definitions=host.kernels,
        host_names=host.host_names,
    )


def decode(data: bytes, problem_id: str) -> str:
    """The text of a submission, without a byte-order mark. problem_id: what it was handed in for.

    Raises SubmissionError for one that is empty, too large, not UTF-8 or has a NUL byte.
    """
    if len(data) > MAX_BYTES:
        raise SubmissionError(
            f"the file has {len(data)} bytes, at most {MAX_BYTES} (256 KiB) are judged. Submit only the kernel's source"
        )
    body = data.removeprefix(_BOM)
    offset = len(data) - len(body)
    if not body.strip():
        raise SubmissionError(f"the file is empty. Begin with the problem's starter: judge start {problem_id}")
    nul = body.find(b"\0")
    if nul >= 0:
        if data.startswith((b"\xff\xfe", b"\xfe\xff")) or body.count(b"\0") > len(body) // 4:
            raise SubmissionError(
                f"NUL byte at byte {offset + nul}: this looks like UTF-16 or a binary file. Save it as UTF-8"
            )
        line, column = _place(body, nul)
        raise SubmissionError(
            f"NUL byte at byte {offset + nul}: compilers stop reading there. Delete the character", line, column
        )
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        line, column = _place(body, error.start)
        raise SubmissionError(
            f"byte 0x{body[error.start]:02x} at byte {offset + error.start} is not UTF-8. Save the file as UTF-8",
            line,
            column,
        ) from error


def _place(body: bytes, at: int) -> tuple[int, int]:
    before = body[:at]
    line_start = before.rfind(b"\n") + 1
    return before.count(b"\n") + 1, len(before[line_start:].decode("utf-8", "replace")) + 1


def _directives(comments: tuple[Comment, ...], problem: Problem) -> tuple[list[LaunchLine], list[WorkspaceLine]]:
    launches: list[LaunchLine] = []
    workspaces: list[WorkspaceLine] = []
    for comment in comments:
        kind = directive_of(comment.text, comment.line, comment.column)
        if kind is None:
            continue
        text, column = body_of(comment.text, comment.column)
        if kind == "launch":
            if len(launches) == MAX_LAUNCHES:
                raise SubmissionError(
                    f"more than {MAX_LAUNCHES} launches. Do more work in each kernel", comment.line, comment.column
                )
            launches.append(read_launch(text, comment.line, column))
            continue
        if len(workspaces) == MAX_WORKSPACES:
            raise SubmissionError(
                f"more than {MAX_WORKSPACES} workspaces. Use parts of one workspace by offset",
                comment.line,
                comment.column,
            )
        earlier = tuple(workspace.name for workspace in workspaces)
        workspaces.append(read_workspace(text, comment.line, column, problem, earlier))
    return launches, workspaces


def _looks_like_launch(host: HostCode) -> list[str]:
    """A comment that is a launch line but for its `@`."""
    return [
        f"line {comment.line} looks like a launch line; it counts only with an @: // @launch ..."
        for comment in host.comments
        if comment.text.lstrip("/ \t").startswith("launch") and "<<<" in comment.text
    ]
