"""All problems that do not decode are in order, and every planted mistake is tried in some problem."""

import pytest

from tests.problems.verifying import CHECKS, chosen, faults_of


@pytest.mark.parametrize("problem_id", [one for one in CHECKS if "decod" not in one])
def test_problem_is_in_order(problem_id):
    assert faults_of(problem_id) == []


def test_every_mistake_is_somebodys_turn():
    tried = {name for problem_id in CHECKS for name in chosen(problem_id)}
    assert tried == {check.name for checks in CHECKS.values() for check in checks}
