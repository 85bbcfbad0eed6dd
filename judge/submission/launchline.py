"""Reads `@launch` and `@workspace` lines, and the lines that were meant to be one.

Only the shape of a line is checked here. Whether a name exists and a type fits is the compiler's to
say, over the generated planning kernel (unit.py), at the same lines and columns.
"""

import re
from typing import NoReturn

from judge.errors import SubmissionError
from judge.problem import Problem
from judge.spelling import nearest
from judge.submission.brackets import Unbalanced, closing, top_level, trimmed, without_literals
from judge.submission.model import Expression, LaunchLine, WorkspaceLine

MAX_LAUNCHES = 16
MAX_WORKSPACES = 8
MAX_LINE_CHARACTERS = 4096
"""A line is read with effort that grows with its square."""

DIRECTIVES = ("launch", "workspace")
LAUNCH_SHAPE = "// @launch KERNEL<<<GRID, BLOCK[, SHARED_BYTES]>>>(ARGUMENTS)"
WORKSPACE_SHAPE = "// @workspace TYPE NAME[COUNT]"

_DIRECTIVE = re.compile(r"[/!\s]*@\s*(\w+)")
_NAME = re.compile(r"[A-Za-z_]\w*\Z")
_KERNEL = re.compile(r"(?:::\s*)?[A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)*")
_WORKSPACE = re.compile(r"(?P<type>.+?[\s*>])(?P<name>[A-Za-z_]\w*)\s*\Z", re.DOTALL)

# A workspace with one of these names could never be passed to a kernel.
_KEYWORDS = frozenset(
    [
        "alignas",
        "alignof",
        "auto",
        "bool",
        "break",
        "case",
        "char",
        "class",
        "const",
        "constexpr",
        "continue",
        "decltype",
        "default",
        "delete",
        "do",
        "double",
        "else",
        "enum",
        "explicit",
        "extern",
        "false",
        "float",
        "for",
        "friend",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "mutable",
        "namespace",
        "new",
        "noexcept",
        "nullptr",
        "operator",
        "private",
        "protected",
        "public",
        "register",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "template",
        "this",
        "throw",
        "true",
        "try",
        "typedef",
        "typename",
        "union",
        "unsigned",
        "using",
        "virtual",
        "void",
        "volatile",
        "while",
        "dim3",
        "threadIdx",
        "blockIdx",
        "blockDim",
        "gridDim",
        "warpSize",
    ]
)


def directive_of(comment: str, line: int, column: int) -> str | None:
    """The directive a comment holds ("launch" or "workspace"), None for an ordinary comment.

    comment: its whole text, `//` or `/*` included; line and column: of its first character.
    Raises SubmissionError for a misspelled directive and one in a block comment.
    """
    if comment.startswith("/*"):
        found = _in_block_comment(comment)
        if found:
            at_line, at_column = _place_in(comment, found.start(), line, column)
            raise SubmissionError(
                f"@{found.group(1)} stands in a block comment, where it is not read. "
                f"Write it as a line of its own: {_shape(found.group(1))}",
                at_line,
                at_column,
            )
        return None
    match = _DIRECTIVE.match(comment)
    if match is None or len(match.group(1)) > 4 * len("workspace"):
        return None
    word = match.group(1)
    at = column + match.start(1) - 1
    if word not in DIRECTIVES:
        close = nearest(word.lower(), DIRECTIVES, 0.7)
        if close:
            raise SubmissionError(
                f"@{word} is no directive; did you mean @{close}? Its form: {_shape(close)}", line, at
            )
        return None
    if "\n" in comment:
        raise SubmissionError(
            f"the @{word} line ends in a backslash. Write it in one line, however long; no continuation is read",
            line,
            column,
        )
    return word


def _in_block_comment(comment: str) -> re.Match[str] | None:
    """A directive with its figures in one line of a block comment."""
    for line in re.finditer(r"[^\n]+", comment):
        last = max(line.group().rfind("<<<"), line.group().rfind("["))
        found = re.compile(r"@(launch|workspace)\b").search(
            comment, line.start(), max(line.start() + last, line.start())
        )
        if found:
            return found
    return None


def _place_in(text: str, at: int, line: int, column: int) -> tuple[int, int]:
    before = text[:at]
    newlines = before.count("\n")
    if newlines:
        return line + newlines, at - before.rfind("\n")
    return line, column + at


def _shape(directive: str) -> str:
    return LAUNCH_SHAPE if directive == "launch" else WORKSPACE_SHAPE


def body_of(comment: str, column: int) -> tuple[str, int]:
    """The text after the directive's word and its column."""
    match = _DIRECTIVE.match(comment)
    assert match is not None
    text = comment[match.end() :]
    stripped = text.lstrip()
    return stripped.rstrip(), column + match.end() + len(text) - len(stripped)


class _Line:
    """One directive's text, with the means to point at any character of it."""

    def __init__(self, text: str, line: int | None, column: int, shape: str) -> None:
        self.text = text
        self.line = line
        self.column = column
        self._shape = shape
        if len(text) > MAX_LINE_CHARACTERS:
            self.fail(f"the line has {len(text)} characters, at most {MAX_LINE_CHARACTERS} are read", 0)
        self.masked = without_literals(text)
        comment = self.masked.find("//")
        if comment >= 0:
            self.fail("a comment inside the line; put it on a line of its own", comment)

    def fail(self, message: str, at: int) -> NoReturn:
        raise SubmissionError(f"{message}. The form is: {self._shape}", self.line, self.column + at)

    def expression(self, start: int, end: int, what: str) -> Expression:
        first, last = trimmed(self.text, start, end)
        if first == last:
            self.fail(f"{what} is empty", start)
        return Expression(self.text[first:last], self.line, self.column + first)

    def pieces(self, start: int, end: int) -> list[tuple[int, int]]:
        try:
            return top_level(self.masked, start, end)
        except Unbalanced as error:
            self.fail(str(error), error.at)


