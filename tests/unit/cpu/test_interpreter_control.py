"""Branches, loops, barriers, warp exchanges and the scheduler's promises."""

import numpy as np
import pytest

from judge.backends.cpu.interpreter.warpwide import source_lane
from tests.fuzz.evaluate import kernel_text, run_text

STORE = "add.s64 %d1, %out, %o; st.global.b32 [%d1], %r1;"


def run(body: str, block=(32, 1, 1), inputs=None, **kwargs):
    data = np.arange(256, dtype=np.uint32) if inputs is None else inputs
    output, result = run_text(kernel_text(body), "k", data, block, **kwargs)
    return output.view(np.uint32), result


def test_guarded_instructions_keep_the_old_value_elsewhere():
    output, _ = run("mov.b32 %r1, 5; setp.lt.u32 %p0, %t, 2; @!%p0 mov.b32 %r1, 9;" + STORE, block=(4, 1, 1))
    assert output[:4].tolist() == [5, 5, 9, 9]


def test_loops_run_as_often_as_each_lane_asks():
    body = """
    mov.b32 %r1, 0; mov.b32 %r2, %t;
    again: setp.eq.s32 %p0, %r2, 0; @%p0 bra done;
    add.s32 %r1, %r1, 3; add.s32 %r2, %r2, -1; bra.uni again;
    done:
    """
    output, _ = run(body + STORE)
    assert output[:32].tolist() == [3 * t for t in range(32)]


def test_brx_goes_by_index():
    body = """
    and.b32 %r2, %t, 1;
    where: .branchtargets even, odd;
    brx.idx %r2, where;
    even: mov.b32 %r1, 100; bra join;
    odd: mov.b32 %r1, 200;
    join:
    """
    output, _ = run(body + STORE, block=(4, 1, 1))
    assert output[:4].tolist() == [100, 200, 100, 200]


def test_lanes_that_return_early_do_not_hold_up_a_barrier():
    body = "mov.b32 %r1, 1; setp.ge.u32 %p0, %t, 5; @%p0 ret; bar.sync 0;" + STORE
    output, result = run(body, block=(64, 1, 1))
    assert output[:8].tolist() == [1] * 5 + [0] * 3
    assert (result.stopped, result.events) == ("", ())


def test_barrier_reduction_counts_the_whole_block():
    body = "setp.lt.u32 %p0, %t, 37; bar.red.popc.u32 %r1, 0, %p0;" + STORE
    output, _ = run(body, block=(64, 1, 1))
    assert set(output[:64].tolist()) == {37}


def test_a_barrier_in_two_arms_is_reported_and_a_missing_one_is_a_deadlock():
    two_arms = "setp.lt.u32 %p0, %t, 7; @%p0 bra left; bar.sync 0; bra join; left: bar.sync 0; join:"
    _, result = run(two_arms)
    assert [e.kind for e in result.events] == ["divergent_barrier"]
    count = "setp.lt.u32 %p0, %t, 32; @!%p0 bra skip; bar.sync 1; skip: bar.sync 0;"
    _, result = run(count, block=(64, 1, 1))
    assert result.stopped == "deadlock"
    (event,) = result.events
    assert (event.kind, event.count) == ("deadlock", 64)
    assert event.other is not None


def test_a_spin_lock_whose_holder_waits_behind_the_spinners_ends():
    body = """
    spin: atom.global.cas.b32 %r2, [%in], 0, 1;
    setp.ne.u32 %p0, %r2, 0; @%p0 bra spin;
    ld.volatile.global.b32 %r3, [%in+4]; add.s32 %r3, %r3, 1; st.volatile.global.b32 [%in+4], %r3;
    atom.global.exch.b32 %r2, [%in], 0;
    bar.sync 0; ld.volatile.global.b32 %r1, [%in+4];
    """
    output, result = run(body + STORE, block=(64, 1, 1), inputs=np.zeros(256, dtype=np.uint32))
    assert result.stopped == ""
    assert output[0] == 64


def test_blocks_can_wait_for_each_other():
    body = """
    mov.u32 %r2, %ctaid.x;
    atom.global.add.u32 %r3, [%in], 1;
    wait: ld.volatile.global.b32 %r4, [%in]; setp.lt.u32 %p0, %r4, 3; @%p0 bra wait;
    mul.wide.u32 %d2, %r2, 4; add.s64 %d2, %out, %d2; st.global.b32 [%d2], %r4;
    """
    output, result = run(body, block=(1, 1, 1), grid=(3, 1, 1), inputs=np.zeros(8, dtype=np.uint32))
    assert (result.stopped, output[:3].tolist()) == ("", [3, 3, 3])


def test_an_endless_loop_runs_out_of_budget():
    _, result = run("again: bra.uni again;", instruction_limit=5000)
    assert result.stopped == "budget"


def test_special_registers_of_a_block_of_three_dimensions():
    body = """
    mov.u32 %r2, %tid.x; mov.u32 %r3, %tid.y; mov.u32 %r4, %tid.z; mov.u32 %r5, %laneid;
    mad.lo.u32 %r1, %r3, 10, %r2; mad.lo.u32 %r1, %r4, 100, %r1;
    mov.u32 %r6, %ntid.x; mov.u32 %r7, %ntid.y; mad.lo.u32 %r8, %r4, %r7, %r3; mad.lo.u32 %r8, %r8, %r6, %r2;
    mul.wide.u32 %o, %r8, 4;
    """
    output, _ = run(body + STORE, block=(3, 2, 2))
    assert output[:12].tolist() == [0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112]


