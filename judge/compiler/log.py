"""What a submitter reads of a compilation: their lines, their columns, their names.

Messages about the planning kernels are turned back into messages about the launch lines; what only
follows from another error is dropped; nothing of the host or of the judge's own code is shown.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from judge.compiler.diagnostics import Diagnostic, parse_log
from judge.compiler.printing import MESSAGE_CAP, printed_log
from judge.records import CompileMessage
from judge.spelling import nearest
from judge.submission.comments import code_only
from judge.submission.model import Expression, LaunchLine
from judge.submission.unit import DEFAULT_LAUNCH_FILE, END_FILE, PLAN_FILE, SOURCE_NAME, TranslationUnit
from judge.worker.logs import inert

MAX_MESSAGES = 100
MAX_CONTEXT = 6

_UNDEFINED = re.compile(r'identifier "([^"]+)" is undefined')
# Bounded, because an #error can hold a hundred thousand beginnings of these.
_COUNTS = re.compile(
    r"judge_plan_takes=(-?\d{1,6}), judge_plan_given=(\d{1,6})\].{0,4000}?of judge-plan-(\d{1,6})\b", re.DOTALL
)
_NARROWED = re.compile(
    r"judge_plan_argument=(\d{1,6}), judge_plan_from=([^,\]]{1,500}), judge_plan_to=([^,\]]{1,500})\].{0,4000}?"
    r"of judge-plan-(\d{1,6})\b",
    re.DOTALL,
)
_PARAMETER_TYPE = re.compile(r'"judge_plan_parameter<.*?>::type" \(aka "([^"]*)"\)')
_CONVERSION = re.compile(r"cannot be used to initialize|no suitable (?:user-defined )?con(?:version|structor)")
_NO_MARK = re.compile(r"A (function|namespace scope variable) without (?:execution|memory) space annotations")
_HOST_MARK = re.compile(r"A function explicitly marked as a __host__ function")
_NOT_A_KERNEL = re.compile(r'non-__global__.*Input name expression was: "\s*([^"]*?)\s*"')
_INTERNAL = re.compile(r"judge_plan|judge-plan|judge-end|nv_mangled_name|__nv_name_map")
_NAME_AT = re.compile(r"~?[A-Za-z_]\w*")


@dataclass(frozen=True)
class CleanLog:
    """messages: in the order of the compiler, the first error first. text: at most 64 KiB, inert."""

    messages: tuple[CompileMessage, ...]
    text: str


def clean_log(log: str, unit: TranslationUnit, *, failed: bool) -> CleanLog:
    """The log of a compilation of the unit in the submitter's terms."""
    cleaner = _Cleaner(unit, parse_log(log.replace("\0", "")))
    messages, context = cleaner.run()
    if failed and not any(message.severity == "error" for message in messages):
        messages.append(CompileMessage(message="the compiler refused the source and gave no reason"))
        context.append(())
    text = printed_log(messages, context, unit.submission.name, unit.submission.source, more=cleaner.dropped)
    return CleanLog(tuple(messages), text)


def limit_message(limit: str, wall_limit_s: float) -> str:
    """What a compilation that ended at a limit is told."""
    if limit == "time":
        return (
            f"compile limit: the compiler did not finish within {wall_limit_s:g} s. Look for templates, macros or "
            "constant expressions that grow without end, and unroll less"
        )
    if limit == "memory":
        return (
            "compile limit: the compiler ran out of memory on this source. Look for templates, macros or arrays that "
            "grow without end"
        )
    return "compile limit: the compiler broke down on this source. Simplify deeply nested or generated code"


