import pytest

from judge.backends.cpu.ir import Register
from tests.unit.cpu.ptx.ptx_text import kernel, line, lines


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("add.s32 %r1, %r2, -5;", "add.s32 %r1 = %r2, -5"),
        ("add.f32 %f1, %f2, 0f3F800000;", "add.f32 %f1 = %f2, 0x3f800000/32"),
        ("mul.f64 %fd1, %fd1, -2.0;", "mul.f64 %fd1 = %fd1, 0xc000000000000000/64"),
        ("mul.f32 %f1, %f1, -0f40000000;", "mul.f32 %f1 = %f1, 0xc0000000/32"),
        ("mov.u32 %r1, WARP_SZ;", "mov.u32 %r1 = 32"),
        ("mov.u32 %r1, %tid.x;", "mov.u32 %r1 = %tid.x"),
        ("mov.u64 %rd1, %clock64;", "mov.u64 %rd1 = %clock64"),
        ("mov.u32 %r1, %lanemask_lt;", "mov.u32 %r1 = %lanemask_lt"),
        ("mov.u32 %r1, %envreg3;", "mov.u32 %r1 = %envreg3"),
        ("@%p1 add.s32 %r1, %r1, 1;", "@%p1 add.s32 %r1 = %r1, 1"),
        ("@!%p1 add.s32 %r1, %r1, 1;", "@!%p1 add.s32 %r1 = %r1, 1"),
        ("ld.global.u32 %r1, [%rd1];", "ld.global.u32 %r1 = [%rd1+0]"),
        ("ld.global.u32 %r1, [%rd1+-8];", "ld.global.u32 %r1 = [%rd1+-8]"),
        ("ld.global.u32 %r1, [%rd1 - 8];", "ld.global.u32 %r1 = [%rd1+-8]"),
        ("ld.global.u32 %r1, [%rd1+0x10];", "ld.global.u32 %r1 = [%rd1+16]"),
        ("ld.global.u32 %r1, [64];", "ld.global.u32 %r1 = [+64]"),
        ("ld.param.u64 %rd1, [p0];", "ld.param.u64 %rd1 = [param:p0@0+0]"),
        ("ld.param.u32 %r1, [p1];", "ld.param.u32 %r1 = [param:p1@8+0]"),
        ("ld.param::entry.u32 %r1, [p1];", "ld.param.u32 %r1 = [param:p1@8+0]"),
        ("ld.shared::cta.u32 %r1, [%r2];", "ld.shared.u32 %r1 = [%r2+0]"),
        ("ld.global.nc.v2.f32 {%f1, _}, [%rd1];", "ld.global.nc.v2.f32 {%f1,_} = [%rd1+0]"),
        ("st.global.v4.u32 [%rd1+16], {%r1, %r2, 7, %r3};", "st.global.v4.u32  = [%rd1+16], {%r1,%r2,7,%r3}"),
        ("st.u8 [%rd1], %rs1;", "st.u8  = [%rd1+0], %rs1"),
        ("mov.b32 {%rs1, %rs2}, %r1;", "mov.b32 {%rs1,%rs2} = %r1"),
        ("mov.b64 %rd1, {%r1, %r2};", "mov.b64 %rd1 = {%r1,%r2}"),
        ("setp.lt.s32 %p1|%p2, %r1, 3;", "setp.lt.s32 %p1, %p2 = %r1, 3"),
        ("setp.lt.s32 _|%p2, %r1, 3;", "setp.lt.s32 _, %p2 = %r1, 3"),
        ("setp.gt.and.f32 %p1, %f1, %f2, %p3;", "setp.gt.and.f32 %p1 = %f1, %f2, %p3"),
        ("selp.b32 %r1, %r2, 4, %p1;", "selp.b32 %r1 = %r2, 4, %p1"),
        ("shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1;", "shfl.sync.bfly.b32 %r1, %p1 = %r2, 16, 31, -1"),
        ("shfl.sync.up.b32 %r1, %r2, %r3, 0, -1;", "shfl.sync.up.b32 %r1 = %r2, %r3, 0, -1"),
        ("vote.sync.ballot.b32 %r1, %p1, -1;", "vote.sync.ballot.b32 %r1 = %p1, -1"),
        ("match.all.sync.b32 %r1|%p1, %r2, -1;", "match.all.sync.b32 %r1, %p1 = %r2, -1"),
        ("atom.global.add.u32 %r1, [%rd1], 1;", "atom.global.add.u32 %r1 = [%rd1+0], 1"),
        ("atom.shared.cas.b32 %r1, [%r2], %r3, %r4;", "atom.shared.cas.b32 %r1 = [%r2+0], %r3, %r4"),
        ("red.global.add.f32 [%rd1], %f1;", "red.global.add.f32  = [%rd1+0], %f1"),
        ("cvt.rn.f32.s32 %f1, %r1;", "cvt.rn.f32.s32 %f1 = %r1"),
        ("cvt.u32.u8 %r1, %rs1;", "cvt.u32.u8 %r1 = %rs1"),
        ("cvta.to.global.u64 %rd1, %rd2;", "cvta.to.global.u64 %rd1 = %rd2"),
        ("bar.sync 0;", "bar.sync  = 0"),
        ("barrier.sync %r1, 64;", "barrier.sync  = %r1, 64"),
        ("bar.red.popc.u32 %r1, 0, %p1;", "bar.red.popc.u32 %r1 = 0, %p1"),
        ("bar.warp.sync -1;", "bar.warp.sync  = -1"),
        ("lop3.b32 %r1, %r2, %r3, %r4, 0x96;", "lop3.b32 %r1 = %r2, %r3, %r4, 150"),
        ("cp.async.cg.shared.global [%r1], [%rd1], 16;", "cp.async.cg.shared.global  = [%r1+0], [%rd1+0], 16"),
        ("cp.async.wait_group 1;", "cp.async.wait_group  = 1"),
        ("membar.gl;", "membar.gl  ="),
        ("exit;", "exit  ="),
        ("mul.wide.s32 %rd1, %r1, 4;", "mul.wide.s32 %rd1 = %r1, 4"),
        ("mad.lo.s32 %r1, %r2, %r3, %r4;", "mad.lo.s32 %r1 = %r2, %r3, %r4"),
        ("ex2.approx.ftz.f32 %f1, %f2;", "ex2.approx.ftz.f32 %f1 = %f2"),
        ("add.f16x2 %r1, %r2, %r3;", "add.f16x2 %r1 = %r2, %r3"),
        ("cvt.rn.f16x2.f32 %r1, %f1, %f2;", "cvt.rn.f16x2.f32 %r1 = %f1, %f2"),
        ("add .s32 %r1, %r1, 1;", "add.s32 %r1 = %r1, 1"),
    ],
)
def test_one_instruction(statement, expected):
    assert lines(statement) == [expected.strip()]


