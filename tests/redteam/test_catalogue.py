"""The catalogue of hostile submissions through the real pipeline, on the CPU backend.

By default the first spelling of every second row but the slowest, for the time of a test run;
JUDGE_REDTEAM=first tries the first spelling of all rows and JUDGE_REDTEAM=all every one, as `judge selftest`
does. Set JUDGE_REDTEAM to a part of a name to try only those.
"""

import os
from dataclasses import replace

import pytest

from judge.redteam import selftest, trial
from judge.redteam.exercise import HONEST
from judge.redteam.rows import catalogue, framed
from judge.redteam.selftest import HONEST_ROW, run_rows
from judge.verdict import Verdict

CHOICE = os.environ.get("JUDGE_REDTEAM", "")
FIRST = [row for row in catalogue() if row.first]
BESIDE_OTHERS = "PYTEST_XDIST_WORKER" in os.environ
SLOW_S = 25.0
SETS = {"": [row for row in FIRST[::2] if row.longest_s < SLOW_S], "first": FIRST, "all": list(catalogue())}
ROWS = SETS[CHOICE] if CHOICE in SETS else [row for row in catalogue() if CHOICE in row.id]


@pytest.fixture(scope="module")
def outcomes():
    return {outcome.row.id: outcome for outcome in run_rows(ROWS, "cpu", 2, lambda outcome: None)}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_row_holds(row, outcomes):
    outcome = outcomes[row.id]
    if row.known:
        if outcome.ok:
            pytest.fail(f"holds now; take `known` out: {row.known}")
        pytest.xfail(row.known)
    # Beside other tests nothing takes the time it would alone; `judge selftest` holds rows to theirs.
    held = tuple(fault for fault in outcome.faults if not (BESIDE_OTHERS and fault.startswith("took ")))
    assert held == ()


def test_the_honest_kernel_is_accepted_before_and_after(outcomes):
    assert outcomes["honest"].faults == ()


def test_there_are_rows_enough_and_each_says_what_it_tries():
    rows = catalogue()
    assert len(rows) >= 640
    assert sum(row.first for row in rows) >= 150
    assert {row.id.partition("/")[0] for row in rows} == {
        "compiler",
        "endings",
        "files",
        "forging",
        "launches",
        "memory",
        "text",
        "timing",
    }
    assert sum(bool(row.cuda) for row in rows) >= 100


# A trial that cannot fail proves nothing.


def tried(row, **settings):
    row = replace(row, **settings)
    (_, outcome, _) = run_rows([row], "cpu", 1, lambda outcome: None)
    return outcome


def test_a_trial_sees_a_wrong_verdict_a_long_time_and_a_missing_text():
    outcome = tried(HONEST_ROW, id="x", expect=(Verdict.WRONG_ANSWER,), longest_s=1e-9, says=("never said",))
    assert len(outcome.faults) == 3
    assert "accepted" in outcome.faults[0]
    assert "at most 0.0 s" in outcome.faults[1]
    assert "never said" in outcome.faults[2]


def test_a_trial_sees_a_secret_and_characters_that_move_a_cursor(monkeypatch):
    monkeypatch.setattr(trial, "render_text", lambda *a, **b: "ACCEPTED\nACCEPTED \x1b[31m secret-word")
    outcome = tried(HONEST_ROW, id="x", source=HONEST + b"//", forbid=("secret-word",))
    assert len(outcome.faults) == 3
    assert "tells 'secret-word'" in outcome.faults[0]
    assert "U+001B" in outcome.faults[1]
    assert "look like its verdict" in outcome.faults[2]


def test_the_canary_of_a_run_would_be_told_by_a_compiler_without_seals(monkeypatch):
    monkeypatch.setattr(selftest, "CANARY_VARIABLE", "ANOTHER_NAME")
    with selftest.ground() as here:
        assert os.environ["ANOTHER_NAME"] in here.secrets
        with open(here.canary) as file:
            assert file.read().strip() in here.secrets
    assert "ANOTHER_NAME" not in os.environ
    assert not os.path.exists(here.canary)


def test_the_frame_of_rows_is_an_honest_kernel_until_something_is_put_in():
    assert tried(HONEST_ROW, id="x", source=framed()).ok
