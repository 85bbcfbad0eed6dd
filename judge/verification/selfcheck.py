"""Proof that problems are in order: what `judge verify` does.

Every problem becomes a list of independent checks (its package, its cases, its tolerances, its
mutants, its starter, one for each planted submission). They run in a few processes, because
judging a submission is itself a chain of processes that mostly wait for one another.
"""

import functools
import os
import signal
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Literal

from judge.catalogue import load_problem
from judge.compiler import Target, compile_unit
from judge.errors import JudgeError, UsageError
from judge.events import NullSink
from judge.examples import case_generator
from judge.pipeline import judge_submission
from judge.problem import Array, Case, Group, Problem
from judge.records import CaseReport, Report
from judge.selection import Options
from judge.spelling import nearest
from judge.submission.read import read_submission
from judge.submission.unit import build_unit
from judge.verdict import Verdict
from judge.verification.coverage import missing_sizes
from judge.verification.declared import declaration_faults
from judge.verification.killmatrix import HEAD_ROOM, kill_matrix, measure_headroom
from judge.verification.leftovers import template_leftovers
from judge.verification.mutants import words_with_ids
from judge.verification.numbers import count_of
from judge.verification.package import CHEAT, PlantedSubmission, package_faults, planted_submissions
from judge.verification.remembering import remembering
from judge.verification.solutions import model_solutions
from judge.verification.telling import is_match
from judge.verification.workshop import Workshop

SEED = 20260
"""Verification draws the same inputs every time: a problem must not be in order only by luck."""

BRIEF_SHARE = 3
"""In brief a model solution runs one in so many hidden cases."""

GPU_BLIND = {Verdict.UNDEFINED_BEHAVIOR.value, Verdict.REQUIREMENT_UNMET.value}
"""Verdicts that need the CPU backend's detectors and counters; a GPU alone may well accept such kernels."""

