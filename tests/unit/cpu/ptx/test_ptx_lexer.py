import pytest

from judge.backends.cpu.ir import Immediate
from judge.backends.cpu.ptx.cursor import parse_number
from judge.backends.cpu.ptx.lexer import END, line_of_token, tokenize


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("ld.global.v4.f32 {%f1, _}, [%rd1+-16];", "ld.global.v4.f32 { %f1 , _ } , [ %rd1 + - 16 ] ;"),
        ("@!%p1 bra.uni $L__BB0_2;", "@ ! %p1 bra.uni $L__BB0_2 ;"),
        ("mov.u32 %r1, %tid.x; // why", "mov.u32 %r1 , %tid.x ;"),
        ("a /* ; { */ b", "a b"),
        ("setp.lt.f32 p|q, 0f3F800000, 1.5e-3;", "setp.lt.f32 p | q , 0f3F800000 , 1.5e-3 ;"),
        ("cp.async.cg.shared.global.L2::128B [%r1], [%rd1], 16;", None),
        (".param .align 8 .b8 x[24]", ".param .align 8 .b8 x [ 24 ]"),
        ('.file 1 "a b.cu"', '.file 1 "a b.cu"'),
        ("mov.b32\n{ %rs1,%rs2 },%r1;", "mov.b32 { %rs1 , %rs2 } , %r1 ;"),
        ("x / y", "x / y"),
    ],
)
def test_tokens(text, tokens):
    found = tokenize(text)
    assert found.pop() is END
    if tokens is None:
        assert found[0] == "cp.async.cg.shared.global.L2::128B"
    elif '"' in tokens:
        assert found == [".file", "1", '"a b.cu"']
    else:
        assert found == tokens.split()


def test_a_section_is_one_token_however_long():
    text = ".section .debug_info\n{\n" + ".b8 1\n" * 10_000 + "}\n.version 9.0"
    tokens = tokenize(text)
    assert len(tokens) == 4
    assert tokens[1] == ".version"


@pytest.mark.parametrize("opening", ["/*", '"', ".section x {", '\\"'])
def test_what_never_ends_costs_linear_time(opening):
    # Quadratic scanning of 200,000 openings would take minutes.
    assert tokenize(opening * 200_000)[-1] is END


def test_line_of_a_token_counts_comments_and_sections():
    text = "// one\n.section a {\n}\nadd.s32 x\n, y"
    tokens = tokenize(text)
    assert line_of_token(text, tokens.index("add.s32")) == 4
    assert line_of_token(text, tokens.index(",")) == 5


@pytest.mark.parametrize(
    ("token", "number"),
    [
        ("0", Immediate(0)),
        ("42", Immediate(42)),
        ("42U", Immediate(42)),
        ("0x1F", Immediate(31)),
        ("0X1fU", Immediate(31)),
        ("0b101", Immediate(5)),
        ("017", Immediate(15)),
        ("18446744073709551615", Immediate(2**64 - 1)),
        ("0f3F800000", Immediate(0x3F800000, 32)),
        ("0F7f800000", Immediate(0x7F800000, 32)),
        ("0d3FF0000000000000", Immediate(0x3FF0000000000000, 64)),
        ("1.0", Immediate(0x3FF0000000000000, 64)),
        ("25e-1", Immediate(0x4004000000000000, 64)),
        ("18446744073709551616", None),
        ("0x", None),
        ("09", None),
        ("0f3F8", None),
        ("1a", None),
        ("9" * 100, None),
    ],
)
def test_numbers(token, number):
    assert parse_number(token) == number
