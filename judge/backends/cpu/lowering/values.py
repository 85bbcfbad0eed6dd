"""LLVM text with broadcasting: a value is a scalar (one for the whole warp) or a vector of 32 lanes.

Warp-uniform values stay scalars; an operation whose operands mix both splats the scalars. One
definition of an operation so serves both kinds.
"""

import struct
from dataclasses import dataclass

BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "i128": 128, "half": 16, "float": 32, "double": 64}
_FLOATS = {"half", "float", "double"}
_SUFFIX = {"half": "f16", "float": "f32", "double": "f64"}


@dataclass(frozen=True, slots=True)
class Value:
    """An LLVM operand. elem: its element type; const: its integer value where it is a constant."""

    text: str
    elem: str
    vec: bool = False
    const: int | None = None

    @property
    def bits(self) -> int:
        return BITS[self.elem]

    @property
    def is_float(self) -> bool:
        return self.elem in _FLOATS

    @property
    def type(self) -> str:
        return vtype(self.elem, self.vec)

    @property
    def typed(self) -> str:
        return f"{self.type} {self.text}"


def vtype(elem: str, vec: bool) -> str:
    return f"<32 x {elem}>" if vec else elem


def int_elem(bits: int) -> str:
    return f"i{bits}"


def float_elem(bits: int) -> str:
    return {16: "half", 32: "float", 64: "double"}[bits]


def const_int(value: int, elem: str) -> Value:
    bits = BITS[elem]
    value &= (1 << bits) - 1
    text = str(value) if elem != "i1" else ("true" if value else "false")
    return Value(text, elem, False, value)


def const_float(value: float, elem: str = "float") -> Value:
    """A float constant that is exactly representable in the type (and not a NaN)."""
    as_double = struct.unpack("<Q", struct.pack("<d", value))[0]
    if elem == "half":
        half = struct.unpack("<H", struct.pack("<e", value))[0]
        return Value(f"0xH{half:04X}", elem)
    return Value(f"0x{as_double:016X}", elem)


class Builder:
    """Collects the lines of a function and the intrinsics it needs declared."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declarations: set[str] = set()
        self._count = 0

    def fresh(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def emit(self, line: str) -> None:
        self.lines.append("  " + line)

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def assign(self, expression: str, elem: str, vec: bool = False) -> Value:
        name = self.fresh()
        self.lines.append(f"  {name} = {expression}")
        return Value(name, elem, vec)

    def splat(self, value: Value) -> Value:
        if value.vec:
            return value
        if not value.text.startswith("%"):
            return Value(f"splat ({value.elem} {value.text})", value.elem, True, value.const)
        first = self.fresh()
        self.lines.append(f"  {first} = insertelement <32 x {value.elem}> poison, {value.elem} {value.text}, i64 0")
        return self.assign(
            f"shufflevector <32 x {value.elem}> {first}, <32 x {value.elem}> poison, <32 x i32> zeroinitializer",
            value.elem,
            True,
        )

    def unify(self, *values: Value) -> list[Value]:
        """All as vectors when one of them is."""
        if any(v.vec for v in values):
            return [self.splat(v) for v in values]
        return list(values)

    def binary(self, op: str, a: Value, b: Value) -> Value:
        a, b = self.unify(a, b)
        return self.assign(f"{op} {a.typed}, {b.text}", a.elem, a.vec)

    def icmp(self, predicate: str, a: Value, b: Value) -> Value:
        a, b = self.unify(a, b)
        return self.assign(f"icmp {predicate} {a.typed}, {b.text}", "i1", a.vec)

    def fcmp(self, predicate: str, a: Value, b: Value) -> Value:
        a, b = self.unify(a, b)
        return self.assign(f"fcmp {predicate} {a.typed}, {b.text}", "i1", a.vec)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        if condition.const is not None:
            return a if condition.const else b
        if condition.vec:
            a, b = self.splat(a), self.splat(b)
        else:
            a, b = self.unify(a, b)
        return self.assign(f"select {condition.typed}, {a.typed}, {b.typed}", a.elem, a.vec)

    def cast(self, op: str, value: Value, elem: str) -> Value:
        return self.assign(f"{op} {value.typed} to {vtype(elem, value.vec)}", elem, value.vec)

    def bitcast(self, value: Value, elem: str) -> Value:
        """Same bits under another element type of the same width."""
        if value.elem == elem:
            return value
        if value.const is not None and elem.startswith("i"):
            return const_int(value.const, elem)
        return self.cast("bitcast", value, elem)

    def resize(self, value: Value, elem: str, signed: bool = False) -> Value:
        """An integer to another width: truncated, or extended by zeros or the sign."""
        if value.const is not None:
            number = value.const
            if signed and number >> (value.bits - 1) & 1:
                number -= 1 << value.bits
            resized = const_int(number, elem)
            return self.splat(resized) if value.vec else resized
        if value.bits == BITS[elem]:
            return value
        if value.bits > BITS[elem]:
            return self.cast("trunc", value, elem)
        return self.cast("sext" if signed else "zext", value, elem)

    def intrinsic(self, name: str, *operands: Value, tail: str = "", elem: str | None = None) -> Value:
        """A call of llvm.NAME overloaded on its first operand's type. tail: extra immediate operands."""
        args = self.unify(*operands)
        first = args[0]
        kind = _SUFFIX.get(first.elem, first.elem)
        suffix = f"v32{kind}" if first.vec else kind
        result = vtype(elem or first.elem, first.vec)
        types = ", ".join(a.type for a in args) + (", " + tail.split(maxsplit=1)[0] if tail else "")
        self.declarations.add(f"declare {result} @llvm.{name}.{suffix}({types})")
        operands_text = ", ".join(a.typed for a in args) + (f", {tail}" if tail else "")
        return self.assign(f"call {result} @llvm.{name}.{suffix}({operands_text})", elem or first.elem, first.vec)

    def call(self, result: str, name: str, *operands: str) -> str:
        """A call of a function of ours; the result's name, empty for void."""
        text = f"call {result} @{name}({', '.join(operands)})"
        if result == "void":
            self.emit(text)
            return ""
        value = self.fresh()
        self.lines.append(f"  {value} = {text}")
        return value

    def load(self, pointer: str, elem: str, vec: bool = False, align: int | None = None) -> Value:
        align_text = f", align {align}" if align else ""
        return self.assign(f"load {vtype(elem, vec)}, ptr {pointer}{align_text}", elem, vec)

    def store(self, pointer: str, value: Value, align: int | None = None) -> None:
        align_text = f", align {align}" if align else ""
        self.emit(f"store {value.typed}, ptr {pointer}{align_text}")

    def offset(self, pointer: str, byte_offset: int | Value) -> str:
        if isinstance(byte_offset, Value):
            return self.assign(f"getelementptr i8, ptr {pointer}, i64 {byte_offset.text}", "ptr").text
        if byte_offset == 0:
            return pointer
        return self.assign(f"getelementptr i8, ptr {pointer}, i64 {byte_offset}", "ptr").text
