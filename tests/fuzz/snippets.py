"""Forms that need more than operands: memory of every space, atomics, carry chains, packing.

Each snippet is a few lines of PTX that leave their results in registers d0, d1, …; the batch
declares the registers, fills the input rows it asks for, and stores the results.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

from judge.backends.cpu.ir import WIDTHS

SHARED_BYTES = 2 * 4096
LOCAL_BYTES = 64
DECLARATIONS = f"""
.shared .align 16 .b8 smem[{SHARED_BYTES}];
.local .align 16 .b8 lmem[{LOCAL_BYTES}];
"""
CONSTANTS = ".const .align 16 .b8 cmem[64] = {" + ",".join(str(17 * n % 251) for n in range(64)) + "};\n"


@dataclass(frozen=True)
class Snippet:
    """spelling: the form it is about. registers: declarations. results: (register, PTX type) to store.

    whole_warp: it has a barrier or an exchange, so every lane must run it.
    ordered: what lanes get back depends on the order in which the executor serves them.
    """

    spelling: str
    lines: tuple[str, ...]
    registers: tuple[str, ...]
    results: tuple[tuple[str, str], ...]
    whole_warp: bool = False
    ordered: bool = False


RowOf = Callable[[str], int]
"""Adds an input row of a domain; gives its byte offset."""

_LOADS = ("b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64")
_STORES = ("b8", "u8", "s16", "b16", "b32", "f32", "u64", "f64")


def _register(type_: str, rng: random.Random) -> str:
    """A register type wide enough for a load of the type."""
    if type_ in ("f32", "f64"):
        return rng.choice((type_, f"b{WIDTHS[type_]}"))
    widths = [w for w in (16, 32, 64) if w >= WIDTHS[type_]]
    width = rng.choice(widths)
    return f"{rng.choice(type_[0] + 'b')}{width}" if type_[0] in "us" else f"b{width}"


def _index(rng: random.Random, row: RowOf, count: int, scale: int, base: str) -> tuple[str, ...]:
    """Lines that set %ad to base + scale * (a lane's own number below count)."""
    lane = rng.choice(("row", "lane", "reverse", "same"))
    first = {
        "row": f"ld.global.b32 %ix, [%inl+{row('small')}];",
        "lane": "mov.b32 %ix, %lane;",
        "reverse": "sub.u32 %ix, 31, %lane;",
        "same": f"mov.b32 %ix, {rng.randrange(count)};",
    }[lane]
    return (first, f"and.b32 %ix, %ix, {count - 1};", f"mul.wide.u32 %ad, %ix, {scale};", f"add.s64 %ad, {base}, %ad;")


def _load_global(rng: random.Random, row: RowOf) -> Snippet:
    type_ = rng.choice(_LOADS)
    modifier = rng.choice(("", ".volatile", ".nc", ".relaxed.gpu", ".ca", ".cg"))
    space = rng.choice((".global", ""))
    if modifier in (".nc", ".ca", ".cg") and not space:
        modifier = ""
    spelling = f"ld{modifier}{space}.{type_}"
    if modifier == ".nc":
        spelling = f"ld.global.nc.{type_}"
    elif modifier in (".ca", ".cg"):
        spelling = f"ld.global{modifier}.{type_}"
    declared = _register(type_, rng)
    offset = row("b64")
    lines = _index(rng, row, 32, 8, "%in")
    return Snippet(
        spelling, (*lines, f"{spelling} d0, [%ad+{offset}];"), (f".reg .{declared} d0;",), (("d0", declared),)
    )


def _load_vector(rng: random.Random, row: RowOf) -> Snippet:
    count, type_ = rng.choice(
        ((2, "b8"), (2, "u16"), (2, "b32"), (2, "f32"), (4, "u8"), (4, "s16"), (2, "b64"), (4, "b32"))
    )
    spelling = f"ld.global.v{count}.{type_}"
    declared = _register(type_, rng)
    offset = row("b64")
    row("b64")
    scale = count * WIDTHS[type_] // 8
    lines = _index(rng, row, 16, scale, "%in")
    names = [f"d{n}" for n in range(count)]
    aligned = -(-offset // scale) * scale
    return Snippet(
        spelling,
        (*lines, f"{spelling} {{{', '.join(names)}}}, [%ad+{aligned}];"),
        tuple(f".reg .{declared} {n};" for n in names),
        tuple((n, declared) for n in names),
    )


def _store_and_load(rng: random.Random, row: RowOf) -> Snippet:
    """Store narrow parts of a register to shared or local memory, load the whole back."""
    type_ = rng.choice(_STORES)
    size = WIDTHS[type_] // 8
    width = max(WIDTHS[type_], 16)
    source = f".reg .{type_ if type_ in ('f32', 'f64') else f'b{width}'} a0;"
    load = f"ld.global.b{width} a0, [%inl+{row('b64')}];"
    place = rng.randrange(0, 16, size)
    if rng.random() < 0.5:
        base = ("mov.u64 %ad, lmem;",)
        space, generic = "local", "cvta.local.u64 %ad, %ad;"
    else:
        base = ("mov.u64 %ad, smem;", "mul.wide.u32 %ae, %lane, 16;", "add.s64 %ad, %ad, %ae;")
        space, generic = "shared", "cvta.shared.u64 %ad, %ad;"
    suffix = f".{space}"
    if rng.random() < 0.4:
        base, suffix = (*base, generic), ""
    spelling = f"st{suffix}.{type_}"
    clear = f"st{suffix}.v2.b64 [%ad], {{%zero, %zero}};"
    back = f"ld{suffix}.v2.b64 {{d0, d1}}, [%ad];"
    return Snippet(
        spelling,
        (load, *base, clear, f"{spelling} [%ad+{place}], a0;", back),
        (source, ".reg .b64 d0, d1;"),
        (("d0", "b64"), ("d1", "b64")),
    )


def _store_vector(rng: random.Random, row: RowOf) -> Snippet:
    count, type_ = rng.choice(((2, "b16"), (4, "b16"), (2, "b32"), (4, "f32"), (2, "b64"), (4, "b8")))
    width = max(WIDTHS[type_], 16)
    spelling = f"st.shared.v{count}.{type_}"
    declared = type_ if type_ == "f32" else f"b{width}"
    names = [f"a{n}" for n in range(count)]
    loads = [f"ld.global.b{width} {n}, [%inl+{row('b64')}];" for n in names]
    return Snippet(
        spelling,
        (
            *loads,
            "mov.u64 %ad, smem;",
            "mul.wide.u32 %ae, %lane, 16;",
            "add.s64 %ad, %ad, %ae;",
            "st.shared.v2.b64 [%ad], {%zero, %zero};",
            f"{spelling} [%ad], {{{', '.join(names)}}};",
            "ld.shared.v2.b64 {d0, d1}, [%ad];",
        ),
        (*(f".reg .{declared} {n};" for n in names), ".reg .b64 d0, d1;"),
        (("d0", "b64"), ("d1", "b64")),
    )


def _exchange(rng: random.Random, row: RowOf) -> Snippet:
    """One lane reads what another wrote."""
    type_ = rng.choice(("b8", "b16", "b32", "b64"))
    width = max(WIDTHS[type_], 16)
    size = WIDTHS[type_] // 8
    return Snippet(
        f"ld.shared.{type_}",
        (
            f"ld.global.b{width} a0, [%inl+{row('b64')}];",
            "mov.u32 %ix, smem;",
            f"mad.lo.u32 %iy, %lane, {size}, %ix;",
            "bar.sync 0;",
            f"st.shared.{type_} [%iy], a0;",
            "bar.sync 0;",
            f"ld.global.b32 %iy, [%inl+{row('small')}];",
            "and.b32 %iy, %iy, 31;",
            f"mad.lo.u32 %iy, %iy, {size}, %ix;",
            f"ld.shared.{type_} d0, [%iy];",
            "bar.sync 0;",
        ),
        (f".reg .b{width} a0, d0;",),
        (("d0", f"b{width}"),),
        whole_warp=True,
    )


def _constant(rng: random.Random, row: RowOf) -> Snippet:
    type_ = rng.choice(("b8", "s8", "u16", "s16", "b32", "u64"))
    size = WIDTHS[type_] // 8
    declared = _register(type_, rng)
    space, base = rng.choice(
        ((".const", ("mov.u64 %ae, cmem;",)), ("", ("mov.u64 %ae, cmem;", "cvta.const.u64 %ae, %ae;")))
    )
    lines = (*base, *_index(rng, row, 8, size, "%ae"))
    return Snippet(
        f"ld{space}.{type_}", (*lines, f"ld{space}.{type_} d0, [%ad];"), (f".reg .{declared} d0;",), (("d0", declared),)
    )


_ATOMICS = (
    *((op, t) for op in ("add", "min", "max") for t in ("u32", "s32", "u64")),
    ("min", "s64"),
    ("max", "s64"),
    *((op, t) for op in ("and", "or", "xor", "exch") for t in ("b32", "b64")),
    ("inc", "u32"),
    ("dec", "u32"),
    ("add", "f32"),
    ("add", "f64"),
    ("add.noftz", "f16x2"),
    ("add.noftz", "bf16x2"),
    ("add.noftz", "f16"),
    ("cas", "b16"),
    ("cas", "b32"),
    ("cas", "b64"),
)


def _atomic(rng: random.Random, row: RowOf) -> Snippet:
    """Several lanes on one shared cell; the cell is read back after all of them."""
    operation, type_ = rng.choice(_ATOMICS)
    bits = WIDTHS[type_]
    space = rng.choice((".shared", ""))
    spelling = f"atom{space}.{operation}.{type_}"
    domain = {"inc": "small", "dec": "small"}.get(operation, type_)
    few = operation == "cas"
    domain = "few" if few else domain
    declared = f"b{bits}"
    lines = [
        "mov.u64 %ad, smem;",
        f"ld.global.b32 %ix, [%inl+{row('small')}];",
        f"and.b32 %ix, %ix, {rng.choice((0, 3, 7))};",
        "mul.wide.u32 %ae, %ix, 8;",
        "add.s64 %ad, %ad, %ae;",
        "bar.sync 0;",
        f"ld.global.b{bits} a1, [%in+{row(domain)}];",
        f"st.shared.b{bits} [%ad], a1;",
        "bar.sync 0;",
        f"ld.global.b{bits} a0, [%inl+{row(domain)}];",
    ]
    if not space:
        lines.append("cvta.shared.u64 %ad, %ad;")
    if few:
        lines += [f"ld.global.b{bits} a1, [%inl+{row(domain)}];", f"{spelling} d0, [%ad], a0, a1;"]
    else:
        lines.append(f"{spelling} d0, [%ad], a0;")
    lines += ["bar.sync 0;", f"ld{space}.b{bits} d1, [%ad];", "bar.sync 0;"]
    result = type_ if type_ in ("f32", "f64", "f16x2", "bf16x2", "f16") else declared
    return Snippet(
        spelling,
        tuple(lines),
        (f".reg .{declared} a0, a1, d0, d1;",),
        (("d0", result), ("d1", result)),
        whole_warp=True,
        ordered=True,
    )


def _carry(rng: random.Random, row: RowOf) -> Snippet:
    type_ = rng.choice(("u32", "s32", "u64", "s64"))
    bits = WIDTHS[type_]
    loads = [f"ld.global.b{bits} a{n}, [%inl+{row(type_)}];" for n in range(4)]
    first, second = rng.choice(
        (
            ("add.cc.{0} d0, a0, a1", "addc.cc.{0} d1, a2, a3"),
            ("sub.cc.{0} d0, a0, a1", "subc.cc.{0} d1, a2, a3"),
            ("mad.lo.cc.{0} d0, a0, a1, a2", "madc.hi.cc.{0} d1, a0, a1, a3"),
        )
    )
    last = rng.choice(("addc.{0} d2, a0, 0", "madc.lo.{0} d2, a1, a2, a3"))
    if first.startswith("sub"):
        last = "subc.{0} d2, a0, 0"
    lines = [line.format(type_) + ";" for line in (first, second, last)]
    return Snippet(
        second.format(type_).split()[0],
        (*loads, *lines),
        (f".reg .b{bits} a0, a1, a2, a3, d0, d1, d2;",),
        tuple((f"d{n}", f"b{bits}") for n in range(3)),
    )


def _packing(rng: random.Random, row: RowOf) -> Snippet:
    bits, count = rng.choice(((32, 2), (64, 2), (64, 4)))
    part = bits // count
    names = [f"d{n}" for n in range(count)]
    shuffled = rng.sample(names, count)
    return Snippet(
        f"mov.b{bits}",
        (
            f"ld.global.b{bits} a0, [%inl+{row('b64')}];",
            f"mov.b{bits} {{{', '.join(names)}}}, a0;",
            f"mov.b{bits} a1, {{{', '.join(shuffled)}}};",
        ),
        (f".reg .b{bits} a0, a1;", f".reg .b{part} {', '.join(names)};"),
        (("a1", f"b{bits}"), ("d0", f"b{part}"), (names[-1], f"b{part}")),
    )


def _lop3_predicate(rng: random.Random, row: RowOf) -> Snippet:
    operation = rng.choice(("or", "and"))
    return Snippet(
        f"lop3.{operation}.b32",
        (
            *(f"ld.global.b32 a{n}, [%inl+{row('few')}];" for n in range(3)),
            f"ld.global.b32 %ix, [%inl+{row('pred')}];",
            "setp.ne.u32 q0, %ix, 0;",
            f"lop3.{operation}.b32 d0|p0, a0, a1, a2, {rng.randrange(256)}, q0;",
            "selp.b32 d1, 1, 0, p0;",
        ),
        (".reg .b32 a0, a1, a2, d0, d1;", ".reg .pred p0, q0;"),
        (("d0", "b32"), ("d1", "b32")),
    )


def _barrier_reduction(rng: random.Random, row: RowOf) -> Snippet:
    kind = rng.choice(("popc.u32", "and.pred", "or.pred"))
    ending = ("mov.b32 d0, d1;",) if kind == "popc.u32" else ("selp.b32 d0, 1, 0, p0;",)
    target = "d1" if kind == "popc.u32" else "p0"
    return Snippet(
        f"bar.red.{kind}",
        (
            f"ld.global.b32 %ix, [%inl+{row('pred')}];",
            "setp.ne.u32 q0, %ix, 0;",
            f"bar.red.{kind} {target}, 0, {rng.choice(('', '!'))}q0;",
            *ending,
        ),
        (".reg .b32 d0, d1;", ".reg .pred p0, q0;"),
        (("d0", "b32"),),
        whole_warp=True,
    )


MAKERS = (
    _load_global,
    _load_vector,
    _store_and_load,
    _store_vector,
    _exchange,
    _constant,
    _atomic,
    _carry,
    _packing,
    _lop3_predicate,
    _barrier_reduction,
)
