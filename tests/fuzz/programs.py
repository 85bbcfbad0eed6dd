"""Random structured programs: nested branches and loops over registers that are reused everywhere.

What they look for is a lowering that takes a value for uniform when it is not, that loses lanes
where paths part and meet, or that forgets a register across a branch. Variables are of two kinds:
`u` registers are the same in the whole block and are written only where the whole block runs, so
that conditions on them may guard barriers; `v` registers hold anything, often a uniform value.

A program is a tree, so that one that shows a difference can be cut down to the part that matters.
It has no data races and no undefined values: every executor must agree to the bit.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from judge.backends.base import BufferLabel
from judge.backends.cpu import ir
from judge.backends.cpu.addresses import FIRST_BUFFER_SLOT
from judge.backends.cpu.memory import DeviceMemory
from judge.backends.cpu.ptx import load

KERNEL = "program"
INTEGERS = 6
UNIFORMS = 4
FLOATS = 3
WIDE = 2
PREDICATES = 4
ROW_WORDS = INTEGERS + UNIFORMS + FLOATS + 2 * WIDE + 2
"""Words a thread writes at its end: its variables, its predicates, and where it ended."""
WORD_NAMES = (
    *(f"v{n}" for n in range(INTEGERS)),
    *(f"u{n}" for n in range(UNIFORMS)),
    *(f"f{n}" for n in range(FLOATS)),
    *(f"d{n // 2}.{'low' if n % 2 == 0 else 'high'}" for n in range(2 * WIDE)),
    "predicates",
    "ending",
)
FLOAT_WORDS = [n for n, name in enumerate(WORD_NAMES) if name.startswith("f")]
ATOMIC_OPERATIONS = ("add.u32", "min.s32", "max.u32", "and.b32", "or.b32", "xor.b32")
INPUT_WORDS = 256
_SHARED_WORDS = 256
LOCAL_WORDS = 8

_FUNCTIONS = """
.func (.param .b32 result) mix(.param .b32 a, .param .b32 b)
{
.reg .b32 %x, %y, %k;
.reg .pred %q;
ld.param.b32 %x, [a];
ld.param.b32 %y, [b];
setp.lt.s32 %q, %x, %y;
@!%q bra $other;
and.b32 %k, %x, 3;
$again:
mad.lo.s32 %x, %x, 5, %y;
add.s32 %k, %k, -1;
setp.ge.s32 %q, %k, 0;
@%q bra $again;
st.param.b32 [result], %x;
ret;
$other:
xor.b32 %y, %y, %x;
st.param.b32 [result], %y;
ret;
}
"""


@dataclass(frozen=True)
class Leaf:
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Compound:
    """parts: text lines or lists of nodes, in the order they stand in the program."""

    parts: "tuple[tuple[str, ...] | Body, ...]"


@dataclass(frozen=True)
class Body:
    nodes: "tuple[Leaf | Compound, ...]"


Node = Leaf | Compound


@dataclass
class Program:
    """A program with its launch. grid and block are (x, y, z)."""

    seed: int
    body: Body
    grid: tuple[int, int, int]
    block: tuple[int, int, int]

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    def text(self) -> str:
        return _render(self.body)

    def module(self) -> ir.Module:
        return load(self.text())

    def memory(self) -> tuple[DeviceMemory, bytes]:
        """Fresh buffers (inputs, rows, atomic cells) and the parameter block."""
        memory = DeviceMemory()
        rng = np.random.default_rng(self.seed)
        words = rng.integers(0, 1 << 32, INPUT_WORDS, dtype=np.uint32)
        # Half of the inputs are small, so that conditions on them go both ways.
        words[::2] %= 7
        source = memory.allocate(BufferLabel("in", 4, (INPUT_WORDS,), "input"), 4 * INPUT_WORDS)
        memory.view(source, 4 * INPUT_WORDS)[:] = words.view(np.uint8)
        row_bytes = 4 * ROW_WORDS * self.threads * self.blocks
        rows = memory.allocate(BufferLabel("rows", 4, (row_bytes // 4,), "output"), row_bytes)
        cells = memory.allocate(BufferLabel("cells", 4, (len(ATOMIC_OPERATIONS),), "output"), 64)
        return memory, b"".join(a.to_bytes(8, "little") for a in (source, rows, cells))

    def buffers(self, memory: DeviceMemory) -> list[np.ndarray]:
        """The buffers of `memory`, as bytes, in the order of the parameters."""
        return [memory.slots[slot] for slot in sorted(memory.slots) if slot >= FIRST_BUFFER_SLOT]


def _lines(body: Body) -> list[str]:
    lines: list[str] = []
    for node in body.nodes:
        if isinstance(node, Leaf):
            lines += node.lines
            continue
        for part in node.parts:
            lines += _lines(part) if isinstance(part, Body) else list(part)
    return lines


def store_and_end(marker: int) -> list[str]:
    """Store every variable and how the thread ended."""
    stores = [(f"%v{n}", "b32", 1) for n in range(INTEGERS)]
    stores += [(f"%u{n}", "b32", 1) for n in range(UNIFORMS)]
    stores += [(f"%f{n}", "f32", 1) for n in range(FLOATS)]
    lines = []
    word = 0
    for name, type_, size in stores:
        lines.append(f"st.global.{type_} [%row+{4 * word}], {name};")
        word += size
    for n in range(WIDE):
        lines += [f"mov.b64 {{%t0, %t1}}, %d{n};", f"st.global.b32 [%row+{4 * word}], %t0;"]
        lines.append(f"st.global.b32 [%row+{4 * word + 4}], %t1;")
        word += 2
    lines.append("mov.b32 %t0, 0;")
    for n in range(PREDICATES):
        lines += [f"selp.b32 %t1, {1 << n}, 0, %p{n};", "or.b32 %t0, %t0, %t1;"]
    lines += [f"st.global.b32 [%row+{4 * word}], %t0;", f"st.global.b32 [%row+{4 * word + 4}], {marker};"]
    return lines


def _render(body: Body) -> str:
    header = [
        ".version 8.6",
        ".target sm_90",
        ".address_size 64",
        _FUNCTIONS,
        f".visible .entry {KERNEL}(.param .u64 in_, .param .u64 rows_, .param .u64 cells_)",
        "{",
        f".reg .pred %p<{PREDICATES}>, %q<40>;",
        f".reg .b32 %v<{INTEGERS}>, %u<{UNIFORMS}>, %t<8>, %c<40>, %lane, %thread, %linear;",
        f".reg .f32 %f<{FLOATS}>;",
        f".reg .b64 %d<{WIDE}>, %in, %row, %cells, %ad, %gen, %local, %sh;",
        f".shared .align 16 .b8 exchange[{4 * _SHARED_WORDS}];",
        f".local .align 16 .b8 private[{4 * LOCAL_WORDS}];",
        "ld.param.u64 %in, [in_];",
        "ld.param.u64 %row, [rows_];",
        "ld.param.u64 %cells, [cells_];",
        "cvta.to.global.u64 %in, %in;",
        "cvta.to.global.u64 %row, %row;",
        "cvta.to.global.u64 %cells, %cells;",
        "mov.u32 %lane, %laneid;",
        "mov.u32 %t0, %tid.x;",
        "mov.u32 %t1, %tid.y;",
        "mov.u32 %t2, %ntid.x;",
        "mov.u32 %t3, %ntid.y;",
        "mad.lo.u32 %thread, %t1, %t2, %t0;",
        "mul.lo.u32 %t3, %t3, %t2;",
        "mov.u32 %t0, %ctaid.x;",
        "mov.u32 %t1, %ctaid.y;",
        "mov.u32 %t2, %nctaid.x;",
        "mad.lo.u32 %t0, %t1, %t2, %t0;",
        "mad.lo.u32 %linear, %t0, %t3, %thread;",
        f"mul.wide.u32 %ad, %linear, {4 * ROW_WORDS};",
        "add.s64 %row, %row, %ad;",
        "mov.u64 %local, private;",
        "mov.u64 %sh, exchange;",
        "cvta.shared.u64 %sh, %sh;",
        # The exchange array and the private array start out defined.
        "mul.wide.u32 %ad, %thread, 4;",
        "add.s64 %ad, %sh, %ad;",
        "st.b32 [%ad], %thread;",
        *(f"st.local.b32 [%local+{4 * n}], {n * 3};" for n in range(LOCAL_WORDS)),
        "bar.sync 0;",
        *(f"setp.eq.u32 %p{n}, %lane, {n};" for n in range(PREDICATES)),
        *(f"setp.eq.u32 %q{n}, %lane, 99;" for n in range(40)),
        *(f"mov.b32 %c{n}, 0;" for n in range(40)),
        *(f"mad.lo.s32 %v{n}, %thread, {2 * n + 1}, {n};" for n in range(INTEGERS - 2)),
        f"mov.b32 %v{INTEGERS - 2}, 5;",
        f"ld.global.b32 %v{INTEGERS - 1}, [%in+8];",
        "mov.u32 %u0, %ctaid.x;",
        "ld.global.b32 %u1, [%in];",
        "mov.b32 %u2, 3;",
        "mov.u32 %u3, %ntid.x;",
        "cvt.rn.f32.u32 %f0, %thread;",
        "mov.f32 %f1, 0f3FC00000;",
        "cvt.rn.f32.s32 %f2, %u1;",
        "cvt.u64.u32 %d0, %thread;",
        "cvt.u64.u32 %d1, %u1;",
    ]
    return "\n".join([*header, *_lines(body), *store_and_end(1), "ret;", "}", ""])


def reduced(program: Program, still_fails: Callable[[Program], bool]) -> Program:
    """The program with every statement removed that the failure does not need."""
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(program.body):
            candidate = replace(program, body=smaller)
            if still_fails(candidate):
                program, changed = candidate, True
                break
    return program


def _smaller(body: Body) -> "list[Body]":
    """Bodies with one node left out, one compound replaced by its contents, or one made smaller inside."""
    found = []
    for index, node in enumerate(body.nodes):
        before, after = body.nodes[:index], body.nodes[index + 1 :]
        found.append(Body((*before, *after)))
        if isinstance(node, Compound):
            for number, part in enumerate(node.parts):
                if isinstance(part, Body):
                    found += [
                        Body((*before, Compound((*node.parts[:number], inner, *node.parts[number + 1 :])), *after))
                        for inner in _smaller(part)
                    ]
    return found
