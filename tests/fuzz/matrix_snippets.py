"""Forms of tier 7: cp.async, ldmatrix, stmatrix, movmatrix, mma and wmma, each with its operands in place."""

import random

from judge.backends.cpu.fragments import LANES, MMA_FORMS, WMMA_FORMS, Shape, parse_shape, wmma_elements
from judge.backends.cpu.ir import WIDTHS
from tests.fuzz.snippets import RowOf, Snippet

WARP_SHARED_BYTES = 4096
_STYLES = ("exact", "exact", "rough", "special")


def _bits(type_: str) -> int:
    return max(WIDTHS[type_], 32)


def _registers(shape: Shape, operand: str, type_: str) -> int:
    rows, columns = shape.of(operand)
    return rows * columns * WIDTHS[type_] // LANES // _bits(type_)


def _declared(type_: str) -> str:
    return type_ if type_ in ("f32", "f64") else f"b{_bits(type_)}"


def _partner(rng: random.Random, type_: str) -> str:
    """A type B may have beside this type of A."""
    for family in (("s8", "u8"), ("e4m3", "e5m2")):
        if type_ in family:
            return rng.choice(family)
    return type_


def _list(names: list[str]) -> str:
    return f"{{{', '.join(names)}}}"


def mma(rng: random.Random, row: RowOf) -> Snippet:
    a_type = rng.choice(sorted(MMA_FORMS))
    shapes, sums = MMA_FORMS[a_type]
    return mma_form(rng, row, rng.choice(shapes), a_type, _partner(rng, a_type), rng.choice(sums))


def mma_form(rng: random.Random, row: RowOf, shape_name: str, a_type: str, b_type: str, sum_type: str) -> Snippet:
    shape = parse_shape(shape_name)
    style = rng.choice(_STYLES)
    lines, declared = [], []
    names: dict[str, list[str]] = {}
    for operand, type_ in (("a", a_type), ("b", b_type), ("c", sum_type)):
        names[operand] = [f"{operand}{n}" for n in range(_registers(shape, operand, type_))]
        for name in names[operand]:
            declared.append(f".reg .{_declared(type_)} {name};")
            lines.append(f"ld.global.b{_bits(type_)} {name}, [%inl+{row(f'{style} of {type_}')}];")
    names["d"] = [f"d{n}" for n in range(len(names["c"]))]
    declared += [f".reg .{_declared(sum_type)} {name};" for name in names["d"]]
    saturating = ".satfinite" if sum_type == "s32" and rng.random() < 0.5 else ""
    types = f"{sum_type}.{a_type}.{b_type}.{sum_type}"
    spelling = f"mma.sync.aligned.{shape_name}.row.col{saturating}.{types}"
    if rng.random() < 0.3:
        names["d"], declared = names["c"], declared[: -len(names["d"])]
    lines.append(f"{spelling} {_list(names['d'])}, {_list(names['a'])}, {_list(names['b'])}, {_list(names['c'])};")
    result = {"f16": "f16x2", "s32": "b32"}.get(sum_type, sum_type)
    results = tuple((name, result) for name in names["d"])
    return Snippet(spelling, tuple(lines), tuple(declared), results, whole_warp=True)


def _own_shared(register: str = "%ae") -> tuple[str, ...]:
    """The warp's own part of shared memory, as an offset."""
    return (
        "shr.u32 %ix, %lane, 5;",
        f"mul.wide.u32 {register}, %ix, {WARP_SHARED_BYTES};",
        "mov.u64 %ad, smem;",
        f"add.s64 {register}, {register}, %ad;",
    )


def wmma(rng: random.Random, row: RowOf) -> Snippet:
    a_type = rng.choice(sorted(WMMA_FORMS))
    shapes, sums = WMMA_FORMS[a_type]
    return wmma_form(rng, row, rng.choice(shapes), a_type, rng.choice(sums), rng.choice(sums))


