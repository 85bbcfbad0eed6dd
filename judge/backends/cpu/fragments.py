"""Which lane and register holds which matrix element in mma, ldmatrix and wmma.

The layouts of mma and ldmatrix are the ones the PTX ISA fixes. Those of wmma are unspecified, so
we chose the plainest: with n elements a lane, lane l holds elements l*n to l*n+n-1 of the
row-major matrix, whatever the memory layout was. Fragments of one shape and different type then
match element by element, which kernels that convert accumulators in place rely on.

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


def wmma_place(columns: int, elements: int, lane: int, element: int) -> Place:
    """Our layout of a wmma fragment with that many distinct elements a lane."""
    return divmod(lane * elements + element, columns)


def wmma_elements(shape: Shape, operand: str) -> int:
    """Distinct elements a lane holds. A register list may be longer (f16 A and B): the rest is padding."""
    rows, columns = shape.of(operand)
    return rows * columns // LANES
