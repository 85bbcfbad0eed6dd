"""The event sink: how the core tells what it is doing. The core itself never prints.

The command line, a stream of server-sent events and the tests are sinks.
"""

from typing import Protocol

from judge.records import CaseReport, CompileReport, Report


class EventSink(Protocol):
    def compiling(self, backend: str) -> None:
        """A compilation for a backend ("cpu" or "cuda") starts."""
        ...

    def compiled(self, backend: str, report: CompileReport) -> None: ...

    def case_started(self, backend: str, name: str, position: int, total: int) -> None:
        """position counts from 1."""
        ...

    def case_finished(self, report: CaseReport, position: int, total: int) -> None: ...

    def note(self, message: str) -> None:
        """Something the user should know that is no verdict (a default launch, a lower isolation tier)."""
        ...

    def finished(self, report: Report) -> None: ...


class NullSink:
    """Drops every event."""

    def compiling(self, backend: str) -> None: ...

    def compiled(self, backend: str, report: CompileReport) -> None: ...

    def case_started(self, backend: str, name: str, position: int, total: int) -> None: ...

    def case_finished(self, report: CaseReport, position: int, total: int) -> None: ...

    def note(self, message: str) -> None: ...

    def finished(self, report: Report) -> None: ...
