"""The form between syntax and IR: one function with its names looked up, calls still in it.

Registers, parameters and variables belong to the routine; the inliner gives every copy of it fresh
ones. Branch targets are indices into `items`, which the inliner moves.
"""

from dataclasses import dataclass, field

from judge.backends.cpu import ir


@dataclass(slots=True, eq=False)
class Storage:
    """A variable in shared or local memory whose offset the kernel decides.

    One Storage of space "shared" is one variable of a kernel, however often its function is copied;
    one of space "local" is a new variable in every copy.
    """

    name: str
    space: str
    size: int
    align: int
    element_type: str
    ordinal: int
    dynamic: bool = False


@dataclass(slots=True, eq=False)
class Parameter:
    """A `.param` variable of a call: an argument, a result, or a formal of the routine itself.

    It lives in a register when every access reads or writes it at offset 0 as one scalar that fits,
    else in local memory. `decide` fixes that after the whole routine was read.
    """

    name: str
    size: int
    storage: Storage
    scalar: bool
    register: ir.Register | None = None

    @property
    def register_type(self) -> str:
        return f"b{max(16, self.size * 8)}"


@dataclass(slots=True, eq=False)
class Place:
    """A Storage, moved by an offset, used as a value or as the base of an address."""

    storage: Storage
    offset: int


@dataclass(slots=True, eq=False)
class PlaceAddress:
    """[variable + offset]."""

    storage: Storage
    offset: int


Operand = ir.Operand | Place | PlaceAddress


@dataclass(slots=True)
class Draft:
    """An instruction whose registers and places are those of its routine."""

    opcode: str
    modifiers: tuple[str, ...]
    destinations: tuple[Operand | None, ...]
    sources: tuple[Operand, ...]
    guard: ir.Guard | None
    location: ir.Location | None


@dataclass(slots=True)
class ParameterAccess:
    """ld.param or st.param of a call's variable, before it is known where that lives."""

    parameter: Parameter
    offset: int
    modifiers: tuple[str, ...]
    type: str
    operand: Operand | None
    is_store: bool
    guard: ir.Guard | None
    location: ir.Location | None


Argument = Parameter | ir.Register | ir.Immediate


@dataclass(slots=True)
class CallSite:
    """callee: a function, or the register that holds its address."""

    callee: str | ir.Register
    results: list[Argument]
    arguments: list[Argument]
    guard: ir.Guard | None
    location: ir.Location | None


Item = Draft | ParameterAccess | CallSite


@dataclass
class Routine:
    """A function ready to be copied into kernels.

    labels: index of the item each label of the outermost scope stands before.
    pointed: functions whose address it takes. calls_pointers: it calls through one.
    An item "refused" stands for what only a GPU runs, its name for a modifier; it matters once a kernel gets there.
    """

    name: str
    is_entry: bool
    parameters: list[Parameter | ir.Register] = field(default_factory=list)
    results: list[Parameter | ir.Register] = field(default_factory=list)
    registers: list[ir.Register] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    local: list[Storage] = field(default_factory=list)
    shared: dict[Storage, None] = field(default_factory=dict)
    callees: dict[str, ir.Location | None] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    pointed: set[str] = field(default_factory=set)
    calls_pointers: bool = False

    def register(self, name: str, type_: str) -> ir.Register:
        """A new register of this routine."""
        made = ir.Register(len(self.registers), name, type_)
        self.registers.append(made)
        return made