class _Cleaner:
    def __init__(self, unit: TranslationUnit, diagnostics: Sequence[Diagnostic]) -> None:
        self._unit = unit
        self._submission = unit.submission
        self._diagnostics = diagnostics
        self._lines = self._submission.source.split("\n")
        self._messages: list[CompileMessage] = []
        self._context: list[tuple[str, ...]] = []
        self._seen: set[tuple[int | None, int | None, str]] = set()
        self._counted: dict[int, tuple[int, int]] = {}
        self._narrowed: dict[tuple[int, int], tuple[str, str]] = {}
        self._launch_told: set[tuple[int, int]] = set()
        self._kernel_errors: set[int] = set()
        self._kernel_told: set[int] = set()
        self._unfinished = any(one.severity == "error" and one.file == END_FILE for one in diagnostics)
        self.dropped = False

    def run(self) -> tuple[list[CompileMessage], list[tuple[str, ...]]]:
        self._unclosed()
        self._survey()
        previous_kept = False
        for diagnostic in self._diagnostics:
            if diagnostic.severity in ("note", "remark"):
                if previous_kept and self._is_users(diagnostic):
                    self._add(diagnostic.line, diagnostic.column, diagnostic.message, "note")
                continue
            before = len(self._messages)
            self._take(diagnostic)
            previous_kept = len(self._messages) > before
        self._argument_counts()
        self._narrowings()
        self._last_resort()
        self._drop_what_errors_cause()
        return self._messages, self._context

    def _unclosed(self) -> None:
        """A brace that is never closed swallows the planning kernels; the brace itself is the message.

        One too many ends a function early, and the compiler's own messages say little of it.
        """
        errors = self._unfinished or any(diagnostic.severity == "error" for diagnostic in self._diagnostics)
        code = code_only(self._submission.device_source)
        if not errors or re.search(r"^[ \t]*#[ \t]*(?:else|elif)", code, re.MULTILINE):
            return
        opened: list[int] = []
        for match in re.finditer(r"[{}]", code):
            if match.group() == "{":
                opened.append(match.start())
            elif opened:
                opened.pop()
            else:
                self._add(*_place(code, match.start()), 'this "}" closes nothing: there is one "}" too many', "error")
                return
        if opened:
            self._add(*_place(code, opened[-1]), 'this "{" is never closed: a "}" is missing', "error")
        elif self._unfinished:
            last = code.rstrip()
            self._add(
                *_place(code, len(last) - 1),
                'the file ends in the middle of a declaration: a ";", a ")" or the rest of it is missing',
                "error",
            )

    def _survey(self) -> None:
        """Find what decides about other messages: argument counts, and launches whose kernel has an error."""
        for diagnostic in self._diagnostics:
            text = " ".join((diagnostic.message, *diagnostic.context))
            launches = self._submission.launches
            for takes, given, number in _COUNTS.findall(text):
                # An #error can say this as well; what the line gives is known without it.
                if int(number) < len(launches) and int(given) == len(launches[int(number)].arguments):
                    self._counted.setdefault(int(number), (int(takes), int(given)))
            for argument, given, taken, number in _NARROWED.findall(text):
                if int(number) < len(launches) and int(argument) < len(launches[int(number)].arguments):
                    self._narrowed[int(number), int(argument)] = (_plain_type(given), _plain_type(taken))
            if diagnostic.severity != "error":
                continue
            planned = self._launch_of(diagnostic)
            if planned is not None and "instance of" in diagnostic.message:
                self._kernel_errors.add(planned)
            for launch, line in enumerate(self._submission.launches):
                if self._at(diagnostic, line.line) and _within(diagnostic.column, line.kernel):
                    self._kernel_errors.add(launch)
            if match := _NOT_A_KERNEL.search(diagnostic.message):
                self._kernel_errors.update(self._launches_of(match.group(1)))

    def _launch_of(self, diagnostic: Diagnostic) -> int | None:
        """The launch whose planning a message is about; None for another file, and for one a #line made up."""
        number = diagnostic.file.removeprefix(f"{PLAN_FILE}-")
        known = (str(launch) for launch in range(len(self._submission.launches)))
        return int(number) if diagnostic.file != number and number in known else None

    def _launches_of(self, name: str) -> list[int]:
        squeezed = name.replace(" ", "")
        return [
            launch
            for plan in self._unit.plans
            for launch, kernel in enumerate(plan.kernels)
            if kernel.replace(" ", "") == squeezed
        ]

    def _at(self, diagnostic: Diagnostic, line: int | None) -> bool:
        if line is None:
            return diagnostic.file.endswith(DEFAULT_LAUNCH_FILE)
        return diagnostic.file == SOURCE_NAME and diagnostic.line == line

    def _is_users(self, diagnostic: Diagnostic) -> bool:
        return diagnostic.file == SOURCE_NAME and not _INTERNAL.search(diagnostic.message)

    def _take(self, diagnostic: Diagnostic) -> None:
        if diagnostic.file == END_FILE:
            return
        for launch, line in enumerate(self._submission.launches):
            if self._at(diagnostic, line.line):
                self._about_launch(diagnostic, launch, line)
                return
        if diagnostic.file == SOURCE_NAME:
            self._about_source(diagnostic)
        elif diagnostic.file.startswith(PLAN_FILE):
            self._about_plan(diagnostic)
        elif diagnostic.file == "__nv_name_map":
            if match := _NOT_A_KERNEL.search(diagnostic.message):
                for launch in dict.fromkeys(self._launches_of(match.group(1))):
                    name = self._submission.launches[launch].kernel_name
                    self._launch_error(launch, f"{name} is not a kernel. Mark it __global__ to launch it")
        elif diagnostic.file == "ptxas":
            self._about_assembly(diagnostic)
        elif diagnostic.file == "nvrtc" or not diagnostic.file:
            if not self._messages:
                self._add(None, None, diagnostic.message, diagnostic.severity)
        else:
            self._about_header(diagnostic)

    def _about_source(self, diagnostic: Diagnostic) -> None:
        message = diagnostic.message
        line = diagnostic.line or 0
        line_text = self._lines[line - 1] if 0 < line <= len(self._lines) else ""
        if diagnostic.severity == "warning" and any(
            diagnostic.line == workspace.line for workspace in self._submission.workspaces
        ):
            return
        if message == "out of memory":
            message = limit_message("memory", 0.0)
        elif match := _UNDEFINED.search(message):
            message += self._why_undefined(match.group(1))
        elif match := _NO_MARK.search(message):
            named = _NAME_AT.match(line_text, (diagnostic.column or 1) - 1)
            what = f" {named.group()}" if named else ""
            if match.group(1) == "function":
                message = f"function{what} has no __device__, so it is host code. Mark it __device__ to use it here"
            else:
                message = f"variable{what} is host memory. Make it constexpr, or mark it __device__ or __constant__"
        elif _HOST_MARK.search(message):
            message = "a __host__ function cannot be compiled for the device. Mark it __host__ __device__"
        elif "could not open source file" in message or "cannot open source file" in message:
            message = message.partition(" (no directories")[0]
            message += ". Only CUDA's device headers and common.cuh can be included"
        self._add(diagnostic.line, diagnostic.column, message, diagnostic.severity, diagnostic.context)

    def _why_undefined(self, name: str) -> str:
        for host, line in self._submission.host_names:
            if host == name:
                return f": line {line} defines it as host code. Mark it __device__ to use it in a kernel"
        if name in ("cudaMalloc", "cudaMemcpy", "cudaFree", "cudaDeviceSynchronize", "cudaLaunchDevice"):
            return ": the CUDA runtime belongs to the host, and the judge does its part"
        return ""

    def _about_launch(self, diagnostic: Diagnostic, launch: int, line: LaunchLine) -> None:
        if diagnostic.severity == "warning":
            return
        message = _without_plan_names(diagnostic.message)
        part, where = _part(line, diagnostic.column)
        if part == "kernel" and message == "expected an expression" and launch in self._kernel_told:
            return
        undefined = _UNDEFINED.search(message)
        if part == "kernel":
            self._kernel_told.add(launch)
            message = self._kernel_message(line, message, undefined.group(1) if undefined else None)
        else:
            if self._counts_wrong(launch) and part.startswith("argument") and _CONVERSION.search(message):
                return
            if undefined:
                message += self._suggestion(undefined.group(1))
            message = f"{part} of {line.kernel_name}: {message}"
            if (launch, where) in self._launch_told:
                return  # an argument is compiled twice; its first error is the one that counts
            self._launch_told.add((launch, where))
        self._launch_error(launch, message, diagnostic.column or where)

    def _counts_wrong(self, launch: int) -> bool:
        return launch in self._counted or launch in self._kernel_errors

    def _kernel_message(self, line: LaunchLine, message: str, undefined: str | None) -> str:
        if undefined is None:
            return message
        if undefined == line.kernel_name.rpartition("::")[2]:
            kernels = self._submission.kernels
            if not kernels:
                return f"there is no kernel called {undefined}: no function of this file is marked __global__"
            close = nearest(undefined, kernels)
            has = f"did you mean {close}?" if close else f"this file has {', '.join(dict.fromkeys(kernels))}"
            return f"there is no kernel called {undefined}; {has}"
        if undefined in self._unit.launch_names:
            constants = ", ".join(self._unit.constant_names) or "none"
            return (
                f"{undefined} has a value only when the kernel runs, so it cannot be a template argument. "
                f"Constants of this problem: {constants}"
            )
        return message + self._suggestion(undefined)

    def _suggestion(self, name: str) -> str:
        known = self._unit.launch_names
        close = nearest(name, known, 0.5)
        return f"; did you mean {close}?" if close else f". A launch line knows {', '.join(known)}"

    def _about_plan(self, diagnostic: Diagnostic) -> None:
        launch = self._launch_of(diagnostic)
        if diagnostic.severity != "error" or launch is None:
            return
        name = self._submission.launches[launch].kernel_name
        if "function template" in diagnostic.message and "instance of" in diagnostic.message:
            kernel = self._submission.launches[launch].kernel.text
            if "<" in kernel:
                self._launch_error(launch, f"no template {name} of this file takes the arguments of {kernel}")
            else:
                self._launch_error(launch, f"{name} is a template: give its arguments, as in {name}<...><<<...>>>(...)")
        elif "overloaded function" in diagnostic.message:
            self._launch_error(launch, f"{name} is overloaded. Give the kernel a name of its own")

    def _argument_counts(self) -> None:
        if self._unfinished:
            return
        for launch, (takes, given) in sorted(self._counted.items()):
            line = self._submission.launches[launch]
            if takes < 0:
                if launch not in self._kernel_errors:
                    self._launch_error(
                        launch, f"{line.kernel_name} is not a kernel: a launch needs a __global__ function"
                    )
                continue
            place = line.arguments[min(takes, given - 1)].column if given else line.kernel.column
            source = "the default launch" if line.line is None else "the launch line"
            count = f"{takes} argument{'s' if takes != 1 else ''}"
            self._launch_error(launch, f"{line.kernel_name} takes {count}, {source} gives {given}", place)

    def _narrowings(self) -> None:
        """Scalars in the wrong order: C++ would turn one into the other without a word."""
        for (launch, argument), (given, taken) in sorted(self._narrowed.items()):
            line = self._submission.launches[launch]
            if self._counts_wrong(launch) or argument >= len(line.arguments):
                continue
            expression = line.arguments[argument]
            definition = self._submission.definition(line.kernel_name)
            named = definition.parameters[argument] if definition and argument < len(definition.parameters) else ""
            cast = f"{expression.text} != 0" if taken == "bool" else f"{taken}({expression.text})"
            self._launch_error(
                launch,
                f"argument {argument + 1} of {line.kernel_name}: {given} `{expression.text}` becomes {taken}"
                + (f" `{named}`" if named else "")
                + f". Are two arguments in each other's place? Where it is meant, write {cast}",
                expression.column,
            )

    def _drop_what_errors_cause(self) -> None:
        """A kernel that no launch reaches is never instantiated, so what it uses looks unused."""
        if not any(message.severity == "error" for message in self._messages):
            return
        kept = [
            (message, context)
            for message, context in zip(self._messages, self._context, strict=True)
            if not (message.severity == "warning" and "never referenced" in message.message)
        ]
        self._messages[:] = [message for message, _ in kept]
        self._context[:] = [context for _, context in kept]

    def _about_assembly(self, diagnostic: Diagnostic) -> None:
        """ptxas knows no source line; an instruction it names is looked for in the source's asm."""
        message = diagnostic.message
        if "assembly aborted due to errors" in message and self._messages:
            return
        quoted = re.search(r"'([^']{2,60})'", message)
        line = None
        if quoted:
            line = next((i for i, text in enumerate(self._lines, 1) if quoted.group(1) in text), None)
        for expression, symbol in ((kernel, kernel) for plan in self._unit.plans for kernel in plan.kernels):
            message = message.replace(symbol, expression)
        self._add(line, None, f"assembler: {message}", diagnostic.severity)

    def _about_header(self, diagnostic: Diagnostic) -> None:
        """An error inside a header, usually a wrong use of it; the submission's line is in the context."""
        if diagnostic.severity != "error":
            return
        lines = re.findall(rf"at line (\d{{1,9}})(?: of {re.escape(SOURCE_NAME)})", " ".join(diagnostic.context))
        name = diagnostic.file.lstrip("/")
        message = f"{name}({diagnostic.line}): {diagnostic.message}"
        self._add(int(lines[-1]) if lines else None, None, message, "error", diagnostic.context)

    def _last_resort(self) -> None:
        """The planning kernels have an error that no other message explains: show it with its launch."""
        if any(message.severity == "error" for message in self._messages):
            return
        for diagnostic in self._diagnostics:
            if diagnostic.severity == "error" and diagnostic.file.startswith(PLAN_FILE):
                message = f"the launch could not be evaluated: {_without_plan_names(diagnostic.message)}"
                self._launch_error(self._launch_of(diagnostic) or 0, message)
                return

    def _launch_error(self, launch: int, message: str, column: int | None = None) -> None:
        if self._unfinished:
            return  # the launches were read as part of the declaration that does not end
        line = self._submission.launches[launch]
        if line.line is None:
            message = (
                f"the problem's default launch does not fit this file: {message}{'' if message.endswith('?') else '.'} "
                f"The default is {line.text}; give your own: // @launch KERNEL<<<GRID, BLOCK>>>(ARGUMENTS)"
            )
            self._add(None, None, message, "error")
        else:
            self._add(line.line, column or line.kernel.column, message, "error")

    def _add(
        self, line: int | None, column: int | None, message: str, severity: str, context: tuple[str, ...] = ()
    ) -> None:
        message = inert(message.replace("__nv_bool", "bool"))
        if len(message) > MESSAGE_CAP:
            message = message[:MESSAGE_CAP] + "..."
        if (line, column, message) in self._seen:
            return
        if len(self._messages) >= MAX_MESSAGES:
            self.dropped = True
            return
        self._seen.add((line, column, message))
        kind = "error" if severity == "error" else "note" if severity == "note" else "warning"
        self._messages.append(
            CompileMessage.model_validate({"line": line, "column": column, "message": message, "severity": kind})
        )
        self._context.append(tuple(one for one in context if not _INTERNAL.search(one))[:MAX_CONTEXT])


