"""How far an approximate instruction may be from the interpreter, which rounds correctly.

NVIDIA gives these operations an error bound, not a result, and leaves the order of sums in a matrix
product open. Every form not named here is exact to the bit, NaN payloads apart.
"""

from dataclasses import dataclass

from judge.backends.cpu import ir


@dataclass(frozen=True)
class Tolerance:
    """ulp: units in the last place of the result's format. absolute: an error always allowed."""

    ulp: int
    absolute: float = 0.0


EXACT = Tolerance(0)

_F32 = {
    "ex2": Tolerance(2),
    # log2 near 1 tends to zero: the manual bounds the absolute error there.
    "lg2": Tolerance(2, 2.0**-22),
    "rcp": Tolerance(1),
    "rsqrt": Tolerance(2),
    "sqrt": Tolerance(2),
    "div": Tolerance(2),
    # sin and cos are bounded absolutely, and only for arguments in [-pi, pi].
    "sin": Tolerance(2, 2.0**-20),
    "cos": Tolerance(2, 2.0**-20),
    # 2^-11 relative: 13 bits of f32's last place.
    "tanh": Tolerance(1 << 13),
}

_HALF = {
    "ex2": Tolerance(1),
    "tanh": Tolerance(1),
}


_PRODUCTS = {
    # Sums of at most 32 products below 64: float32 sums them one after another, the interpreter exactly.
    "f32": Tolerance(0, 2.0**-9),
    "f16": Tolerance(1, 2.0**-9),
    "f64": Tolerance(0, 2.0**-38),
}


def tolerance_of(instruction: ir.Instruction) -> Tolerance:
    """What an executor may differ by from the interpreter in a floating-point result."""
    if instruction.opcode in ("mma", "wmma"):
        if instruction.types[:1] == ("f16",) and {"e4m3", "e5m2"} & set(instruction.types):
            return Tolerance(8, 2.0**-9)  # tensor cores add products of fp8 with fewer bits than float32
        return _PRODUCTS.get(instruction.types[0] if instruction.types else "", EXACT)
    if "approx" not in instruction.modifiers and "full" not in instruction.modifiers:
        return EXACT
    type_ = instruction.types[0]
    if type_ == "f64":
        # rcp and rsqrt of 20 bits: only the upper word counts.
        return Tolerance(1 << 33)
    return (_F32 if type_ == "f32" else _HALF).get(instruction.opcode, EXACT)
