"""Puts together what a worker is asked: a case of a problem, with the plan and symbols of its submission."""

from collections.abc import Mapping

from judge.problem import Array, Buffer, Case, Parameter, Problem, Scalar
from judge.submission.model import Submission
from judge.submission.unit import Plan
from judge.worker.messages import BufferSpec, CaseRequest, LaunchSpec, ParameterValue, WorkspaceSpec

BENCH_BUDGET_S = 1.5
"""How long a bench case may sample its time."""


def case_request(
    problem: Problem,
    case: Case,
    submission: Submission,
    plan: Plan,
    lowered: Mapping[str, str],
    inputs: Mapping[str, Array],
    *,
    bench: bool,
    schedule: int = 0,
    patterns: bool = False,
) -> CaseRequest:
    """The request of one case.

    lowered: symbol of each name expression, from the compilation. schedule, patterns: see CaseRequest.
    """
    launches = tuple(
        LaunchSpec(lowered[kernel], kernel, None if submission.default_launch else line.line)
        for kernel, line in zip(plan.kernels, submission.launches, strict=True)
    )
    return CaseRequest(
        name=case.name,
        workspace_kernel=plan.workspace_kernel,
        launch_kernel=plan.launch_kernel,
        launches=launches,
        parameters=tuple(
            ParameterValue(parameter.name, parameter.ctype, _scalar(parameter, case.parameters[parameter.name]))
            for parameter in problem.parameters
            if not parameter.constant
        ),
        buffers=tuple(_buffer_spec(buffer, case) for buffer in problem.buffers),
        inputs=inputs,
        workspaces=tuple(WorkspaceSpec(line.name, line.ctype, line.line) for line in submission.workspaces),
        workspace_limit_bytes=problem.workspace_limit_bytes,
        time_limit_s=case.time_limit_s,
        bench=bench,
        timing_budget_s=BENCH_BUDGET_S if bench else 0.0,
        schedule=schedule,
        patterns=patterns,
    )


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
