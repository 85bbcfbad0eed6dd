"""The intermediate form of a kernel: PTX instructions with resolved operands.

One Kernel is one `.entry` with every call inlined. An Instruction keeps PTX's own opcode and
suffixes, so the PTX ISA manual is the key to it; what changed is that scopes are gone (registers
and labels are unique), symbols carry their place, and branches name instruction indices.

Both executors read this form: `interpreter.py` (the written definition of an instruction, NumPy,
slow) and `lowering/` (LLVM, fast).

Rules the front end guarantees:
- An operand tuple has PTX's order, destinations apart from sources. `p|q` destinations are two
  entries. The sink `_` is a `None` destination.
- A memory operand is an Address; its base is a Register, a Symbol or None (absolute).
- `bra` has one Target source. `brx.idx` has a Register and then its Targets.
- `call` stays only for builtins: modifiers[0] is "vprintf", "__assertfail", "malloc" or "free", sources the
  arguments' values in order (registers or immediates), destinations the result.
- `.param` variables of inlined calls became registers (with `mov`) or local memory; `ld.param` that
  is left reads the kernel's own parameters, by Symbol of space "param".
- A `setp`/`selp`/`and.pred` … register has type "pred".
"""

from dataclasses import dataclass

WIDTHS = {
    "pred": 1,
    **{f"{kind}{bits}": bits for kind in "bus" for bits in (8, 16, 32, 64)},
    "b128": 128,
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "tf32": 32,
    "f64": 64,
    "f16x2": 32,
    "bf16x2": 32,
    "e4m3": 8,
    "e5m2": 8,
    "e4m3x2": 16,
    "e5m2x2": 16,
    "u16x2": 32,
    "s16x2": 32,
}
"""Bits of each PTX type name."""


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a source file: file as NVRTC names it, 1-based line and column.

    inlined_at: where the function this line belongs to was called, outermost last.
    """

    file: str
    line: int
    column: int
    inlined_at: "Location | None" = None


@dataclass(frozen=True, slots=True)
class Register:
    """index is unique in the kernel; type is the declared PTX type ("pred", "b32", "f32", "b64", …)."""

    index: int
    name: str
    type: str

    @property
    def bits(self) -> int:
        return WIDTHS[self.type]


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant as PTX wrote it.

    value: an int (any sign) or, for 0f/0d literals and decimal floats, the float's bit pattern, in
    which case float_bits is 32 or 64.
    """

    value: int
    float_bits: int = 0


@dataclass(frozen=True, slots=True)
class Special:
    """A special register such as "tid.x", "ntid.y", "laneid", "clock64", "lanemask_lt"."""

    name: str


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable in memory: space is "shared", "local", "const", "global" or "param".

    offset: byte offset of the variable in its space's block (see Kernel and Module). As a value
    (mov) a symbol is the address within its space, as PTX says.
    """

    name: str
    space: str
    offset: int


@dataclass(frozen=True, slots=True)
class Address:
    """[base + offset]."""

    base: "Register | Symbol | None"
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Vector:
    """{a, b, …}: elements are registers, immediates or None for `_`."""

    elements: "tuple[Register | Immediate | None, ...]"


@dataclass(frozen=True, slots=True)
class Target:
    """Index of the instruction a branch goes to; len(instructions) means the end (as `ret`)."""

    index: int


Operand = Register | Immediate | Special | Symbol | Address | Vector | Target


@dataclass(frozen=True, slots=True)
class Guard:
    register: Register
    negated: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    """opcode "ld", modifiers ("global", "v4", "f32"): PTX's suffixes in their order."""

    opcode: str
    modifiers: tuple[str, ...]
    destinations: tuple[Operand | None, ...]
    sources: tuple[Operand, ...]
    guard: Guard | None = None
    location: Location | None = None

    @property
    def types(self) -> tuple[str, ...]:
        """The type suffixes, in order: cvt.rn.f32.s32 has ("f32", "s32")."""
        return tuple(m for m in self.modifiers if m in WIDTHS)

    @property
    def form(self) -> str:
        """The full PTX spelling, e.g. "ld.global.v4.f32"."""
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable in memory: place in its space's block and what it holds at start."""

    name: str
    space: str
    offset: int
    size: int
    align: int
    element_type: str = "b8"
    initial: bytes | None = None
    relocations: tuple[tuple[int, str, int], ...] = ()
    """(byte offset, symbol name, addend): 8-byte slots to fill with generic addresses of symbols."""


@dataclass(frozen=True, slots=True)
class KernelParameter:
    name: str
    offset: int
    size: int
    align: int


@dataclass(frozen=True)
class Kernel:
    """One entry. Shared layout: static variables first, dynamic (extern, size 0) ones all start at
    shared_static_bytes rounded up to 16. local_bytes is per thread, all inlined frames together."""

    name: str
    registers: tuple[Register, ...]
    instructions: tuple[Instruction, ...]
    parameters: tuple[KernelParameter, ...]
    parameter_bytes: int
    shared: tuple[Variable, ...]
    shared_static_bytes: int
    local: tuple[Variable, ...]
    local_bytes: int
    max_threads: int | None = None
    required_threads: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class Module:
    """A PTX module: its kernels and its module-level variables.

    Variables of space "global" and "const" lie in one block each, by offset.
    """

    kernels: dict[str, Kernel]
    globals_: tuple[Variable, ...]
    global_bytes: int
    constants: tuple[Variable, ...]
    constant_bytes: int
    version: tuple[int, int]
    target: str
    debug: bool = False
