"""Runs one case on a device: the same code for the CPU and a GPU.

    allocate, guard, poison -> workspace plan -> launch plan -> check -> fill -> launch -> fetch -> checks

Every case gets fresh allocations. Outputs and workspaces start as POISON_BYTE, so that an element
nobody wrote shows. Inputs come in after the planning kernels, which run a stranger's expressions and
are neither counted nor timed: there is nothing to compute an answer from. On a GPU, where nothing
watches single accesses, guard zones lie on both sides of every buffer; on the CPU the device checks
each access itself. Inputs are compared afterwards on both: a kernel that changes them is wrong
whatever its output.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from judge.backends.base import (
    GUARD_BYTE,
    POISON_BYTE,
    BufferLabel,
    Device,
    DeviceFault,
    Launch,
    LaunchOutcome,
)
from judge.problem import Role
from judge.records import Counters, Diagnosis, Timing
from judge.tallies import add_counters
from judge.verdict import Verdict
from judge.worker.aftermath import Region, modified_inputs, overwritten_guards, raw_input
from judge.worker.bench import TimedDevice, time_case, time_pair
from judge.worker.messages import (
    CaseRequest,
    CaseResult,
    LaunchShape,
    LaunchSpec,
    RivalSpec,
)
from judge.worker.plan import (
    ARGUMENT_BLOCK_BYTES,
    GEOMETRY_WORDS,
    WORKSPACE_WORDS,
    check_launch,
    pack_arguments,
    parameter_values,
    read_launches,
    read_workspaces,
    where,
)
from judge.worker.second_run import leaves_state, second_outputs
from judge.worker.timing_messages import Evidence

GUARD_BYTES = 4096
"""Size of a guard zone; a multiple of 256 keeps the buffer between two of them aligned."""

MAX_PRINTED_CHARACTERS = 64 * 1024

PLANNING_LIMIT_S = 5.0
"""A planning kernel runs one thread of straight-line code; a learner's loop in an expression may hang it."""

Stage = Callable[[str], None]


@dataclass(frozen=True)
class _Timed:
    """What timing found; nothing for a case that is not timed."""

    timing: Timing | None = None
    evidence: Evidence | None = None
    pairs: tuple[tuple[float, float], ...] = ()


class _Run:
    """The state of one case between its steps."""

    def __init__(self, device: Device, request: CaseRequest, stage: Stage) -> None:
        self.device = device
        self.request = request
        self.stage = stage
        self.guard_bytes = GUARD_BYTES if device.properties.kind == "cuda" else 0
        self.regions: list[Region] = []
        self.workspaces: list[tuple[int, int]] = []
        self.diagnoses: list[Diagnosis] = []
        self.counters: Counters | None = None
        self.launch_counters: list[Counters] = []
        self.shapes: list[LaunchShape] = []
        self.printed = ""
        self.used_s = 0.0

    def allocate(self, label: BufferLabel, size_bytes: int) -> int:
        """The address of a fresh buffer, guarded where the device needs it."""
        guard = self.guard_bytes if label.role != "internal" else 0
        base = self.device.allocate(label, size_bytes + 2 * guard)
        if guard:
            tail = base + guard + size_bytes
            self.device.poison(base, guard, GUARD_BYTE)
            self.device.poison(tail, guard, GUARD_BYTE)
            self.regions.append(Region(label.name, base + guard, size_bytes, label.element_bytes, guard))
        return base + guard

    def allocate_poisoned(self, label: BufferLabel, size_bytes: int) -> int:
        address = self.allocate(label, size_bytes)
        self.device.poison(address, size_bytes, POISON_BYTE)
        return address

    def remaining_s(self) -> float:
        """What is left of the case's time. Only kernels count: a CPU device compiles within its launches."""
        return max(self.request.time_limit_s - self.used_s, 0.001)

    def take(self, outcome: LaunchOutcome) -> None:
        """Keep what a launch of the submission reported."""
        self.used_s += outcome.seconds
        self.diagnoses.extend(outcome.diagnoses)
        self.printed = (self.printed + outcome.printed)[:MAX_PRINTED_CHARACTERS]
        counters = outcome.counters
        if counters is None:
            return
        if self.request.patterns:
            self.launch_counters.append(counters)
        known = self.counters
        self.counters = counters if known is None else add_counters(known, counters, outcome.unique_bytes_read)


