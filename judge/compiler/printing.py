"""Prints messages as a compiler would: place, text, the submitted line and a caret; capped and inert."""

from collections.abc import Sequence

from judge.records import CompileMessage
from judge.worker.logs import inert

LOG_CAP_BYTES = 64 * 1024
MESSAGE_CAP = 1000
EXCERPT_WIDTH = 160
CUT_NOTICE = "[log cut at 64 KiB]\n"
MORE_NOTICE = "[further messages are not shown]\n"


def printed_log(
    messages: Sequence[CompileMessage],
    context: Sequence[tuple[str, ...]],
    name: str,
    source: str,
    *,
    more: bool,
) -> str:
    """The log of a compilation.

    context: the lines below each message. name, source: of the submission. more: messages were dropped.
    """
    name = inert(name)
    lines = source.split("\n")
    parts: list[str] = []
    size = 0
    for message, below in zip(messages, context, strict=True):
        place = name if message.line is None else f"{name}:{message.line}"
        place += f":{message.column}" if message.column is not None else ""
        block = f"{place}: {message.severity}: {message.message}\n"
        if message.line is not None and 0 < message.line <= len(lines):
            block += _excerpt(lines[message.line - 1].rstrip("\r"), message.column)
        block += "".join(f"    {inert(one)[:MESSAGE_CAP]}\n" for one in below)
        size += len(block.encode())
        if size > LOG_CAP_BYTES - len(CUT_NOTICE) - len(MORE_NOTICE):
            return "".join([*parts, CUT_NOTICE])
        parts.append(block)
    return "".join([*parts, MORE_NOTICE] if more else parts)


def _excerpt(line: str, column: int | None) -> str:
    """The line with a caret under the column, cut to a readable width around it."""
    line = line.replace("\t", " ")
    start = 0
    if column is not None and column > EXCERPT_WIDTH:
        start = column - EXCERPT_WIDTH // 2
    shown = "".join(c if c.isprintable() else "?" for c in line[start : start + EXCERPT_WIDTH])
    caret = "" if column is None or column > len(line) + 1 else f"    {' ' * (column - 1 - start)}^\n"
    return f"    {shown}\n{caret}"
