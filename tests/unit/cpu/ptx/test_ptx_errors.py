import pytest

from judge.backends.cpu.ptx import PtxError, load
from tests.unit.cpu.ptx.ptx_text import HEADER, kernel, module

PLACE = ".loc 1 7 3\n"
FILE = '\n.file 1 "/work/submission.cu"\n'


def refusal(body, **options) -> PtxError:
    with pytest.raises(PtxError) as caught:
        load(module(PLACE + body, **options) + FILE)
    return caught.value


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("this is not ptx;", "not a PTX instruction: this"),
        ("foo.bar %r1, 1;", "not a PTX instruction: foo.bar"),
        ("add.foo.s32 %r1, %r1, 1;", "add has no .foo"),
        ("ex2.approx.f64 %fd1, %fd1;", "ex2 has no .f64"),
        ("add %r1, %r1, 1;", "add needs a type suffix"),
        ("add.s32 %r1, %r1;", "add.s32 takes 3 operands, not 2"),
        ("atom.global.add.u32 %r1;", "takes 3 or 4 or 5 operands, not 1"),
        ("add.s32 %r1, %r1, %r99;", "unknown register %r99"),
        ("add.s32 %r1, %r1, foo;", "unknown name foo"),
        ("mov.u32 %r1, %nosuch;", "unknown register %nosuch"),
        ("add.s32 %r1, %r1, [%rd1];", "malformed operand of add.s32"),
        ("add.s32 3, %r1, %r2;", "its result needs a register"),
        ("ld.global.u32 %r1, %rd1;", "an address in [ ] is needed"),
        ("lop3.b32 %r1, %r1, %r1, %r1, %r2;", "a constant is needed"),
        ("bra 4;", "a label is needed"),
        ("bra NOWHERE;", "branch to NOWHERE"),
        ("{ INNER: } bra INNER;", "branch to INNER"),
        ("brx.idx %r1, ts;", "not a table of branch targets"),
        ("L: L:", "label L is defined twice"),
        (".reg .b32 x; .reg .f32 x;", "x is declared twice"),
        (".reg .b32 q<4>; mov.u32 q4, 1;", "unknown name q4"),
        ("{ .reg .b32 inner; } mov.u32 inner, 1;", "unknown name inner"),
        ("mov.u32 later, 1; .reg .b32 later;", "unknown name later"),
        ("add.f32 %r1, %f1, %f2;", None),
        ("add.s32 %r1, %f1, %r2;", "%f1 is a .f32 register, not a .s32 one"),
        ("add.f64 %fd1, %f1, %fd2;", "%f1 is a .f32 register, not a .f64 one"),
        ("mul.wide.s32 %r1, %r1, 4;", "%r1 is a .b32 register, not a .s64 one"),
        ("setp.eq.s32 %r1, %r2, 0;", "not a .pred one"),
        ("selp.b32 %r1, %r2, %r3, %r4;", "not a .pred one"),
        ("shl.b64 %rd1, %rd1, %rd2;", "%rd2 is a .b64 register, not a .b32 one"),
        ("ld.global.u64 %r1, [%rd1];", "%r1 is a .b32 register, not a .u64 one"),
        ("mov.u32 %r1, %rd1;", "%rd1 is a .b64 register, not a .u32 one"),
        ("mov.b32 {%rs1, %rs2, %rs3}, %r1;", "do not make up 32 bits"),
        ("ld.global.v4.f32 {%f1, %f2}, [%rd1];", "a vector of 2 where there should be 4"),
        ("ld.global.f32 {%f1, %f2}, [%rd1];", "a vector of 2 where there should be one register"),
        ("ld.global.v2.f32 %f1, [%rd1];", "one register, not a vector of 2"),
        ("ld.global.f32 %f1, [%rs1];", "cannot hold an address"),
        ("@%r1 add.s32 %r1, %r1, 1;", "guard %r1 is not a predicate"),
        ("vote.sync.any.pred %p1, !%r1, -1;", "!%r1 is not a predicate"),
        ("mov.u32 %r1, 0x;", "'0x' is not a number"),
        ("mov.u32 %r1, 99999999999999999999999;", "is not a number"),
        ("mul.lo.u32 %r1 %r1, 1;", "unexpected '%r1'"),
        ("call nothing;", "call of nothing, which is not a function"),
        ("call k;", "which is a kernel"),
        ("st.param.b32 [p1], %r1;", "not a parameter of a call"),
        (".shared .b32 x[999999999999];", "an array is too large"),
        (".local .align 3 .b8 x[4];", "alignment 3"),
        (".reg %r77;", "without a type"),
        (".section x {}", "unexpected '.section"),
        ("wgmma.fence.sync.aligned;", "not emulated: wgmma.fence.sync.aligned, needs a GPU"),
        (
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 1;",
            "not emulated: mbarrier.arrive.expect_tx.shared::cta.b64, needs a GPU",
        ),
        ("mbarrier.init.shared::cta.b64 [%r1];", "malformed operand of mbarrier.init.shared::cta.b64"),
        ("cp.async.bulk.commit_group;", "not emulated: cp.async.bulk.commit_group"),
        ("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [t, {%f1,%f2}];", "not emulated: tex.2d.v4.f32.f32"),
        ("bar.sync 0, 33;", "bar.sync: the count of threads, 33, is not a multiple of 32"),
        ("barrier.red.popc.u32 %r1, 0, 48, %p1;", "the count of threads, 48, is not a multiple of 32"),
        ("mov.u32 %r1, %pm0;", "not emulated: %pm0"),
        ("ld.global.L2::cache_hint.f32 %f1, [%rd1];", "f32: .L2::cache_hint needs a cache policy as the last operand"),
        ("ld.global.f32 %f1, [%rd1], %rd2;", "ld.global.f32: a cache policy, which needs .L2::cache_hint"),
        ("st.global.f32 [%rd1], %f1, %rd2;", "st.global.f32: a cache policy, which needs .L2::cache_hint"),
        ("st.global.L2::cache_hint.v2.f32 [%rd1], {%f1, %f2};", "needs a cache policy as the last operand"),
        ("ld.global.L2::cache_hint.f32 %f1, [%rd1], %r1;", "%r1 is a .b32 register, and a cache policy has 64 bits"),
        ("atom.global.L2::cache_hint.add.u32 %r1, [%rd1], %r2;", "needs a cache policy as the last operand"),
        ("atom.global.add.u32 %r1, [%rd1], %r2, %rd2;", "a cache policy, which needs .L2::cache_hint"),
        ("atom.global.cas.b32 %r1, [%rd1], %r2, %r3, %rd2;", "a cache policy, which needs .L2::cache_hint"),
        ("red.global.add.u32 [%rd1], %r2, %rd2;", "a cache policy, which needs .L2::cache_hint"),
        ("cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd1], 16;", "needs a cache policy as the last operand"),
        ("cp.async.cg.shared.global [%r1], [%rd1], 16, %r2, %rd2;", "a cache policy, which needs .L2::cache_hint"),
        ("cp.async.cg.shared.global [%r1], [%rd1], 16, %rd2;", "%rd2 is a .b64 register, and the size of the source"),
        ("cp.async.cg.shared.global [%r1], [%rd1], 8;", ".cg copies 16 bytes, not 8"),
        ("cp.async.ca.shared.global [%r1], [%rd1], 32;", ".ca copies 4, 8 or 16 bytes, not 32"),
        ("createpolicy.fractional.L2::evict_first.b64 %rd1, 1.5;", "the fraction 1.5 is not above 0 and at most 1"),
        ("createpolicy.fractional.L2::evict_first.b64 %rd1, 0f00000000;", "the fraction 0 is not above 0"),
        ("call (%r1), %r2, (%r2), proto;", "call through %r2, which cannot hold an address"),
    ],
)
def test_refused_with_the_source_line(body, message):
    if message is None:
        # An untyped register may hold a float: not an error.
        assert kernel(body).instructions[0].form == "add.f32"
        return
    error = refusal(body)
    assert message in str(error)
    assert error.location is not None
    assert (error.location.file, error.location.line, error.location.column) == ("submission.cu", 7, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "unexpected 'hello' outside of any function (line 1 of the PTX)"),
        (HEADER + ".address_size 32", "64-bit addresses"),
        (".version x", "malformed PTX version"),
        (HEADER + ".entry k() {", "a '}' is missing"),
        (HEADER + ".entry k() { ret; } }", "unexpected '}' outside"),
        (HEADER + ".entry k() { ret; } .entry k() { ret; }", "k is defined twice"),
        (HEADER + ".func k(); .entry k() { ret; }", "both as .entry and as .func"),
        (HEADER + ".entry k() { add.s32", "ends in the middle of a statement"),
        (HEADER + ".entry k() { @%p1", "ends in the middle of a statement"),
        (HEADER + ".entry k() " + "{" * 100, "nested deeper than 64"),
        (HEADER + ".entry k(.reg .b32 a) { ret; }", "'.reg' in a parameter list"),
        (HEADER + ".global .b32 x; .global .b32 x;", "x is declared twice"),
        (HEADER + ".global .b32 x[2] = {1, 2, 3};", "more initial values"),
        (HEADER + ".global .b8 x[2][2] = {{1, 2, 3}, {1}};", "more values than its array"),
        (HEADER + ".global .b8 x[2] = {{1}, {2}};", "nested deeper than its array"),
        (HEADER + ".global .u64 x = nowhere;", "which is not defined"),
        (HEADER + ".global .u32 y; .global .u32 x = generic(y);", "an address in 4 bytes"),
        (HEADER + ".const .b8 x[70000];", "__constant__ variables take 70000 bytes"),
        (HEADER + ".global .b8 x[900000000] = {1};", "initialised variables take more"),
        (HEADER + ".global .texref t;", "not emulated: .texref variables"),
        (HEADER + ".alias a, b;", "which is not a function"),
        (HEADER + ".entry k() { .shared .b8 x[50000]; ret; }", "50000 bytes of static shared memory"),
        (HEADER + ".entry k() { .local .b8 x[600000]; ret; }", "512 KiB of local memory"),
        (HEADER + ".entry k() .reqnctapercluster 2, 1, 1 { ret; }", "not emulated: thread block clusters"),
        (HEADER + ".entry k(.param .b8 p[40000]) { ret; }", "take 40000 bytes"),
        (HEADER + ".extern .global .u32 x; .entry k() { .reg .u32 r; ld.global.u32 r, [x]; ret; }", "not defined"),
    ],
)
def test_a_module_that_cannot_be(text, message):
    with pytest.raises(PtxError) as caught:
        load(text)
    assert message in str(caught.value)


