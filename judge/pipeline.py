"""From the bytes of a submission to its report. Every face of the judge calls judge_submission.

    read -> compile (PTX for the CPU) -> cases on the CPU, watched
         -> compile (fast cubin) -> cases on the GPU -> compile (optimized cubin) -> cases and bench

The GPU part runs where a GPU is. The fast module comes first there because full optimization can
take 20 s: nobody should wait for the optimizer to hear that the answer is wrong. Both have to be right, also where
the optimized one is at hand: the verdict on a source must not depend on who was judged before. Only of a trap the
optimized one decides: NVRTC's quick mode has made instructions of right kernels that no GPU knows.

One of the three borders of the product: whatever goes wrong in our own code below here becomes a
judge_error with an incident id, never the learner's verdict.
"""

import hashlib
import os
import re
import shlex
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Literal

import judge
from judge.backends.base import DeviceFault, ModuleImage
from judge.casework import Casework
from judge.compiler import CPU_ARCH, Compilation, Target, compile_unit
from judge.compiler.resources import with_launches
from judge.errors import JudgeError, MachineError, NothingToDoError, SubmissionError
from judge.events import EventSink
from judge.examples import Examples
from judge.gpu import gpu_present
from judge.problem import Case, Group, Problem
from judge.records import (
    BackendReport,
    CaseReport,
    CompileMessage,
    CompileReport,
    LaunchReport,
    ProblemReference,
    Report,
    SubmissionReport,
)
from judge.selection import Options, choose_cases
from judge.submission.model import Submission
from judge.submission.read import read_submission
from judge.submission.unit import TranslationUnit, build_unit
from judge.summary import all_accepted, at, backend_report, met_unknown_instructions, place, unused_backend
from judge.verdict import Verdict
from judge.verification.failuremap import only_telling_maps
from judge.verification.requirements import baseline_names
from judge.verification.telling import failed_cases, hint_for, told_case
from judge.worker.incidents import record_incident
from judge.worker.session import OneWorker, Session, StartWorker
from judge.worker.supervisor import Worker, WorkerFault

Backend = Literal["cpu", "cuda"]

RESOURCES_ARCH = "sm_90"

Compile = Callable[[TranslationUnit, Target], Compilation]
"""What compiles: compile_unit itself, or the same with other limits and another store."""


def judge_submission(
    problem: Problem,
    data: bytes,
    name: str,
    options: Options,
    sink: EventSink,
    start: StartWorker = Worker,
    compile_: Compile | None = None,
) -> Report:
    """Judge a submission.

    data: the file's bytes as they are. name: how the report calls it. start: where its workers come from.
    compile_: what compiles, compile_unit when None.
    Raises UsageError for options that name nothing, MachineError when the machine cannot judge at all.
    """
    judging = _Judging(problem, data, name, options, sink, start, compile_ or compile_unit)
    try:
        report = judging.run()
    except JudgeError:
        raise
    except Exception as error:
        incident = record_incident(f"judging {name} for {problem.id}", traceback.format_exc())
        message = f"The judge failed: {type(error).__name__}. This is not the kernel's fault."
        report = judging.report(Verdict.JUDGE_ERROR, message, incident=incident)
    sink.finished(report)
    return report


