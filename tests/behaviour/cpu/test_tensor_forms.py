"""Every emulated form of mma and wmma, and the copies around them: the JIT against the interpreter."""

import random
from functools import partial

import pytest

from judge.backends.cpu.executor import JitExecutor
from judge.backends.cpu.fragments import LANES, MMA_FORMS, WMMA_FORMS, mma_c
from judge.backends.cpu.interpreter import Interpreter
from judge.backends.cpu.interpreter.matrix import mma as interpreted_mma
from judge.backends.cpu.interpreter.state import Step
from judge.backends.cpu.refusal import NotEmulatedError
from judge.records import DiagnosisKind
from tests.fuzz import matrix_snippets
from tests.fuzz.batch import make_batch
from tests.fuzz.campaign import try_batch
from tests.fuzz.evaluate import kernel_text
from tests.fuzz.executors import Sabotaged
from tests.fuzz.launches import run_both

PARTNERS = {"s8": ("s8", "u8"), "u8": ("s8", "u8"), "e4m3": ("e4m3", "e5m2"), "e5m2": ("e4m3", "e5m2")}
MMA = [
    (shape, a, b, total)
    for a, (shapes, sums) in MMA_FORMS.items()
    for shape in shapes
    for b in PARTNERS.get(a, (a,))
    for total in sums
]
WMMA = [(shape, a, c, d) for a, (shapes, sums) in WMMA_FORMS.items() for shape in shapes for c in sums for d in sums]


def differences(maker, executor=None, seeds: int = 2, repeat: int = 4) -> list[str]:
    found = []
    for seed in range(seeds):
        batch = make_batch(random.Random(seed), 0, 32 << seed % 2, [maker] * repeat)
        found += [str(d) for d in try_batch(executor or JitExecutor(), batch)]
    return found


@pytest.mark.parametrize(("shape", "a", "b", "total"), MMA, ids="-".join)
def test_mma(shape: str, a: str, b: str, total: str):
    maker = partial(matrix_snippets.mma_form, shape_name=shape, a_type=a, b_type=b, sum_type=total)
    assert differences(maker) == []


@pytest.mark.parametrize(("shape", "a", "c", "d"), WMMA, ids="-".join)
def test_wmma(shape: str, a: str, c: str, d: str):
    maker = partial(matrix_snippets.wmma_form, shape_name=shape, a_type=a, c_type=c, d_type=d)
    assert differences(maker) == []


@pytest.mark.parametrize("name", ["ldmatrix", "stmatrix", "movmatrix", "copy_async", "redux_groups"])
def test_copies_and_group_reductions(name: str):
    assert differences(getattr(matrix_snippets, name), seeds=6, repeat=8) == []


def swapped(step: Step) -> None:
    """mma with two registers of its result exchanged."""
    interpreted_mma(step)
    first, second = (r.index for r in step.instruction.destinations[0].elements[:2])
    registers = step.warp.registers
    registers[[first, second]] = registers[[second, first]]


def dropped(step: Step) -> None:
    """An instruction that does nothing."""


@pytest.mark.parametrize(
    ("opcode", "operation", "maker"),
    [
        ("mma", swapped, "mma"),
        ("wmma", dropped, "wmma"),
        ("ldmatrix", dropped, "ldmatrix"),
        ("stmatrix", dropped, "stmatrix"),
        ("movmatrix", dropped, "movmatrix"),
        ("cp", dropped, "copy_async"),
        ("redux", dropped, "redux_groups"),
    ],
)
def test_a_wrong_instruction_is_found(opcode: str, operation, maker: str):
    assert differences(getattr(matrix_snippets, maker), Sabotaged(opcode, operation), seeds=3, repeat=6)


def test_every_accumulator_of_a_tile_has_one_holder():
    assert len({mma_c(lane, n) for lane in range(LANES) for n in range(4)}) == 128


