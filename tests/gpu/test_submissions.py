"""On a GPU every model solution is accepted and every wrong one gets the verdict of its folder."""

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.gpu.submissions import all_submissions, judge_all

JOBS = min(14, max(1, (os.cpu_count() or 2) - 2))
PLANTED = [(problem, planted.folder, planted.path.name) for problem, planted in all_submissions()]


@pytest.fixture(scope="module")
def rows():
    """All of them, judged once; the table goes to $OUT where that is set."""
    found = judge_all(JOBS)
    text = "\n".join(row.line for row in found)
    out = os.environ.get("OUT")
    if out:
        Path(out, "gpu_submissions.txt").write_text(text + "\n")
        Path(out, "gpu_submissions.json").write_text(json.dumps([asdict(row) for row in found], indent=1))
    return {(row.problem, row.expected, row.name): row for row in found}


@pytest.mark.parametrize("planted", PLANTED, ids=["-".join(planted) for planted in PLANTED])
def test_a_planted_submission_gets_its_verdict(rows, planted):
    row = rows[planted]
    assert not row.faults, row.line
