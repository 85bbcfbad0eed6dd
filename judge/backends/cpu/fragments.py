"""Which lane and register holds which matrix element in mma, ldmatrix and wmma.

The layouts of mma and ldmatrix are the ones the PTX ISA fixes. Those of wmma are unspecified, so
we chose the plainest: element e of lane l is element 32*e + l of the row-major matrix, whatever
the memory layout was, so that a register of 32 lanes is a stretch of the matrix. Fragments of one
shape and different type then match element by element, which kernels that convert accumulators in
place rely on.

Everything here is a pure function of small integers; both executors share it.
"""

from dataclasses import dataclass

LANES = 32

Place = tuple[int, int]
"""(row, column) in the matrix that an operand is."""


@dataclass(frozen=True)
class Shape:
    m: int
    n: int
    k: int

    def of(self, operand: str) -> tuple[int, int]:
        """(rows, columns) of operand "a", "b", "c" or "d"."""
        return {"a": (self.m, self.k), "b": (self.k, self.n)}.get(operand, (self.m, self.n))


_HALF_SHAPES = ("m16n8k8", "m16n8k16")
_BYTE_SHAPES = ("m8n8k16", "m16n8k16", "m16n8k32")
_WMMA_SHAPES = ("m16n16k16", "m8n32k16", "m32n8k16")

MMA_FORMS = {
    "f16": (_HALF_SHAPES, ("f16", "f32")),
    "bf16": (_HALF_SHAPES, ("f32",)),
    "tf32": (("m16n8k4", "m16n8k8"), ("f32",)),
    "f64": (("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"), ("f64",)),
    "s8": (_BYTE_SHAPES, ("s32",)),
    "u8": (_BYTE_SHAPES, ("s32",)),
    "e4m3": (("m16n8k16", "m16n8k32"), ("f16", "f32")),
    "e5m2": (("m16n8k16", "m16n8k32"), ("f16", "f32")),
}
"""mma.sync by the type of A: (shapes, accumulator types). Other forms are refused by name."""

WMMA_FORMS = {
    "f16": (_WMMA_SHAPES, ("f16", "f32")),
    "bf16": (_WMMA_SHAPES, ("f32",)),
    "tf32": (("m16n16k8",), ("f32",)),
    "f64": (("m8n8k4",), ("f64",)),
    "s8": (_WMMA_SHAPES, ("s32",)),
    "u8": (_WMMA_SHAPES, ("s32",)),
}
"""The same for wmma.mma."""

_FAMILIES = ({"s8", "u8"}, {"e4m3", "e5m2"})


@dataclass(frozen=True)
class Product:
    """d = a * b + c of one mma or wmma.mma form."""

    shape: Shape
    a: str
    b: str
    c: str
    d: str


def product_form(opcode: str, modifiers: tuple[str, ...], types: tuple[str, ...]) -> Product | None:
    """The product an mma or wmma.mma spelling stands for, None when it is not emulated."""
    forms = MMA_FORMS if opcode == "mma" else WMMA_FORMS
    # The f16 form of wmma names only the types of d and c.
    d, a, b, c = types if len(types) == 4 else (types[0], "f16", "f16", types[-1])
    shapes, accumulators = forms.get(a, ((), ()))
    shape = next((m for m in modifiers if m in shapes), None)
    same = a == b or any({a, b} <= family for family in _FAMILIES)
    layouts = tuple(m for m in modifiers if m in ("row", "col"))
    if opcode == "mma" and layouts != ("row", "col"):
        return None
    if shape is None or not same or c not in accumulators or d not in accumulators:
        return None
    if "xor" in modifiers or "and" in modifiers:
        return None
    return Product(parse_shape(shape), a, b, c, d)


def parse_shape(name: str) -> Shape:
    """The shape of a modifier such as "m16n8k16"."""
    m, rest = name[1:].split("n")
    n, k = rest.split("k")
    return Shape(int(m), int(n), int(k))


def mma_a(shape: Shape, per_register: int, lane: int, register: int, part: int) -> Place:
    """Element `part` of A's register; per_register elements share 32 bits (f64 counts as one a register)."""
    row_halves = shape.m // 8
    row = lane // 4 + 8 * (register % row_halves)
    column = lane % 4 * per_register + part + 4 * per_register * (register // row_halves)
    return row, column


def mma_b(per_register: int, lane: int, register: int, part: int) -> Place:
    return lane % 4 * per_register + part + 4 * per_register * register, lane // 4


def mma_c(lane: int, element: int) -> Place:
    """Element of an accumulator, counted over its registers (two f16 share one)."""
    return lane // 4 + 8 * (element // 2), lane % 4 * 2 + element % 2


def wmma_place(columns: int, lane: int, element: int) -> Place:
    """Our layout of a wmma fragment of a matrix with that many columns."""
    return divmod(LANES * element + lane, columns)


def wmma_elements(shape: Shape, operand: str) -> int:
    """Distinct elements a lane holds. A register list may be longer (f16 A and B): the rest is padding."""
    rows, columns = shape.of(operand)
    return rows * columns // LANES