PARTIAL = {
    "mma": """
        .reg .b32 a<4>, b<2>; .reg .f32 c<4>;
        mov.b32 a0, 0; mov.b32 a1, 0; mov.b32 a2, 0; mov.b32 a3, 0; mov.b32 b0, 0; mov.b32 b1, 0;
        mov.f32 c0, 0f3F800000; mov.f32 c1, c0; mov.f32 c2, c0; mov.f32 c3, c0;
        setp.lt.u32 %p1, %t, 20; @!%p1 bra DONE;
        mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {c0, c1, c2, c3}, {a0, a1, a2, a3}, {b0, b1},
            {c0, c1, c2, c3};
        DONE: add.s64 %d1, %out, %o; st.global.f32 [%d1], c0;""",
    "ldmatrix": """
        .shared .align 16 .b8 tile[512]; .reg .b32 m;
        mov.u32 %r1, tile; mad.lo.u32 %r1, %t, 16, %r1; st.shared.v4.b32 [%r1], {%t, %t, %t, %t}; mov.b32 m, 7;
        setp.lt.u32 %p1, %t, 20; @!%p1 bra DONE;
        ldmatrix.sync.aligned.m8n8.x1.shared.b16 {m}, [%r1];
        DONE: add.s64 %d1, %out, %o; st.global.b32 [%d1], m;""",
}


@pytest.mark.parametrize("opcode", PARTIAL)
def test_a_part_of_a_warp_is_reported_with_the_lane_that_is_missing(opcode: str):
    expected, found, results = run_both(kernel_text(PARTIAL[opcode]), 32)
    assert expected.tobytes() == found.tobytes()
    for result in results:
        (event,) = result.events
        assert event.kind is DiagnosisKind.DIVERGENT_BARRIER
        assert event.thread == (0, 0, 0)
        assert event.other is not None
        assert event.other.thread == (20, 0, 0)
        assert f"{opcode}.sync" in event.detail


@pytest.mark.parametrize(
    ("body", "action", "space", "lane"),
    [
        ("cp.async.ca.shared.global [%r1+128], [%d1], 4; cp.async.wait_all;", "write", "shared", 0),
        ("cp.async.ca.shared.global [%r1], [%d1+144], 4; cp.async.wait_all;", "read", "global", 28),
        ("cp.async.ca.shared.global [%r1], [%d1+1], 4; cp.async.wait_all;", "read", "global", 0),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1];", "read", "shared", 1),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r2, %r3, %r4, %r5}, [%r2];", "read", "shared", 8),
        ("wmma.load.a.sync.aligned.row.m16n16k8.global.tf32 {%r2, %r3, %r4, %r5}, [%in], %r7;", "read", "global", 0),
        ("wmma.store.d.sync.aligned.row.m8n8k4.global.f64 [%out], {%e1, %e2}, %r7;", "write", "global", 0),
    ],
)
def test_an_access_outside_is_reported_at_its_first_lane(body: str, action: str, space: str, lane: int):
    text = kernel_text(f"""
        .shared .align 16 .b8 tile[128]; .reg .f64 %e<3>;
        mov.u32 %r1, tile; shl.b32 %r2, %t, 4; add.u32 %r2, %r2, %r1; shl.b32 %r6, %t, 2; add.u32 %r1, %r1, %r6;
        mov.u32 %r7, 8; add.s64 %d1, %in, %o; mov.f64 %e1, 0d0000000000000000; mov.f64 %e2, %e1;
        st.shared.b32 [%r1], %t; bar.warp.sync 0xffffffff;
        {body}
        add.s64 %d1, %out, %o; st.global.b32 [%d1], %r2;""")
    _, _, results = run_both(text, 32, input_bytes=256, output_bytes=256)
    seen = [(r.events[0].kind, r.events[0].action, r.events[0].space, r.events[0].thread) for r in results]
    assert seen[0] == seen[1]
    assert seen[0][1:] == (action, space, (lane, 0, 0))


