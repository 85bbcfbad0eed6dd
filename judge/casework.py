"""Runs the cases of a submission in a session and turns what comes back into case reports.

The worker's answer is bytes and claims; the comparison, the requirements and the verdict of every
case are decided here, on the trusted side.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge.ahead import Ahead
from judge.backends.base import DeviceFault, ModuleImage
from judge.benchwork import run_on_gpu, timing_request, verified, worth
from judge.compiler import CPU_ARCH, Target, compile_unit
from judge.events import EventSink
from judge.examples import Examples
from judge.explaining import Explaining, WrongCase
from judge.problem import Array, Case, Group, Problem
from judge.records import CaseReport, Counters, Diagnosis, ErrorSummary, LaunchReport
from judge.schedules import order_dependence, schedule_of
from judge.submission.model import Submission
from judge.submission.places import refused_at
from judge.submission.unit import Plan, TranslationUnit
from judge.summary import met_unknown_instructions
from judge.verdict import Verdict
from judge.verification.compare import CaseJudgement, judge_case
from judge.verification.requirements import (
    Baseline,
    needs_patterns,
    told_amplification,
    unmet_patterns,
    unmet_requirements,
)
from judge.worker.execution import PLANNING_LIMIT_S
from judge.worker.messages import CaseResult
from judge.worker.requests import case_request
from judge.worker.session import Session

NO_COUNTERS = "this machine only interprets kernels"

COUNTING_LIMIT_S = 60.0
"""What the pass that counts access patterns may take for a case."""

KILLED_CASES = 2
"""After so many cases that had to be killed the rest is not run: an endless loop would cost every case's limit."""


@dataclass(frozen=True)
class _Judged:
    """The verdict of a case with what led to it. wrong: where its values are, and nothing else."""

    verdict: Verdict
    message: str
    error: ErrorSummary | None
    diagnoses: tuple[Diagnosis, ...]
    wrong: WrongCase | None = None


