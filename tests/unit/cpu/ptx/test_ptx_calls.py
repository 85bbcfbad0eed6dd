"""Calls are written out: where arguments travel, what a copy owns, where its instructions say they are."""

import pytest

from judge.backends.cpu.ptx import PtxError, load
from judge.backends.cpu.ptx.errors import readable_name
from tests.unit.cpu.ptx.ptx_text import HEADER, kernel, line, lines, module


def call(callee, arguments, *, results="", before="", after=""):
    """A call as NVRTC writes it; arguments: (declaration, store) pairs."""
    text = "{ .reg .b32 temp_param_reg;\n"
    for index, (declaration, store) in enumerate(arguments):
        text += f".param {declaration.format(f'param{index}')};\n{store.format(f'param{index}')}\n"
    names = ", ".join(f"param{index}" for index in range(len(arguments)))
    if results:
        text += f".param {results.format('retval0')};\n"
    return f"{before}{text}call.uni {'(retval0), ' if results else ''}{callee}, ({names});\n{after}}}\n"


SCALE = """.func (.param .b32 func_retval0) scale(.param .b32 scale_param_0)
{ .reg .f32 %f<3>; ld.param.f32 %f1, [scale_param_0]; add.f32 %f2, %f1, %f1; st.param.f32 [func_retval0+0], %f2; ret; }
"""
CALL_SCALE = call(
    "scale",
    [(".b32 {}", "st.param.f32 [{}+0], %f1;")],
    results=".b32 {}",
    after="ld.param.f32 %f2, [retval0+0];",
)


def test_a_scalar_travels_in_registers():
    assert lines(CALL_SCALE, before=SCALE) == [
        "mov.b32 param0 = %f1",
        "mov.b32 %f1 = param0",
        "add.f32 %f2 = %f1, %f1",
        "mov.b32 retval0 = %f2",
        "mov.b32 %f2 = retval0",
    ]


def test_each_call_has_registers_of_its_own():
    found = kernel(CALL_SCALE + CALL_SCALE, before=SCALE)
    first, second = found.instructions[2], found.instructions[7]
    assert line(first) == line(second)
    assert first.destinations[0].index != second.destinations[0].index
    assert len({register.index for register in found.registers}) == len(found.registers)


def test_a_declaration_may_come_first():
    declared = ".func (.param .b32 func_retval0) scale(.param .b32 scale_param_0);\n"
    text = module(CALL_SCALE, before=declared) + SCALE
    assert len(load(text).kernels["k"].instructions) == 6


@pytest.mark.parametrize(
    ("store", "load_", "expected"),
    [
        ("st.param.b32 [{}+0], %r1;", "ld.param.s8 %rs1, [p];", ["mov.b32 param0 = %r1", "cvt.s16.s8 %rs1 = param0"]),
        ("st.param.b32 [{}+0], %r1;", "ld.param.u16 %r1, [p];", ["mov.b32 param0 = %r1", "cvt.u32.u16 %r1 = param0"]),
        ("st.param.b32 [{}+0], -1;", "ld.param.b32 %r1, [p];", ["mov.b32 param0 = 4294967295", "mov.b32 %r1 = param0"]),
        (
            "st.param.b8 [{}+0], %rs1;",
            "ld.param.u8 %rs1, [p];",
            ["cvt.u32.u8 param0 = %rs1", "cvt.u16.u8 %rs1 = param0"],
        ),
        (
            "st.param.b16 [{}], %r1;",
            "ld.param.b16 %rs1, [p];",
            ["cvt.u32.u16 param0 = %r1", "cvt.u16.u16 %rs1 = param0"],
        ),
        ("st.param.f32 [{}], 1.5;", "ld.param.f32 %f1, [p];", ["mov.b32 param0 = 1069547520", "mov.b32 %f1 = param0"]),
        (
            "st.param.f32 [{}], 0f3F800000;",
            "ld.param.f32 %f1, [p];",
            ["mov.b32 param0 = 1065353216", "mov.b32 %f1 = param0"],
        ),
    ],
)
def test_a_narrow_value_in_a_wide_parameter(store, load_, expected):
    callee = f".func f(.param .b32 p) {{ .reg .b16 %rs<3>; .reg .b32 %r<3>; .reg .f32 %f<3>; {load_} ret; }}"
    assert lines(call("f", [(".b32 {}", store)]), before=callee) == expected


def test_bytes_read_whole_travel_in_a_register():
    callee = ".func f(.param .align 2 .b8 p[2]) { .reg .b16 %h<3>; ld.param.b16 %h1, [p]; ret; }"
    text = call("f", [(".align 2 .b8 {}[2]", "st.param.b16 [{}+0], %rs1;")])
    found = kernel(text, before=callee)
    assert [line(i) for i in found.instructions[:-1]] == ["mov.b16 param0 = %rs1", "mov.b16 %h1 = param0"]
    assert found.local == ()


