"""LLVM text of matrix products: small row-major matrices in memory, converted to the type they are summed in.

A module holds one function a form it uses. Products are sums of fma in the order of k, in the
accumulator's own type (float for an f16 accumulator, rounded once at the end).
"""

from dataclasses import dataclass
from functools import cache

_STORED_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s8": 8, "u8": 8, "s32": 32}
_STORED_BITS |= {"e4m3": 8, "e5m2": 8}
_SUMS = {"s8": "i32", "u8": "i32", "s32": "i32", "f64": "double"}
_SUM_BYTES = {"i32": 4, "float": 4, "double": 8}
_ROWS_AT_ONCE = 16


def stored_bits(type_: str) -> int:
    return _STORED_BITS[type_]


def sum_elem(type_: str) -> str:
    """LLVM type a matrix type is multiplied and summed in."""
    return _SUMS.get(type_, "float")


def sum_bytes(type_: str) -> int:
    return _SUM_BYTES[sum_elem(type_)]


class Text:
    """Lines of one function, with fresh names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def let(self, expression: str) -> str:
        self._count += 1
        self.lines.append(f"  %x{self._count} = {expression}")
        return f"%x{self._count}"

    def do(self, line: str) -> None:
        self.lines.append("  " + line)

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def at(self, pointer: str, offset: int) -> str:
        return self.let(f"getelementptr i8, ptr {pointer}, i64 {offset}") if offset else pointer

    def load(self, type_: str, pointer: str, offset: int = 0, align: int = 16) -> str:
        return self.let(f"load {type_}, ptr {self.at(pointer, offset)}, align {align}")

    def store(self, type_: str, value: str, pointer: str, offset: int = 0, align: int = 16) -> None:
        self.do(f"store {type_} {value}, ptr {self.at(pointer, offset)}, align {align}")

    def shuffle(self, type_: str, first: str, second: str, places: list[int]) -> str:
        mask = ", ".join(f"i32 {p}" for p in places)
        return self.let(f"shufflevector {type_} {first}, {type_} {second}, <{len(places)} x i32> <{mask}>")

    def widen(self, value: str, count: int, type_: str) -> str:
        """Stored bits, <count x iN>, as numbers of the type they are summed in."""
        v = f"<{count} x "
        if type_ in ("f32", "f64"):
            return self.let(f"bitcast {v}i{_STORED_BITS[type_]}> {value} to {v}{sum_elem(type_)}>")
        match type_:
            case "s32":
                return value
            case "s8" | "u8":
                return self.let(f"{'sext' if type_ == 's8' else 'zext'} {v}i8> {value} to {v}i32>")
            case "tf32":
                kept = self.let(f"and {v}i32> {value}, splat (i32 {0xFFFF_E000})")
                return self.let(f"bitcast {v}i32> {kept} to {v}float>")
            case "bf16":
                wide = self.let(f"zext {v}i16> {value} to {v}i32>")
                high = self.let(f"shl {v}i32> {wide}, splat (i32 16)")
                return self.let(f"bitcast {v}i32> {high} to {v}float>")
            case "f16":
                half = self.let(f"bitcast {v}i16> {value} to {v}half>")
                return self.let(f"fpext {v}half> {half} to {v}float>")
            case _:
                return self._widen_byte_float(value, v, type_)

    def _widen_byte_float(self, value: str, v: str, type_: str) -> str:
        """e5m2 is the upper byte of an f16; e4m3 is one too after a shift, short of 2^8 and with one NaN code."""
        wide = self.let(f"zext {v}i8> {value} to {v}i16>")
        if type_ == "e5m2":
            bits = self.let(f"shl {v}i16> {wide}, splat (i16 8)")
            half = self.let(f"bitcast {v}i16> {bits} to {v}half>")
            return self.let(f"fpext {v}half> {half} to {v}float>")
        magnitude = self.let(f"and {v}i16> {wide}, splat (i16 127)")
        sign = self.let(f"shl {v}i16> {self.let(f'and {v}i16> {wide}, splat (i16 128)')}, splat (i16 8)")
        bits = self.let(f"or {v}i16> {self.let(f'shl {v}i16> {magnitude}, splat (i16 7)')}, {sign}")
        half = self.let(f"bitcast {v}i16> {bits} to {v}half>")
        scaled = self.let(f"fmul {v}float> {self.let(f'fpext {v}half> {half} to {v}float>')}, splat (float 256.0)")
        nan = self.let(f"icmp eq {v}i16> {magnitude}, splat (i16 127)")
        return self.let(f"select {v}i1> {nan}, {v}float> splat (float 0x7FF8000000000000), {v}float> {scaled}")

    def function(self, head: str) -> str:
        return "\n".join([f"define internal {head} noinline {{", "entry:", *self.lines, "}"])


@dataclass(frozen=True)
class Extent:
    """c[m][n] += a * b. a lies in blocks of `block` columns, each block row-major; b and c are row-major."""

    m: int
    n: int
    k: int
    block: int


def product_name(elem: str, extent: Extent) -> str:
    return f"judge_product_{elem}_{extent.m}x{extent.n}x{extent.k}_{extent.block}"


@cache
def product(elem: str, extent: Extent) -> tuple[str, frozenset[str]]:
    """(function text, declarations it needs): void (ptr a, ptr b, ptr c)."""
    m, n, k, block = extent.m, extent.n, extent.k, extent.block
    size = _SUM_BYTES[elem]
    row = f"<{n} x {elem}>"
    kind = {"float": "f32", "double": "f64"}.get(elem)
    text = Text()
    shift = block.bit_length() - 1
    for start in range(0, m, _ROWS_AT_ONCE):
        rows = range(start, min(start + _ROWS_AT_ONCE, m))
        first = [text.load(row, "%c", r * n * size) for r in rows]
        before = "entry" if not start else f"done_{start - _ROWS_AT_ONCE}"
        text.do(f"br label %loop_{start}")
        text.label(f"loop_{start}")
        text.do(f"%k_{start} = phi i64 [ 0, %{before} ], [ %next_{start}, %loop_{start} ]")
        sums = []
        for r, initial in zip(rows, first, strict=True):
            text.do(f"%s_{r} = phi {row} [ {initial}, %{before} ], [ %t_{r}, %loop_{start} ]")
            sums.append(f"%s_{r}")
        line = text.let(f"getelementptr {row}, ptr %b, i64 %k_{start}")
        b = text.load(row, line)
        which = text.let(f"lshr i64 %k_{start}, {shift}")
        inside = text.let(f"and i64 %k_{start}, {block - 1}")
        column = text.let(f"add i64 {text.let(f'mul i64 {which}, {m * block}')}, {inside}")
        a = text.let(f"getelementptr {elem}, ptr %a, i64 {column}")
        for r, total in zip(rows, sums, strict=True):
            scalar = text.load(elem, a, r * block * size, align=size)
            one = text.let(f"insertelement {row} poison, {elem} {scalar}, i64 0")
            all_ = text.let(f"shufflevector {row} {one}, {row} poison, <{n} x i32> zeroinitializer")
            if kind:
                text.do(f"%t_{r} = call {row} @llvm.fma.v{n}{kind}({row} {all_}, {row} {b}, {row} {total})")
            else:
                text.do(f"%t_{r} = add {row} {total}, {text.let(f'mul {row} {all_}, {b}')}")
        text.do(f"%next_{start} = add i64 %k_{start}, 1")
        more = text.let(f"icmp ult i64 %next_{start}, {k}")
        text.do(f"br i1 {more}, label %loop_{start}, label %done_{start}")
        text.label(f"done_{start}")
        for r in rows:
            text.store(row, f"%t_{r}", "%c", r * n * size)
    text.do("ret void")
    declarations = {f"declare {row} @llvm.fma.v{n}{kind}({row}, {row}, {row})"} if kind else set()
    name = product_name(elem, extent)
    return text.function(f"void @{name}(ptr %a, ptr %b, ptr %c)"), frozenset(declarations)