@dataclass
class _Judging:
    """One run: what is known so far, so that a report can be written at any point."""

    problem: Problem
    data: bytes
    name: str
    options: Options
    sink: EventSink
    start: StartWorker = Worker
    compile_: Compile = compile_unit
    started: float = field(default_factory=time.monotonic)
    submission: Submission | None = None
    compile: CompileReport = field(default_factory=lambda: CompileReport(ok=False))
    backends: list[BackendReport] = field(default_factory=list)
    cases: list[CaseReport] = field(default_factory=list)
    refusal: tuple[Verdict, str] | None = None
    incident: str | None = None

    def __post_init__(self) -> None:
        seed = self.options.seed
        self.seed = int.from_bytes(os.urandom(4), "little") if seed is None else seed

    def run(self) -> Report:
        chosen = choose_cases(self.problem, self.options)
        on_cpu, on_cuda = self._divide(chosen)
        with ExitStack() as stack:
            # Started before anything else: a process and a device context are warm when the compiler is done.
            workers: dict[Backend, OneWorker] = {}
            if on_cpu:
                workers["cpu"] = stack.enter_context(self.start("cpu"))
            if on_cuda:
                workers["cuda"] = stack.enter_context(self.start("cuda"))
            try:
                self.submission = read_submission(self.data, self.name, self.problem)
            except SubmissionError as error:
                return self._refused(error)
            unit = self._unit(on_cpu or on_cuda, on_cuda)
            examples = stack.enter_context(Examples(self.problem, self.seed))
            casework = Casework(
                self.problem, self.submission, unit, examples, self.sink, self.name, self.seed, self.options.schedule
            )
            if on_cpu:
                session = stack.enter_context(Session("cpu", workers["cpu"], self.start))
                if not self._judge_on_cpu(casework, session, on_cpu, gpu_follows=bool(on_cuda)):
                    return self._conclude()
                if self.options.resources and not on_cuda:
                    self._measure_resources(unit)
            if on_cuda:
                session = stack.enter_context(Session("cuda", workers["cuda"], self.start))
                self._judge_on_cuda(casework, session, on_cuda)
            return self._conclude()

    def _divide(self, chosen: Sequence[Case]) -> tuple[list[Case], list[Case]]:
        """The cases of each backend.

        Raises NothingToDoError when no backend is left for any, MachineError when a GPU is asked for without one.
        """
        backend = self.options.backend
        if backend == "cuda" and not gpu_present():
            raise MachineError("No NVIDIA GPU on this machine. Use --backend cpu, which needs none.")
        gpu = backend == "cuda" or (backend == "auto" and gpu_present())
        on_cpu = [case for case in chosen if case.cpu] if backend != "cuda" else []
        on_cuda = list(chosen) if gpu else []
        if not on_cpu and not on_cuda:
            reason = "they are bench cases, and those need a GPU" if chosen else f"group {self.options.group} is empty"
            raise NothingToDoError(f"No case of {self.problem.id} to run: {reason}.")
        return on_cpu, on_cuda

    def _unit(self, *groups: Iterable[Case]) -> TranslationUnit:
        assert self.submission is not None
        chosen = [case for group in groups for case in group]
        baselines = [self.problem.case(name) for name in baseline_names(self.problem, chosen)]
        sets = dict.fromkeys(self.problem.constants_of(case) for case in (*chosen, *baselines))
        return build_unit(self.submission, self.problem, tuple(sets))

    def _compile(self, backend: Backend, unit: TranslationUnit, target: Target) -> Compilation:
        self.sink.compiling(backend)
        compilation = self.compile_(unit, target)
        report = CompileReport(
            ok=compilation.ok,
            seconds=compilation.seconds,
            cached=compilation.cached,
            log=compilation.log,
            errors=compilation.messages,
            kernels=compilation.kernels,
            kernels_arch=target.arch if compilation.kernels else None,
        )
        # The resources a reader wants are those of a cubin; a PTX compilation knows none. What failed is told always.
        self.compile = report if report.kernels or not report.ok or not self.compile.kernels else self.compile
        self.sink.compiled(backend, report)
        return compilation

    def _judge_on_cpu(self, casework: Casework, session: Session, cases: list[Case], *, gpu_follows: bool) -> bool:
        """Judge on the CPU backend. False when what was found makes a GPU run pointless."""
        compilation = self._compile("cpu", casework.unit, Target(kind="ptx", arch=CPU_ARCH, mode="debug"))
        if not compilation.ok:
            self.backends.append(backend_report(session.properties(), session))
            return False
        casework.examples.prepare(cases[0])
        self.backends.append(backend_report(session.properties(), session))
        try:
            session.load(_image(casework.unit, compilation))
        except DeviceFault as fault:
            if fault.verdict == Verdict.COMPILE_ERROR and gpu_follows:
                # NVRTC took it and the emulator does not: the GPU's own assembler has the last word.
                self.sink.note(f"The CPU backend did not judge this submission: {fault}")
                self.backends.pop()
                return True
            self._refuse_module(fault)
            return False
        reports = casework.run(session, compilation.lowered, cases, fail_fast=self.options.fail_fast, kept=gpu_follows)
        reports = casework.check_patterns(session, reports, kept=gpu_follows)
        self.cases.extend(reports)
        self.incident = casework.incident
        return not self.options.fail_fast or all_accepted(reports)

    def _measure_resources(self, unit: TranslationUnit) -> None:
        """Registers and the like need the optimized cubin, not the device. They never touch the verdict."""
        self.sink.compiling("cuda")
        compilation = self.compile_(unit, Target("cubin", RESOURCES_ARCH, "optimized"))
        if not compilation.ok:
            self.sink.note(f"No resources of the kernels: they do not compile for {RESOURCES_ARCH}")
        self.compile = self.compile.model_copy(
            update={"kernels": compilation.kernels, "kernels_arch": RESOURCES_ARCH if compilation.kernels else None}
        )

    def _judge_on_cuda(self, casework: Casework, session: Session, cases: list[Case]) -> None:
        try:
            properties = session.properties()
        except JudgeError as error:
            if self.options.backend == "cuda" or not self.backends:
                raise
            self.sink.note(f"Not judged on a GPU: {error}")
            return
        self.backends.append(backend_report(properties, session))
        correctness = [case for case in cases if case.group is not Group.BENCH]
        if correctness:
            compilation = self._compile("cuda", casework.unit, Target("cubin", properties.arch, "fast"))
            if not self._load_on_cuda(session, casework.unit, compilation, fresh=False):
                return
            reports = casework.run(
                session, compilation.lowered, correctness, fail_fast=self.options.fail_fast, kept=True, quiet=True
            )
            if met_unknown_instructions(reports):
                self.sink.note(
                    "The quickly compiled module stopped at a trap or an instruction that the GPU does not know, which "
                    "can be its compiler's fault: the optimized module decides."
                )
            elif not all_accepted(reports):
                self.cases.extend(reports)
                self.incident = casework.incident
                return
        compilation = self._compile("cuda", casework.unit, Target("cubin", properties.arch, "optimized"))
        if not self._load_on_cuda(session, casework.unit, compilation, fresh=bool(correctness)):
            return
        ordered = correctness + [case for case in cases if case.group is Group.BENCH and all_accepted(self.cases)]
        self.cases.extend(casework.run(session, compilation.lowered, ordered, fail_fast=self.options.fail_fast))
        self.incident = casework.incident

    def _load_on_cuda(self, session: Session, unit: TranslationUnit, compilation: Compilation, *, fresh: bool) -> bool:
        if not compilation.ok:
            return False
        image = _image(unit, compilation)
        try:
            (session.restart if fresh else session.load)(image)
        except DeviceFault as fault:
            self._refuse_module(fault)
            return False
        return True

    def _refuse_module(self, fault: DeviceFault) -> None:
        """The compiler took the submission, the device does not."""
        if fault.verdict != Verdict.COMPILE_ERROR:
            self.refusal = (Verdict(fault.verdict), str(fault))
            self.incident = fault.incident if isinstance(fault, WorkerFault) else None
            return
        place = re.match(r"line (\d+): (.*)", str(fault), re.DOTALL)
        error = CompileMessage(line=int(place[1]), message=place[2]) if place else CompileMessage(message=str(fault))
        self.compile = self.compile.model_copy(update={"ok": False, "errors": (error,)})

    def _refused(self, error: SubmissionError) -> Report:
        message = CompileMessage(line=error.line, column=error.column, message=str(error))
        self.compile = CompileReport(ok=False, errors=(message,))
        return self.report(Verdict.COMPILE_ERROR, at(error.line, str(error)))

    def _conclude(self) -> Report:
        if self.refusal is not None:
            return self.report(*self.refusal)
        if not self.compile.ok:
            first = next((message for message in self.compile.errors if message.severity == "error"), None)
            return self.report(
                Verdict.COMPILE_ERROR, at(first.line, first.message) if first else "The compiler gave no reason."
            )
        idle = next((one for one in self.backends if not any(case.backend == one.kind for case in self.cases)), None)
        if idle is not None or not self.backends:
            # Nothing above leads here; and if something did, nobody must be accepted by it.
            return self.report(Verdict.JUDGE_ERROR, f"No case was run on {place(idle) if idle else 'any device'}.")
        verdict = Verdict.worst([case.verdict for case in self.cases])
        if verdict is Verdict.ACCEPTED:
            return self._accepted()
        told = told_case(self.cases, verdict)
        assert told is not None
        self.cases = only_telling_maps(self.cases, told)
        message = f"case {told.name}: {told.message}" if told.message else f"case {told.name}"
        message += failed_cases(self.cases)
        return self.report(verdict, message, hint=hint_for(told, verdict), replay=told.replay)

    def _accepted(self) -> Report:
        counts = [
            f"{sum(case.backend == backend.kind for case in self.cases)} on {place(backend)}"
            for backend in self.backends
        ]
        if not self.options.cases and self.options.group == "all":
            return self.report(Verdict.ACCEPTED, f"All cases right: {', '.join(counts)}.")
        whole = len(self._divide(self.problem.cases)[0] or self.problem.cases)
        message = f"Right, but only a part of the {whole} cases was run: {', '.join(counts)}."
        backend = "" if self.options.backend == "auto" else f" --backend {self.options.backend}"
        again = f"judge test {shlex.quote(self.name)} --problem {self.problem.id}{backend}"
        return self.report(Verdict.ACCEPTED, message, hint=f"Run all cases: {again}")

    def report(
        self,
        verdict: Verdict,
        message: str,
        *,
        hint: str | None = None,
        replay: str | None = None,
        incident: str | None = None,
    ) -> Report:
        """The report of what is known so far."""
        backend = self.backends[0] if self.backends else unused_backend(self.options)
        launches = next((case.launches for case in self.cases if case.launches), self._planned_launches())
        return Report(
            judge_version=judge.__version__,
            submission=self._submission_report(),
            problem=ProblemReference(id=self.problem.id, version=self.problem.version),
            verdict=verdict,
            message=message,
            hint=hint,
            backend=backend,
            backends=tuple(self.backends) or (backend,),
            seed=self.seed,
            compile=with_launches(self.compile, (one for case in self.cases for one in case.launches)),
            launches=launches,
            cases=tuple(self.cases),
            tiers={case.name: case.tier for case in self.cases if case.timing is not None},
            replay=replay,
            incident=incident or self.incident,
            seconds=time.monotonic() - self.started,
        )

    def _submission_report(self) -> SubmissionReport:
        submission = self.submission
        return SubmissionReport(
            name=self.name,
            sha256=hashlib.sha256(self.data).hexdigest(),
            source_bytes=len(self.data),
            default_launch=submission.default_launch if submission else False,
            set_aside=submission.set_aside if submission else (),
            notes=submission.notes if submission else (),
        )

    def _planned_launches(self) -> tuple[LaunchReport, ...]:
        """The launch lines as written, for a report in which nothing ran."""
        if self.submission is None:
            return ()
        return tuple(
            LaunchReport(
                text=line.text,
                line=None if self.submission.default_launch else line.line,
                kernel=line.kernel.text,
            )
            for line in self.submission.launches
        )


def _image(unit: TranslationUnit, compilation: Compilation) -> ModuleImage:
    return ModuleImage(compilation.image, unit.source, compilation.lowered)
