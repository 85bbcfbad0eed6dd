"""The figures of one case of a submission: what its launches did, where in the source, and what an SM holds.

    read -> optimized PTX -> one counted run on the CPU -> optimized cubin -> resources -> occupancy

Counted is optimized code, because that is what a GPU runs; nothing is compared and nothing judged.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from judge.advice import advise
from judge.backends.base import DeviceFault, ModuleImage
from judge.compiler import CPU_ARCH, Compilation, Target, compile_unit
from judge.compiler.occupancy import known_architectures, limits_of, occupancy
from judge.errors import JudgeError, NothingToDoError, SubmissionError, UsageError
from judge.events import EventSink
from judge.examples import case_generator
from judge.figures import LaunchStatistics, LineStatistics, Residency, Statistics
from judge.problem import Arrays, Case, Group, Problem
from judge.records import CompileMessage, Counters, KernelResources
from judge.submission.model import Submission
from judge.submission.read import read_submission
from judge.submission.unit import Plan, TranslationUnit, build_unit
from judge.worker.messages import CaseResult
from judge.worker.requests import case_request
from judge.worker.session import Session

DEFAULT_ARCH = "sm_90"
COUNTING_LIMIT_S = 120.0


class NotCountedError(JudgeError):
    """The kernel did not run to its end, so there are no figures. Exit code 1."""

    exit_code = 1


class NotCompiledError(SubmissionError):
    """The source does not compile. messages: all that the compiler said; the error itself is the first of them."""

    def __init__(self, messages: tuple[CompileMessage, ...]) -> None:
        first = next(m for m in messages if m.severity == "error")
        super().__init__(first.message, first.line, first.column)
        self.messages = messages


@dataclass(frozen=True)
class Choice:
    """What to count. case: None takes the largest sample. arch: of the occupancy. seed: of a hidden case's inputs."""

    case: str | None = None
    arch: str = DEFAULT_ARCH
    seed: int = 0


def collect(problem: Problem, data: bytes, name: str, choice: Choice, sink: EventSink) -> Statistics:
    """Count one case of a submission.

    Raises UsageError for an unknown case or architecture, SubmissionError where the source does not compile,
    NotCountedError where it does not run to its end.
    """
    if limits_of(choice.arch) is None:
        raise UsageError(f"No figures of architecture {choice.arch}. Known: {', '.join(known_architectures())}.")
    case = choose_case(problem, choice.case)
    submission = read_submission(data, name, problem)
    unit = build_unit(submission, problem, (problem.constants_of(case),))
    inputs = problem.generate(case, case_generator(case, choice.seed))
    with Session("cpu") as session:
        lowered = load_optimized(session, unit, sink)
        sink.case_started("cpu", case.name, 1, 1)
        result, counters = count_case(session, problem, case, submission, unit, lowered, inputs)
    sink.compiling(choice.arch)
    cubin = compile_unit(unit, Target("cubin", choice.arch, "optimized"))
    launches = _launches(submission, unit.plans[0], result, cubin.kernels, choice.arch)
    lines = _lines(counters, data.decode("utf-8", "replace").splitlines())
    least_bytes, least_flops = problem.minimum_bytes(case, inputs), problem.minimum_flops(case, inputs)
    return Statistics(
        submission=name,
        problem=problem.id,
        case=case.name,
        parameters=dict(case.parameters),
        arch=choice.arch,
        minimum_bytes=least_bytes,
        minimum_flops=least_flops,
        launches=launches,
        counters=counters,
        lines=lines,
        advice=advise(launches, counters, lines, minimum_bytes=least_bytes, minimum_flops=least_flops),
    )


def count_case(
    session: Session,
    problem: Problem,
    case: Case,
    submission: Submission,
    unit: TranslationUnit,
    lowered: Mapping[str, str],
    inputs: Arrays,
) -> tuple[CaseResult, Counters]:
    """Run a case in the loaded module and count it: the result, with the counters of all launches together.

    unit: made for the constants of this case alone. Raises NotCountedError where it does not run to its end.
    """
    request = case_request(problem, case, submission, unit.plans[0], lowered, inputs, patterns=True)
    result = session.run_case(replace(request, time_limit_s=COUNTING_LIMIT_S))
    if result.verdict is None and result.counters is None:
        raise NotCountedError("Nothing can be counted on this machine: its CPU backend only interprets.")
    if result.verdict is not None or result.counters is None:
        raise NotCountedError(
            f"Case {case.name} did not run to its end, so nothing was counted: {result.message.rstrip('.')}. "
            "`judge test` says more about it."
        )
    return result, result.counters


