import pytest

from judge.catalogue import find_problems, load_problem
from judge.reports.mathtext import plain_math, plain_statement


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"N \times N", "N × N"),
        (r"0 \ldots i", "0 ... i"),
        (r"-\infty", "-∞"),
        (r"1/\sqrt{D}", "1/√D"),
        (r"\sqrt{a + b}", "√(a + b)"),
        (r"e^{m - m'} \ell", "e^(m - m') l"),
        (r"Q K^\top", "Q K^T"),
        (r"\mathrm{out}_{n,h} = \frac{\sum_t e^{s_t - m}\,v_t}{l}", "out_(n,h) = (Σ_t e^(s_t - m) v_t) / l"),
        (r"\lfloor h / (\mathrm{num\_heads}) \rfloor", "⌊ h / (num_heads) ⌋"),
        (r"\unknown{x}", "unknownx"),
        (r"a^", "a^"),
        ("{", ""),
    ],
)
def test_formulas_become_text(tex, text):
    assert plain_math(tex) == text


def test_code_stays_as_it_is_and_blocks_are_indented():
    markdown = "Cost $5$ `$x$`\n\n$$\na \\\\\nb\n$$\n\n```\n$y$ \\cdot\n```\n"
    assert plain_statement(markdown) == "Cost 5 `$x$`\n\n    a\n    b\n\n```\n$y$ \\cdot\n```\n"


@pytest.mark.parametrize("problem_id", find_problems())
def test_no_tex_is_left_in_any_statement(problem_id):
    shown = plain_statement((load_problem(problem_id).folder / "statement.md").read_text(encoding="utf-8"))
    prose = shown.split("```")[0]
    assert "$" not in prose
    assert "\\" not in prose
    for word in ("mathrm", "frac", "qquad", "begin", "aligned", "sqrt", "cdot"):
        assert word not in prose