def test_what_no_kernel_reaches_need_not_be_emulated():
    before = ".func far() { wgmma.fence.sync.aligned; ret; }"
    assert len(kernel("", before=before).instructions) == 1
    assert "wgmma" in str(refusal("call far;", before=before))


def test_an_injected_closing_brace_cannot_replace_a_kernel():
    error = refusal("} .visible .entry k() { ret;")
    assert "k is defined twice" in str(error)


def test_every_beginning_of_a_module_is_read_or_refused():
    before = (
        '.pragma "x"; .global .align 4 .u32 g[2] = {1, generic(g)}; .func (.param .b32 r) f(.param .b32 a) { ret; }'
    )
    body = ".loc 1 2 3, function_name $L, inlined_at 1 4 5\n @!%p1 mov.b32 {%rs1, %rs2}, %r1; ts: .branchtargets A; A:"
    text = module(body, before=before) + FILE + ".section .debug_info { .b8 1 }"
    refused = 0
    for end in range(len(text)):
        try:
            load(text[:end])
        except PtxError:
            refused += 1
    assert refused > len(text) // 2


def test_too_much_text_is_refused_before_it_is_read():
    with pytest.raises(PtxError, match="too large"):
        load(" " * (17 << 20))


def test_the_exit_code_is_that_of_a_compile_error():
    assert refusal("nonsense;").exit_code == 4