class Casework:
    """One submission's cases.

    schedule: order of blocks and warps on the CPU for every case; None lets the seed choose.
    incident: of the last case that failed through our own fault.
    """

    def __init__(
        self,
        problem: Problem,
        submission: Submission,
        unit: TranslationUnit,
        examples: Examples,
        sink: EventSink,
        name: str,
        seed: int,
        schedule: int | None = None,
    ) -> None:
        self._problem = problem
        self._submission = submission
        self.unit = unit
        self.examples = examples
        self._sink = sink
        self._name = name
        self._seed = seed
        self._schedule = schedule
        self.incident: str | None = None
        self._explaining = Explaining(problem)
        self._counters: dict[str, Counters | None] = {}
        self._killed: list[str] = []
        self._key = ""

    def run(
        self,
        session: Session,
        lowered: Mapping[str, str],
        cases: Sequence[Case],
        *,
        fail_fast: bool = False,
        kept: bool = False,
        quiet: bool = False,
    ) -> list[CaseReport]:
        """Run cases in order; all of them, unless fail_fast or two of them ran into their limit or killed the worker.

        lowered: symbol of each name expression in the loaded module. kept: another run of the same
        cases follows. quiet: tell the sink only of failures in which that other run does not decide.
        """
        reports: list[CaseReport] = []
        self._explaining.begin()
        self._killed = []
        # A GPU is timed, which wants quiet cores; and nothing is begun that a failure would make pointless.
        may_overlap = session.kind == "cpu" and not fail_fast
        with Ahead(session.cancel) as ahead:
            for position, case in enumerate(cases, start=1):
                self._sink.case_started(session.kind, case.name, position, len(cases))
                for coming in cases[position - 1 : position + 1]:  # this one and the next
                    # Timed cases need quiet cores: the worker queues its launches from one of them.
                    if not self._timed(session, coming):
                        self.examples.prepare(coming)
                following = cases[position] if may_overlap and position < len(cases) else None
                report = self._run_case(session, lowered, case, ahead, following)
                self.examples.release(case, needed_again=kept)
                reports.append(report)
                failed = report.verdict is not Verdict.ACCEPTED
                if not quiet or (failed and not met_unknown_instructions([report])):
                    self._sink.case_finished(report, position, len(cases))
                if failed and fail_fast:
                    break
                if len(self._killed) == KILLED_CASES and position < len(cases):
                    told = not quiet or not met_unknown_instructions(reports)
                    reports += self._not_run(session, cases[position:], told=told)
                    break
        return self._explaining.finish(reports)

    def _not_run(self, session: Session, cases: Sequence[Case], *, told: bool) -> list[CaseReport]:
        killed = " and ".join(self._killed)
        if told:
            self._sink.note(f"{len(cases)} more cases are not run: {killed}. --case NAME runs one alone")
        reason = f"not run, because {killed}"
        return [
            CaseReport(
                name=case.name,
                group=case.group.value,
                verdict=Verdict.NOT_RUN,
                message=reason,
                backend=session.kind,
                parameters=dict(case.parameters),
                replay=self._replay(case, session.kind, self._schedule_of(session, case)),
            )
            for case in cases
        ]

    def _wants_patterns(self, report: CaseReport) -> bool:
        return report.verdict is Verdict.ACCEPTED and needs_patterns(self._problem, self._problem.case(report.name))

    def check_patterns(
        self,
        session: Session,
        reports: Sequence[CaseReport],
        *,
        kept: bool = False,
    ) -> list[CaseReport]:
        """The reports, those of accepted cases held against requirements on access patterns.

        Counted is optimized code, which has the accesses that a GPU makes. That takes longer than judging: a case
        gets COUNTING_LIMIT_S at least, and one that does not end in it stays as it is.
        """
        checked = list(reports)
        if not any(self._wants_patterns(report) for report in reports):
            return checked
        compilation = compile_unit(self.unit, Target(kind="ptx", arch=CPU_ARCH, mode="fast"))
        try:
            if not compilation.ok:
                raise DeviceFault(Verdict.COMPILE_ERROR, "the optimizer did not get through with it")
            session.load(ModuleImage(compilation.image, self.unit.source, compilation.lowered))
        except DeviceFault as fault:
            self._sink.note(f"The access patterns were not counted: {fault}")
            return checked
        for place, report in enumerate(reports):
            if not self._wants_patterns(report):
                continue
            case = self._problem.case(report.name)
            inputs = self.examples.inputs(case)
            plan = self._plan(case)
            request = case_request(
                self._problem, case, self._submission, plan, compilation.lowered, inputs, patterns=True
            )
            result = session.run_case(replace(request, time_limit_s=max(case.time_limit_s, COUNTING_LIMIT_S)))
            if result.verdict is None and result.counters is not None:
                unmet = unmet_patterns(self._problem, case, result.counters)
                if unmet:
                    update = {"verdict": Verdict.REQUIREMENT_UNMET, "message": unmet[0].message}
                    checked[place] = report.model_copy(update=update)
                    self._sink.case_finished(checked[place], place + 1, len(reports))
            else:
                self._sink.note(
                    f"The access patterns of case {case.name} were not counted: {result.message or NO_COUNTERS}"
                )
            self.examples.release(case, needed_again=kept)
        return checked

    def _timed(self, session: Session, case: Case) -> bool:
        return case.group is Group.BENCH and session.kind == "cuda"

    def _execute(
        self, session: Session, lowered: Mapping[str, str], case: Case, plan: Plan, schedule: int
    ) -> CaseResult:
        inputs = self.examples.inputs(case)
        timing = None
        if self._timed(session, case):
            timing = timing_request(self._problem, case, session.properties().arch)
        request = case_request(
            self._problem, case, self._submission, plan, lowered, inputs, timing=timing, schedule=schedule
        )
        result = run_on_gpu(session, request, self._sink) if session.kind == "cuda" else session.run_case(request)
        self._key = timing.key if timing else ""
        self._counters[case.name] = result.counters if result.verdict is None else None
        return result

    def _plan(self, case: Case) -> Plan:
        constants = self._problem.constants_of(case)
        return next(plan for plan in self.unit.plans if plan.constants == constants)

    def _run_case(
        self, session: Session, lowered: Mapping[str, str], case: Case, ahead: Ahead, following: Case | None
    ) -> CaseReport:
        """following: the case to begin while this one's values are compared, if it ran to its end."""
        inputs = self.examples.inputs(case)
        plan = self._plan(case)
        schedule = self._schedule_of(session, case)
        result = ahead.take(case.name) or self._execute(session, lowered, case, plan, schedule)
        if following is not None and result.verdict is None and not result.fatal:
            plan_of_it, schedule_of_it = self._plan(following), self._schedule_of(session, following)
            ahead.start(
                following.name,
                lambda: self._execute(session, lowered, following, plan_of_it, schedule_of_it),
            )
        self.incident = result.incident or self.incident
        if _used_up_its_time(case, result):
            self._killed.append(f"{case.name} used up its time")
        elif result.fatal:
            self._killed.append(f"{case.name} ended the worker process")

        def baseline(name: str) -> Counters | None:
            """Counts of another case, run for them alone where it was not chosen."""
            ahead.settle()
            if name not in self._counters:
                other = self._problem.case(name)
                self._execute(session, lowered, other, self._plan(other), 0)
            return self._counters[name]

        timed = verified(self._problem, case, inputs, result, self._key)
        if timed is not None:
            judgement, result = timed
            judged = _of_timed(result, judgement)
        else:
            judged = self._judge(case, inputs, result, baseline)
        figures = worth(self._problem, case, inputs, result)
        if schedule and judged.verdict is Verdict.WRONG_ANSWER:
            ahead.settle()
            in_order = self._execute(session, lowered, case, plan, 0)
            if self._is_right(case, inputs, in_order):
                cause = order_dependence(schedule)
                judged = replace(judged, message=cause.message, diagnoses=(cause, *judged.diagnoses))
        counters = result.counters
        place = refused_at(judged.message, self._submission) if result.verdict is not None else None
        report = CaseReport(
            name=case.name,
            group=case.group.value,
            verdict=judged.verdict,
            message=judged.message,
            line=place[0] if place else None,
            column=place[1] if place else None,
            backend=session.kind,
            parameters=dict(case.parameters),
            seconds=result.seconds,
            schedule=schedule,
            error=judged.error,
            diagnoses=judged.diagnoses,
            counters=counters,
            timing=figures.timing,
            bandwidth_gbs=figures.gbs,
            roofline_fraction=figures.fraction,
            tier=figures.tier if judged.verdict is Verdict.ACCEPTED else None,
            read_amplification=told_amplification(self._problem, counters) if counters else None,
            launches=self._launches(plan.kernels, result),
            replay=self._replay(case, session.kind, schedule),
            printed=result.printed,
        )
        if judged.wrong is not None:
            self._explaining.add(report, judged.wrong)
        return report

    def _schedule_of(self, session: Session, case: Case) -> int:
        if session.kind != "cpu":
            return 0
        return schedule_of(self._problem, case, self._seed) if self._schedule is None else self._schedule

    def _is_right(self, case: Case, inputs: Mapping[str, Array], result: CaseResult) -> bool:
        """Whether a case ran to its end with right values."""
        if result.verdict is not None or not result.outputs:
            return False
        expected = self.examples.expected(case)
        return all(
            judge_case(self._problem, case, inputs, outputs, expected.reference, expected.naive, explain=False).verdict
            is Verdict.ACCEPTED
            for outputs in self._outputs(case, result)
        )

    def _judge(self, case: Case, inputs: Mapping[str, Array], result: CaseResult, baseline: Baseline) -> _Judged:
        """The verdict of the worker, where it has one, else the verdict of the values and requirements."""
        if not result.outputs:
            verdict = result.verdict or Verdict.JUDGE_ERROR
            return _Judged(verdict, result.message or verdict.text.sentence, None, result.diagnoses)
        expected = self.examples.expected(case)
        mistakes_wanted = result.verdict is None and case.cpu
        explain = mistakes_wanted and self._explaining.is_cheap(case, inputs)
        for outputs in self._outputs(case, result):
            judgement = judge_case(
                self._problem,
                case,
                inputs,
                outputs,
                expected.reference,
                expected.naive,
                explain=explain,
            )
            if judgement.verdict is not Verdict.ACCEPTED:
                break
        if result.verdict is not None:
            return _Judged(result.verdict, result.message, judgement.error, result.diagnoses)
        diagnoses = result.diagnoses + judgement.diagnoses
        if judgement.verdict is Verdict.ACCEPTED and result.counters is not None:
            unmet = unmet_requirements(self._problem, case, inputs, result.counters, baseline)
            if unmet:
                return _Judged(Verdict.REQUIREMENT_UNMET, unmet[0].message, judgement.error, diagnoses)
        wrong = None
        if mistakes_wanted and judgement.verdict is Verdict.WRONG_ANSWER:
            wrong = WrongCase(case, inputs, outputs, expected.reference, explain)
        return _Judged(judgement.verdict, judgement.message, judgement.error, diagnoses, wrong)

    def _outputs(self, case: Case, result: CaseResult) -> list[dict[str, Array]]:
        """Of the launches, and of their second run where that gave others."""
        return [
            {
                buffer.name: np.frombuffer(raw[buffer.name], buffer.numpy_dtype).reshape(buffer.extent(case.parameters))
                for buffer in self._problem.outputs
            }
            for raw in (result.outputs, result.second)
            if raw
        ]

    def _launches(self, kernels: Sequence[str], result: CaseResult) -> tuple[LaunchReport, ...]:
        default = self._submission.default_launch
        reports = []
        for j, (line, kernel) in enumerate(zip(self._submission.launches, kernels, strict=True)):
            shape = result.launches[j] if j < len(result.launches) else None
            reports.append(
                LaunchReport(
                    text=line.text,
                    line=None if default else line.line,
                    kernel=kernel,
                    grid=shape.grid if shape else None,
                    block=shape.block if shape else None,
                    shared_bytes=shape.shared_bytes if shape else None,
                )
            )
        return tuple(reports)

    def _replay(self, case: Case, backend: str, schedule: int) -> str:
        words = ["judge", "test", self._name, "--problem", self._problem.id, "--case", case.name]
        words += ["--seed", str(self._seed), "--backend", backend]
        if schedule or self._schedule is not None:
            words += ["--schedule", str(schedule)]
        return shlex.join(words)


def _of_timed(result: CaseResult, judgement: CaseJudgement) -> _Judged:
    """The verdict of a timed case: the worker's, where it has one, else that of the verified rows."""
    if result.verdict is not None:
        return _Judged(result.verdict, result.message, judgement.error, result.diagnoses)
    return _Judged(judgement.verdict, judgement.message, judgement.error, result.diagnoses + judgement.diagnoses)


def _used_up_its_time(case: Case, result: CaseResult) -> bool:
    """A launch refused for its size is a time limit too, but costs no time; a launch line may hang as well.

    A kernel that never ends may have been caught at something worse on the way, a race it spins on say.
    """
    if result.verdict is Verdict.TIME_LIMIT:
        return bool(result.launches) or result.fatal
    if result.verdict is Verdict.LAUNCH_ERROR:
        return result.seconds >= PLANNING_LIMIT_S
    return result.verdict is Verdict.UNDEFINED_BEHAVIOR and result.seconds >= case.time_limit_s
