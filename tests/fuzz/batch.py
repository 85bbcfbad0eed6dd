"""Many instruction forms in one kernel: each loads its operands, runs once, and stores what it gave.

Operands are loaded a lane (varying), loaded from one address (uniform over the warp) or written as
constants. A form runs plainly, under a guard, or in one arm of a branch, so that partial masks and
the old value of a destination matter. The kernel is PTX text: what is fuzzed is what a compiler
would hand over, and the same text runs on a GPU.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from judge.backends.base import BufferLabel
from judge.backends.cpu import ir
from judge.backends.cpu.ir import WIDTHS
from judge.backends.cpu.memory import DeviceMemory
from judge.backends.cpu.ptx import load
from tests.fuzz import matrix_snippets
from tests.fuzz.forms import Form, Source, all_forms
from tests.fuzz.snippets import CONSTANTS, DECLARATIONS, MAKERS, RowOf, Snippet
from tests.fuzz.values import draw

KERNEL = "fuzz"
Maker = Callable[[random.Random, RowOf], Snippet]
ROW = 8
"""Bytes of a lane's value in a row of either buffer."""

_FLOATS = ("f16", "bf16", "f32", "f64")
_HEADER = f"""
.version 8.7
.target sm_90
.address_size 64
{CONSTANTS}.visible .entry {KERNEL}(.param .u64 in_, .param .u64 out_)
{{
.reg .b64 %in, %out, %inl, %outl, %off, %ad, %ae, %zero;
.reg .b32 %lane, %flag, %ix, %iy;
{DECLARATIONS}mov.b64 %zero, 0;
ld.param.u64 %in, [in_];
ld.param.u64 %out, [out_];
cvta.to.global.u64 %in, %in;
cvta.to.global.u64 %out, %out;
mov.u32 %lane, %tid.x;
mul.wide.u32 %off, %lane, {ROW};
add.s64 %inl, %in, %off;
add.s64 %outl, %out, %off;
"""


@dataclass(frozen=True)
class Result:
    """One row of the output buffer: what spelling wrote it, and as what type.

    ordered: the values depend on the order in which lanes are served.
    """

    spelling: str
    text: str
    type: str
    ordered: bool = False


