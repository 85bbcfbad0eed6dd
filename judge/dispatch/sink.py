"""The event sink of the service: what the core tells becomes the events of a submission."""

import threading
import time
from typing import Any

from judge.records import CaseReport, CompileReport, Report
from judge.store.queue import EventLine

MAX_TEXT = 2000


class Abandoned(BaseException):
    """The attempt is no longer wanted. No Exception: nobody below may take it for a fault of the judge."""


class StoreSink:
    """Collects events until somebody takes them; drop() makes the core stop at its next word."""

    def __init__(self) -> None:
        self._lines: list[EventLine] = []
        self._lock = threading.Lock()
        self._dropped = False

    def drop(self) -> None:
        self._dropped = True

    @property
    def dropped(self) -> bool:
        return self._dropped

    def take(self) -> list[EventLine]:
        with self._lock:
            lines, self._lines = self._lines, []
        return lines

    def put_back(self, lines: list[EventLine]) -> None:
        """Return lines that could not be stored."""
        with self._lock:
            self._lines[:0] = lines

    def compiling(self, backend: str) -> None:
        self._tell("compiling", {"backend": backend})

    def compiled(self, backend: str, report: CompileReport) -> None:
        told = {"backend": backend, "ok": report.ok, "seconds": round(report.seconds, 3), "cached": report.cached}
        self._tell("compiled", told)

    def case_started(self, backend: str, name: str, position: int, total: int) -> None:
        self._check()

    def case_finished(self, report: CaseReport, position: int, total: int) -> None:
        told = {
            "name": report.name,
            "group": report.group,
            "backend": report.backend,
            "verdict": report.verdict.value,
            "message": report.message[:MAX_TEXT],
            "seconds": round(report.seconds, 3),
            "position": position,
            "total": total,
        }
        self._tell("case", told)

    def note(self, message: str) -> None:
        self._tell("note", {"message": message[:MAX_TEXT]})

    def finished(self, report: Report) -> None:
        self._check()

    def _tell(self, kind: str, data: dict[str, Any]) -> None:
        self._check()
        with self._lock:
            self._lines.append((kind, data, time.time()))

    def _check(self) -> None:
        if self._dropped:
            raise Abandoned