STRUCT = """.func (.param .align 8 .b8 func_retval0[24]) turn(.param .align 8 .b8 turn_param_0[24])
{ .reg .b32 %r<4>; .reg .f64 %fd<2>; .reg .b16 %rs<2>;
  ld.param.v2.u32 {%r1, %r2}, [turn_param_0+8]; ld.param.f64 %fd1, [turn_param_0]; ld.param.s8 %rs1, [turn_param_0+16];
  st.param.v2.b32 [func_retval0+8], {%r2, %r1}; st.param.f64 [func_retval0], %fd1;
  st.param.b8 [func_retval0+16], %rs1; ret; }
"""


def test_a_struct_travels_in_local_memory_shared_by_both_sides():
    text = call(
        "turn",
        [
            (
                ".align 8 .b8 {}[24]",
                "st.param.v2.b32 [{0}+8], {{%r1, 5}}; st.param.f64 [{0}], %fd1; st.param.b8 [{0}+16], %rs1;",
            )
        ],
        results=".align 8 .b8 {}[24]",
        after="ld.param.v2.b32 {%r3, %r4}, [retval0+8];",
    )
    found = kernel(text, before=STRUCT)
    assert [line(i) for i in found.instructions[:-1]] == [
        "st.local.v2.b32  = [local:param0@0+8], {%r1,5}",
        "st.local.f64  = [local:param0@0+0], %fd1",
        "st.local.b8  = [local:param0@0+16], %rs1",
        "ld.local.v2.u32 {%r1,%r2} = [local:param0@0+8]",
        "ld.local.f64 %fd1 = [local:param0@0+0]",
        "ld.local.s8 %rs1 = [local:param0@0+16]",
        "st.local.v2.b32  = [local:retval0@24+8], {%r2,%r1}",
        "st.local.f64  = [local:retval0@24+0], %fd1",
        "st.local.b8  = [local:retval0@24+16], %rs1",
        "ld.local.v2.b32 {%r3,%r4} = [local:retval0@24+8]",
    ]
    assert [(v.name, v.offset, v.size, v.align) for v in found.local] == [("param0", 0, 24, 8), ("retval0", 24, 24, 8)]
    assert found.local_bytes == 48


def test_a_scalar_to_a_parameter_whose_address_is_taken():
    callee = ".func f(.param .b64 p) { .reg .b64 %rd<3>; mov.b64 %rd1, p; ld.local.u64 %rd2, [%rd1]; ret; }"
    assert lines(call("f", [(".b64 {}", "st.param.b64 [{}+0], %rd1;")]), before=callee) == [
        "mov.b64 param0 = %rd1",
        "st.local.b64  = [local:p@0+0], param0",
        "mov.b64 %rd1 = local:p@0",
        "ld.local.u64 %rd2 = [%rd1+0]",
    ]


def test_a_struct_to_a_parameter_read_whole():
    callee = ".func f(.param .b64 p) { .reg .b64 %rd<3>; ld.param.b64 %rd1, [p]; ret; }"
    text = call("f", [(".align 4 .b8 {}[8]", "st.param.v2.b32 [{}+0], {{%r1, %r2}};")])
    assert lines(text, before=callee) == [
        "st.local.v2.b32  = [local:param0@0+0], {%r1,%r2}",
        "ld.local.b64 p = [local:param0@0+0]",
        "mov.b64 %rd1 = p",
    ]


def test_a_result_in_memory_from_a_register():
    callee = ".func (.param .b64 r) f() { .reg .b64 %rd<3>; st.param.b64 [r], %rd1; ret; }"
    text = call("f", [], results=".align 4 .b8 {}[8]", after="ld.param.v2.b32 {%r1, %r2}, [retval0];")
    assert lines(text, before=callee) == [
        "mov.b64 r = %rd1",
        "st.local.b64  = [local:retval0@0+0], r",
        "ld.local.v2.b32 {%r1,%r2} = [local:retval0@0+0]",
    ]


def test_register_parameters():
    callee = ".func (.reg .b32 out) f(.reg .b32 a, .reg .b32 b) { add.s32 out, a, b; ret; }"
    # A function may write its registers: they are copies.
    assert lines("call (%r3), f, (%r1, 7);", before=callee) == [
        "mov.b32 a = %r1",
        "mov.b32 b = 7",
        "add.s32 %r3 = a, b",
    ]


