"""Operands of memory instructions: what NVIDIA's own assembler refuses is a compile error here, what it takes loads."""

import pytest

from judge.backends.cpu.ptx import PtxError, load
from tests.behaviour.cpu.assembler import assembles, ptx_of

TAKEN = """\
ld.global.L2::cache_hint.f32 f, [p], q;
ld.global.nc.L1::no_allocate.L2::cache_hint.v4.f32 {f, f, f, f}, [p], q;
ld.global.L2::128B.f32 f, [p];
st.global.L2::cache_hint.f32 [p], f, q;
st.global.L2::cache_hint.v2.f32 [p], {f, f}, q;
atom.global.L2::cache_hint.add.u32 t, [p], t, q;
atom.global.exch.L2::cache_hint.b32 t, [p], t, q;
red.global.L2::cache_hint.add.f32 [p], f, q;
cp.async.ca.shared.global [s], [p], 4;
cp.async.ca.shared.global [s], [p], 8, t;
cp.async.ca.shared.global [s], [p], 16, 12;
cp.async.cg.shared.global [s], [p], 16, c;
cp.async.cg.shared.global.L2::cache_hint [s], [p], 16, q;
cp.async.cg.shared.global.L2::cache_hint [s], [p], 16, t, q;
cp.async.cg.shared.global.L2::cache_hint.L2::256B [s], [p], 16, c, q;
createpolicy.fractional.L2::evict_first.b64 q;
createpolicy.fractional.L2::evict_last.L2::evict_first.b64 q, 0.5;
createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 q, [p], 64, t;
applypriority.global.L2::evict_normal [p], 128;
prefetch.global.L2::evict_last [p];
""".splitlines()

REFUSED = """\
ld.global.L2::cache_hint.f32 f, [p];
ld.global.f32 f, [p], q;
ld.global.L2::cache_hint.f32 f, [p], t;
st.global.L2::cache_hint.f32 [p], f;
st.global.f32 [p], f, q;
st.global.L2::cache_hint.v2.f32 [p], f, q;
atom.global.L2::cache_hint.add.u32 t, [p], t;
atom.global.add.u32 t, [p], t, q;
atom.global.cas.b32 t, [p], t;
atom.global.L2::cache_hint.cas.b32 t, [p], t, t, q;
red.global.add.f32 [p], f, q;
red.global.L2::cache_hint.add.f32 [p], q;
cp.async.ca.shared.global [s], [p], 32;
cp.async.cg.shared.global [s], [p], 8;
cp.async.cg.shared.global [s], [p], 16, q;
cp.async.cg.shared.global [s], [p], t;
cp.async.cg.shared.global.L2::cache_hint [s], [p], 16;
cp.async.cg.shared.global [s], [p], 16, t, q;
createpolicy.fractional.L2::evict_first.b64 q, 1.5;
createpolicy.fractional.L2::evict_first.b64 q, 0.0;
ld.shared.L2::cache_hint.f32 f, [s], q;
atom.shared.L2::cache_hint.add.u32 t, [s], t, q;
prefetch.global.L2::cache_hint.L2 [p], q;
ld.global.L2::cache_hint.f32 f, [p], %clock64;
ld.global.L2::cache_hint.f32 f, [p], d;
st.global.L2::cache_hint.f64 [p], d;
atom.global.L2::cache_hint.add.f32 f, [p], q;
cp.async.cg.shared.global [s], [p], 16, f;
createpolicy.fractional.b64 q;
createpolicy.cvt.b64 q, q;
createpolicy.fractional.L2::evict_first.b64 d;
createpolicy.fractional.L2::evict_first.b64 _;
applypriority.global.L2::evict_normal [p], 64;
applypriority.global [p], 128;
createpolicy.fractional.L2::evict_frist.b64 q;
createpolicy.fractional.L2::evict_first.b64 t;
createpolicy.range.global.L2::evict_last.b64 q, [p], 64;
createpolicy.fractional.L2::evict_first q;
applypriority.global.L2::evict_last [p], 128;
""".splitlines()


@pytest.mark.parametrize("statement", REFUSED)
def test_what_the_assembler_refuses_is_a_compile_error(statement):
    assert not assembles(statement)
    with pytest.raises(PtxError):
        load(ptx_of(statement))


def test_what_the_assembler_takes_is_taken():
    assert assembles("\n".join(TAKEN))
    for statement in TAKEN:
        load(ptx_of(statement))