def _place(text: str, at: int) -> tuple[int, int]:
    """1-based line and column of a place in a text."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _plain_type(name: str) -> str:
    """The type without const and reference."""
    return name.replace("const ", "").rstrip("& ").replace("__nv_bool", "bool")


def _within(column: int | None, expression: Expression) -> bool:
    return column is not None and expression.column <= column <= expression.column + len(expression.text)


def _part(line: LaunchLine, column: int | None) -> tuple[str, int]:
    """Which part of a launch line a column lies in, and where that part begins."""
    parts = [("kernel", line.kernel), ("grid", line.grid), ("block", line.block)]
    if line.shared is not None:
        parts.append(("shared bytes", line.shared))
    parts += [(f"argument {number}", argument) for number, argument in enumerate(line.arguments, 1)]
    for name, expression in parts:
        if _within(column, expression):
            return name, expression.column
    following = [part for part in parts if part[1].column <= (column or 0)]
    name, expression = following[-1] if following else parts[0]
    return name, expression.column


def _without_plan_names(message: str) -> str:
    message = _PARAMETER_TYPE.sub(r'"\1"', message)
    message = message.replace("judge_plan_extent::judge_plan_extent", "dim3").replace("judge_plan_extent", "dim3")
    return re.sub(r"judge_plan_\w+", "the launch", message)
