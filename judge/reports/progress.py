"""Progress on stderr while the judge works: one live line on a terminal, plain lines elsewhere.

stdout carries the result only, so a pipe or a file never gets a progress line.
"""

from typing import TextIO

from judge.records import CaseReport, CompileReport, Report
from judge.reports.style import Style, inert, style_for
from judge.reports.text import verdict_color
from judge.verdict import Verdict

_REWRITE = "\r\x1b[2K"


def progress_sink(stream: TextIO) -> "LiveProgress | PlainProgress":
    """The sink that suits the stream."""
    style = style_for(stream)
    return LiveProgress(stream, style) if stream.isatty() else PlainProgress(stream, style)


class PlainProgress:
    """One line for everything that ended, none per tick: for logs, pipes and files."""

    def __init__(self, stream: TextIO, style: Style) -> None:
        self._stream = stream
        self._style = style

    def compiling(self, backend: str) -> None: ...

    def compiled(self, backend: str, report: CompileReport) -> None:
        state = "compiled" if report.ok else "did not compile"
        cached = " (cached)" if report.cached else ""
        self._line(f"{backend}: {state} in {report.seconds:.2f} s{cached}")

    def case_started(self, backend: str, name: str, position: int, total: int) -> None: ...

    def case_finished(self, report: CaseReport, position: int, total: int) -> None:
        self._line(case_line(report, position, total, self._style))

    def note(self, message: str) -> None:
        self._line(inert(f"note: {message}"))

    def finished(self, report: Report) -> None: ...

    def clear(self) -> None: ...

    def _line(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()


class LiveProgress:
    """One line that is written over; only cases that were not accepted leave theirs behind."""

    def __init__(self, stream: TextIO, style: Style) -> None:
        self._stream = stream
        self._style = style

    def compiling(self, backend: str) -> None:
        self._show(f"compiling for {backend} ...")

    def compiled(self, backend: str, report: CompileReport) -> None:
        self._show(f"compiled for {backend} in {report.seconds:.2f} s")

    def case_started(self, backend: str, name: str, position: int, total: int) -> None:
        self._show(f"[{position:>{len(str(total))}}/{total}] {backend:<4}  running  {inert(name)}")

    def case_finished(self, report: CaseReport, position: int, total: int) -> None:
        kept = report.verdict is not Verdict.ACCEPTED
        self._show(case_line(report, position, total, self._style), end="\n" if kept else "", cut=False)

    def note(self, message: str) -> None:
        self._show(inert(f"note: {message}"), end="\n", cut=False)

    def finished(self, report: Report) -> None:
        self.clear()

    def clear(self) -> None:
        """Take the live line away: what follows is the result."""
        self._show("")

    def _show(self, text: str, *, end: str = "", cut: bool = True) -> None:
        # A line wider than the terminal would wrap, and then a rewrite leaves its first half behind.
        self._stream.write(_REWRITE + (text[: self._style.width - 1] if cut else text) + end)
        self._stream.flush()


def case_line(report: CaseReport, position: int, total: int, style: Style) -> str:
    verdict = style.paint(f"{report.verdict.label.lower():<18}", verdict_color(report.verdict))
    place = f"[{position:>{len(str(total))}}/{total}]"
    return f"{place} {report.backend:<4}  {verdict}  {report.seconds:6.2f} s  {inert(report.name)}"
