"""A few kills and pauses at random, on each database; tests/bench/kill_campaign.py does a thousand."""

import pytest

from tests.bench.kill_campaign import Campaign
from tests.service.conftest import KINDS, free_port
from tests.service.postgresql import PostgreSQL


@pytest.mark.parametrize(("kind", "kills"), [("sqlite", 9), ("postgresql", 6)])
def test_kills_and_pauses_lose_double_and_stick_nothing(tmp_path, kind, kills):
    if kind not in KINDS:
        pytest.skip("there is no PostgreSQL server on this machine")
    server = PostgreSQL(free_port()) if kind == "postgresql" else None
    try:
        outcome = Campaign(tmp_path, server, seed=7, lanes=1, waiting=2, long_s=2.0).run(kills, 0.5)
    finally:
        if server is not None:
            server.remove()
    assert sum(outcome.kills.values()) == kills
    assert outcome.submitted > 3
    assert outcome.wrong == [], outcome.table()
