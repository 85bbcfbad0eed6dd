"""`judge verify` over the template, whole and with an author's mistakes planted into it."""

import json
import re
import shutil

import pytest

from judge.cli.exits import Exit
from tests.behaviour.cli_program import PROBLEM, judge, make_home


@pytest.fixture(scope="module")
def pattern(tmp_path_factory):
    """The template with everything written that an author has to write."""
    home = make_home(tmp_path_factory.mktemp("pattern"))
    folder = home / "problems" / PROBLEM
    edit(folder / "statement.md", "One paragraph: what the kernel is for and what makes it hard.", "Scale and add.")
    edit(folder / "problem.py", f'title="{PROBLEM}"', 'title="Scaled addition"')
    edit(folder / "problem.py", "Add a scaled array to another.", "out = a x + y for arrays of any length.")
    edit(folder / "hints" / "1.md", "One thread", "Take one thread")
    for kernel in (folder / "starter.cu", *folder.glob("submissions/*/*.cu")):
        kernel.write_text(kernel.read_text() + "// By an author.\n")
    (home / "problems" / "order.txt").write_text(f"{PROBLEM}\n")
    return home


@pytest.fixture
def home(pattern, tmp_path):
    shutil.copytree(pattern, tmp_path, dirs_exist_ok=True)
    return tmp_path


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_bare_template_says_everything_that_is_left_to_write(tmp_path):
    bare = make_home(tmp_path)
    (bare / "problems" / "order.txt").write_text("another\n")
    ended = judge(bare, "verify", PROBLEM)
    assert ended.returncode == Exit.NOT_ACCEPTED
    for words in (
        "statement.md is still the template's",
        "problem.py is still the template's",
        "hints/1.md is still the template's",
        "starter.cu is still the template's",
        "submissions/accepted/plain.cu is still the template's",
        "statement.md still begins with the template's words: One paragraph",
        "the title is still the id",
        "the summary is still the template's",
        f"{PROBLEM} is not in problems/order.txt",
    ):
        assert words in ended.stdout
    assert ended.stdout.count("FAIL  ") == 2  # in its row and in the summary


def test_problem_that_an_author_wrote_is_in_order(home):
    ended = judge(home, "verify", PROBLEM)
    assert ended.returncode == Exit.ACCEPTED, ended.stdout
    assert re.search(r"ok +mutants +3 of 3 caught by a named case", ended.stdout)
    assert "no_factor: three" in ended.stdout
    assert "checks ok" in ended.stdout


MISTAKES = {
    "a statement that was begun only": (
        "statement.md",
        "Scale and add.",
        "One paragraph: what the kernel is for and what makes it hard.",
        "still begins with the template's words",
    ),
    "a requirement against no case": (
        "problem.py",
        "    mutants=MUTANTS,",
        '    mutants=MUTANTS,\n    requirements=(Requirement("flops_over_baseline", 1.0, "Less.", baseline="gone"),),',
        "is measured against a case 'gone'",
    ),
    "a mutant that no case rejects": (
        "problem.py",
        '{"out": inputs["x"] + inputs["y"]}',
        "reference(case, inputs)",
        "no_factor: NOT CAUGHT by any case",
    ),
    "a tolerance too tight": ("problem.py", "Tolerance(1e-5, 1e-5", "Tolerance(1e-9, 1e-7", "only"),
    "a tolerance without a reason": (
        "problem.py",
        '"one float32 rounding of values of order 1 is a hundred times smaller"',
        '""',
        "gives no reason",
    ),
    "a size that is not covered": ("problem.py", '_case("one", 1),', "", "no case has sequence length N 1"),
    "a reference that is wrong": ("problem.py", '+ inputs["y"]}', '- inputs["y"]}', "accepted/plain.cu"),
    "a starter that does not compile": ("starter.cu", "__global__", "__globl__", "FAIL  starter"),
    "a starter that is accepted": ("starter.cu", "0.f * ", "", "FAIL  starter"),
    "an accepted kernel that is wrong": (
        "submissions/accepted/plain.cu",
        "a * x[i]",
        "x[i]",
        "expected accepted (wrong_answer",
    ),
    "a wrong kernel that is right": (
        "submissions/wrong_answer/no_factor.cu",
        "= x[i]",
        "= a * x[i]",
        "expected wrong_answer (accepted",
    ),
    "an expectation that does not hold": (
        "submissions/wrong_answer/no_factor.cu",
        "expect-mutant: no_factor",
        "expect-mutant: zeros",
        "expected a match with the mutant zeros",
    ),
    "a problem that raises": ("problem.py", '"x": x,', '"z": x,', "KeyError at problem.py"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_planted_mistake_is_found(home, mistake):
    file, old, new, words = MISTAKES[mistake]
    if "Requirement(" in new:
        edit(home / "problems" / PROBLEM / file, "    Problem,\n", "    Problem,\n    Requirement,\n")
    edit(home / "problems" / PROBLEM / file, old, new)
    ended = judge(home, "verify", PROBLEM)
    assert ended.returncode == Exit.NOT_ACCEPTED, ended.stderr
    assert words in ended.stdout
    assert "Traceback" not in ended.stderr


def test_problem_that_does_not_load_is_a_finding(home):
    (home / "problems" / PROBLEM / "problem.py").write_text("import nothing_of_that_name\n")
    ended = judge(home, "verify", "--format", "json")
    assert ended.returncode == Exit.NOT_ACCEPTED
    [finding] = json.loads(ended.stdout)["findings"]
    assert "nothing_of_that_name" in finding["text"]


def test_unknown_problem_is_a_usage_error(home):
    assert judge(home, "verify", "scaled-ad").returncode == Exit.USAGE
