"""Directives and variables of a module: places, initial bytes, addresses in them."""

import struct

import pytest

from judge.backends.cpu.ptx import PtxError, load
from tests.unit.cpu.ptx.ptx_text import HEADER, kernel, line, lines


def variables(text, space="global"):
    module = load(HEADER + text)
    return module.globals_ if space == "global" else module.constants


def one(text, space="global"):
    (variable,) = variables(text, space)
    return variable


def test_the_head_of_a_module():
    module = load(".version 9.5\n.target sm_80\n.address_size 64\n")
    assert (module.version, module.target, module.debug, module.kernels) == ((9, 5), "sm_80", False, {})
    assert load(HEADER).debug


@pytest.mark.parametrize(
    ("text", "initial"),
    [
        (".global .u32 x = 5;", struct.pack("<I", 5)),
        (".global .align 4 .s32 x = -5;", struct.pack("<i", -5)),
        (".global .u8 x = 0xff;", b"\xff"),
        (".global .f32 x = 0f3F800000;", struct.pack("<f", 1)),
        (".global .f32 x = 1.5;", struct.pack("<f", 1.5)),
        (".global .f32 x = -0f3F800000;", struct.pack("<f", -1)),
        (".global .f64 x = 0d3FF0000000000000;", struct.pack("<d", 1)),
        (".global .f64 x = 2.5;", struct.pack("<d", 2.5)),
        (".global .b8 x[4] = {1, 2};", b"\x01\x02\x00\x00"),
        (".global .b8 x[] = {1, 2, 3};", b"\x01\x02\x03"),
        (".global .b16 x[2][2] = {{1}, {2, 3}};", struct.pack("<4H", 1, 0, 2, 3)),
        (".global .b8 x[][2] = {{1}, {2}, {3, 4}};", bytes([1, 0, 2, 0, 3, 4])),
        (".global .v4 .f32 x = {1.0, 2.0, 3.0, 4.0};", struct.pack("<4f", 1, 2, 3, 4)),
        (".global .u64 x = 18446744073709551615;", b"\xff" * 8),
        (".global .u32 x;", None),
    ],
)
def test_initial_bytes(text, initial):
    variable = one(text)
    assert variable.initial == initial
    assert initial is None or variable.size == len(initial)


def test_variables_lie_in_order_each_at_its_alignment():
    found = variables(".global .align 1 .b8 a[3]; .global .u32 b; .weak .global .align 16 .b8 c[5], d[2];")
    assert [(v.name, v.offset, v.size, v.align) for v in found] == [
        ("a", 0, 3, 1),
        ("b", 4, 4, 4),
        ("c", 16, 5, 16),
        ("d", 32, 2, 16),
    ]
    assert load(HEADER + ".const .u64 t[3]; .global .u8 x;").constant_bytes == 24


def test_addresses_in_variables():
    text = ".const .f32 t[4]; .global .u32 g; .global .align 8 .u64 p[5] = {generic(t)+8, g, t, generic(g+4), 7};"
    *_, pointers = variables(text)
    assert pointers.relocations == ((0, "t", 8), (8, "g", 0), (24, "g", 4))
    assert pointers.initial[16:24] == bytes(8)
    assert pointers.initial[32:] == struct.pack("<Q", 7)


def test_an_address_byte_by_byte():
    masks = ", ".join(f"0xFF{'00' * byte}(generic(g)+12)" for byte in range(8))
    variable = variables(f".global .u32 g; .global .align 8 .b8 x[24] = {{1, 0, 0, 0, 0, 0, 0, 0, {masks}, 9}};")[1]
    assert variable.relocations == ((8, "g", 12),)
    assert variable.initial == b"\x01" + bytes(15) + b"\x09" + bytes(7)


def test_a_call_through_a_pointer_compares_it_with_each_function_that_fits():
    before = """.func f() { .reg .b32 %r<2>; mov.u32 %r1, 1; ret; } .func g(.param .b32 x) { ret; }
      .global .u64 table[2] = {f, g};"""
    found = lines("ld.global.u64 %rd1, [table]; call %rd1, proto;", before=before)
    assert [text.split()[0] for text in found] == [
        "ld.global.u64",
        "setp.ne.u64",
        "@%other",
        "mov.u32",
        "bra.uni",
        "trap",
    ]