def test_a_return_in_the_middle_goes_to_the_end_of_the_copy():
    callee = (
        ".func f() { .reg .pred %p<2>; .reg .b32 %r<2>; @%p1 ret; add.s32 %r1, %r1, 1; @%p1 bra L; ret; L: "
        "sub.s32 %r1, %r1, 1; ret; }"
    )
    assert lines("call f; mov.u32 %r1, 9;", before=callee) == [
        "@%p1 bra  = ->5",
        "add.s32 %r1 = %r1, 1",
        "@%p1 bra  = ->4",
        "bra  = ->5",
        "sub.s32 %r1 = %r1, 1",
        "mov.u32 %r1 = 9",
    ]


def test_branches_of_the_caller_step_over_the_copies():
    callee = ".func f() { .reg .b32 %r<2>; add.s32 %r1, %r1, 1; add.s32 %r1, %r1, 2; ret; }"
    assert lines("L: call f; @%p1 bra L; bra.uni M; call f; M: mov.u32 %r1, 9;", before=callee)[2:4] == [
        "@%p1 bra  = ->0",
        "bra.uni  = ->6",
    ]


def test_a_guarded_call_is_jumped_over():
    callee = ".func f() { .reg .b32 %r<2>; add.s32 %r1, %r1, 1; ret; }"
    assert lines("@%p1 call f; @!%p1 call f;", before=callee) == [
        "@!%p1 bra  = ->2",
        "add.s32 %r1 = %r1, 1",
        "@%p1 bra  = ->4",
        "add.s32 %r1 = %r1, 1",
    ]


def test_exit_in_a_function_ends_the_thread():
    assert lines("call f;", before=".func f() { exit; ret; }") == ["exit  ="]


def test_frames_of_calls_do_not_overlap():
    callee = ".func f() { .local .align 8 .b8 depot[24]; .reg .b64 %rd<2>; mov.u64 %rd1, depot; ret; }"
    found = kernel("call f; call f;", before=callee)
    assert [(v.name, v.offset) for v in found.local] == [("depot", 0), ("depot#2", 24)]
    assert [line(i) for i in found.instructions[:-1]] == [
        "mov.u64 %rd1 = local:depot@0",
        "mov.u64 %rd1 = local:depot#2@24",
    ]


def test_shared_variables_of_a_function_are_one_however_often_it_is_called():
    callee = ".func f() { .shared .align 4 .b8 tile[64]; .reg .b32 %r<2>; mov.u32 %r1, tile; ret; }"
    found = kernel("call f; call f; .shared .b32 own; mov.u32 %r1, own;", before=callee)
    assert [(v.name, v.offset) for v in found.shared] == [("tile", 0), ("own", 64)]
    assert [line(i) for i in found.instructions[:2]] == ["mov.u32 %r1 = shared:tile@0"] * 2


BUILTINS = """
.extern .func (.param .b32 func_retval0) vprintf(.param .b64 vprintf_param_0, .param .b64 vprintf_param_1);
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e) .noreturn;
.extern .func other(.param .b32 a);
.extern .func cudaDeviceSynchronize();
"""


def test_a_builtin_stays_a_call_with_its_values():
    text = call(
        "vprintf",
        [(".b64 {}", "st.param.b64 [{}+0], %rd1;"), (".b64 {}", "st.param.b64 [{}+0], %rd2;")],
        results=".b32 {}",
        after="ld.param.b32 %r1, [retval0+0];",
    )
    assert lines(text, before=BUILTINS) == [
        "mov.b64 param0 = %rd1",
        "mov.b64 param1 = %rd2",
        "call.vprintf retval0 = param0, param1",
        "mov.b32 %r1 = retval0",
    ]


def refusal(body, before):
    with pytest.raises(PtxError) as caught:
        kernel(body, before=before)
    return str(caught.value)


def test_functions_without_a_body():
    text = call("other", [(".b32 {}", "st.param.b32 [{}+0], 1;")])
    assert "function other is declared but has no body" in refusal(text, BUILTINS)
    assert "not emulated: cudaDeviceSynchronize" in refusal("call cudaDeviceSynchronize;", BUILTINS)


def test_recursion_is_refused():
    assert "not emulated: recursive function f, needs a GPU" in refusal("call f;", ".func f() { call f; ret; }")
    mutual = ".func g(); .func f() { call g; ret; } .func g() { call f; ret; }"
    assert "recursive function f" in refusal("call f;", mutual)


def test_a_chain_of_calls_has_a_limit_and_doubling_calls_too():
    chain = ".func f0() { ret; }" + "".join(f".func f{i}() {{ call f{i - 1}; ret; }}" for i in range(1, 300))
    assert "nested deeper" in refusal("call f299;", chain)
    doubling = ".func f0() { ret; }" + "".join(
        f".func f{i}() {{ call f{i - 1}; call f{i - 1}; ret; }}" for i in range(1, 40)
    )
    assert "more than 200000 instructions" in refusal("call f39;", doubling)


