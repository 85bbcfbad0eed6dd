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
    (folder / "figure.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
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
    ended = judge(bare, "verify", PROBLEM, "--check", "template")
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
        "figure.svg is missing",
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
    ("a statement that was begun only", "template"): (
        "statement.md",
        "Scale and add.",
        "One paragraph: what the kernel is for and what makes it hard.",
        "still begins with the template's words",
    ),
    ("a requirement against no case", "package"): (
        "problem.py",
        "    mutants=MUTANTS,",
        '    mutants=MUTANTS,\n    requirements=(Requirement("flops_over_baseline", 1.0, "Less.", baseline="gone"),),',
        "is measured against a case 'gone'",
    ),
    ("a mutant that no case rejects", "mutants"): (
        "problem.py",
        '{"out": inputs["x"] + inputs["y"]}',
        "reference(case, inputs)",
        "no_factor: NOT CAUGHT by any case",
    ),
    ("a tolerance too tight", "tolerance"): ("problem.py", "Tolerance(1e-5, 1e-5", "Tolerance(1e-9, 1e-7", "only"),
    ("a tolerance without a reason", "tolerance"): (
        "problem.py",
        '"one float32 rounding of values of order 1 is a hundred times smaller"',
        '""',
        "gives no reason",
    ),
    ("a size that is not covered", "sizes"): ("problem.py", '_case("one", 1),', "", "no case has sequence length N 1"),
    ("a reference that is wrong", "accepted/plain.cu"): (
        "problem.py",
        '+ inputs["y"]}',
        '- inputs["y"]}',
        "accepted/plain.cu",
    ),
    ("a starter that does not compile", "starter"): ("starter.cu", "__global__", "__globl__", "FAIL  starter"),
    ("a starter that is accepted", "starter"): ("starter.cu", "0.f * ", "", "FAIL  starter"),
    ("an accepted kernel that is wrong", "accepted/plain.cu"): (
        "submissions/accepted/plain.cu",
        "a * x[i]",
        "x[i]",
        "expected accepted (wrong_answer",
    ),
    ("a wrong kernel that is right", "wrong_answer/no_factor.cu"): (
        "submissions/wrong_answer/no_factor.cu",
        "= x[i]",
        "= a * x[i]",
        "expected wrong_answer (accepted",
    ),
    ("an expectation that does not hold", "wrong_answer/no_factor.cu"): (
        "submissions/wrong_answer/no_factor.cu",
        "expect-mutant: no_factor",
        "expect-mutant: zeros",
        "expected a match with the mutant zeros",
    ),
    ("a problem that raises", "tolerance"): ("problem.py", '"x": x,', '"z": x,', "KeyError at problem.py"),
}


@pytest.mark.parametrize(("mistake", "check"), MISTAKES)
def test_each_planted_mistake_is_found(home, mistake, check):
    file, old, new, words = MISTAKES[mistake, check]
    if "Requirement(" in new:
        edit(home / "problems" / PROBLEM / file, "    Problem,\n", "    Problem,\n    Requirement,\n")
    edit(home / "problems" / PROBLEM / file, old, new)
    ended = judge(home, "verify", PROBLEM, "--check", check)
    assert ended.returncode == Exit.NOT_ACCEPTED, ended.stderr
    assert words in ended.stdout
    assert "Traceback" not in ended.stderr


def test_a_brief_run_stops_at_the_failure_it_expects_and_finds_what_only_all_cases_show(home):
    def cases_of_the_wrong_kernel():
        ended = judge(home, "verify", PROBLEM, "--brief", "--check", "wrong_answer/no_factor.cu", "--format", "json")
        assert ended.returncode == Exit.ACCEPTED, ended.stdout
        [finding] = json.loads(ended.stdout)["findings"]
        return int(re.search(r"wrong_answer, (\d+) cases?", finding["text"])[1])

    kernel = home / "problems" / PROBLEM / "submissions" / "wrong_answer" / "no_factor.cu"
    named = next(line for line in kernel.read_text().splitlines() if "expect-case" in line)
    assert cases_of_the_wrong_kernel() == 1
    kernel.write_text(kernel.read_text().replace(named, "//"))
    assert cases_of_the_wrong_kernel() == 1
    # The first case that it fails tells another mistake than the one that is expected.
    edit(kernel, "= x[i] + y[i]", "= (N == 3 ? 7.f : 1.f) * x[i] + y[i]")
    assert cases_of_the_wrong_kernel() > 1


def test_a_check_of_no_name_is_a_usage_error(home):
    ended = judge(home, "verify", PROBLEM, "--check", "wrong_answer/no_factors.cu")
    assert ended.returncode == Exit.USAGE
    assert "There is no check 'wrong_answer/no_factors.cu'. Did you mean wrong_answer/no_factor.cu?" in ended.stderr


def test_problem_that_does_not_load_is_a_finding(home):
    (home / "problems" / PROBLEM / "problem.py").write_text("import nothing_of_that_name\n")
    ended = judge(home, "verify", "--format", "json")
    assert ended.returncode == Exit.NOT_ACCEPTED
    [finding] = json.loads(ended.stdout)["findings"]
    assert "nothing_of_that_name" in finding["text"]


def test_unknown_problem_is_a_usage_error(home):
    assert judge(home, "verify", "scaled-ad").returncode == Exit.USAGE
