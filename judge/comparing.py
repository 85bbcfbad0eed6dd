"""Times two submissions against each other on the bench cases of a problem.

read, compile both -> time and verify each alone -> both in turns on the same data -> interval of the ratio
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from judge.backends.base import DeviceFault, ModuleImage
from judge.benchwork import run_on_gpu, timing_request, verified
from judge.compiler import Compilation, Target, compile_unit
from judge.errors import JudgeError, MachineError, NothingToDoError, SubmissionError, UsageError
from judge.events import EventSink
from judge.examples import case_generator
from judge.gpu import gpu_present
from judge.problem import Arrays, Case, Group, Problem
from judge.records import Record
from judge.submission.model import Submission
from judge.submission.read import read_submission
from judge.submission.unit import Plan, TranslationUnit, build_unit
from judge.timing.comparison import compare
from judge.verdict import Verdict
from judge.worker.messages import CaseRequest
from judge.worker.requests import case_request, rival_spec
from judge.worker.session import Session, StartWorker
from judge.worker.supervisor import Worker

ALONE_BUDGET_S = 0.3
"""How long each is timed alone, for its outputs to be verified."""

PAIRS_BUDGET_S = 4.0


class NotComparableError(JudgeError):
    """One of the two is not right, so its time means nothing. Exit code 1."""

    exit_code = 1


class ComparedCase(Record):
    """B against A in one case. ratio: median of B's time over A's within a pair; low, high: its 95% interval."""

    case: str
    answer: Literal["faster", "slower", "no difference"]
    ratio: float
    low: float
    high: float
    pairs: int
    a_us: float
    b_us: float


class ComparisonReport(Record):
    """The whole answer of `judge compare`."""

    schema_version: Literal[1] = 1
    problem: str
    a: str
    b: str
    device: str
    cases: tuple[ComparedCase, ...]
    seconds: float


@dataclass(frozen=True)
class Contestant:
    """A submission as it was given: the bytes of its file, and what to call it."""

    data: bytes
    name: str


@dataclass(frozen=True)
class _Ready:
    name: str
    submission: Submission
    unit: TranslationUnit
    compilation: Compilation

    @property
    def image(self) -> ModuleImage:
        return ModuleImage(self.compilation.image, self.unit.source, self.compilation.lowered)


def compare_submissions(
    problem: Problem,
    a: Contestant,
    b: Contestant,
    names: Sequence[str],
    sink: EventSink,
    *,
    seed: int = 0,
    budget_s: float = PAIRS_BUDGET_S,
    start: StartWorker = Worker,
) -> ComparisonReport:
    """Compare B with A in the named bench cases, or in all.

    Raises UsageError for a case that is no bench case, SubmissionError for one that does not compile,
    NotComparableError for one that is wrong, MachineError without a GPU.
    """
    began = time.monotonic()
    cases = bench_cases(problem, names)
    require_gpu()
    with Session("cuda", start=start) as session:
        properties = session.properties()
        both = [_ready(problem, one, cases, properties.arch, sink) for one in (a, b)]
        compared = []
        for position, case in enumerate(cases, start=1):
            sink.case_started("cuda", case.name, position, len(cases))
            compared.append(_compare(problem, case, both, session, sink, seed, budget_s))
    return ComparisonReport(
        problem=problem.id,
        a=a.name,
        b=b.name,
        device=properties.name,
        cases=tuple(compared),
        seconds=time.monotonic() - began,
    )


def require_gpu() -> None:
    """Raises MachineError without a GPU."""
    if not gpu_present():
        raise MachineError(
            "No NVIDIA GPU on this machine, and times of the CPU backend say nothing of one. `judge stats` counts "
            "without a GPU what a kernel does; `judge roofline` draws a JSON report of `judge bench` from elsewhere."
        )


def bench_cases(problem: Problem, names: Sequence[str]) -> tuple[Case, ...]:
    """The named bench cases, all without a name. Raises UsageError, and NothingToDoError where there are none."""
    known = [case for case in problem.cases if case.group is Group.BENCH]
    for name in names:
        if name not in {case.name for case in known}:
            told = ", ".join(case.name for case in known) or "none"
            raise UsageError(f"{problem.id} has no bench case {name!r}. Its bench cases: {told}.")
    chosen = tuple(case for case in known if not names or case.name in names)
    if not chosen:
        raise NothingToDoError(f"{problem.id} has no bench case.")
    return chosen


def _ready(problem: Problem, one: Contestant, cases: Sequence[Case], arch: str, sink: EventSink) -> _Ready:
    submission = read_submission(one.data, one.name, problem)
    unit = build_unit(submission, problem, tuple(dict.fromkeys(problem.constants_of(case) for case in cases)))
    sink.compiling("cuda")
    compilation = compile_unit(unit, Target("cubin", arch, "optimized"))
    if not compilation.ok:
        first = next((m for m in compilation.messages if m.severity == "error"), None)
        if first is None:
            raise SubmissionError(f"{one.name}: {compilation.log or 'the compiler gave no reason'}")
        raise SubmissionError(f"{one.name}: {first.message}", first.line, first.column)
    return _Ready(one.name, submission, unit, compilation)


def _compare(
    problem: Problem,
    case: Case,
    both: Sequence[_Ready],
    session: Session,
    sink: EventSink,
    seed: int,
    budget_s: float,
) -> ComparedCase:
    inputs = problem.generate(case, case_generator(case, seed))
    ours, theirs = both
    for one in (theirs, ours):
        _load(session, one)
        _verify(problem, case, one, inputs, session, sink)
    request = _request(problem, case, ours, inputs, session, budget_s)
    plan = _plan_of(problem, case, theirs)
    rival = rival_spec(theirs.submission, plan, theirs.compilation.lowered, theirs.compilation.image)
    result = run_on_gpu(session, replace(request, rival=rival), sink)
    if result.verdict is not None or not result.pairs:
        raise NotComparableError(
            f"Case {case.name} did not run to its end with both: {result.message or 'nothing came back'}."
        )
    found = compare(result.pairs)
    return ComparedCase(case=case.name, **vars(found))


def _load(session: Session, one: _Ready) -> None:
    try:
        session.load(one.image)
    except DeviceFault as fault:
        raise NotComparableError(f"{one.name} cannot be loaded: {str(fault).rstrip('.')}.") from fault


def _verify(problem: Problem, case: Case, one: _Ready, inputs: Arrays, session: Session, sink: EventSink) -> None:
    request = _request(problem, case, one, inputs, session, ALONE_BUDGET_S)
    result = run_on_gpu(session, request, sink)
    assert request.timing is not None
    checked = verified(problem, case, inputs, result, request.timing.key)
    verdict, message = result.verdict, result.message
    if verdict is None and checked is not None:
        verdict, message = checked[0].verdict, checked[0].message
    if verdict is None:
        raise NothingToDoError(f"{problem.id} does not say how timed outputs are verified, so nothing is compared.")
    if verdict is not Verdict.ACCEPTED:
        raise NotComparableError(
            f"{one.name} is not right in case {case.name} ({verdict.label.lower()}), so its time means nothing: "
            f"{message}"
        )


def _request(
    problem: Problem, case: Case, one: _Ready, inputs: Arrays, session: Session, budget_s: float
) -> CaseRequest:
    timing = timing_request(problem, case, session.properties().arch, budget_s)
    plan = _plan_of(problem, case, one)
    return case_request(problem, case, one.submission, plan, one.compilation.lowered, inputs, timing=timing)


def _plan_of(problem: Problem, case: Case, one: _Ready) -> Plan:
    constants = problem.constants_of(case)
    return next(plan for plan in one.unit.plans if plan.constants == constants)