def test_calls_that_do_not_match_their_declaration():
    callee = ".func (.param .b32 r) f(.param .b32 a) { ret; }"
    assert "does not match" in refusal("call f;", callee)
    wrong = call("f", [(".b64 {}", "st.param.b64 [{}+0], %rd1;")], results=".b32 {}")
    assert "parameter a has 4 bytes, its argument 8" in refusal(wrong, callee)
    stored = ".func f(.param .b32 a) { .reg .b32 %r<2>; st.param.b32 [a], %r1; ret; }"
    assert "which is an input of the function" in refusal("", stored)
    both = "{ .param .b32 x; call (x), f, (x); }"
    assert "one variable for a result and something else" in refusal(both, callee)
    outside = ".func f(.param .b32 a) { .reg .b64 %rd<2>; ld.param.u64 %rd1, [a]; ret; }"
    assert "lies outside of parameter a" in refusal("", outside)


def test_mangled_names_are_said_as_in_the_source():
    assert "recursive function fact," in refusal("call _Z4facti;", ".func _Z4facti() { call _Z4facti; ret; }")
    assert [readable_name(name) for name in ("k", "_ZN1B1fEf", "_ZN2ab3cdeILi4EE1xEv", "_Z99x", "_Z", "_ZL3sumPf")] == [
        "k",
        "B::f",
        "ab::cde",
        "x",
        "_Z",
        "sum",
    ]


def test_what_needs_a_gpu_is_placed_where_it_was_called():
    before = ".func g() { .loc 2 5 1\n wgmma.fence.sync.aligned; ret; } .func f() { .loc 1 20 1\n call g; ret; }"
    text = module(".loc 1 30 1\n call f;", before=before) + '\n.file 1 "/tmp/a.cu"\n.file 2 "/usr/include/b.h"\n'
    with pytest.raises(PtxError) as caught:
        load(text)
    assert location(caught.value.location) == [("b.h", 5), ("a.cu", 20), ("a.cu", 30)]


def test_reading_a_parameter_through_its_address():
    callee = """.func f(.param .align 4 .b8 p[8]) { .reg .b64 %rd<3>; .reg .b32 %r<2>;
    mov.b64 %rd1, p; ld.param.u32 %r1, [%rd1+4]; ret; }"""
    text = call("f", [(".align 4 .b8 {}[8]", "st.param.v2.b32 [{}+0], {{%r1, %r2}};")])
    assert lines(text, before=callee)[1:] == ["mov.b64 %rd1 = local:param0@0", "ld.local.u32 %r1 = [%rd1+4]"]


def test_an_alias_names_the_same_function():
    text = HEADER + ".func f() { .reg .b32 r; mov.u32 r, 1; ret; } .alias g, f; .entry k() { call g; ret; }"
    assert line(load(text).kernels["k"].instructions[0]) == "mov.u32 r = 1"


def location(place):
    return [] if place is None else [(place.file, place.line), *location(place.inlined_at)]


def test_a_copy_keeps_its_lines_and_knows_its_caller():
    inner = ".func g() { .loc 2 5 1\n .reg .b32 %r<2>; add.s32 %r1, %r1, 1; ret; }"
    outer = ".func f() { .loc 1 20 1\n call g; ret; }"
    text = module(".loc 1 30 1\n call f; add.s32 %r1, %r1, 3;", before=inner + outer)
    text += '\n.file 1 "/tmp/a.cu"\n.file 2 "/usr/include/b.h"\n'
    first, second, *_ = load(text).kernels["k"].instructions
    assert location(first.location) == [("b.h", 5), ("a.cu", 20), ("a.cu", 30)]
    assert location(second.location) == [("a.cu", 30)]


def test_locations_inlined_by_the_compiler_are_chained_through_their_calls():
    body = """.loc 1 30 1
    .loc 2 9 1, function_name $L__info, inlined_at 1 30 1
    .loc 2 5 3, function_name $L__info+4, inlined_at 2 9 1
    add.s32 %r1, %r1, 1;
    .loc 2 0 3
    add.s32 %r1, %r1, 2;
    .loc 1 31 2
    add.s32 %r1, %r1, 3;"""
    text = module(body) + '\n.file 1 "a.cu"\n.file 2 "b.h"\n'
    places = [location(i.location) for i in load(text).kernels["k"].instructions]
    inlined = [("b.h", 5), ("b.h", 9), ("a.cu", 30)]
    assert places[:3] == [inlined, inlined, [("a.cu", 31)]]


def test_a_body_without_lines_takes_those_of_its_call():
    text = module(".loc 1 30 1\n call f;", before=".func f() { .reg .b32 %r<2>; add.s32 %r1, %r1, 1; ret; }")
    text += '\n.file 1 "a.cu"\n'
    assert location(load(text).kernels["k"].instructions[0].location) == [("a.cu", 30)]
