"""Takes NVRTC's log apart: one Diagnostic for each error, warning and note, as the compiler meant it.

    FILE(LINE): SEVERITY [#NUMBER-D]: MESSAGE
                continuation of the message
      source line
          ^
              detected during instantiation of ...

What of it concerns a submitter, and in which words, is log.py's matter.
"""

import re
from dataclasses import dataclass, field, replace

_HEAD = re.compile(
    r"^(?P<file>[^\n(]*)\((?P<line>\d{1,10})\): (?P<severity>catastrophic error|error|warning|note|remark)"
    r"(?: #(?P<number>\d{1,6})-D)?: (?P<message>.*)$"
)
_END_OF_SOURCE = re.compile(r"^At end of source: (?P<severity>error|warning): (?P<message>.*)$")
_PTXAS = re.compile(r"^ptxas (?P<where>.*?)(?P<severity>error|fatal|warning)\s*: (?P<message>.*)$")
_FAILURE = re.compile(r"^(?:nvrtc|LLVM|nvvm|libnvvm)\b.*?(?:error|ERROR)\s*:?\s*(?P<message>.*)$")
_CARET = re.compile(r"^\s*\^\s*$")
_CHATTER = re.compile(
    r"^(?:\d+ (?:catastrophic )?errors? detected in|Compilation (?:terminated|aborted)|Remark: The warnings can be|"
    r"opt: Unknown command line argument|ptxas info|ptxas\s+\.\s|\d+ errors? and \d+ warnings? detected)"
)
_CARET_PREFIX = 2


@dataclass(frozen=True)
class Diagnostic:
    """column: 1-based, in characters of the printed source line. context: "detected during ..." lines."""

    file: str
    line: int | None
    column: int | None
    severity: str
    message: str
    number: int | None = None
    context: tuple[str, ...] = ()


@dataclass
class _Open:
    """A diagnostic whose lines are still coming."""

    head: Diagnostic
    lines: list[str] = field(default_factory=list)

    def close(self) -> Diagnostic:
        caret = next((i for i, line in enumerate(self.lines) if _CARET.match(line)), None)
        if caret is None or caret == 0:
            return replace(self.head, message=_joined(self.head.message, self.lines))
        printed = self.lines[caret - 1][_CARET_PREFIX:]
        column = _column(printed, self.lines[caret].index("^") - _CARET_PREFIX)
        message = _joined(self.head.message, self.lines[: caret - 1])
        context = tuple(line.strip() for line in self.lines[caret + 1 :] if line.strip())
        return replace(self.head, column=column, message=message, context=context)


def _joined(message: str, more: list[str]) -> str:
    return " ".join([message, *(line.strip() for line in more if line.strip())])


def _column(printed: str, byte_column: int) -> int:
    """NVRTC's carets count bytes."""
    return len(printed.encode()[: max(byte_column, 0)].decode("utf-8", "ignore")) + 1


def parse_log(log: str) -> list[Diagnostic]:
    """Every diagnostic of a log, in order; lines that belong to none are dropped."""
    found: list[Diagnostic] = []
    current: _Open | None = None
    for line in log.split("\n"):
        if _CHATTER.match(line):
            head = None
        else:
            head = _head(line)
            if head is None:
                if current is not None and line.strip():
                    current.lines.append(line)
                continue
        if current is not None:
            found.append(current.close())
        current = _Open(head) if head is not None else None
    if current is not None:
        found.append(current.close())
    return found


def _head(line: str) -> Diagnostic | None:
    if match := _HEAD.match(line):
        severity = match["severity"].rpartition(" ")[2]
        number = int(match["number"]) if match["number"] else None
        return Diagnostic(match["file"], int(match["line"]), None, severity, match["message"], number)
    if match := _END_OF_SOURCE.match(line):
        return Diagnostic("", None, None, match["severity"], match["message"])
    if match := _PTXAS.match(line):
        severity = "warning" if match["severity"] == "warning" else "error"
        return Diagnostic("ptxas", None, None, severity, match["message"])
    if match := _FAILURE.match(line):
        return Diagnostic("nvrtc", None, None, "error", match["message"])
    return None
