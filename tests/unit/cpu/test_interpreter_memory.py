"""Loads, stores, atomics and address spaces, and what a bad access is reported as."""

import numpy as np
import pytest

from judge.backends.cpu.addresses import FIRST_BUFFER_SLOT, slot_base
from judge.backends.cpu.memory import SLOT_STRIDE
from tests.fuzz.evaluate import kernel_text, run_text

SPACES = """
.global .align 4 .b32 counter = 41;
.global .align 8 .u64 pointer = generic(counter);
.const .align 4 .b32 table[4] = {10, 20, 30, 40};
"""
STORE = "add.s64 %d1, %out, %o; st.global.b32 [%d1], %r1;"


def run(body: str, inputs=None, block: int = 32, declarations: str = "", **kwargs):
    data = np.arange(64, dtype=np.uint32) if inputs is None else inputs
    output, result = run_text(kernel_text(body, declarations), "k", data, (block, 1, 1), **kwargs)
    return output.view(np.uint32), result


def test_signed_loads_extend_into_wider_registers():
    data = np.array([0x80FF, 0, 0, 0], dtype=np.uint32)
    output, _ = run(
        "ld.global.s8 %r1, [%in]; st.global.b32 [%out], %r1;"
        "ld.global.u8 %r2, [%in]; st.global.b32 [%out+4], %r2;"
        "ld.global.s16 %r3, [%in]; st.global.b32 [%out+8], %r3;",
        data,
        block=1,
    )
    assert [hex(v) for v in output[:3]] == ["0xffffffff", "0xff", "0xffff80ff"]


def test_vector_accesses_keep_their_order():
    output, _ = run(
        "ld.global.v4.b32 {%r1, %r2, _, %r4}, [%in+16]; st.global.v2.b32 [%out], {%r4, %r1};"
        "st.global.v2.b32 [%out+8], {%r2, %r2};",
        block=1,
    )
    assert output[:4].tolist() == [7, 4, 5, 5]


def test_a_store_of_a_wider_register_writes_its_low_bytes():
    output, _ = run("mov.b32 %r1, 0x11223344; st.global.b8 [%out+1], %r1; st.global.b16 [%out+4], %r1;", block=1)
    assert [hex(v) for v in output[:2]] == ["0x4400", "0x3344"]


def test_every_space_is_reached_through_generic_addresses():
    body = """
    .shared .align 4 .b8 tile[64];
    .local .align 4 .b8 mine[16];
    mov.u64 %d1, tile; cvta.shared.u64 %d1, %d1;
    mov.u64 %d2, mine; cvta.local.u64 %d2, %d2;
    mov.b32 %r1, 7; st.b32 [%d1+4], %r1;
    st.b32 [%d2+8], %t;
    bar.sync 0;
    ld.shared.b32 %r2, [tile+4];
    ld.local.b32 %r3, [mine+8];
    mad.lo.s32 %r1, %r2, 100, %r3;
    mov.u64 %d3, table; cvta.const.u64 %d3, %d3; ld.b32 %r4, [%d3+8]; add.s32 %r1, %r1, %r4;
    ld.global.u64 %d4, [pointer]; ld.b32 %r5, [%d4]; add.s32 %r1, %r1, %r5;
    """
    output, result = run(body + STORE, declarations=SPACES)
    assert output[:32].tolist() == [700 + t + 30 + 41 for t in range(32)]
    assert result.events == ()


def test_isspacep_knows_the_windows():
    body = """
    .shared .align 4 .b8 tile[64];
    mov.u64 %d1, tile; cvta.shared.u64 %d1, %d1;
    isspacep.shared %p0, %d1; isspacep.global %p1, %d1; isspacep.global %p2, %in;
    selp.b32 %r1, 1, 0, %p0; selp.b32 %r2, 2, 0, %p1; selp.b32 %r3, 4, 0, %p2;
    add.s32 %r1, %r1, %r2; add.s32 %r1, %r1, %r3;
    """
    output, _ = run(body + STORE, block=1)
    assert output[0] == 5


def test_out_of_bounds_is_reported_once_with_its_count_and_the_rest_goes_on():
    output, result = run("add.s64 %d1, %in, %o; ld.global.b32 %r1, [%d1+200];" + STORE)
    (event,) = result.events
    assert (event.kind, event.action, event.space, event.size, event.limit) == (
        "out_of_bounds",
        "read",
        "global",
        4,
        256,
    )
    assert event.address == slot_base(FIRST_BUFFER_SLOT) + 256
    assert (event.thread, event.count) == ((14, 0, 0), 18)
    assert output[:16].tolist() == [*range(50, 64), 0, 0]


def test_a_store_outside_changes_nothing_and_a_negative_index_is_seen():
    _, result = run("mov.b32 %r1, 1; st.global.b32 [%out+-4], %r1;", block=1)
    (event,) = result.events
    assert (event.kind, event.action) == ("out_of_bounds", "write")
    assert event.address == slot_base(FIRST_BUFFER_SLOT + SLOT_STRIDE) - 4


@pytest.mark.parametrize(
    ("body", "space"), [("ld.shared.b32 %r1, [%r2];", "shared"), ("ld.local.b32 %r1, [%r2];", "local")]
)
def test_small_spaces_are_checked_too(body: str, space: str):
    declared = f".{space} .align 4 .b8 small[16]; mov.u32 %r2, 13; add.s32 %r2, %r2, 3;"
    _, result = run(declared + body, block=1)
    (event,) = result.events
    assert (event.kind, event.space, event.address, event.limit) == ("out_of_bounds", space, 16, 16)


