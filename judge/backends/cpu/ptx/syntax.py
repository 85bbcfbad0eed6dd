"""Syntax tree of a PTX module: what is written, names not yet looked up.

The body of a function is a flat list; nested `{ }` scopes are ScopeStart and ScopeEnd in it, so
that no depth of nesting needs recursion.
"""

from dataclasses import dataclass, field

from judge.backends.cpu.ir import Immediate, Location
from judge.backends.cpu.ptx.instructions import Spelling


@dataclass(slots=True)
class NameOffset:
    """`symbol+4` as a value."""

    name: str
    offset: int


@dataclass(slots=True)
class Memory:
    """`[base+offset]`; base None for an absolute address."""

    base: str | None
    offset: int


@dataclass(slots=True)
class Braces:
    """`{a, b, _}`."""

    elements: "list[str | Immediate]"


@dataclass(slots=True)
class Pair:
    """`p|q`."""

    first: str
    second: str


@dataclass(slots=True)
class Inverted:
    """`!p`."""

    name: str


Operand = str | Immediate | NameOffset | Memory | Braces | Pair | Inverted
"""A bare name (register, special register, variable, label, `_`) is a `str`."""


@dataclass(slots=True)
class Guard:
    name: str
    negated: bool


@dataclass(slots=True)
class Instruction:
    spelling: Spelling
    operands: list[Operand]
    guard: Guard | None
    location: Location | None


@dataclass(slots=True)
class Call:
    """`call (results), target, (arguments), prototype;` result and arguments may be absent."""

    results: "list[str | Immediate]"
    target: str
    arguments: "list[str | Immediate]"
    prototype: str | None
    guard: Guard | None
    location: Location | None


@dataclass(slots=True)
class Label:
    name: str
    location: Location | None


@dataclass(slots=True)
class BranchTable:
    """`name: .branchtargets a, b, c;`"""

    name: str
    targets: list[str]
    location: Location | None


@dataclass(slots=True)
class Prototype:
    """`name: .callprototype …;` or `.calltargets`: only its name matters, as indirect calls are refused."""

    name: str


@dataclass(slots=True)
class Registers:
    """`.reg .b32 %r<64>;` (count 64), `.reg .v2 .f32 v;` (lanes 2) or `.reg .pred p;`."""

    type: str
    name: str
    count: int | None
    lanes: int
    location: Location | None


@dataclass(slots=True)
class SymbolValue:
    """An initialiser that is an address.

    generic: `generic(name)`; mask: which byte of the address `0xFF00(name)` takes, as the mask itself.
    """

    name: str
    addend: int
    generic: bool
    mask: int | None = None


Initial = Immediate | SymbolValue


@dataclass(slots=True)
class Variable:
    """A variable declaration of any space.

    dimensions: of an array, 0 for `[]`; initial: flat, already padded row by row, None when absent.
    linkage: "", "extern", "visible", "weak" or "common". ordinal: place among all declarations.
    """

    space: str
    name: str
    type: str
    lanes: int
    align: int | None
    dimensions: tuple[int, ...] | None
    initial: list[Initial] | None
    linkage: str
    ordinal: int
    location: Location | None


@dataclass(slots=True)
class ScopeStart:
    pass


@dataclass(slots=True)
class ScopeEnd:
    pass


Statement = Instruction | Call | Label | BranchTable | Prototype | Registers | Variable | ScopeStart | ScopeEnd


@dataclass(slots=True)
class Function:
    """A `.entry` or `.func`; body None for a declaration.

    parameters and results are Variables of space "param" (or "reg").
    """

    name: str
    is_entry: bool
    parameters: list[Variable]
    results: list[Variable]
    linkage: str
    location: Location | None
    body: list[Statement] | None = None
    max_threads: tuple[int, ...] | None = None
    required_threads: tuple[int, ...] | None = None
    clustered: bool = False


@dataclass(slots=True)
class InlinedRange:
    """Code between two labels that the compiler expanded from a function called at `call`."""

    start: str
    end: str
    call: Location


@dataclass(slots=True)
class Module:
    version: tuple[int, int] = (0, 0)
    target: str = ""
    debug: bool = False
    variables: list[Variable] = field(default_factory=list)
    functions: dict[str, Function] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    inlined: list[InlinedRange] = field(default_factory=list)
    local_names: dict[str, dict[int, str]] = field(default_factory=dict)