def test_a_call_through_a_known_pointer_is_a_call():
    before = ".func f() { .reg .b32 %r<2>; mov.u32 %r1, 1; ret; } .func g() { .reg .b32 %r<2>; mov.u32 %r1, 2; ret; }"
    found = lines("mov.u64 %rd1, g; mov.u64 %rd2, f; call %rd1, proto;", before=before)
    assert [text for text in found if text.startswith("mov.u32")] == ["mov.u32 %r1 = 2"]


def test_module_variables_as_operands():
    before = ".global .align 16 .b8 pad[16]; .global .u32 g; .const .u32 c[2];"
    assert lines(
        "mov.u64 %rd1, g; mov.u64 %rd1, g+8; ld.const.u32 %r1, [c+4]; ld.global.u32 %r1, [g];", before=before
    ) == [
        "mov.u64 %rd1 = global:g@16",
        "mov.u64 %rd1 = global:g@24",
        "ld.const.u32 %r1 = [const:c@0+4]",
        "ld.global.u32 %r1 = [global:g@16+0]",
    ]


def test_a_definition_replaces_its_extern_declaration():
    assert one(".extern .global .u32 x; .global .u32 x = 3;").initial == struct.pack("<I", 3)


def test_kernel_parameters_follow_the_abi():
    parameters = (
        ".param .u8 a, .param .u64 .ptr .global .align 16 b, .param .align 8 .b8 c[12], .param .f32 d, .param .u16 e"
    )
    found = kernel("ld.param.f32 %f1, [d]; ld.param.u16 %rs1, [e];", parameters=parameters)
    assert [(p.name, p.offset, p.size) for p in found.parameters] == [
        ("a", 0, 1),
        ("b", 16, 8),
        ("c", 24, 12),
        ("d", 36, 4),
        ("e", 40, 2),
    ]
    assert found.parameter_bytes == 42
    assert line(found.instructions[0]) == "ld.param.f32 %f1 = [param:d@36+0]"


def test_shared_memory_static_first_then_dynamic():
    before = ".extern .shared .align 16 .b8 pool[]; .shared .align 4 .b8 unused[4]; .shared .align 8 .b8 tile[20];"
    body = ".shared .b32 own; mov.u32 %r1, pool; mov.u32 %r2, tile; mov.u32 %r3, own; mov.u32 %r4, pool+4;"
    found = kernel(body, before=before)
    assert [(v.name, v.offset, v.size) for v in found.shared] == [("pool", 32, 0), ("tile", 0, 20), ("own", 20, 4)]
    assert found.shared_static_bytes == 24
    assert [line(i) for i in found.instructions[:-1]] == [
        "mov.u32 %r1 = shared:pool@32",
        "mov.u32 %r2 = shared:tile@0",
        "mov.u32 %r3 = shared:own@20",
        "mov.u32 %r4 = shared:pool@36",
    ]


def test_dynamic_shared_memory_gets_the_alignment_it_asks_for():
    before = ".extern .shared .align 128 .b8 pool[]; .shared .b32 own;"
    found = kernel("mov.u32 %r1, pool; mov.u32 %r1, own;", before=before)
    assert found.shared[0].offset == 128
    assert found.shared_static_bytes == 128


def test_local_variables():
    found = kernel(".local .align 8 .b8 depot[12]; .local .b32 x; mov.u64 %rd1, depot; st.local.u32 [x], 1;")
    assert [(v.name, v.offset, v.size) for v in found.local] == [("depot", 0, 12), ("x", 12, 4)]
    assert found.local_bytes == 16


def test_bounds_of_a_kernel():
    text = HEADER + ".entry a() .maxntid 16, 8, 1\n.minnctapersm 2 { ret; } .entry b() .reqntid 32 { ret; }"
    kernels = load(text).kernels
    assert (kernels["a"].max_threads, kernels["a"].required_threads) == (128, None)
    assert (kernels["b"].max_threads, kernels["b"].required_threads) == (None, (32, 1, 1))


def test_what_is_skipped():
    text = (
        '.version 9.0\n.target sm_90\n.address_size 64\n.pragma "x";\n.entry k() { .pragma "nounroll"; ret; }\n'
        '.file 1 "a.cu", 123, 456\n.section .debug_str { .b8 1 }\n;'
    )
    assert len(load(text).kernels["k"].instructions) == 1


def test_an_array_without_elements_is_refused():
    with pytest.raises(PtxError, match="variable none has no bytes"):
        variables(".global .align 4 .b8 before[4]; .global .align 4 .b8 none[0]; .global .align 4 .b8 after[4];")
