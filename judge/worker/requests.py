"""Puts together what a worker is asked: a case of a problem, with the plan and symbols of its submission."""

from collections.abc import Mapping

from judge.problem import Array, Buffer, Case, Parameter, Problem, Scalar
from judge.submission.model import Submission
from judge.submission.unit import Plan
from judge.worker.messages import (
    BufferSpec,
    CaseRequest,
    LaunchSpec,
    ParameterValue,
    RivalSpec,
    WorkspaceSpec,
)
from judge.worker.timing_messages import TimingRequest


def case_request(
    problem: Problem,
    case: Case,
    submission: Submission,
    plan: Plan,
    lowered: Mapping[str, str],
    inputs: Mapping[str, Array],
    *,
    timing: TimingRequest | None = None,
    schedule: int = 0,
    patterns: bool = False,
) -> CaseRequest:
    """The request of one case.

    lowered: symbol of each name expression, from the compilation. timing, schedule, patterns: see CaseRequest.
    """
    return CaseRequest(
        name=case.name,
        workspace_kernel=plan.workspace_kernel,
        launch_kernel=plan.launch_kernel,
        launches=_launches(submission, plan, lowered),
        parameters=tuple(
            ParameterValue(parameter.name, parameter.ctype, _scalar(parameter, case.parameters[parameter.name]))
            for parameter in problem.parameters
            if not parameter.constant
        ),
        buffers=tuple(_buffer_spec(buffer, case) for buffer in problem.buffers),
        inputs=inputs,
        workspaces=_workspaces(submission),
        workspace_limit_bytes=problem.workspace_limit_bytes,
        time_limit_s=case.time_limit_s,
        timing=timing,
        schedule=schedule,
        patterns=patterns,
    )


def rival_spec(submission: Submission, plan: Plan, lowered: Mapping[str, str], image: bytes) -> RivalSpec:
    """What a worker needs of the second submission of a comparison. image: its cubin."""
    return RivalSpec(
        workspace_kernel=plan.workspace_kernel,
        launch_kernel=plan.launch_kernel,
        launches=_launches(submission, plan, lowered),
        workspaces=_workspaces(submission),
        image=image,
    )


def _launches(submission: Submission, plan: Plan, lowered: Mapping[str, str]) -> tuple[LaunchSpec, ...]:
    return tuple(
        LaunchSpec(lowered[kernel], kernel, None if submission.default_launch else line.line)
        for kernel, line in zip(plan.kernels, submission.launches, strict=True)
    )


def _workspaces(submission: Submission) -> tuple[WorkspaceSpec, ...]:
    return tuple(WorkspaceSpec(line.name, line.ctype, line.line) for line in submission.workspaces)


def _scalar(parameter: Parameter, value: Scalar) -> Scalar:
    # NumPy scalars slip into a problem's parameters easily and do not travel as JSON.
    if parameter.ctype == "bool":
        return bool(value)
    return float(value) if parameter.ctype == "float" else int(value)


def _buffer_spec(buffer: Buffer, case: Case) -> BufferSpec:
    return BufferSpec(
        name=buffer.name,
        dtype=buffer.dtype,
        ctype=buffer.ctype,
        shape=buffer.extent(case.parameters),
        role=buffer.role,
        element_bytes=buffer.numpy_dtype.itemsize,
    )