def test_misaligned_access_is_reported():
    _, result = run("ld.global.v2.b32 {%r1, %r2}, [%in+4];", block=1)
    (event,) = result.events
    assert (event.kind, event.size) == ("misaligned", 8)


def test_null_pointer():
    _, result = run("mov.u64 %d1, 0; ld.global.b32 %r1, [%d1];", block=1)
    assert [(e.kind, e.limit, e.address) for e in result.events] == [("out_of_bounds", None, 0)]


def test_dynamic_shared_memory_follows_the_static_one():
    body = """
    .shared .align 4 .b8 fixed[20];
    mov.u32 %r2, dynamic; mad.lo.u32 %r3, %t, 4, %r2; st.shared.b32 [%r3], %t; mov.b32 %r1, %r2;
    """
    output, result = run(
        body + STORE, block=8, shared_bytes=28, declarations=".extern .shared .align 16 .b8 dynamic[];"
    )
    assert output[0] == 32
    assert [(e.address, e.limit, e.count) for e in result.events] == [(60, 60, 1)]


ATOMICS = [
    ("add.u32", [1] * 8, 5, 13),
    ("min.s32", [3, -2, 7, 0, 1, 1, 1, 1], 5, -2),
    ("max.u32", [3, 9, 7, 0, 1, 1, 1, 1], 5, 9),
    ("and.b32", [7, 6, 7, 7, 7, 7, 7, 7], 5, 4),
    ("or.b32", [8, 2, 0, 0, 0, 0, 0, 0], 5, 15),
    ("xor.b32", [1, 1, 1, 0, 0, 0, 0, 0], 5, 4),
    ("exch.b32", [1, 2, 3, 4, 5, 6, 7, 8], 5, 8),
    ("inc.u32", [6] * 8, 5, 6),
    ("dec.u32", [2] * 8, 2, 0),
]


@pytest.mark.parametrize(("operation", "operands", "start", "end"), ATOMICS, ids=[row[0] for row in ATOMICS])
def test_atomics_go_in_lane_order(operation: str, operands: list[int], start: int, end: int):
    data = np.array([*operands, start, 0, 0, 0], dtype=np.int64).astype(np.uint32)
    body = f"add.s64 %d1, %in, %o; ld.global.b32 %r2, [%d1]; atom.global.{operation} %r1, [%in+32], %r2;" + STORE
    body += "bar.sync 0; ld.global.b32 %r3, [%in+32]; st.global.b32 [%out+32], %r3;"
    output, _ = run(body, data, block=8)
    assert int(output[:1][0]) == start
    assert output.view(np.int32)[8] == end


def test_increment_wraps_at_its_bound():
    body = "mov.b32 %r2, 2; atom.global.inc.u32 %r1, [%in], %r2;" + STORE
    output, _ = run(body, np.zeros(8, dtype=np.uint32), block=5)
    assert output[:5].tolist() == [0, 1, 2, 0, 1]


def test_compare_and_swap_lets_one_lane_win():
    body = "mov.b32 %r2, 0; add.s32 %r3, %t, 100; atom.global.cas.b32 %r1, [%in], %r2, %r3;" + STORE
    output, _ = run(body, np.zeros(8, dtype=np.uint32), block=3)
    assert output[:3].tolist() == [0, 100, 100]


def test_float_and_half_atomics():
    data = np.array([1.5, 0, 0, 0], dtype=np.float32).view(np.uint32)
    body = "mov.f32 %f1, 0f3F000000; red.global.add.f32 [%in], %f1; ld.global.b32 %r1, [%in];" + STORE
    output, _ = run(body, data, block=4)
    assert output.view(np.float32)[0] == 3.5
    data = np.array([0x3C00_4000, 0], dtype=np.uint32)
    body = "mov.b32 %r2, 0x3C003C00; red.global.add.noftz.f16x2 [%in], %r2; ld.global.b32 %r1, [%in];" + STORE
    output, _ = run(body, data, block=1)
    assert hex(output[0]) == "0x40004200"


def test_printf_and_assert_reach_the_host():
    declarations = ".global .align 1 .b8 text[12] = {116, 61, 37, 100, 32, 37, 115, 33, 10, 0};\n"
    declarations += ".global .align 1 .b8 word[4] = {104, 105, 0};\n"
    declarations += ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
    body = """
    .local .align 8 .b8 pack[16];
    mov.u64 %d1, pack; cvta.local.u64 %d1, %d1; st.b32 [%d1], %t;
    mov.u64 %d2, word; cvta.global.u64 %d2, %d2; st.b64 [%d1+8], %d2;
    mov.u64 %d3, text; cvta.global.u64 %d3, %d3;
    { .param .b64 a; st.param.b64 [a], %d3; .param .b64 b; st.param.b64 [b], %d1; .param .b32 r;
    call.uni (r), vprintf, (a, b); ld.param.b32 %r1, [r]; }
    """
    output, result = run(body + STORE, block=2, declarations=declarations)
    assert result.printed == "t=0 hi!\nt=1 hi!\n"
    assert output[0] == 2


def test_trap_stops_the_launch():
    _, result = run("setp.eq.u32 %p0, %t, 3; @%p0 trap;", block=8)
    assert result.stopped == "trap"
    assert [(e.kind, e.thread, e.count) for e in result.events] == [("trap", (3, 0, 0), 1)]