def wmma_form(rng: random.Random, row: RowOf, shape_name: str, a_type: str, c_type: str, d_type: str) -> Snippet:
    """Load a, b and c from global memory, multiply, store d to shared memory and read it back."""
    shape = parse_shape(shape_name)
    style = rng.choice(_STYLES)
    layouts = {operand: rng.choice(("row", "col")) for operand in "abcd"}
    types = {"a": a_type, "b": a_type, "c": c_type, "d": d_type}
    lines, declared = [".reg .b32 stride;"], []
    names = {}
    for operand, type_ in types.items():
        count = wmma_elements(shape, operand) * WIDTHS[type_] // _bits(type_)
        # f16 fragments of A and B have twice the registers their elements need.
        count = 8 if operand in "ab" and type_ == "f16" else count
        names[operand] = [f"{operand}{n}" for n in range(count)]
        declared += [f".reg .{_declared(type_)} {name};" for name in names[operand]]
        if operand == "d":
            continue
        rows, columns = shape.of(operand)
        lines_, length = (rows, columns) if layouts[operand] == "row" else (columns, rows)
        stride = length + rng.choice((0, 0, 8))
        size = WIDTHS[type_] // 8
        start = row(f"{style} of {type_}")
        for _ in range((lines_ * stride * size - 1) // (LANES * 8)):
            row(f"{style} of {type_}")
        place = f"wmma.load.{operand}.sync.aligned.{layouts[operand]}.{shape_name}.global.{type_}"
        lines += [f"mov.b32 stride, {stride};", f"{place} {_list(names[operand])}, [%in+{start}], stride;"]
    saturating = ".satfinite" if d_type == "s32" and rng.random() < 0.5 else ""
    suffix = f"{d_type}.{c_type}" if a_type == "f16" else f"{d_type}.{a_type}.{a_type}.{c_type}"
    spelling = f"wmma.mma.sync.aligned.{layouts['a']}.{layouts['b']}.{shape_name}{saturating}.{suffix}"
    operands = ", ".join(_list(names[o]) for o in "dabc")
    rows, columns = shape.of("d")
    stride = columns if layouts["d"] == "row" else rows
    lines += [
        f"{spelling} {operands};",
        *_own_shared(),
        f"mov.b32 stride, {stride};",
        "bar.sync 0;",
        f"wmma.store.d.sync.aligned.{layouts['d']}.{shape_name}.shared.{d_type} [%ae], {_list(names['d'])}, stride;",
        "bar.sync 0;",
        "and.b32 %ix, %lane, 31;",
        f"mul.wide.u32 %ad, %ix, {_bits(d_type) // 8};",
        "add.s64 %ae, %ae, %ad;",
    ]
    results = []
    whole = rows * columns * WIDTHS[d_type] // 8
    type_ = {"f16": "f16x2", "s32": "b32"}.get(d_type, d_type)
    for number, offset in enumerate(range(0, whole, LANES * _bits(d_type) // 8)):
        declared.append(f".reg .b{_bits(d_type)} r{number};")
        lines.append(f"ld.shared.b{_bits(d_type)} r{number}, [%ae+{offset}];")
        results.append((f"r{number}", type_))
    lines.append("bar.sync 0;")
    results.append((names["a"][0], f"b{_bits(a_type)}"))
    return Snippet(spelling, tuple(lines), tuple(declared), tuple(results), whole_warp=True)


def _row_pointer(rng: random.Random) -> tuple[str, ...]:
    """%ad: the shared address of some row of 16 bytes, another one for every lane of the warp."""
    return (
        f"mad.lo.u32 %ix, %lane, {rng.choice((1, 3, 7, 31))}, {rng.randrange(32)};",
        "and.b32 %ix, %ix, 31;",
        "mul.wide.u32 %ad, %ix, 16;",
        "add.s64 %ad, %ad, %ae;",
    )


def ldmatrix(rng: random.Random, row: RowOf) -> Snippet:
    count = rng.choice((1, 2, 4))
    spelling = f"ldmatrix.sync.aligned.m8n8.x{count}{rng.choice(('', '.trans'))}.shared.b16"
    names = [f"d{n}" for n in range(count)]
    lines = (
        *_own_shared(),
        *(f"ld.global.b64 a{n}, [%inl+{row('b64')}];" for n in range(2)),
        "and.b32 %ix, %lane, 31;",
        "mul.wide.u32 %ad, %ix, 16;",
        "add.s64 %ad, %ad, %ae;",
        "bar.sync 0;",
        "st.shared.v2.b64 [%ad], {a0, a1};",
        "bar.sync 0;",
        *_row_pointer(rng),
        f"{spelling} {_list(names)}, [%ad];",
        "bar.sync 0;",
    )
    declared = (".reg .b64 a0, a1;", *(f".reg .b32 {n};" for n in names))
    return Snippet(spelling, lines, declared, tuple((n, "b32") for n in names), whole_warp=True)


def stmatrix(rng: random.Random, row: RowOf) -> Snippet:
    count = rng.choice((1, 2, 4))
    spelling = f"stmatrix.sync.aligned.m8n8.x{count}{rng.choice(('', '.trans'))}.shared.b16"
    names = [f"a{n}" for n in range(count)]
    lines = (
        *_own_shared(),
        *(f"ld.global.b32 {n}, [%inl+{row('b32')}];" for n in names),
        "and.b32 %ix, %lane, 31;",
        "mul.wide.u32 %ad, %ix, 16;",
        "add.s64 %ad, %ad, %ae;",
        "bar.sync 0;",
        "st.shared.v2.b64 [%ad], {%zero, %zero};",
        "bar.sync 0;",
        *_row_pointer(rng),
        f"{spelling} [%ad], {_list(names)};",
        "bar.sync 0;",
        "and.b32 %ix, %lane, 31;",
        "mul.wide.u32 %ad, %ix, 16;",
        "add.s64 %ad, %ad, %ae;",
        "ld.shared.v2.b64 {d0, d1}, [%ad];",
        "bar.sync 0;",
    )
    declared = (*(f".reg .b32 {n};" for n in names), ".reg .b64 d0, d1;")
    return Snippet(spelling, lines, declared, (("d0", "b64"), ("d1", "b64")), whole_warp=True)


def movmatrix(rng: random.Random, row: RowOf) -> Snippet:
    spelling = "movmatrix.sync.aligned.m8n8.trans.b16"
    lines = (f"ld.global.b32 a0, [%inl+{row('b32')}];", f"{spelling} d0, a0;")
    return Snippet(spelling, lines, (".reg .b32 a0, d0;",), (("d0", "b32"),), whole_warp=True)


def copy_async(rng: random.Random, row: RowOf) -> Snippet:
    """Two groups into a lane's own 32 bytes, seen after one wait and after the other; too early it is the old bytes."""
    size = rng.choice((4, 8, 16, 16))
    cache = "cg" if size == 16 and rng.random() < 0.5 else "ca"
    spelling = f"cp.async.{cache}.shared.global"
    sources = [row("b64") for _ in range(4)]
    rest = rng.choice(("", "bytes", "pred"))
    tail = {"": "", "bytes": ", %iy", "pred": ", q0"}[rest]
    wait = rng.choice(("cp.async.wait_group 1;", "cp.async.wait_group 0;", "cp.async.wait_all;", ""))
    divergent = "@q1 " if rng.random() < 0.3 else ""
    lines = (
        "mov.u64 %ad, smem;",
        "mul.wide.u32 %ae, %lane, 32;",
        "add.s64 %ad, %ad, %ae;",
        "mul.wide.u32 %ae, %lane, 16;",
        "add.s64 %ae, %ae, %in;",
        f"ld.global.b32 %iy, [%inl+{row('small')}];",
        "setp.gt.u32 q0, %iy, 16;",
        "setp.gt.u32 q1, %iy, 9;",
        "st.shared.v2.b64 [%ad], {%zero, %zero};",
        "st.shared.v2.b64 [%ad+16], {%zero, %zero};",
        f"{divergent}{spelling} [%ad], [%ae+{sources[0]}], {size}{tail};",
        f"{rng.choice(('', divergent))}cp.async.commit_group;",
        f"{spelling} [%ad+16], [%ae+{sources[2]}], {size};",
        "cp.async.commit_group;",
        wait,
        "ld.shared.v2.b64 {d0, d1}, [%ad];",
        "ld.shared.v2.b64 {d2, d3}, [%ad+16];",
        "cp.async.wait_all;",
        "ld.shared.v2.b64 {d4, d5}, [%ad];",
        "ld.shared.v2.b64 {d6, d7}, [%ad+16];",
    )
    names = [f"d{n}" for n in range(8)]
    declared = (f".reg .b64 {', '.join(names)};", ".reg .pred q0, q1;")
    return Snippet(spelling, tuple(line for line in lines if line), declared, tuple((n, "b64") for n in names), True)


def redux_groups(rng: random.Random, row: RowOf) -> Snippet:
    """Groups of one warp that reduce apart: the member mask differs between lanes."""
    operation, type_ = rng.choice(
        (*((o, t) for o in ("add", "min", "max") for t in ("u32", "s32")), *((o, "b32") for o in ("and", "or", "xor")))
    )
    spelling = f"redux.sync.{operation}.{type_}"
    width = rng.choice((4, 8, 16))
    lines = (
        f"ld.global.b32 a0, [%inl+{row(type_)}];",
        f"and.b32 %ix, %lane, {32 - width};",
        f"mov.b32 %iy, {(1 << width) - 1};",
        "shl.b32 %iy, %iy, %ix;",
        f"{spelling} d0, a0, %iy;",
    )
    return Snippet(spelling, lines, (".reg .b32 a0, d0;",), (("d0", "b32"),), whole_warp=True)


MAKERS = (mma, mma, mma, wmma, wmma, ldmatrix, stmatrix, movmatrix, copy_async, copy_async, redux_groups)