def test_an_inverted_predicate_becomes_a_not_before_its_use():
    assert lines("setp.lt.and.s32 %p1, %r1, 2, !%p2;") == [
        "not.pred !%p2 = %p2",
        "setp.lt.and.s32 %p1 = %r1, 2, !%p2",
    ]


def test_matrix_fragments_keep_their_vectors():
    accumulators = "{%f1,%f2,%f3,%f4}"
    form = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
    text = f"{form} {accumulators}, {{%r1,%r2,%r3,%r4}}, {{%r5,%r6}}, {accumulators};"
    assert lines(text)[0].endswith("{%f1,%f2,%f3,%f4} = {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4}")


def test_a_vector_register_is_its_elements():
    text = ".reg .v4 .f32 v; ld.global.v4.f32 v, [%rd1]; add.f32 %f1, v.x, v.w;"
    assert lines(text) == [
        "ld.global.v4.f32 {v.x,v.y,v.z,v.w} = [%rd1+0]",
        "add.f32 %f1 = v.x, v.w",
    ]


def test_inner_scopes_hide_and_release_names():
    found = kernel("{ .reg .b32 x; mov.u32 x, 1; { .reg .f32 x; mov.f32 x, 0f00000000; } mov.u32 x, 2; }")
    first, second, third = (instruction.destinations[0] for instruction in found.instructions[:3])
    assert isinstance(first, Register)
    assert isinstance(second, Register)
    assert first == third
    assert (first.type, second.type) == ("b32", "f32")
    assert first.index != second.index


def test_a_range_makes_only_the_registers_it_is_asked_for():
    found = kernel(".reg .b32 q<1000000>; mov.u32 q7, 1; mov.u32 q999999, q7;", registers="")
    assert [register.name for register in found.registers] == ["q7", "q999999"]
    assert [register.index for register in found.registers] == [0, 1]


def test_registers_of_all_scopes_have_unique_indices():
    found = kernel("{ .reg .b32 t; mov.u32 t, 1; } { .reg .b32 t; mov.u32 t, 2; }")
    assert [register.index for register in found.registers] == list(range(len(found.registers)))
    assert len({i.destinations[0].index for i in found.instructions[:2]}) == 2


def test_branches_name_instruction_indices():
    assert lines("L0: add.s32 %r1, %r1, 1; @%p1 bra L0; bra.uni L1; add.s32 %r1, %r1, 2; L1:") == [
        "add.s32 %r1 = %r1, 1",
        "@%p1 bra  = ->0",
        "bra.uni  = ->4",
        "add.s32 %r1 = %r1, 2",
    ]


def test_a_label_before_the_final_return():
    assert line(kernel("@%p1 bra END; trap; END:").instructions[0]) == "@%p1 bra  = ->2"


def test_the_same_label_in_two_scopes():
    assert lines("{ bra L; L: } { bra L; L: }") == ["bra  = ->1", "bra  = ->2"]


def test_a_branch_table():
    assert lines("ts: .branchtargets A, B, A; brx.idx %r1, ts; A: add.s32 %r1, %r1, 1; B:") == [
        "brx.idx  = %r1, ->1, ->2, ->1",
        "add.s32 %r1 = %r1, 1",
    ]