SHUFFLES = [
    ("up", 1, 0x0000, [0, *range(31)], [0] + [1] * 31),
    ("down", 2, 0x001F, [*range(2, 32), 30, 31], [1] * 30 + [0] * 2),
    ("bfly", 1, 0x001F, [t ^ 1 for t in range(32)], [1] * 32),
    ("idx", 5, 0x001F, [5] * 32, [1] * 32),
    # Segments of 8 lanes.
    ("idx", 9, 0x181F, [t // 8 * 8 + 1 for t in range(32)], [1] * 32),
    ("down", 7, 0x181F, [t + 7 if t % 8 == 0 else t for t in range(32)], [int(t % 8 == 0) for t in range(32)]),
    ("up", 1, 0x1800, [t - 1 if t % 8 else t for t in range(32)], [int(t % 8 != 0) for t in range(32)]),
]


@pytest.mark.parametrize(("mode", "b", "c", "lanes", "valid"), SHUFFLES)
def test_shuffles_read_the_lane_the_manual_says(mode: str, b: int, c: int, lanes: list[int], valid: list[int]):
    body = f"""
    add.s32 %r2, %t, 1000;
    shfl.sync.{mode}.b32 %r1|%p0, %r2, {b}, {c}, -1;
    selp.b32 %r3, 1, 0, %p0; add.s64 %d1, %out, %o; st.global.b32 [%d1+128], %r3;
    """
    output, _ = run(body + STORE)
    assert output[:32].tolist() == [1000 + lane for lane in lanes]
    assert output[32:64].tolist() == valid


def test_source_lane_outside_its_segment_is_the_lane_itself():
    assert source_lane("up", 0, 1, 0) == (0, False)
    assert source_lane("down", 31, 1, 31) == (31, False)


def test_votes_matches_and_reductions():
    body = """
    setp.lt.u32 %p0, %t, 3;
    vote.sync.ballot.b32 %r1, %p0, -1;
    and.b32 %r2, %t, 1; match.any.sync.b32 %r3, %r2, -1; xor.b32 %r1, %r1, %r3;
    redux.sync.add.s32 %r4, %t, -1; add.s32 %r1, %r1, %r4;
    """
    output, _ = run(body + STORE)
    assert output[0] == (0x5555_5555 ^ 7) + 496
    assert output[1] == (0xAAAA_AAAA ^ 7) + 496


def test_match_all_and_votes_tell_agreement():
    body = """
    match.all.sync.b32 %r1|%p0, %t, 3;
    setp.lt.u32 %p1, %t, 9; vote.sync.all.pred %p2, %p1, 3; vote.sync.uni.pred %p3, %p1, 3;
    selp.b32 %r2, 2, 0, %p0; selp.b32 %r3, 4, 0, %p2; selp.b32 %r4, 8, 0, %p3;
    or.b32 %r1, %r1, %r2; or.b32 %r1, %r1, %r3; or.b32 %r1, %r1, %r4;
    """
    output, _ = run(body + STORE, block=(2, 1, 1))
    assert output[:2].tolist() == [12, 12]


def test_a_shuffle_waits_for_the_lanes_its_mask_names():
    body = """
    mov.b32 %r2, %t; setp.lt.u32 %p0, %t, 16; @%p0 bra join;
    add.s32 %r2, %r2, 100;
    join: shfl.sync.bfly.b32 %r1, %r2, 16, 31, -1;
    """
    output, result = run(body + STORE)
    assert output[:32].tolist() == [t + 116 for t in range(16)] + list(range(16))
    assert result.events == ()


def test_a_mask_that_names_a_lane_elsewhere_is_reported():
    body = "mov.b32 %r1, 0; setp.eq.u32 %p0, %t, 4; @%p0 bra wait; shfl.sync.idx.b32 %r1, %t, 0, 31, -1;"
    _, result = run(body + "wait: bar.sync 0;" + STORE)
    (event,) = result.events
    assert event.kind == "divergent_barrier"
    assert "lane 4 is not there" in event.detail


def test_warp_barriers_in_both_arms_meet():
    body = "setp.lt.u32 %p0, %t, 9; @%p0 bra left; bar.warp.sync -1; bra join; left: bar.warp.sync -1;"
    output, result = run(body + "join: mov.b32 %r1, 1;" + STORE)
    assert (result.events, output[:32].tolist()) == ((), [1] * 32)


def test_carries_go_from_word_to_word():
    body = """
    mov.b32 %r2, -1; add.cc.u32 %r1, %r2, 1; addc.cc.u32 %r3, %r2, 0; addc.u32 %r4, 5, 0;
    mov.b32 %r5, 0; sub.cc.u32 %r6, %r5, 1; subc.u32 %r7, %r5, 0;
    mad.lo.cc.u32 %r8, %r2, %r2, %r2; madc.hi.u32 %r9, %r2, %r2, 0;
    st.global.v4.b32 [%out], {%r1, %r3, %r4, %r6}; st.global.v4.b32 [%out+16], {%r7, %r8, %r9, %r9};
    """
    output, _ = run(body, block=(1, 1, 1))
    assert [hex(v) for v in output[:7]] == ["0x0", "0x0", "0x6", "0xffffffff", "0xffffffff", "0x0", "0xffffffff"]