AUTHOR_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    OSError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What the Python of a problem raises when its author made a mistake: a finding, not a crash of the judge."""


@dataclass(frozen=True)
class Settings:
    """backend: as in Options. full_matrix: every case that kills a mutant, not only the first. jobs: processes.

    brief: a kernel that must fail is run on the case it is expected to fail, or up to its first failure; on all
    cases only where that does not show what is expected. Of the model solutions the first runs all cases, the others
    the samples and a third of the rest. And kernels run in the verifying processes (workshop.py), each of which
    computes what is expected once (remembering.py).
    only: names of the checks to run, all where it is empty.
    """

    backend: Literal["auto", "cpu", "cuda"] = "cpu"
    full_matrix: bool = False
    jobs: int = 2
    brief: bool = False
    only: tuple[str, ...] = ()


@dataclass(frozen=True)
class Check:
    """One thing to prove. kind names the function; submission is set for those that judge one."""

    problem: str
    kind: str
    submission: PlantedSubmission | None = None

    @property
    def name(self) -> str:
        return self.submission.name if self.submission else self.kind


@dataclass(frozen=True)
class Finding:
    """The outcome of one check. details: further lines, such as the rows of the kill matrix."""

    problem: str
    check: str
    ok: bool
    text: str
    details: tuple[str, ...] = ()
    seconds: float = 0.0


def checks_of(problem_id: str) -> list[Check]:
    """Raises UsageError for an unknown problem, MachineError when it does not load."""
    problem = load_problem(problem_id)
    kinds = [Check(problem_id, kind) for kind in _CHECKS]
    return kinds + [Check(problem_id, "submission", s) for s in planted_submissions(problem.folder)]


def verify(
    problem_ids: list[str], settings: Settings, done: Callable[[Finding], None] = lambda finding: None
) -> list[Finding]:
    """Run the checks of the problems; done is called with each finding as soon as it is there.

    The findings come back in the order of the checks. A problem that does not load is one finding.
    Raises UsageError where a name in settings.only is no check of any of them.
    """
    checks = _chosen(list(_all_checks(problem_ids)), settings.only)
    if settings.jobs == 1 or len(checks) == 1:
        return list(_one_by_one(checks, settings, done))
    # The processes share the cores already.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    futures: list[Future[Finding]] = []
    with ProcessPoolExecutor(settings.jobs, get_context("spawn"), _die_quietly_on_interrupt) as pool:
        try:
            for check in checks:
                if isinstance(check, Finding):
                    future: Future[Finding] = Future()
                    future.set_result(check)
                else:
                    future = pool.submit(run_check, check, settings)
                future.add_done_callback(lambda f: None if f.cancelled() or f.exception() else done(f.result()))
                futures.append(future)
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _one_by_one(
    checks: list[Check | Finding], settings: Settings, done: Callable[[Finding], None]
) -> Iterator[Finding]:
    for check in checks:
        finding = check if isinstance(check, Finding) else run_check(check, settings)
        done(finding)
        yield finding


def _die_quietly_on_interrupt() -> None:
    # Ctrl-C reaches every process of the terminal; one of them is enough to tell the user.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _all_checks(problem_ids: list[str]) -> Iterator[Check | Finding]:
    for problem_id in problem_ids:
        try:
            yield from checks_of(problem_id)
        except (JudgeError, *AUTHOR_ERRORS) as error:
            yield Finding(problem_id, "load", ok=False, text=f"does not load: {error}")


def _chosen(checks: list[Check | Finding], only: tuple[str, ...]) -> list[Check | Finding]:
    known = [check.name for check in checks if isinstance(check, Check)]
    for name in only:
        if name not in known:
            close = nearest(name, known, 0.5)
            advice = f"Did you mean {close}?" if close else "judge verify without --check lists them."
            raise UsageError(f"There is no check {name!r}. {advice}")
    return [check for check in checks if not only or isinstance(check, Finding) or check.name in only]


def run_check(check: Check, settings: Settings) -> Finding:
    """Run one check in this process; a fault of the judge is a finding that is not ok."""
    started = time.monotonic()
    problem = _remembered(check.problem) if settings.brief else load_problem(check.problem)
    try:
        if check.submission is not None:
            ok, text, details = _check_submission(problem, check.submission, settings)
        else:
            ok, text, details = _CHECKS[check.kind](problem, settings)
    except JudgeError as error:
        ok, text, details = False, str(error), ()
    except AUTHOR_ERRORS as error:
        ok, text, details = False, f"{type(error).__name__} at {_place(error)}: {error}", ()
    return Finding(check.problem, check.name, ok, text, details, time.monotonic() - started)


_Outcome = tuple[bool, str, tuple[str, ...]]


def _check_package(problem: Problem, settings: Settings) -> _Outcome:
    faults = tuple(package_faults(problem))
    if faults:
        return False, f"{count_of(len(faults), 'fault')} in the folder", faults
    return True, "statement, starter, hints and submissions are there", ()


def _check_template(problem: Problem, settings: Settings) -> _Outcome:
    left = tuple(template_leftovers(problem))
    if left:
        return False, f"{count_of(len(left), 'thing is', 'things are')} left to write", left
    return True, "nothing is left of the template", ()


def _check_sizes(problem: Problem, settings: Settings) -> _Outcome:
    missing = tuple(missing_sizes(problem))
    if missing:
        return False, f"{count_of(len(missing), 'size is', 'sizes are')} not covered", missing
    return True, f"{count_of(len(problem.cases), 'case covers', 'cases cover')} the sizes where kernels break", ()


def _check_inputs(problem: Problem, settings: Settings) -> _Outcome:
    cases = [case for case in problem.cases if case.cpu]
    faults = tuple(fault for case in cases for fault in declaration_faults(problem, case, _inputs(problem, case)))
    if faults:
        return False, f"{count_of(len(faults), 'input is', 'inputs are')} not as the buffers declare", faults
    return True, f"{count_of(len(problem.inputs), 'input is', 'inputs are')} generated as declared", ()


def _check_tolerance(problem: Problem, settings: Settings) -> _Outcome:
    measured = [measure_headroom(problem, case, _inputs(problem, case)) for case in problem.cases if case.cpu]
    tightest = min(measured, key=lambda h: h.factor)
    share = max(h.slice_share for h in measured)
    text = f"the plain version stays {tightest.factor:.3g}x below it; tightest: {tightest.output} in {tightest.case}"
    narrow = tuple(f"{h.case}: only {h.factor:.3g}x for {h.output}" for h in measured if h.factor < HEAD_ROOM)
    unreasoned = tuple(f"{name} gives no reason" for name, t in problem.tolerances.items() if not t.reason.strip())
    return not narrow and not unreasoned, f"{text}; a slice uses at most {share:.1%}", narrow + unreasoned


def _check_mutants(problem: Problem, settings: Settings) -> _Outcome:
    cases = [case for case in problem.cases if case.cpu]
    matrix = kill_matrix(problem, cases, functools.partial(_inputs, problem), full=settings.full_matrix)
    alive = [kill.mutant for kill in matrix if not kill.cases]
    details = tuple(
        f"{kill.mutant}: {', '.join(kill.cases) if kill.cases else 'NOT CAUGHT by any case'}" for kill in matrix
    )
    caught = f"{len(matrix) - len(alive)} of {len(matrix)} caught by a named case"
    return bool(matrix) and not alive, caught, details


def _check_starter(problem: Problem, settings: Settings) -> _Outcome:
    report = _judge(problem, (problem.folder / "starter.cu").read_bytes(), "starter.cu", settings)
    fails_well = report.compile.ok and report.verdict not in {Verdict.ACCEPTED, Verdict.JUDGE_ERROR}
    return fails_well, f"compiles and gets {report.verdict.value}" if fails_well else _told(report), ()


def _check_submission(problem: Problem, submission: PlantedSubmission, settings: Settings) -> _Outcome:
    data = submission.path.read_bytes()
    report: Report | None = None
    if settings.brief and submission.folder == Verdict.ACCEPTED.value:
        cases = _turn(problem, submission)
        report = _judge(problem, data, submission.path.name, settings, cases) if cases else None
    elif settings.brief:
        expected = submission.expectation.case
        report = _judge(problem, data, submission.path.name, settings, (expected,) if expected else (), fail_fast=True)
        if any(expectation_faults(report, submission, settings.backend)):
            report = None
    if report is None:
        report = _judge(problem, data, submission.path.name, settings)
    if submission.expectation.gpu is not None and all(backend.kind == "cpu" for backend in report.backends):
        return _needs_gpu(problem, data, submission.path.name, submission.expectation.gpu, report)
    faults = tuple(expectation_faults(report, submission, settings.backend))
    summary = f"{report.verdict.value}, {count_of(len(report.cases), 'case')} in {report.seconds:.1f} s"
    return not faults, summary if not faults else f"{faults[0]} ({_told(report)})", faults[1:]


def _turn(problem: Problem, submission: PlantedSubmission) -> tuple[str, ...]:
    """The cases that a model solution runs in brief; none of them named where it runs all."""
    if model_solutions(problem.folder)[0].path == submission.path:
        return ()
    first = zlib.crc32(submission.name.encode()) % BRIEF_SHARE
    cases = [case for case in problem.cases if case.cpu]
    return tuple(case.name for n, case in enumerate(cases) if case.group is Group.SAMPLE or n % BRIEF_SHARE == first)


def _needs_gpu(problem: Problem, data: bytes, name: str, arch: str, report: Report) -> _Outcome:
    """What can be said without a GPU of a kernel that needs one: nothing but that is in its way, and it compiles."""
    refused = [error.message for error in report.compile.errors]
    if not refused or not all("not emulated: " in message for message in refused):
        return False, f"needs-gpu is said of it, but what it got without one is {_told(report)}", ()
    constants = tuple(dict.fromkeys(problem.constants_of(case) for case in problem.cases))
    unit = build_unit(read_submission(data, name, problem), problem, constants)
    compilation = compile_unit(unit, Target("cubin", arch, "fast"))
    if not compilation.ok:
        return False, f"needs a GPU, and does not compile for {arch}", (compilation.log.strip(),)
    return True, f"needs a GPU ({refused[0].partition(',')[0]}): compiles for {arch}, not judged", ()


_CHECKS: dict[str, Callable[[Problem, Settings], _Outcome]] = {
    "package": _check_package,
    "template": _check_template,
    "sizes": _check_sizes,
    "inputs": _check_inputs,
    "tolerance": _check_tolerance,
    "mutants": _check_mutants,
    "starter": _check_starter,
}


def expectation_faults(report: Report, submission: PlantedSubmission, backend: str) -> Iterator[str]:
    """How a report differs from what a submission's folder and header lines say."""
    expected = submission.folder
    if expected == CHEAT:
        if report.verdict in {Verdict.ACCEPTED, Verdict.JUDGE_ERROR}:
            yield f"a cheat got {report.verdict.value}"
        return
    if backend == "cuda" and expected in GPU_BLIND:
        if report.verdict is Verdict.JUDGE_ERROR:
            yield "expected anything but judge_error"
        return
    if report.verdict.value != expected:
        yield f"expected {expected}"
    expectation = submission.expectation
    cases = [case for case in report.cases if expectation.case in {None, case.name}]
    # A case that was not run, because earlier ones ended their workers, denies nothing.
    told = {expected, Verdict.NOT_RUN.value}
    if expectation.case is not None and not any(case.verdict.value in told for case in cases):
        yield f"case {expectation.case} was expected to get {expected}"
    if backend == "cuda":
        return
    if expectation.diagnosis is not None and expectation.diagnosis not in _kinds(cases):
        yield f"expected the diagnosis {expectation.diagnosis}, got {', '.join(sorted(_kinds(cases))) or 'none'}"
    if expectation.mutant is not None and not any(_names_mutant(case, expectation.mutant) for case in report.cases):
        yield f"expected a match with the mutant {expectation.mutant}"
    if expectation.line is not None and expectation.line not in _lines(report, cases):
        yield f"expected line {expectation.line}, got {sorted(_lines(report, cases)) or 'none'}"


