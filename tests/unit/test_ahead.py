import threading

import pytest

from judge.ahead import Ahead
from judge.worker.messages import CaseResult


def test_the_next_case_runs_while_the_last_one_is_looked_at():
    begun, looked_at = threading.Event(), threading.Event()

    def run():
        begun.set()
        assert looked_at.wait(20)
        return CaseResult(seconds=2.0)

    with Ahead(lambda: pytest.fail("nothing went wrong")) as ahead:
        assert ahead.take("second") is None
        ahead.start("second", run)
        assert begun.wait(20)
        assert ahead.take("third") is None
        looked_at.set()
        assert ahead.take("second").seconds == 2.0
        assert ahead.take("second") is None


def test_whoever_needs_the_worker_waits_and_takes_no_result():
    done = []

    def run():
        threading.Event().wait(0.05)
        done.append(True)
        return CaseResult(seconds=1.0)

    with Ahead(lambda: None) as ahead:
        ahead.settle()
        ahead.start("second", run)
        ahead.settle()
        assert done == [True]
        assert ahead.take("second").seconds == 1.0


def test_an_error_of_the_run_is_raised_where_its_result_is_taken():
    def run():
        raise ArithmeticError("broken")

    with Ahead(lambda: None) as ahead:
        ahead.start("second", run)
        ahead.settle()
        with pytest.raises(ArithmeticError, match="broken"):
            ahead.take("second")


def test_an_end_by_an_exception_kills_the_worker_and_leaves_no_thread():
    killed = threading.Event()

    def run():
        assert killed.wait(20)
        return CaseResult(fatal=True)

    before = threading.active_count()

    def interrupted():
        with Ahead(killed.set) as ahead:
            ahead.start("second", run)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert killed.is_set()
    assert threading.active_count() == before
