"""The translation unit: places of expressions, substitution of constants, planning kernels."""

import pytest

from judge.submission.read import read_submission
from judge.submission.unit import build_unit, literal, name_expression, substitute
from tests.unit.submission.example import CONSTANTS, KERNEL, PROBLEM


def unit_of(source, *constants):
    return build_unit(read_submission(source.encode(), "a.cu", PROBLEM), PROBLEM, constants or (CONSTANTS,))


def test_begins_with_the_submission():
    source = "// @launch row_norm<D><<<1, 2>>>(x, out, N, scale)\n" + KERNEL
    assert unit_of(source).source.startswith(source)


def test_expressions_lie_at_their_line_and_column():
    source = "\n// @workspace int w[ N+1 ]\n// @launch row_norm<D><<<N*3, 2, N + 7>>>(x, out, 5, 2.f)\n" + KERNEL
    emitted = unit_of(source).source
    for line, text in ((2, "N+1"), (3, "N*3"), (3, "N + 7"), (3, "5")):
        column = source.split("\n")[line - 1].index(text)
        assert f'#line {line} "submission.cu"\n{" " * column}{text};\n' in emitted


def test_one_plan_a_set_and_one_expression_a_kernel():
    other = (("D", 128), ("PAGE", 16))
    unit = unit_of("// @launch a<D><<<1, 2>>>()\n// @launch b<<<1, 2>>>()\n" + KERNEL, CONSTANTS, other)
    assert [plan.kernels for plan in unit.plans] == [("a<64>", "b"), ("a<128>", "b")]
    assert unit.name_expressions == ("a<64>", "b", "a<128>")
    assert [plan.constants for plan in unit.plans] == [CONSTANTS, other]
    for plan in unit.plans:
        assert f"void {plan.launch_kernel}(" in unit.source
        assert f"void {plan.workspace_kernel}(" in unit.source


def test_problem_names_are_no_macros_in_the_plan():
    emitted = unit_of("#define N 5\n" + KERNEL).source
    assert emitted.index("#undef N\n") < emitted.index("const int N")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("D, kSplits", "64, kSplits"),
        ("D / PAGE, Dx, xD", "64 / 16, Dx, xD"),
        ("ns::D, s.D, p->D", "ns::D, s.D, p->D"),
        ("'D', \"D\", sizeof(T[D])", "'D', \"D\", sizeof(T[64])"),
    ],
)
def test_substitution_is_by_token(text, expected):
    assert substitute(text, CONSTANTS) == expected


def test_kernel_name_is_never_substituted():
    launch = read_submission(b"// @launch D<D><<<1, 2>>>()\n" + KERNEL.encode(), "a.cu", PROBLEM).launches[0]
    assert name_expression(launch.kernel, CONSTANTS) == "D<64>"


@pytest.mark.parametrize(
    ("value", "expected"), [(3, "3"), (-3, "(-3)"), (True, "true"), (False, "false"), (0.5, "0.5f"), (1e-7, "1e-07f")]
)
def test_literals(value, expected):
    assert literal(value) == expected
