"""The problems that decode from a paged cache are in order."""

import pytest

from tests.problems.verifying import CHECKS, faults_of


@pytest.mark.parametrize("problem_id", [one for one in CHECKS if "decod" in one])
def test_problem_is_in_order(problem_id):
    assert faults_of(problem_id) == []
