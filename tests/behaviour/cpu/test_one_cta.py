"""mbarriers and clusters in a block that is a cluster of its own: written out, and run."""

import numpy as np
import pytest

from tests.fuzz.evaluate import run_text

HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry one(.param .u64 in_, .param .u64 out_) {
.shared .align 8 .b64 bar;
.reg .b64 %in, %out, %state, %old, %a, %b<4>; .reg .b32 %t, %r<8>; .reg .pred %p<4>;
ld.param.u64 %in, [in_]; ld.param.u64 %out, [out_]; mov.u32 %t, %tid.x;
mul.wide.u32 %a, %t, 64; add.s64 %out, %out, %a;
"""
PHASE = """setp.ne.u32 %p1, %t, 0; @%p1 bra READY; mbarrier.init.shared.b64 [bar], {count}; READY: bar.sync 0;
"""


def outcome(body: str, threads: int = 32) -> list[int]:
    """What each thread stores to its 64 bytes of the output."""
    inputs = np.zeros((threads, 8), dtype=np.uint64)
    output, _ = run_text(HEAD + body + "st.global.u32 [%out], %r1; ret; }", "one", inputs, (threads, 1, 1))
    return output.view(np.uint32).reshape(threads, 16)[:, 0].tolist()


def test_a_phase_is_over_when_all_have_arrived():
    body = (
        PHASE.format(count=64)
        + """mbarrier.arrive.shared.b64 %state, [bar];
      WAIT: mbarrier.test_wait.shared.b64 %p2, [bar], %state; @!%p2 bra WAIT; mov.u32 %r1, 7;"""
    )
    assert outcome(body, 64) == [7] * 64


def test_a_phase_is_open_while_one_is_missing():
    body = (
        PHASE.format(count=33)
        + """mbarrier.arrive.shared.b64 %state, [bar]; bar.sync 0;
      mbarrier.test_wait.shared.b64 %p2, [bar], %state; selp.u32 %r1, 1, 0, %p2;"""
    )
    assert outcome(body) == [0] * 32


@pytest.mark.parametrize(("parity", "expected"), [(0, 1), (1, 0)])
def test_parity_names_the_phase(parity: int, expected: int):
    body = (
        PHASE.format(count=32)
        + f"""mbarrier.arrive.shared.b64 _, [bar]; bar.sync 0;
      mbarrier.try_wait.parity.shared.b64 %p2, [bar], {parity}; selp.u32 %r1, 1, 0, %p2;"""
    )
    assert outcome(body) == [expected] * 32


def test_more_arrivals_than_one_phase_needs_open_the_next():
    body = (
        PHASE.format(count=16)
        + """mbarrier.arrive.shared.b64 %state, [bar];
      shr.u64 %b1, %state, 40; cvt.u32.u64 %r1, %b1;"""
    )
    assert sorted(outcome(body)) == [0] * 16 + [1] * 16


def test_a_count_of_arrivals_at_once():
    body = (
        PHASE.format(count=64)
        + """mbarrier.arrive.shared.b64 %state, [bar], 2; bar.sync 0;
      mbarrier.test_wait.shared.b64 %p2, [bar], %state; selp.u32 %r1, 1, 0, %p2;"""
    )
    assert outcome(body) == [1] * 32


def test_a_block_is_a_cluster_of_its_own():
    body = """mov.u32 %r2, %cluster_nctarank; mov.u32 %r3, %cluster_ctarank; mad.lo.u32 %r1, %r2, 10, %r3;
      barrier.cluster.arrive; barrier.cluster.wait; mov.u64 %b1, 24; mapa.shared::cluster.u64 %b2, %b1, 0;
      cvt.u32.u64 %r4, %b2; add.u32 %r1, %r1, %r4;"""
    assert outcome(body) == [34] * 32
