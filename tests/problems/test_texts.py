"""What a learner reads: the statement names every buffer, parameter and sample; kernels lie where verify looks."""

import re

import pytest

from judge.catalogue import find_problems, load_problem
from judge.problem import Group
from judge.verdict import Verdict
from judge.verification.package import package_faults, planted_submissions

PLANTED = [
    pytest.param(problem_id, planted, id=f"{problem_id}/{planted.name}")
    for problem_id in find_problems()
    for planted in planted_submissions(load_problem(problem_id).folder)
]


def statement(problem):
    return (problem.folder / "statement.md").read_text(encoding="utf-8")


def test_statement_names_the_interface_and_the_samples(problem):
    text = statement(problem)
    for name in [b.name for b in problem.buffers] + [p.name for p in problem.parameters]:
        assert f"`{name}`" in text, name
    for case in problem.cases:
        if case.group is Group.SAMPLE:
            assert f"`{case.name}`" in text, case.name
    assert problem.default_launch in text


def test_a_scale_is_as_the_statement_promises(problem):
    if any(parameter.name == "scale" for parameter in problem.parameters):
        assert "| `scale` | `float` | | factor of every score, above 0 |" in statement(problem)
        assert all(case.parameters["scale"] > 0 for case in problem.cases)


def test_mathematics_is_balanced(problem):
    text = re.sub(r"```.*?```|`[^`]*`", "", statement(problem), flags=re.DOTALL)
    assert text.count("$") % 2 == 0
    assert text.count("{") == text.count("}")
    assert text.count(r"\left") == text.count(r"\right")


def test_the_folder_is_complete(problem):
    assert list(package_faults(problem)) == []


def test_mutants_speak_to_the_learner(problem):
    for mutant in problem.mutants:
        assert mutant.sentence.endswith("."), mutant.id
        assert len(mutant.sentence) > 20, mutant.id


VERBS = "Add Carry Compare Divide Give Hide Index Leave Let Look Multiply Read Round Skip Start Stop Store Subtract Use"
VERBS += " Weigh Write"


def test_mutants_say_what_to_do(problem):
    for mutant in problem.mutants:
        assert mutant.advice.split()[0] in VERBS.split(), mutant.id
        assert mutant.advice.endswith("."), mutant.id


def test_every_mutant_has_a_kernel_that_commits_it(problem):
    expected = {planted.expectation.mutant for planted in planted_submissions(problem.folder)}
    assert {mutant.id for mutant in problem.mutants} - expected == set()


@pytest.mark.parametrize("verdict", ["accepted", "undefined_behavior", "launch_error", "compile_error"])
def test_verdicts_every_problem_shows(problem, verdict):
    assert any(planted.folder == verdict for planted in planted_submissions(problem.folder))


@pytest.mark.parametrize(("problem_id", "planted"), PLANTED)
def test_kernels_say_what_they_are(problem_id, planted):
    lines = planted.path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"// problem: {problem_id}"
    assert re.match(r"// (?!expect-|@)\w.{8,}", lines[1])
    assert planted.folder in set(Verdict)


def test_the_statement_says_that_the_starter_needs_its_own_launch_lines(problem):
    """Its kernels need not fit the default launch, so deleting its lines may not compile."""
    told = statement(problem).rpartition(problem.default_launch)[0]
    assert "The launch lines of the starter name its own kernels" in told[-250:]
    assert "\n// @launch " in (problem.folder / "starter.cu").read_text(encoding="utf-8")