def run_case(device: Device, request: CaseRequest, stage: Stage = lambda name: None) -> CaseResult:
    """Run the launches of a case and bring its outputs back.

    stage: told "running" before the first kernel, "timing" before samples, "fetching" afterwards.
    Nothing of a submission's doing is raised: it is in the verdict of the result.
    """
    run = _Run(device, request, stage)
    started = time.monotonic()
    try:
        return _run(run)
    except DeviceFault as fault:
        if fault.outcome is not None:
            run.take(fault.outcome)
        known = {diagnosis.model_dump_json() for diagnosis in run.diagnoses}
        extra = [diagnosis for diagnosis in fault.diagnoses if diagnosis.model_dump_json() not in known]
        return CaseResult(
            verdict=Verdict(fault.verdict),
            message=str(fault),
            diagnoses=(*run.diagnoses, *extra),
            counters=run.counters,
            launch_counters=tuple(run.launch_counters),
            launches=tuple(run.shapes),
            seconds=time.monotonic() - started,
            printed=run.printed,
            fatal=fault.fatal,
        )
    finally:
        _release(device)


def _release(device: Device) -> None:
    try:
        device.release_all()
    except DeviceFault:
        # After a sticky error nothing can be freed; the process ends, and its memory with it.
        return


def _run(run: _Run) -> CaseResult:
    device, request = run.device, run.request
    if request.timing is not None and isinstance(device, TimedDevice):
        # What earlier cases left in variables of the module is gone.
        device.renew()
    addresses = _place_buffers(run)
    run.stage("running")
    started = time.monotonic()
    launches = _plan(run, addresses)
    _fill(run, addresses)
    for launch, spec in zip(launches, request.launches, strict=True):
        run.shapes.append(LaunchShape(launch.grid, launch.block, launch.shared_bytes))
        run.take(_launch(run, launch, spec))
    seconds = time.monotonic() - started
    timed = _time(run, launches, addresses)
    run.stage("fetching")
    outputs = {buffer.name: device.download(addresses[buffer.name], buffer.size_bytes) for buffer in request.outputs}
    run.diagnoses.extend(modified_inputs(device, request, addresses))
    second: dict[str, bytes] = {}
    if leaves_state(device, request, run.diagnoses):
        _fill(run, addresses)
        second = second_outputs(device, request, launches, addresses, outputs, run.diagnoses)
    run.diagnoses.extend(overwritten_guards(device, run.regions))
    proved = [diagnosis for diagnosis in run.diagnoses if not diagnosis.warning]
    return CaseResult(
        verdict=Verdict.UNDEFINED_BEHAVIOR if proved else None,
        message=proved[0].message if proved else "",
        diagnoses=tuple(run.diagnoses),
        counters=run.counters,
        launch_counters=tuple(run.launch_counters),
        launches=tuple(run.shapes),
        outputs=outputs,
        second=second,
        seconds=seconds,
        printed=run.printed,
        timing=timed.timing,
        evidence=timed.evidence,
        pairs=timed.pairs,
    )


def _place_buffers(run: _Run) -> dict[str, int]:
    addresses: dict[str, int] = {}
    for buffer in run.request.buffers:
        label = BufferLabel(buffer.name, buffer.element_bytes, buffer.shape, buffer.role.value)
        addresses[buffer.name] = run.allocate_poisoned(label, buffer.size_bytes)
    return addresses


def _fill(run: _Run, addresses: dict[str, int]) -> None:
    """Bring the inputs in, and take out what a launch line's expression may have written elsewhere."""
    for buffer in run.request.buffers:
        if buffer.role is Role.INPUT:
            run.device.upload(addresses[buffer.name], raw_input(run.request, buffer))
        else:
            run.device.poison(addresses[buffer.name], buffer.size_bytes, POISON_BYTE)
    for address, size_bytes in run.workspaces:
        run.device.poison(address, size_bytes, POISON_BYTE)


def _plan(run: _Run, addresses: dict[str, int]) -> list[Launch]:
    """Run the planning kernels: place the workspaces and get checked launches."""
    device, request = run.device, run.request
    parameters = parameter_values(request.parameters)
    workspaces = _place_workspaces(run, parameters)
    count = len(request.launches)
    geometry = run.allocate(BufferLabel("geometry", 8, (count, GEOMETRY_WORDS), "internal"), 8 * GEOMETRY_WORDS * count)
    block_bytes = ARGUMENT_BLOCK_BYTES * count
    blocks = run.allocate(BufferLabel("arguments", 1, (block_bytes,), "internal"), block_bytes)
    # A launch without parameters leaves its block as it is, and padding between parameters has no writer.
    device.upload(blocks, bytes(block_bytes))
    pointers = [addresses[buffer.name] for buffer in request.buffers] + workspaces
    values = [("pointer", geometry), ("pointer", blocks), *parameters, *(("pointer", p) for p in pointers)]
    _run_planner(run, request.launch_kernel, values)
    launches = read_launches(
        device.download(geometry, 8 * GEOMETRY_WORDS * count), device.download(blocks, block_bytes), request.launches
    )
    for launch, spec in zip(launches, request.launches, strict=True):
        check_launch(launch, spec, device.attributes(launch.kernel), device.properties)
    return launches