@dataclass
class Batch:
    """A kernel of many forms with its input.

    results: one a row of the output buffer, in order. inputs: uint64, shape (rows, threads).
    """

    threads: int
    text: str
    results: list[Result]
    inputs: np.ndarray
    module: ir.Module = field(init=False)

    def __post_init__(self) -> None:
        self.module = load(self.text)

    def memory(self) -> tuple[DeviceMemory, bytes, int]:
        """(fresh device memory, parameter block, address of the output buffer)."""
        memory = DeviceMemory()
        size = max(self.inputs.size, self.threads) * ROW
        source = memory.allocate(BufferLabel("in", ROW, (size // ROW,), "input"), size)
        rows = max(len(self.results), 1)
        target = memory.allocate(BufferLabel("out", ROW, (rows, self.threads), "output"), rows * self.threads * ROW)
        memory.view(source, self.inputs.size * ROW)[:] = self.inputs.reshape(-1).view(np.uint8)
        return memory, source.to_bytes(8, "little") + target.to_bytes(8, "little"), target

    def rows(self, memory: DeviceMemory, target: int) -> np.ndarray:
        """The output buffer after a run: uint64, shape (results, threads)."""
        data = memory.view(target, len(self.results) * self.threads * ROW)
        return data.view(np.uint64).reshape(len(self.results), self.threads).copy()


class _Writer:
    """Collects the text and the input rows of a batch."""

    def __init__(self, rng: random.Random, threads: int) -> None:
        self.rng = rng
        self.threads = threads
        self.lines: list[str] = []
        self.inputs: list[list[int]] = []
        self.results: list[Result] = []
        self._labels = 0

    def add(self, form: Form) -> None:
        rng = self.rng
        self.lines.append("{")
        start = len(self.lines)
        operands = [self._operand(f"a{n}", source, form) for n, source in enumerate(form.sources)]
        targets = [self._target(f"d{n}", type_, form) for n, type_ in enumerate(form.destinations)]
        if rng.random() < 0.1 and form.sources[0].type == form.destinations[0] and operands[0] == "a0":
            targets[0] = "a0"
        mode = "plain" if form.whole_warp else rng.choice(("plain", "plain", "guard", "branch"))
        condition = ""
        if mode != "plain":
            condition = self._condition()
        instruction = f"{form.spelling} {'|'.join(targets)}, {', '.join(operands)};"
        if mode == "branch":
            label = self._label()
            self.lines += [f"@{condition} bra {label};", instruction, f"{label}:"]
        else:
            self.lines.append(f"@{condition} {instruction}" if condition else instruction)
        text = " ".join(self.lines[start:])
        for target, type_ in zip(targets, form.destinations, strict=True):
            self._store(Result(form.spelling, text, type_), target)
        self.lines.append("}")

    def add_snippet(self, make: Maker | None = None) -> None:
        """A form of snippets.py or matrix_snippets.py, sometimes in one arm of a branch."""
        make = make or self.rng.choice(self.rng.choice((MAKERS, MAKERS, matrix_snippets.MAKERS)))
        snippet = make(self.rng, self._row)
        self.lines += ["{", *snippet.registers]
        start = len(self.lines)
        if snippet.whole_warp or self.rng.random() < 0.6:
            self.lines += snippet.lines
        else:
            # Results of lanes that jump over it are what these lines put there.
            for name, type_ in snippet.results:
                self.lines.append(f"mov.{_move_type(type_)} {name}, {_literal(7, _move_type(type_))};")
            condition, label = self._condition(), self._label()
            self.lines += [f"@{condition} bra {label};", *snippet.lines, f"{label}:"]
        text = " ".join(self.lines[start:])
        for name, type_ in snippet.results:
            self._store(Result(snippet.spelling, text, type_, snippet.ordered), name)
        self.lines.append("}")

    def _label(self) -> str:
        self._labels += 1
        return f"$L{self._labels}"

    def _row(self, domain: str) -> int:
        self.inputs.append([draw(self.rng, domain) for _ in range(self.threads)])
        return (len(self.inputs) - 1) * self.threads * ROW

    def _load(self, name: str, bits: int, domain: str) -> None:
        """Load a register from a row: every lane its own value, or all of them the first."""
        varies = self.rng.random() < 0.65
        base = "%inl" if varies else "%in"
        self.lines.append(f"ld.global.b{bits} {name}, [{base}+{self._row(domain)}];")

    def _operand(self, name: str, source: Source, form: Form) -> str:
        bits = WIDTHS[source.type]
        if source.domain == "full":
            return "0xffffffff"
        if source.domain == "byte":
            return str(draw(self.rng, "byte"))
        if source.immediate and self.rng.random() < 0.2:
            return _literal(draw(self.rng, source.domain), source.type)
        if source.type == "pred":
            self.lines += [f".reg .pred {name};", f".reg .b32 {name}_;"]
            self._load(f"{name}_", 32, "pred")
            self.lines.append(f"setp.ne.u32 {name}, {name}_, 0;")
            return name
        widened = max(bits, 16)
        if _may_widen(form, source.type) and self.rng.random() < 0.3:
            widened = self.rng.choice([w for w in (16, 32, 64) if w >= bits])
        self.lines.append(f".reg .{_register_type(self.rng, source.type, widened)} {name};")
        self._load(name, widened, source.domain if widened == bits else f"b{widened}")
        return name

    def _target(self, name: str, type_: str, form: Form) -> str:
        """Declare a destination and give it an old value, which lanes that do not execute must keep."""
        bits = WIDTHS[type_]
        if type_ == "pred":
            self.lines += [f".reg .pred {name};", f"setp.ne.u32 {name}, %lane, 3;"]
            return name
        widened = max(bits, 16)
        if _may_widen(form, type_) and self.rng.random() < 0.3:
            widened = self.rng.choice([w for w in (16, 32, 64) if w >= bits])
        self.lines.append(f".reg .{_register_type(self.rng, type_, widened)} {name};")
        old = self.rng.getrandbits(15)
        literal = {
            "f32": f"0f{old:08X}",
            "f64": f"0d{old:016X}",
        }.get(type_, str(old))
        self.lines.append(f"mov.{type_ if type_ in ('f32', 'f64') else f'b{widened}'} {name}, {literal};")
        return name

    def _condition(self) -> str:
        self.lines += [".reg .pred cond;", ".reg .b32 cond_;"]
        self._load("cond_", 32, "pred")
        self.lines.append("setp.ne.u32 cond, cond_, 0;")
        return self.rng.choice(("cond", "!cond"))

    def _store(self, result: Result, target: str) -> None:
        offset = len(self.results) * self.threads * ROW
        if result.type == "pred":
            self.lines += [f"selp.u32 %flag, 1, 0, {target};", f"st.global.u32 [%outl+{offset}], %flag;"]
        else:
            self.lines.append(f"st.global.b{self._width_of(target)} [%outl+{offset}], {target};")
        self.results.append(result)

    def _width_of(self, register: str) -> int:
        """Bits of the last register declared under that name."""
        for line in reversed(self.lines):
            head, _, names = line.rstrip(";").partition(" ")
            if head == ".reg":
                type_, _, listed = names.partition(" ")
                if register in listed.split(", "):
                    return WIDTHS[type_[1:]]
        raise KeyError(register)


def _may_widen(form: Form, type_: str) -> bool:
    """Conversions take integers in wider registers, save next to a bf16."""
    return form.opcode == "cvt" and type_[0] in "us" and "bf16" not in form.spelling


def _register_type(rng: random.Random, type_: str, bits: int) -> str:
    if type_ in ("f32", "f64"):
        return rng.choice((type_, f"b{bits}"))
    if type_ in _FLOATS or type_.endswith("x2") or type_ == "tf32":
        return f"b{bits}"
    if type_[0] in "us":
        return rng.choice((f"{type_[0]}{bits}", f"b{bits}"))
    return f"b{bits}"


def _move_type(type_: str) -> str:
    return type_ if type_ in ("f32", "f64") else f"b{WIDTHS[type_]}"


def _literal(raw: int, type_: str) -> str:
    if type_ == "f32":
        return f"0f{raw:08X}"
    if type_ == "f64":
        return f"0d{raw:016X}"
    bits = WIDTHS[type_]
    if type_[0] == "s":
        return str(raw - (1 << bits) if raw >> (bits - 1) else raw)
    return hex(raw) if type_[0] == "b" else str(raw)


def choose_forms(rng: random.Random, count: int) -> list[Form | None]:
    """Evenly over spellings, or evenly over opcodes so that no family drowns another, or None: a snippet."""
    forms = all_forms()
    by_opcode: dict[str, list[Form]] = {}
    for form in forms:
        by_opcode.setdefault(form.opcode, []).append(form)
    opcodes = sorted(by_opcode)
    return [rng.choice((rng.choice(forms), rng.choice(by_opcode[rng.choice(opcodes)]), None)) for _ in range(count)]


def make_batch(
    rng: random.Random, count: int, threads: int = 32, forms: Sequence[Form | Maker | None] | None = None
) -> Batch:
    """A kernel of `count` random forms for one block of whole warps, or of the given ones (None: any snippet)."""
    writer = _Writer(rng, threads)
    for form in forms if forms is not None else choose_forms(rng, count):
        if isinstance(form, Form):
            writer.add(form)
        else:
            writer.add_snippet(form)
    text = _HEADER + "\n".join(writer.lines) + "\nret;\n}\n"
    inputs = np.array(writer.inputs, dtype=np.uint64).reshape(-1, threads)
    return Batch(threads, text, writer.results, inputs)