def read_launch(text: str, line: int | None, column: int) -> LaunchLine:
    """Read the part of a launch line after `@launch`.

    line, column: place of the text's first character.
    Raises SubmissionError, which points at the character that does not fit.
    """
    reader = _Line(text, line, column, LAUNCH_SHAPE)
    masked = reader.masked
    opening = masked.find("<<<")
    if opening < 0:
        near = masked.find("<<")
        reader.fail("the launch has no <<<", near if near >= 0 else len(masked.rstrip()))
    kernel = _kernel(reader, opening)
    config_end, arguments_start, arguments_end = _split_configuration(reader, opening + 3)
    config = reader.pieces(opening + 3, config_end)
    if len(config) < 2:
        reader.fail("the launch needs a grid and a block between <<< and >>>", config_end)
    if len(config) > 3:
        reader.fail("a launch takes grid, block and shared bytes; a stream is the judge's to choose", config[3][0])
    empty_call = not text[arguments_start:arguments_end].strip()
    arguments = [] if empty_call else reader.pieces(arguments_start, arguments_end)
    return LaunchLine(
        text=text,
        line=line,
        column=column,
        kernel=kernel,
        grid=reader.expression(*config[0], "the grid"),
        block=reader.expression(*config[1], "the block"),
        shared=reader.expression(*config[2], "the shared-memory size") if len(config) == 3 else None,
        arguments=tuple(
            reader.expression(start, end, f"argument {number}") for number, (start, end) in enumerate(arguments, 1)
        ),
    )


def _kernel(reader: _Line, opening: int) -> Expression:
    kernel = reader.expression(0, opening, "the kernel's name before <<<")
    match = _KERNEL.match(kernel.text)
    if match is None:
        reader.fail(f"{kernel.text!r} is no kernel name", kernel.column - reader.column)
    rest = kernel.text[match.end() :].strip()
    if rest and not (rest.startswith("<") and rest.endswith(">")):
        at = kernel.column - reader.column + kernel.text.index(rest, match.end())
        reader.fail(f"{rest!r} does not belong between the kernel's name and <<<", at)
    return kernel


def _split_configuration(reader: _Line, start: int) -> tuple[int, int, int]:
    """Where the configuration ends and where the arguments start and end.

    `>>>` may also end nested templates of an expression, so the first one that is followed by a
    parenthesis which ends the line is taken.
    """
    masked = reader.masked
    end = len(masked.rstrip().rstrip(";").rstrip())
    first: int | None = None
    problem: Unbalanced | None = None
    for match in re.finditer(r"(?=>>>\s*\()", masked[start:]):
        at = start + match.start()
        first = at if first is None else first
        parenthesis = masked.index("(", at)
        try:
            close = closing(masked, parenthesis)
        except Unbalanced as error:
            problem = problem or error
            continue
        if close == end - 1:
            return at, parenthesis + 1, close
        problem = problem or Unbalanced("there is text after the arguments' closing parenthesis", close + 1)
    if problem is not None:
        reader.fail(str(problem), problem.at)
    if ">>>" in masked[start:]:
        reader.fail("the arguments in parentheses are missing after >>>", masked.index(">>>", start) + 3)
    return reader.fail("the launch has no >>> after its configuration", _configuration_end(masked, start))


def _configuration_end(masked: str, start: int) -> int:
    """Where `>>>` was probably forgotten: at `>>` or `>` before a parenthesis, else at the end."""
    near = re.search(r">{1,2}\s*\(", masked[start:])
    return start + near.start() if near else len(masked.rstrip())


def read_workspace(text: str, line: int, column: int, problem: Problem, earlier: tuple[str, ...]) -> WorkspaceLine:
    """Read the part of a workspace line after `@workspace`.

    earlier: names of the workspaces before it. Raises SubmissionError.
    """
    reader = _Line(text, line, column, WORKSPACE_SHAPE)
    masked = reader.masked.rstrip().rstrip(";").rstrip()
    opening = masked.rfind("[") if masked.count("[") == 1 else masked.find("[")
    if opening < 0:
        reader.fail("the workspace has no [COUNT]", len(masked))
    try:
        close = closing(masked, opening)
    except Unbalanced as error:
        reader.fail(str(error), error.at)
    if close != len(masked) - 1:
        reader.fail("a workspace has one dimension and nothing after its ]; multiply the sizes", close + 1)
    declared = _WORKSPACE.match(masked[:opening])
    if declared is None:
        reader.fail("a workspace needs a type and a name before [", 0)
    name, start = declared.group("name"), declared.start("name")
    _check_name(reader, name, start, problem, earlier)
    ctype = reader.expression(0, declared.end("type"), "the type")
    return WorkspaceLine(
        ctype=ctype.text,
        name=name,
        count=reader.expression(opening + 1, close, "the count"),
        line=line,
        column=column,
        ctype_column=ctype.column,
    )


def _check_name(reader: _Line, name: str, at: int, problem: Problem, earlier: tuple[str, ...]) -> None:
    if name in _KEYWORDS or not _NAME.match(name):
        reader.fail(f"{name} is a word of CUDA C++ and cannot name a workspace", at)
    if name in earlier:
        reader.fail(f"there is already a workspace called {name}", at)
    if name in {buffer.name for buffer in problem.buffers}:
        reader.fail(f"{name} is a buffer of the problem; choose another name", at)
    if name in {parameter.name for parameter in problem.parameters}:
        reader.fail(f"{name} is a parameter of the problem; choose another name", at)
