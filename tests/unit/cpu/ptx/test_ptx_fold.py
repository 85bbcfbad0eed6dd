"""Branches decided by constants: only what cannot run goes, and each rule agrees with the interpreter."""

import itertools

import pytest

from tests.fuzz.evaluate import evaluate
from tests.unit.cpu.ptx.ptx_text import lines

VALUES = (1, 64, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0000_0000_0000)
FORMS = [
    *(f"{op}.{kind}{bits}" for op in ("add", "sub", "mul.lo", "min", "max") for kind in "us" for bits in (32, 64)),
    *(f"{op}.b{bits}" for op in ("and", "or", "xor", "shl") for bits in (32, 64)),
    *(f"shr.{kind}{bits}" for kind in "us" for bits in (32, 64)),
]
COMPARISONS = [
    *(f"setp.{relation}.{kind}32" for relation in ("eq", "ne", "lt", "le", "gt", "ge") for kind in "us"),
    *(f"setp.{relation}.u32" for relation in ("lo", "ls", "hi", "hs")),
]


def taken(condition: str) -> bool | None:
    """Whether the branch on %p1 is decided, and which way: to the first or second of two stores."""
    body = f"{condition}\n@%p1 bra YES;\nst.global.u32 [%rd1], 1; ret;\nYES: st.global.u32 [%rd1], 2;"
    found = [text for text in lines(body) if text.startswith("st.")]
    return None if len(found) == 2 else found[0].endswith("2")


@pytest.mark.parametrize("form", FORMS)
def test_a_rule_gives_what_the_interpreter_gives(form: str):
    type_ = form.rpartition(".")[2]
    bits = int(type_[1:])
    second = "u32" if form.startswith("sh") else type_
    reg = "%r" if bits == 32 else "%rd"
    shift = "%r" if second == "u32" else reg
    rows = [(a & (1 << bits) - 1, b & (1 << int(second[1:])) - 1) for a, b in itertools.product(VALUES, repeat=2)]
    for (a, b), expected in zip(rows, evaluate(form, [type_], [type_, second], rows), strict=True):
        code = (
            f"mov.b{bits} {reg}2, {a}; mov.b{second[1:]} {shift}3, {b}; {form} {reg}4, {reg}2, {shift}3;"
            f"setp.eq.u{bits} %p1, {reg}4, {int(expected)};"
        )
        assert taken(code) is True, (form, a, b, expected)


@pytest.mark.parametrize("form", COMPARISONS)
def test_a_comparison_gives_what_the_interpreter_gives(form: str):
    type_ = form.rpartition(".")[2]
    rows = list(itertools.product(VALUES[:4], repeat=2))
    for (a, b), expected in zip(rows, evaluate(form, ["pred"], [type_, type_], rows), strict=True):
        assert taken(f"mov.b32 %r2, {a}; {form} %p1, %r2, {b};") == bool(expected), (form, a, b)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("mov.u32 %r2, 200; cvt.s32.s8 %r3, %r2; setp.lt.s32 %p1, %r3, 0;", True),
        ("mov.u32 %r2, 200; cvt.u32.u8 %r3, %r2; setp.lt.s32 %p1, %r3, 0;", False),
        ("mov.u32 %r2, 4; not.b32 %r3, %r2; setp.eq.u32 %p1, %r3, 4294967291;", True),
        ("setp.eq.u32 %p2, 1, 1; selp.b32 %r2, 5, 6, %p2; setp.eq.u32 %p1, %r2, 5;", True),
        ("setp.eq.u32 %p2, 1, 1; not.pred %p1, %p2;", False),
        ("mov.u64 %rd2, 0; cvta.shared.u64 %rd3, %rd2; add.s64 %rd4, %rd3, 8; isspacep.shared %p1, %rd4;", True),
        ("mov.u64 %rd2, 0; cvta.shared.u64 %rd3, %rd2; add.s64 %rd4, %rd3, 8; isspacep.local %p1, %rd4;", False),
        ("ld.param.u64 %rd2, [p0]; isspacep.shared %p1, %rd2;", None),
        ("mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 0;", None),
        ("mov.f32 %f1, 0f3F800000; setp.eq.f32 %p1, %f1, %f1;", None),
        ("mov.u32 %r2, 1; @%p3 mov.u32 %r2, 2; setp.eq.u32 %p1, %r2, 1;", None),
    ],
)
def test_what_is_known(code: str, expected: bool | None):
    assert taken(code) is expected


def test_a_variable_that_a_path_leaves_without_a_value_decides_nothing():
    body = """
      ld.param.u32 %r1, [p1]; setp.eq.u32 %p2, %r1, 0; @%p2 bra USE; mov.u32 %r2, 7;
      USE: setp.eq.u32 %p1, %r2, 7; @%p1 bra YES; st.global.u32 [%rd1], 1; ret; YES: st.global.u32 [%rd1], 2;"""
    assert len([text for text in lines(body) if text.startswith("st.")]) == 2


def test_a_switch_keeps_one_case_and_what_runs_is_counted_as_before():
    body = """
      mov.u32 %r1, 1; T: .branchtargets A, B; brx.idx %r1, T;
      A: st.global.u32 [%rd1], 1; bra END; B: st.global.u32 [%rd1], 2; END: ret;"""
    assert lines(body) == ["mov.u32 %r1 = 1", "bra.uni  = ->2", "st.global.u32  = [%rd1+0], 2"]


def test_what_only_a_gpu_runs_matters_where_it_can_run():
    body = "mov.u32 %r1, 0; setp.eq.u32 %p1, %r1, 0; @%p1 bra END; setmaxnreg.inc.sync.aligned.u32 40; END: ret;"
    assert "bra.uni  = ->3" in lines(body)
