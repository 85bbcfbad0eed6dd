"""What a submission says, after reading: its device source and its launch and workspace lines.

Lines and columns are 1-based and count characters of the submitted text, so an editor shows the
same numbers. A default launch comes from the problem; it has no line and its columns count from the
start of the problem's own text.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Expression:
    """A piece of C++ as the submitter wrote it."""

    text: str
    line: int | None
    column: int


@dataclass(frozen=True)
class LaunchLine:
    """`// @launch KERNEL<<<GRID, BLOCK[, SHARED]>>>(ARGUMENTS)`; text is the part after `@launch`."""

    text: str
    line: int | None
    column: int
    kernel: Expression
    grid: Expression
    block: Expression
    shared: Expression | None
    arguments: tuple[Expression, ...]

    @property
    def kernel_name(self) -> str:
        """The kernel's name without template arguments."""
        return self.kernel.text.partition("<")[0].strip()


@dataclass(frozen=True)
class WorkspaceLine:
    """`// @workspace TYPE NAME[COUNT]`."""

    ctype: str
    name: str
    count: Expression
    line: int
    column: int
    ctype_column: int


@dataclass(frozen=True)
class KernelDefinition:
    """A `__global__` function of the file. line: where its name stands. parameters: their names, "" for none."""

    name: str
    line: int
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class Submission:
    """source: the submitted text without a byte-order mark.

    device_source: the same lines with host code blanked by spaces, so that every line and column
    stays. default_launch: the launches are the problem's, because the text has no `@launch`.
    set_aside: host code left out, as "lines 10-20: main". notes: what the submitter should know.
    host_names: functions and types that were set aside, with the line of each.
    sha256: of the submitted bytes.
    """

    name: str
    source: str
    device_source: str
    launches: tuple[LaunchLine, ...]
    workspaces: tuple[WorkspaceLine, ...]
    default_launch: bool
    set_aside: tuple[str, ...]
    notes: tuple[str, ...]
    sha256: str
    definitions: tuple[KernelDefinition, ...] = ()
    host_names: tuple[tuple[str, int], ...] = ()

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels in the file, in order."""
        return tuple(definition.name for definition in self.definitions)

    def definition(self, kernel: str) -> KernelDefinition | None:
        """The only definition of that name; None where there is none or an overload."""
        found = [definition for definition in self.definitions if definition.name == kernel]
        return found[0] if len(found) == 1 else None
