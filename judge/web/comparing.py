"""Two submissions side by side: what changed in the source, and what that changed in the results."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from judge.api.errors import Refusal
from judge.api.models import as_report
from judge.api.present import present
from judge.api.service import Service, service_of
from judge.api.submissions import visible
from judge.records import CaseReport, Report
from judge.reports.style import inert
from judge.store import submissions
from judge.store.accounts import Caller
from judge.web.rendering import render
from judge.web.sessions import Viewer

router = APIRouter()

MAX_LINES = 4000
"""Of one source: comparing takes effort that grows with the square, and somebody waits."""
CONTEXT = 3
_ORDER = ("changed", "", "only in A", "only in B")


@dataclass(frozen=True)
class DiffLine:
    """kind: same, gone, new or gap. old, new: line numbers."""

    kind: str
    old: int | None
    new: int | None
    text: str


@dataclass(frozen=True)
class CasePair:
    name: str
    backend: str
    a: CaseReport | None
    b: CaseReport | None

    @property
    def change(self) -> str:
        """What is different about its verdict; empty where nothing is."""
        if self.a is None or self.b is None:
            return "only in B" if self.a is None else "only in A"
        return "changed" if self.a.verdict is not self.b.verdict else ""


@router.get("/compare")
def compare(
    request: Request,
    caller: Viewer,
    a: Annotated[str, Query(max_length=64)] = "",
    b: Annotated[str, Query(max_length=64)] = "",
) -> Response:
    """The page for two submissions, named by their ids."""
    if not a or not b:
        return render(request, "compare_which.html", status=422)
    service = service_of(request)
    left, right = _loaded(service, caller, a), _loaded(service, caller, b)
    return render(
        request,
        "compare.html",
        a=left[0],
        b=right[0],
        lines=diff_lines(left[1], right[1]),
        pairs=pair_cases(left[2], right[2]),
    )


def _loaded(service: Service, caller: Caller, submission_id: str) -> tuple[object, str, Report | None]:
    """Answer, source and report. Raises Refusal when it is not the caller's to see."""
    visible(service, caller, submission_id)
    with service.database.read() as session:
        row = submissions.find(session, submission_id)
        if row is None:
            raise Refusal("no_such_submission", "It was deleted a moment ago.")
        text = submissions.report_of(session, row[0])
        source = submissions.source_of(session, row[0]).decode("utf-8", "replace")
        return present(session, *row, brief=True), source, None if text is None else as_report(text)


def diff_lines(old: str, new: str) -> Sequence[DiffLine] | None:
    """What changed, with some lines around it; None where the sources are too long to compare while one waits."""
    before, after = old.splitlines(), new.splitlines()
    if max(len(before), len(after)) > MAX_LINES:
        return None
    shown: list[DiffLine] = []
    for group in difflib.SequenceMatcher(None, before, after, autojunk=True).get_grouped_opcodes(CONTEXT):
        if group[0][1] or group[0][3]:
            shown.append(DiffLine("gap", None, None, ""))
        for kind, a1, a2, b1, b2 in group:
            if kind == "equal":
                for i in range(a2 - a1):
                    shown.append(DiffLine("same", a1 + i + 1, b1 + i + 1, inert(before[a1 + i])))
                continue
            shown += [DiffLine("gone", i + 1, None, inert(before[i])) for i in range(a1, a2)]
            shown += [DiffLine("new", None, i + 1, inert(after[i])) for i in range(b1, b2)]
    return shown


def pair_cases(a: Report | None, b: Report | None) -> Sequence[CasePair]:
    """Cases of both by name and backend: what changed, then what is the same, then what only one of them ran."""
    of_a = {(case.name, case.backend): case for case in (a.cases if a else ())}
    of_b = {(case.name, case.backend): case for case in (b.cases if b else ())}
    pairs = [CasePair(*key, of_a.get(key), of_b.get(key)) for key in dict.fromkeys((*of_a, *of_b))]
    return sorted(pairs, key=lambda pair: _ORDER.index(pair.change))