def test_bar_arrive_counts_without_waiting():
    """The second warp waits for a message that the first one leaves behind and goes on from."""
    text = kernel_text("""
        .shared .b32 box[32]; .reg .b32 %b;
        mov.u32 %b, box; and.b32 %r1, %t, 31; mad.lo.u32 %r1, %r1, 4, %b;
        setp.ge.u32 %p1, %t, 32; @%p1 bra TAKE;
        mul.lo.u32 %r2, %t, 3; st.shared.b32 [%r1], %r2; bar.arrive 1, 64; bra DONE;
        TAKE: bar.sync 1, 64; ld.shared.b32 %r2, [%r1];
        DONE: add.s64 %d1, %out, %o; st.global.b32 [%d1], %r2;""")
    expected, found, results = run_both(text, 64, output_bytes=256)
    assert expected.tobytes() == found.tobytes()
    assert found.view("u4").tolist() == [3 * (t % 32) for t in range(64)]
    assert [r.stopped for r in results] == ["", ""]
    assert all(not r.events for r in results)


def test_a_queue_that_overflows_carries_out_its_oldest_copies():
    """300 copies to one place without a wait: the last one counts."""
    copies = "".join(f"cp.async.ca.shared.global [%r1], [%d1+{128 * k}], 4;" for k in range(300))
    text = kernel_text(f"""
        .shared .b32 box[32];
        mov.u32 %r1, box; mad.lo.u32 %r1, %t, 4, %r1; add.s64 %d1, %in, %o;
        {copies} cp.async.wait_all; ld.shared.b32 %r2, [%r1];
        add.s64 %d1, %out, %o; st.global.b32 [%d1], %r2;""")
    expected, found, _ = run_both(text, 32, input_bytes=300 * 128, output_bytes=128)
    assert expected.tobytes() == found.tobytes()
    assert found.view("u4").tolist() == [299 * 32 + t for t in range(32)]


def test_interpreter_and_jit_refuse_the_same_forms():
    refused = (
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f1}, {%r1,%r2}, {%r3,%r4}, "
        "{%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f1};",
        "mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32 {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%r7}, {%r1,%r2,%r3,%r4};",
        "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%r1,%r2}, {%r3}, {%r4}, {%r1,%r2};",
    )
    for body in refused:
        for runner in (Interpreter(), JitExecutor()):
            with pytest.raises(NotEmulatedError) as error:
                run_both(kernel_text(body), 32, runners=(runner,))
            assert body.split(" ")[0].removesuffix(";") in str(error.value)


def test_shared_memory_keeps_its_old_bytes_until_the_wait():
    text = kernel_text("""
        .shared .b32 box[32];
        mov.u32 %r1, box; mad.lo.u32 %r1, %t, 4, %r1; add.s64 %d1, %in, %o;
        mov.b32 %r3, 77; st.shared.b32 [%r1], %r3;
        cp.async.ca.shared.global [%r1], [%d1], 4; cp.async.commit_group;
        ld.shared.b32 %r2, [%r1]; cp.async.wait_group 1; ld.shared.b32 %r4, [%r1];
        cp.async.wait_group 0; ld.shared.b32 %r5, [%r1];
        mul.wide.u32 %o, %t, 16; add.s64 %d1, %out, %o; st.global.v4.b32 [%d1], {%r2, %r4, %r5, %r3};""")
    expected, found, _ = run_both(text, 32)
    assert expected.tobytes() == found.tobytes()
    assert found.view("u4")[:128].reshape(32, 4).tolist() == [[77, 77, t, 77] for t in range(32)]


def test_a_guarded_vote_is_not_uniform():
    """Lanes whose guard is false keep what they had."""
    text = kernel_text("""
        setp.lt.u32 %p1, %t, 7; mov.b32 %r1, 5; setp.ge.u32 %p2, %t, 3;
        @%p1 vote.sync.ballot.b32 %r1, %p2, 127;
        add.s64 %d1, %out, %o; st.global.b32 [%d1], %r1;""")
    expected, found, _ = run_both(text, 32)
    assert expected.tobytes() == found.tobytes()
    assert found.view("u4")[:32].tolist() == [0b1111000] * 7 + [5] * 25


def test_a_uniform_fns_lives_on_in_the_next_block():
    text = kernel_text("""
        mov.u32 %r1, %ntid.x; fns.b32 %r2, 240, %r1, -2; bar.sync 0;
        add.s64 %d1, %out, %o; st.global.b32 [%d1], %r2;""")
    expected, found, _ = run_both(text, 32)
    assert expected.tobytes() == found.tobytes()
    assert found.view("u4")[:32].tolist() == [6] * 32
