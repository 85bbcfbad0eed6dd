"""The rows of the catalogue that are made for a GPU, on a GPU."""

import pytest

from judge.redteam.rows import catalogue
from judge.redteam.selftest import run_rows

# Every spelling of those that are after a time: on the CPU they are not tried at all.
ROWS = [row for row in catalogue() if row.cuda and (row.first or row.timed)]


@pytest.fixture(scope="module")
def outcomes(request):
    wanted = {item.callspec.params["row"].id for item in request.session.items if item.path == request.path}

    rows = [row for row in ROWS if row.id in wanted]

    def told(outcome):
        told = "; ".join(outcome.faults) or outcome.message
        print(f"{outcome.seconds:6.1f} s  {outcome.row.id}: {outcome.verdict} {told}", flush=True)

    return {outcome.row.id: outcome for outcome in run_rows(rows, "cuda", 2, told)}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_row_holds_on_a_gpu(row, outcomes):
    assert outcomes[row.id].faults == ()
