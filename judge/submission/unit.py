"""Builds the translation unit: the submission's device code, then the planning kernels.

    <device source, lines and columns as submitted>
    #line 1 "judge-end"      a declaration that must parse
    #line 1 "judge-plan"
    <plan.cuh>
    per set of constants i:  workspace types and kernel types of the launches,
                             judge_plan_workspaces_i, judge_plan_launches_i

A planning kernel evaluates what the launch lines say - grid, block, bytes, arguments - with the real
compiler, on the real device, with one thread. Each expression is emitted after a `#line` of its own
line and padded to its own column, so the compiler points into the launch line by itself. The file
name "judge-plan-J" in a message means launch J (log.py).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from judge.problem import Parameter, Problem, Scalar
from judge.submission.model import Expression, LaunchLine, Submission, WorkspaceLine

SOURCE_NAME = "submission.cu"
PLAN_FILE = "judge-plan"
END_FILE = "judge-end"
DEFAULT_LAUNCH_FILE = "default-launch"

ARGUMENT_BLOCK_BYTES = 4096
"""Distance of the argument blocks of two launches in the planning kernel's output."""

GEOMETRY_WORDS = 8

Constants = tuple[tuple[str, Scalar], ...]

_TOKEN = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])'|(?:::|\.|->)\s*[A-Za-z_]\w*|[A-Za-z_]\w*")
_HALF_HEADERS = {"__half": "cuda_fp16.h", "__nv_bfloat16": "cuda_bf16.h"}


@dataclass(frozen=True)
class Plan:
    """The planning kernels for one set of constants.

    kernels: the name expression of each launch, in order.
    """

    constants: Constants
    workspace_kernel: str
    launch_kernel: str
    kernels: tuple[str, ...]


@dataclass(frozen=True)
class TranslationUnit:
    """What the compiler is given.

    source: begins with the submission, so a line number of it is a line number of the submitted file.
    launch_names: every name a launch line may use, for suggestions.
    """

    source: str
    source_name: str
    name_expressions: tuple[str, ...]
    plans: tuple[Plan, ...]
    submission: Submission
    launch_names: tuple[str, ...]
    constant_names: tuple[str, ...]


def build_unit(submission: Submission, problem: Problem, constant_sets: Sequence[Constants]) -> TranslationUnit:
    """Build the unit with one plan for each set of the problem's compile-time constants."""
    writer = _PlanWriter(submission, problem)
    plans = tuple(writer.plan(index, constants) for index, constants in enumerate(constant_sets))
    workspaces = tuple(workspace.name for workspace in submission.workspaces)
    constant_names = tuple(parameter.name for parameter in problem.constants)
    return TranslationUnit(
        # The blank line is for a last line that ends in a backslash.
        source=submission.device_source.rstrip("\n") + "\n\n" + writer.text(),
        source_name=SOURCE_NAME,
        name_expressions=tuple(dict.fromkeys(kernel for plan in plans for kernel in plan.kernels)),
        plans=plans,
        submission=submission,
        launch_names=(
            *(buffer.name for buffer in problem.buffers),
            *workspaces,
            *(parameter.name for parameter in problem.parameters),
        ),
        constant_names=constant_names,
    )


def substitute(text: str, constants: Constants) -> str:
    """A piece of C++ with the constants' values in place of their names; members and qualified names stay."""
    values = {name: literal(value) for name, value in constants}
    return _TOKEN.sub(lambda match: values.get(match.group(), match.group()), text)


