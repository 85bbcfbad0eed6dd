"""What `judge verify --brief` proves, problem by problem: every planted submission gets its verdict on the CPU backend.

`make verify` runs wrong kernels on all cases, too.
"""

import os

import pytest

from judge.catalogue import find_problems
from judge.verification.selfcheck import Settings, verify


@pytest.mark.parametrize("problem_id", find_problems())
def test_problem_is_in_order(problem_id):
    findings = verify([problem_id], Settings(jobs=os.cpu_count() or 2, brief=True))
    assert [f"{finding.check}: {finding.text}" for finding in findings if not finding.ok] == []
    assert len(findings) > 20
