"""`judge verify` over the template, whole and with an author's mistakes planted into it."""

import json
import re
import shutil

import pytest

from judge.cli.exits import Exit
from tests.behaviour.cli_program import PROBLEM, judge, make_home


@pytest.fixture(scope="module")
def pattern(tmp_path_factory):
    return make_home(tmp_path_factory.mktemp("pattern"))


@pytest.fixture
def home(pattern, tmp_path):
    shutil.copytree(pattern, tmp_path, dirs_exist_ok=True)
    return tmp_path


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_new_problem_from_the_template_is_in_order(home):
    ended = judge(home, "verify", PROBLEM)
    assert ended.returncode == Exit.ACCEPTED, ended.stdout
    assert re.search(r"ok +mutants +3 of 3 caught by a named case", ended.stdout)
    assert "no_factor: three" in ended.stdout
    assert "checks ok" in ended.stdout


MISTAKES = {
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