def literal(value: Scalar) -> str:
    """A C++ literal of a parameter's value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value!r}f"
    return str(value) if value >= 0 else f"({value})"


def name_expression(kernel: Expression, constants: Constants) -> str:
    """The kernel of a launch with the constants in its template arguments replaced."""
    name, bracket, arguments = kernel.text.partition("<")
    return name.strip() + bracket + substitute(arguments, constants).strip()


@cache
def _helpers() -> str:
    return (Path(__file__).parent / "plan.cuh").read_text()


class _PlanWriter:
    def __init__(self, submission: Submission, problem: Problem) -> None:
        self._submission = submission
        self._problem = problem
        self._parts: list[str] = []
        self._head()

    def text(self) -> str:
        return "".join(self._parts)

    def _emit(self, *lines: str) -> None:
        self._parts.extend(f"{line}\n" for line in lines)

    def _head(self) -> None:
        problem = self._problem
        # What is unfinished at the end of the submission runs into this, not into the plan.
        self._emit(f'#line 1 "{END_FILE}"', 'static_assert(true, "");')
        self._at_plan()
        headers = {_HALF_HEADERS[buffer.ctype] for buffer in problem.buffers if buffer.ctype in _HALF_HEADERS}
        self._emit(*(f"#include <{header}>" for header in sorted(headers)))
        # A macro of the submission must not turn a parameter's declaration into something else.
        names = [buffer.name for buffer in problem.buffers] + [parameter.name for parameter in problem.parameters]
        names += [workspace.name for workspace in self._submission.workspaces]
        self._emit(*(f"#undef {name}" for name in names))
        self._parts.append(_helpers())

    def _at_plan(self, launch: int | None = None) -> None:
        self._emit(f'#line 1 "{PLAN_FILE if launch is None else f"{PLAN_FILE}-{launch}"}"')

    def _expression(self, expression: Expression, end: str, text: str | None = None, launch: int | None = None) -> None:
        """The expression on its own line and column; `text` where constants were put in.

        end: what closes it, on the same line, so that a missing operand is an error there as well.
        """
        if expression.line is None:
            self._emit(f'#line 1 "{DEFAULT_LAUNCH_FILE}"')
        else:
            self._emit(f'#line {expression.line} "{SOURCE_NAME}"')
        self._emit(" " * (expression.column - 1) + (text or expression.text) + end)
        self._at_plan(launch)

    def plan(self, index: int, constants: Constants) -> Plan:
        submission = self._submission
        kernels = tuple(name_expression(launch.kernel, constants) for launch in submission.launches)
        for j, workspace in enumerate(submission.workspaces):
            self._emit("typedef")
            ctype = Expression(workspace.ctype, workspace.line, workspace.ctype_column)
            self._expression(ctype, "", substitute(workspace.ctype, constants))
            self._emit(f"judge_plan_workspace_{index}_{j};")
        for j, (launch, kernel) in enumerate(zip(submission.launches, kernels, strict=True)):
            self._at_plan(j)
            self._emit("typedef decltype(&")
            self._expression(launch.kernel, ")", kernel, j)
            self._emit(f"judge_plan_kernel_{index}_{j};")
        self._workspaces(index, constants)
        self._launches(index, constants)
        return Plan(constants, f"judge_plan_workspaces_{index}", f"judge_plan_launches_{index}", kernels)

    def _parameters(self) -> list[str]:
        return [f"const {p.ctype} {p.name}" for p in self._problem.parameters if not p.constant]

    def _constants(self, constants: Constants) -> None:
        by_name: dict[str, Parameter] = {parameter.name: parameter for parameter in self._problem.parameters}
        self._emit(
            *(
                f"  [[maybe_unused]] constexpr {by_name[name].ctype} {name} = {literal(value)};"
                for name, value in constants
            ),
        )

    def _workspaces(self, index: int, constants: Constants) -> None:
        parameters = ["unsigned long long* judge_plan_out", *self._parameters()]
        self._at_plan()
        self._emit(f'extern "C" __global__ void judge_plan_workspaces_{index}({", ".join(parameters)}) {{')
        self._constants(constants)
        for j, workspace in enumerate(self._submission.workspaces):
            self._emit(f"  judge_plan_out[{2 * j}] = sizeof(judge_plan_workspace_{index}_{j});")
            self._emit("  {", "    long long judge_plan_word =")
            self._expression(workspace.count, ";")
            self._emit(f"    judge_plan_out[{2 * j + 1}] = judge_plan_word;", "  }")
        self._emit("}")

    def _launches(self, index: int, constants: Constants) -> None:
        workspaces: Sequence[WorkspaceLine] = self._submission.workspaces
        parameters = [
            "long long* judge_plan_geometry",
            "unsigned char* judge_plan_blocks",
            *self._parameters(),
            *(f"{buffer.ctype}* {buffer.name}" for buffer in self._problem.buffers),
            *(f"judge_plan_workspace_{index}_{j}* {workspace.name}" for j, workspace in enumerate(workspaces)),
        ]
        self._at_plan()
        self._emit(f'extern "C" __global__ void judge_plan_launches_{index}({", ".join(parameters)}) {{')
        self._emit("  using dim3 = judge_plan_extent;")
        self._constants(constants)
        for j, launch in enumerate(self._submission.launches):
            self._launch(j, launch, f"judge_plan_kernel_{index}_{j}")
        self._emit("}")

    def _launch(self, j: int, launch: LaunchLine, kernel: str) -> None:
        self._at_plan(j)
        given = len(launch.arguments)
        counts = f"judge_plan_signature<{kernel}>::count, {given}"
        self._emit(f"  {{ judge_plan_arguments<{counts}> judge_plan_check; (void)judge_plan_check; }}")
        for start, extent in ((0, launch.grid), (3, launch.block)):
            self._emit("  {", "    judge_plan_extent judge_plan_g =")
            self._expression(extent, ";", launch=j)
            for k, axis in enumerate("xyz", start):
                self._emit(f"    judge_plan_geometry[{GEOMETRY_WORDS * j + k}] = judge_plan_g.{axis};")
            self._emit("  }")
        self._emit("  {", "    long long judge_plan_word =")
        if launch.shared is None:
            self._emit("    0;")
        else:
            self._expression(launch.shared, ";", launch=j)
        self._emit(f"    judge_plan_geometry[{GEOMETRY_WORDS * j + 6}] = judge_plan_word;", "  }")
        words = GEOMETRY_WORDS * j + 7
        self._emit(f"  judge_plan_geometry[{words}] = judge_plan_signature<{kernel}>::block_bytes;")
        pointers = {buffer.name for buffer in self._problem.buffers}
        pointers |= {workspace.name for workspace in self._submission.workspaces}
        for k, argument in enumerate(launch.arguments):
            self._emit("  {", f"    judge_plan_parameter<{k}, {kernel}>::type judge_plan_v =")
            self._expression(argument, ";", launch=j)
            block = f"judge_plan_blocks + {ARGUMENT_BLOCK_BYTES * j}"
            self._emit(f"    judge_plan_store<{k}, {kernel}>({block}, judge_plan_v);", "  }")
            if argument.text not in pointers and "{" not in argument.text:
                # A lambda or an initializer list cannot stand in decltype.
                self._emit("  {", f"    judge_plan_narrowing<{k}, decltype((")
                self._expression(argument, ")),", launch=j)
                self._emit(f"    judge_plan_parameter<{k}, {kernel}>::type> judge_plan_n; (void)judge_plan_n;", "  }")