def _kinds(cases: list[CaseReport]) -> set[str]:
    return {diagnosis.kind.value for case in cases for diagnosis in case.diagnoses}


def _names_mutant(case: CaseReport, mutant: str) -> bool:
    """True when the mutant is named first or among those that give the same values in this case."""
    return any(mutant in words_with_ids(diagnosis) for diagnosis in case.diagnoses if is_match(diagnosis))


def _lines(report: Report, cases: list[CaseReport]) -> set[int]:
    told = {d.line for case in cases for d in case.diagnoses} | {m.line for m in report.compile.errors}
    return {line for line in told if line is not None}


def _judge(
    problem: Problem,
    data: bytes,
    name: str,
    settings: Settings,
    cases: tuple[str, ...] = (),
    *,
    fail_fast: bool = False,
) -> Report:
    options = Options(backend=settings.backend, seed=SEED, group="all", cases=cases, fail_fast=fail_fast)
    if not settings.brief:
        return judge_submission(problem, data, name, options, NullSink())
    shop = _workshop()
    return judge_submission(problem, data, name, options, NullSink(), shop.start, shop.compile)


@functools.cache
def _workshop() -> Workshop:
    """That of this process, which takes it along when it ends."""
    shop = Workshop()
    Finalize(None, shop.close, exitpriority=1)
    return shop


@functools.lru_cache(maxsize=1)
def _remembered(problem_id: str) -> Problem:
    """With what this process computed of it; one, because checks come problem by problem."""
    return remembering(load_problem(problem_id), functools.partial(case_generator, seed=SEED))


def _inputs(problem: Problem, case: Case) -> dict[str, Array]:
    return problem.generate(case, case_generator(case, SEED))


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown place"


def _told(report: Report) -> str:
    return f"{report.verdict.value}: {report.message}" if report.message else report.verdict.value
