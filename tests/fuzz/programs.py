"""Random structured programs: nested branches and loops over registers that are reused everywhere.

What they look for is a lowering that takes a value for uniform when it is not, that loses lanes
where paths part and meet, or that forgets a register across a branch. Variables are of two kinds:
`u` registers are the same in the whole block and are written only where the whole block runs, so
that conditions on them may guard barriers; `v` registers hold anything, often a uniform value.

A program is a tree, so that one that shows a difference can be cut down to the part that matters.
It has no data races and no undefined values: every executor must agree to the bit.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

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
_INPUT_WORDS = 256
_SHARED_WORDS = 256
_LOCAL_WORDS = 8

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
        words = rng.integers(0, 1 << 32, _INPUT_WORDS, dtype=np.uint32)
        # Half of the inputs are small, so that conditions on them go both ways.
        words[::2] %= 7
        source = memory.allocate(BufferLabel("in", 4, (_INPUT_WORDS,), "input"), 4 * _INPUT_WORDS)
        memory.view(source, 4 * _INPUT_WORDS)[:] = words.view(np.uint8)
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


def _end(marker: int) -> list[str]:
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
        f".reg .b64 %d<{WIDE}>, %in, %row, %cells, %ad, %local, %sh;",
        f".shared .align 16 .b8 exchange[{4 * _SHARED_WORDS}];",
        f".local .align 16 .b8 private[{4 * _LOCAL_WORDS}];",
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
        *(f"st.local.b32 [%local+{4 * n}], {n * 3};" for n in range(_LOCAL_WORDS)),
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
    return "\n".join([*header, *_lines(body), *_end(1), "ret;", "}", ""])


@dataclass
class _Place:
    """What may be written at a point of the program.

    block_uniform: the whole block is here. warp_uniform: whole warps are. loop: labels to break and continue to.
    repeats: inside some loop, where a thread that ends would be missing from the next round's exchanges.
    """

    block_uniform: bool = True
    warp_uniform: bool = True
    loop: tuple[str, str] | None = None
    repeats: bool = False
    depth: int = 0


@dataclass
class _Generator:
    rng: random.Random
    whole_warps: bool
    may_exit: bool
    _numbers: dict[str, int] = field(default_factory=dict)
    exited: bool = False

    def number(self, kind: str) -> int:
        self._numbers[kind] = self._numbers.get(kind, -1) + 1
        return self._numbers[kind]

    def label(self) -> str:
        return f"$L{self.number('label')}"

    def body(self, place: _Place, length: int) -> Body:
        return Body(tuple(self.statement(place) for _ in range(length)))

    def statement(self, place: _Place) -> Node:
        rng = self.rng
        choices: list[tuple[int, Callable[[_Place], Node]]] = [
            (10, self.arithmetic),
            (3, self.guarded),
            (3, self.memory),
        ]
        choices.append((2, self.predicate))
        choices.append((1, self.call))
        choices.append((1, self.atomic))
        if place.depth < 4 and self._numbers.get("counter", -1) < 36:
            choices += [(5, self.branch), (4, self.loop), (1, self.switch)]
        if place.loop is not None:
            choices.append((3, self.leave_loop))
        if place.block_uniform:
            choices += [(4, self.uniform), (2, self.exchange)]
        if place.warp_uniform and not self.exited:
            choices.append((4, self.warp_exchange))
        if self.may_exit and place.depth and not place.repeats and rng.random() < 0.3:
            choices.append((2, self.leave))
        return rng.choices([c for _, c in choices], [w for w, _ in choices])[0](place)

    # Operands

    def any_word(self) -> str:
        rng = self.rng
        kind = rng.randrange(10)
        if kind < 5:
            return f"%v{rng.randrange(INTEGERS)}"
        if kind < 7:
            return f"%u{rng.randrange(UNIFORMS)}"
        if kind == 7:
            return rng.choice(("%lane", "%thread"))
        return str(rng.randrange(-9, 10))

    def uniform_word(self) -> str:
        return f"%u{self.rng.randrange(UNIFORMS)}" if self.rng.random() < 0.7 else str(self.rng.randrange(-5, 6))

    def target(self) -> str:
        return f"%v{self.rng.randrange(INTEGERS)}"

    # Statements

    def _word_operation(self, target: str, operand: Callable[[], str]) -> str:
        a, b, c = operand(), operand(), operand()
        return self.rng.choice(
            (
                f"add.s32 {target}, {a}, {b};",
                f"sub.s32 {target}, {a}, {b};",
                f"mul.lo.s32 {target}, {a}, {b};",
                f"mad.lo.s32 {target}, {a}, {b}, {c};",
                f"xor.b32 {target}, {a}, {b};",
                f"and.b32 {target}, {a}, {b};",
                f"min.s32 {target}, {a}, {b};",
                f"max.u32 {target}, {a}, {b};",
                f"shl.b32 {target}, {a}, 3;",
                f"shr.s32 {target}, {a}, {self.rng.randrange(34)};",
                f"mov.b32 {target}, {a};",
                f"div.u32 {target}, {a}, 7;",
                f"rem.s32 {target}, {a}, 5;",
                f"lop3.b32 {target}, {a}, {b}, {c}, 0x96;",
            )
        )

    def arithmetic(self, place: _Place) -> Node:
        rng = self.rng
        kind = rng.randrange(10)
        p = rng.randrange(PREDICATES)
        f = [rng.randrange(FLOATS) for _ in range(4)]
        d = [rng.randrange(WIDE) for _ in range(3)]
        if kind < 6:
            return Leaf((self._word_operation(self.target(), self.any_word),))
        if kind == 6:
            return Leaf((f"selp.b32 {self.target()}, {self.any_word()}, {self.any_word()}, %p{p};",))
        if kind == 7:
            return Leaf(
                (
                    rng.choice(
                        (
                            f"add.rn.f32 %f{f[0]}, %f{f[1]}, %f{f[2]};",
                            f"mul.rn.f32 %f{f[0]}, %f{f[1]}, 0f3F400000;",
                            f"fma.rn.f32 %f{f[0]}, %f{f[1]}, %f{f[2]}, %f{f[3]};",
                            f"max.f32 %f{f[0]}, %f{f[1]}, %f{f[2]};",
                            f"cvt.rn.f32.s32 %f{f[0]}, {self.register()};",
                            f"cvt.rzi.s32.f32 {self.target()}, %f{f[1]};",
                        )
                    ),
                )
            )
        if kind == 8:
            return Leaf(
                (
                    rng.choice(
                        (
                            f"add.s64 %d{d[0]}, %d{d[1]}, %d{d[2]};",
                            f"mad.wide.s32 %d{d[0]}, {self.register()}, {self.register()}, %d{d[1]};",
                            f"cvt.s64.s32 %d{d[0]}, {self.register()};",
                            f"cvt.u32.u64 {self.target()}, %d{d[0]};",
                            f"shr.u64 %d{d[0]}, %d{d[1]}, 5;",
                            f"mov.b64 %d{d[0]}, {{{self.register()}, {self.register()}}};",
                        )
                    ),
                )
            )
        return Leaf((f"mov.b32 {self.target()}, {rng.randrange(-100, 100)};",))

    def register(self) -> str:
        return f"%v{self.rng.randrange(INTEGERS)}" if self.rng.random() < 0.7 else f"%u{self.rng.randrange(UNIFORMS)}"

    def guarded(self, place: _Place) -> Node:
        sign = self.rng.choice(("", "!"))
        p = self.rng.randrange(PREDICATES)
        return Leaf((f"@{sign}%p{p} {self._word_operation(self.target(), self.any_word)}",))

    def predicate(self, place: _Place) -> Node:
        rng = self.rng
        p, q = rng.randrange(PREDICATES), rng.randrange(PREDICATES)
        relation = rng.choice(("eq", "ne", "lt", "ge", "gt", "le"))
        if rng.random() < 0.3:
            return Leaf((f"{rng.choice(('and', 'or', 'xor'))}.pred %p{p}, %p{q}, %p{rng.randrange(PREDICATES)};",))
        return Leaf((f"setp.{relation}.s32 %p{p}, {self.register()}, {self.any_word()};",))

    def uniform(self, place: _Place) -> Node:
        target = f"%u{self.rng.randrange(UNIFORMS)}"
        if self.rng.random() < 0.2:
            return Leaf((f"ld.global.b32 {target}, [%in+{4 * self.rng.randrange(_INPUT_WORDS)}];",))
        return Leaf((self._word_operation(target, self.uniform_word),))

    def memory(self, place: _Place) -> Node:
        rng = self.rng
        word = self.register()
        if rng.random() < 0.5:
            return Leaf(
                (
                    f"and.b32 %t0, {word}, {_INPUT_WORDS - 1};",
                    "mul.wide.u32 %ad, %t0, 4;",
                    "add.s64 %ad, %in, %ad;",
                    f"ld.global.b32 {self.target()}, [%ad];",
                )
            )
        address = (
            f"and.b32 %t0, {word}, {_LOCAL_WORDS - 1};",
            "mul.wide.u32 %ad, %t0, 4;",
            "add.s64 %ad, %local, %ad;",
        )
        if rng.random() < 0.5:
            return Leaf((*address, f"st.local.b32 [%ad], {self.register()};"))
        return Leaf((*address, f"ld.local.b32 {self.target()}, [%ad];"))

    def atomic(self, place: _Place) -> Node:
        cell = self.rng.randrange(len(ATOMIC_OPERATIONS))
        return Leaf((f"red.global.{ATOMIC_OPERATIONS[cell]} [%cells+{4 * cell}], {self.register()};",))

    def call(self, place: _Place) -> Node:
        return Leaf(
            (
                "{",
                ".param .b32 pa;",
                ".param .b32 pb;",
                ".param .b32 pr;",
                f"st.param.b32 [pa], {self.register()};",
                f"st.param.b32 [pb], {self.register()};",
                "call.uni (pr), mix, (pa, pb);",
                f"ld.param.b32 {self.target()}, [pr];",
                "}",
            )
        )

    def exchange(self, place: _Place) -> Node:
        """Write to shared memory, meet, read another thread's word, meet again."""
        distance = self.rng.choice(("1", "7", f"%u{self.rng.randrange(UNIFORMS)}", self.register()))
        generic = self.rng.random() < 0.5
        lines = [
            "mul.wide.u32 %ad, %thread, 4;",
            "add.s64 %ad, %sh, %ad;",
            f"st.b32 [%ad], {self.register()};",
            "bar.sync 0;",
            f"add.u32 %t0, %thread, {distance};",
            "and.b32 %t0, %t0, 31;",
        ]
        if generic:
            lines += ["mul.wide.u32 %ad, %t0, 4;", "add.s64 %ad, %sh, %ad;", f"ld.b32 {self.target()}, [%ad];"]
        else:
            lines += [
                "shl.b32 %t0, %t0, 2;",
                "mov.u32 %t1, exchange;",
                "add.u32 %t0, %t0, %t1;",
                f"ld.shared.b32 {self.target()}, [%t0];",
            ]
        return Leaf((*lines, "bar.sync 0;"))

    def warp_exchange(self, place: _Place) -> Node:
        rng = self.rng
        kinds = ["ballot", "any", "all", "match"]
        if self.whole_warps:
            kinds += ["shfl", "shfl", "shfl", "redux"]
        match rng.choice(kinds):
            case "ballot":
                return Leaf((f"vote.sync.ballot.b32 {self.target()}, %p{rng.randrange(PREDICATES)}, 0xffffffff;",))
            case "match":
                return Leaf(
                    (f"and.b32 %t0, {self.register()}, 3;", f"match.any.sync.b32 {self.target()}, %t0, 0xffffffff;")
                )
            case "redux":
                return Leaf((f"redux.sync.add.s32 {self.target()}, {self.register()}, 0xffffffff;",))
            case "shfl":
                mode = rng.choice(("up", "down", "bfly", "idx"))
                amount = rng.choice(("1", "16", str(rng.randrange(32)), self.register()))
                bound = "0" if mode == "up" else "31"
                return Leaf(
                    (f"shfl.sync.{mode}.b32 {self.target()}, {self.register()}, {amount}, {bound}, 0xffffffff;",)
                )
            case mode:
                p, q = rng.randrange(PREDICATES), rng.randrange(PREDICATES)
                return Leaf((f"vote.sync.{mode}.pred %p{p}, %p{q}, 0xffffffff;",))

    def _condition(self, place: _Place, q: str) -> tuple[tuple[str, ...], _Place]:
        """(lines that set q, what may stand behind a branch on it)."""
        rng = self.rng
        relation = rng.choice(("eq", "ne", "lt", "ge"))
        inner = replace(place, depth=place.depth + 1)
        if place.block_uniform and rng.random() < 0.35:
            return (f"setp.{relation}.s32 {q}, {self.uniform_word_register()}, {self.uniform_word()};",), inner
        if place.warp_uniform and not self.exited and self.whole_warps and rng.random() < 0.2:
            # The same in each warp, by a vote.
            line = f"vote.sync.any.pred {q}, %p{rng.randrange(PREDICATES)}, 0xffffffff;"
            return (line,), replace(inner, block_uniform=False)
        lines = rng.choice(
            (
                (f"setp.{relation}.s32 {q}, {self.register()}, {self.any_word()};",),
                (f"and.b32 %t0, {self.register()}, 3;", f"setp.{relation}.s32 {q}, %t0, 1;"),
                (f"and.b32 %t0, %lane, {rng.choice((1, 4, 16))};", f"setp.{relation}.s32 {q}, %t0, 0;"),
                (f"xor.pred {q}, %p{rng.randrange(PREDICATES)}, %p{rng.randrange(PREDICATES)};",),
            )
        )
        return lines, replace(inner, block_uniform=False, warp_uniform=False)

    def uniform_word_register(self) -> str:
        return f"%u{self.rng.randrange(UNIFORMS)}"

    def branch(self, place: _Place) -> Node:
        rng = self.rng
        q = f"%q{self.number('counter')}"
        lines, inner = self._condition(place, q)
        sign = rng.choice(("", "!"))
        other, end = self.label(), self.label()
        then = self.body(inner, rng.randrange(1, 4))
        if rng.random() < 0.4:
            return Compound(((*lines, f"@{sign}{q} bra {end};"), then, (f"{end}:",)))
        if (
            not inner.warp_uniform
            and place.warp_uniform
            and self.whole_warps
            and not self.exited
            and rng.random() < 0.4
        ):
            return self._pairwise(inner)
        otherwise = self.body(inner, rng.randrange(1, 4))
        return Compound(
            ((*lines, f"@{sign}{q} bra {other};"), then, (f"bra {end};", f"{other}:"), otherwise, (f"{end}:",))
        )

    def _pairwise(self, inner: _Place) -> Node:
        """Lanes part in groups of four; in each arm they shuffle among the lanes of their own ballot."""
        q = f"%q{self.number('counter')}"
        mask = f"%c{self.number('mask') % 3 + 37}"
        other, end = self.label(), self.label()
        head = (
            "shr.u32 %t0, %lane, 2;",
            f"and.b32 %t0, %t0, {self.rng.choice((1, 2, 3))};",
            f"setp.eq.u32 {q}, %t0, {self.rng.choice((0, 1, 2))};",
            f"vote.sync.ballot.b32 {mask}, {q}, 0xffffffff;",
            f"@!{q} bra {other};",
        )
        shuffle = f"shfl.sync.bfly.b32 {self.target()}, {self.register()}, {self.rng.choice((1, 2, 3))}, 31, {mask};"
        then = Body((Leaf((shuffle,)), *self.body(inner, 1).nodes))
        reverse = f"shfl.sync.bfly.b32 {self.target()}, {self.register()}, {self.rng.choice((1, 2, 3))}, 31, {mask};"
        otherwise = Body((Leaf((f"not.b32 {mask}, {mask};", reverse)), *self.body(inner, 1).nodes))
        return Compound((head, then, (f"bra {end};", f"{other}:"), otherwise, (f"{end}:",)))

    def loop(self, place: _Place) -> Node:
        rng = self.rng
        number = self.number("counter")
        counter, q = f"%c{number}", f"%q{number}"
        head, update, end = self.label(), self.label(), self.label()
        inner = replace(place, depth=place.depth + 1, repeats=True)
        if rng.random() < 0.5:
            start: tuple[str, ...] = (f"mov.b32 {counter}, {rng.randrange(1, 4)};",)
        else:
            start = (f"and.b32 {counter}, {self.register()}, 3;",)
            inner = replace(inner, block_uniform=False, warp_uniform=False)
        # A break or continue under a varying condition makes the rest of the body divergent.
        breaks = rng.random() < 0.5
        if breaks:
            inner = replace(inner, block_uniform=False, warp_uniform=False, loop=(end, update))
        else:
            inner = replace(inner, loop=None)
        test = (f"setp.le.s32 {q}, {counter}, 0;", f"@{q} bra {end};")
        step = (f"{update}:", f"add.s32 {counter}, {counter}, -1;")
        content = self.body(inner, rng.randrange(1, 4))
        if rng.random() < 0.5:
            return Compound(((*start, f"{head}:", *test), content, (*step, f"bra.uni {head};", f"{end}:")))
        again = (f"setp.gt.s32 {q}, {counter}, 0;", f"@{q} bra {head};")
        return Compound(((*start, f"{head}:"), content, (*step, *again, f"{end}:")))

    def leave_loop(self, place: _Place) -> Node:
        assert place.loop is not None
        label = self.rng.choice(place.loop)
        sign = self.rng.choice(("", "!"))
        return Leaf((f"@{sign}%p{self.rng.randrange(PREDICATES)} bra {label};",))

    def leave(self, place: _Place) -> Node:
        """End the thread here: its variables are stored first."""
        self.exited = True
        q = f"%q{self.number('counter')}"
        after = self.label()
        word = f"and.b32 %t0, {self.register()}, 7;"
        marker = 2 + self.number("leave")
        ending = self.rng.choice(("ret;", "exit;"))
        return Leaf((word, f"setp.ne.s32 {q}, %t0, 1;", f"@{q} bra {after};", *_end(marker), ending, f"{after}:"))

    def switch(self, place: _Place) -> Node:
        number = self.number("switch")
        labels = [self.label() for _ in range(3)]
        end = self.label()
        inner = replace(place, depth=place.depth + 1, block_uniform=False, warp_uniform=False)
        parts: list[tuple[str, ...] | Body] = [
            (
                f"rem.u32 %t0, {self.register()}, 3;",
                f"$T{number}: .branchtargets {', '.join(labels)};",
                f"brx.idx %t0, $T{number};",
            )
        ]
        for label in labels:
            parts += [(f"{label}:",), self.body(inner, self.rng.randrange(1, 3))]
            if self.rng.random() < 0.7:
                parts.append((f"bra {end};",))
        return Compound((*parts, (f"{end}:",)))


_BLOCKS = ((32, 1, 1), (64, 1, 1), (96, 1, 1), (40, 1, 1), (8, 5, 1), (16, 4, 1), (70, 1, 1))


def make_program(seed: int, length: int = 12) -> Program:
    rng = random.Random(seed)
    block = rng.choice(_BLOCKS)
    threads = block[0] * block[1] * block[2]
    generator = _Generator(rng, whole_warps=threads % 32 == 0, may_exit=rng.random() < 0.3)
    body = generator.body(_Place(), length)
    return Program(seed, body, rng.choice(((1, 1, 1), (2, 1, 1), (2, 2, 1))), block)


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