def _place_workspaces(run: _Run, parameters: Sequence[tuple[str, int | float | bool]]) -> list[int]:
    request = run.request
    if not request.workspaces:
        return []
    count = WORKSPACE_WORDS * len(request.workspaces)
    out = run.allocate(BufferLabel("workspace_sizes", 8, (count,), "internal"), 8 * count)
    _run_planner(run, request.workspace_kernel, [("pointer", out), *parameters])
    sizes = read_workspaces(run.device.download(out, 8 * count), request.workspaces, request.workspace_limit_bytes)
    for size in sizes:
        label = BufferLabel(size.spec.name, size.element_bytes, (size.count,), "workspace")
        run.workspaces.append((run.allocate_poisoned(label, size.size_bytes), size.size_bytes))
    return [address for address, _ in run.workspaces]


def _run_planner(run: _Run, kernel: str, values: Sequence[tuple[str, int | float | bool]]) -> None:
    """Run a planning kernel with one thread.

    What goes wrong in it comes from the expressions of the launch and workspace lines (they may call
    the submission's own device functions), so it is told as a launch error.
    """
    launch = Launch(kernel, (1, 1, 1), (1, 1, 1), 0, pack_arguments(values))
    try:
        outcome = run.device.launch(launch, time_limit_s=min(PLANNING_LIMIT_S, run.remaining_s()))
    except DeviceFault as fault:
        if fault.verdict == Verdict.JUDGE_ERROR:
            raise
        raise DeviceFault(
            Verdict.LAUNCH_ERROR,
            f"the launch and workspace lines cannot be evaluated: {fault}",
            fault.diagnoses,
            fatal=fault.fatal,
        ) from fault
    proved = [diagnosis for diagnosis in outcome.diagnoses if not diagnosis.warning]
    if proved:
        raise DeviceFault(
            Verdict.LAUNCH_ERROR,
            f"the launch and workspace lines cannot be evaluated: {proved[0].message}",
            tuple(proved),
        )


def _launch(run: _Run, launch: Launch, spec: LaunchSpec) -> LaunchOutcome:
    try:
        return run.device.launch(
            launch,
            time_limit_s=run.remaining_s(),
            schedule=run.request.schedule,
            patterns=run.request.patterns,
        )
    except DeviceFault as fault:
        if run.device.properties.kind == "cpu":
            raise  # it named the kernel and the line in it
        message = f"{where(spec)}{spec.name}: {fault}"
        raise DeviceFault(fault.verdict, message, fault.diagnoses, fatal=fault.fatal, outcome=fault.outcome) from fault


def _time(run: _Run, launches: Sequence[Launch], addresses: dict[str, int]) -> _Timed:
    """Sample the case; what comes back afterwards are the outputs of the last sample."""
    device, request = run.device, run.request
    proved = any(not diagnosis.warning for diagnosis in run.diagnoses)
    if request.timing is None or proved or not isinstance(device, TimedDevice):
        return _Timed()
    if request.rival is not None:
        return _time_against_rival(run, device, request.rival, launches, addresses)
    run.stage("timing")
    timing, evidence = time_case(device, request, launches, addresses, run.workspaces)
    return _Timed(timing, evidence)


def _time_against_rival(
    run: _Run, device: TimedDevice, rival: RivalSpec, launches: Sequence[Launch], addresses: dict[str, int]
) -> _Timed:
    """Times of both in turns. Both have been verified alone before."""
    other = device.rival(rival.image)
    request = replace(
        run.request,
        workspace_kernel=rival.workspace_kernel,
        launch_kernel=rival.launch_kernel,
        launches=rival.launches,
        workspaces=rival.workspaces,
    )
    theirs = _Run(other, request, run.stage)
    theirs_launches = _plan(theirs, addresses)
    run.stage("timing")
    pairs = time_pair(
        device, run.request, launches, other, theirs_launches, addresses, run.workspaces + theirs.workspaces
    )
    run.regions += theirs.regions
    return _Timed(pairs=pairs)