def choose_case(problem: Problem, name: str | None) -> Case:
    """The named case, or the sample with the largest parameters."""
    if name is None:
        samples = [case for case in problem.cases if case.group is Group.SAMPLE]
        if not samples:
            raise NothingToDoError(f"{problem.id} has no sample case; name one with --case.")
        return max(samples, key=_size)
    for case in problem.cases:
        if case.name == name:
            if not case.cpu:
                raise NothingToDoError(f"Case {name} is too large to be counted on the CPU; name one that is no bench.")
            return case
    raise UsageError(f"{problem.id} has no case {name!r}. Its cases: {', '.join(c.name for c in problem.cases)}.")


def _size(case: Case) -> int:
    values = (value for value in case.parameters.values() if isinstance(value, int) and not isinstance(value, bool))
    return math.prod(values)


def load_optimized(session: Session, unit: TranslationUnit, sink: EventSink) -> dict[str, str]:
    """Load the optimized module, or the plain one where the CPU has not all that the optimizer uses.

    Returns the symbol of each name expression. Raises SubmissionError where the source does not compile.
    """
    for mode in ("optimized", "debug"):
        sink.compiling("cpu")
        compilation = compile_unit(unit, Target("ptx", CPU_ARCH, mode))
        _require_compiled(compilation)
        try:
            session.load(ModuleImage(compilation.image, unit.source, compilation.lowered))
        except DeviceFault as fault:
            reason = str(fault).rstrip(".")
            if mode == "debug":
                raise NotCountedError(f"The CPU backend cannot run this kernel: {reason}.") from fault
            sink.note(f"Counted in unoptimized code: {reason}.")
            continue
        return compilation.lowered
    raise AssertionError("unreachable")


def _require_compiled(compilation: Compilation) -> None:
    if compilation.ok:
        return
    if not any(m.severity == "error" for m in compilation.messages):
        raise SubmissionError(compilation.log or "the compiler gave no reason")
    raise NotCompiledError(compilation.messages)


def _launches(
    submission: Submission, plan: Plan, result: CaseResult, kernels: tuple[KernelResources, ...], arch: str
) -> tuple[LaunchStatistics, ...]:
    resources = {kernel.name: kernel for kernel in kernels}
    found = []
    for line, kernel, shape, counters in zip(
        submission.launches, plan.kernels, result.launches, result.launch_counters, strict=True
    ):
        threads = math.prod(shape.block)
        found.append(
            LaunchStatistics(
                line=None if submission.default_launch else line.line,
                kernel=kernel,
                grid=shape.grid,
                block=shape.block,
                dynamic_shared_bytes=shape.shared_bytes,
                residency=_residency(resources.get(kernel), shape.shared_bytes, threads, arch),
                counters=counters,
            )
        )
    return tuple(found)


def _residency(kernel: KernelResources | None, dynamic_bytes: int, threads: int, arch: str) -> Residency | None:
    """None where no cubin was made."""
    if kernel is None or kernel.registers is None:
        return None
    shared = (kernel.shared_bytes or 0) + dynamic_bytes
    resident = occupancy(kernel.registers, shared, threads, arch)
    if resident is None:
        return None
    return Residency(
        registers=kernel.registers,
        shared_bytes=shared,
        spill_bytes=kernel.spill_bytes or 0,
        blocks=resident.blocks,
        warps=resident.warps,
        max_warps=resident.max_warps,
        occupancy=resident.share,
        limited_by=resident.limited_by,
    )


def _lines(counters: Counters, source: list[str]) -> tuple[LineStatistics, ...]:
    return tuple(
        LineStatistics(**dict(entry), source=source[entry.line - 1].strip())
        for entry in counters.lines
        if 0 < entry.line <= len(source)
    )
