"""The pool of warm workers, with real ones where their start matters and stand-ins where only the order does."""

import threading
import time

import pytest

from judge.backends.base import DeviceProperties
from judge.errors import MachineError
from judge.worker import pool
from judge.worker.pool import Loan, Pool, PoolClosed


class Stand:
    """Stands for a worker: what a pool asks of one."""

    def __init__(self, failure=None, delay_s=0.0):
        self.alive = True
        self.isolation, self.isolation_reasons = "none", ()
        self.dead = False
        self.failure = failure
        self.delay_s = delay_s
        self.cancelled = threading.Event()

    def ready(self):
        if self.cancelled.wait(self.delay_s):
            raise MachineError("cancelled")
        if self.failure:
            raise MachineError(self.failure)
        return DeviceProperties(kind="cpu", name="stand", arch="none")

    def responds(self):
        return not self.dead

    def cancel(self):
        self.cancelled.set()

    def close(self):
        self.alive = False


class Maker:
    def __init__(self, **settings):
        self.made = []
        self.settings = settings

    def __call__(self):
        self.made.append(Stand(**self.settings))
        return self.made[-1]


def until(condition, limit_s=5.0):
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.005)


def test_real_workers_are_handed_out_warm_and_once():
    with Pool("cpu", 2) as real:
        until(lambda: real.warm == 2, 60)
        began = time.monotonic()
        first = real.take()
        assert time.monotonic() - began < 0.05
        second = real.take()
        third = real.take()
        workers = {first, second, third}
        assert len(workers) == 3
        assert all(worker.responds() for worker in workers)
        assert len({worker._process.pid for worker in workers}) == 3
        for worker in workers:
            worker.close()
        until(lambda: real.warm == 2, 60)
        left = [worker for _, worker in real._ready]
    assert [worker.alive for worker in left] == [False, False]


def test_a_worker_that_died_while_it_waited_is_not_handed_out():
    make = Maker()
    with Pool("cpu", 2, make) as some:
        until(lambda: some.warm == 2)
        make.made[0].dead = True
        assert some.take() is make.made[1]
        assert not make.made[0].alive
        until(lambda: some.warm == 2)


def test_a_real_worker_that_is_killed_no_longer_responds():
    with Pool("cpu", 1) as real, real.take() as worker:
        assert worker.responds()
        worker.cancel()
        until(lambda: not worker.responds())


def test_one_that_waited_too_long_is_replaced(monkeypatch):
    monkeypatch.setattr(pool, "MAX_AGE_S", 0.2)
    make = Maker()
    with Pool("cpu", 1, make) as some:
        until(lambda: len(make.made) >= 3)
        assert not make.made[0].alive
        assert some.take().alive


def test_a_start_that_fails_is_tried_again_and_told_to_whom_waits(monkeypatch):
    monkeypatch.setattr(pool, "RETRY_S", 0.01)
    make = Maker(failure="no usable GPU 0: driver too old")
    with Pool("cuda", 1, make) as some:
        with pytest.raises(MachineError, match="driver too old"):
            some.take(timeout_s=0.3)
        assert len(make.made) > 1
        assert not any(worker.alive for worker in make.made[:-1])
        make.settings.clear()
        assert some.take().alive


def test_without_a_reason_the_time_is_told():
    with (
        Pool("cpu", 1, Maker(delay_s=60)) as some,
        pytest.raises(MachineError, match=r"no cpu worker came up within 0\.1 s"),
    ):
        some.take(timeout_s=0.1)


def test_closing_ends_a_start_that_is_under_way_and_refuses_who_comes_later():
    make = Maker(delay_s=60)
    some = Pool("cpu", 1, make)
    until(lambda: make.made)
    waiting = []

    def wait():
        with pytest.raises(PoolClosed):
            some.take()
        waiting.append("told")

    thread = threading.Thread(target=wait)
    thread.start()
    began = time.monotonic()
    some.close()
    some.close()
    thread.join(5)
    assert time.monotonic() - began < 2
    assert waiting == ["told"]
    assert not make.made[0].alive
    with pytest.raises(PoolClosed):
        some.take()


def test_many_takers_get_each_worker_once():
    make = Maker()
    taken = []
    with Pool("cpu", 3, make) as some:
        threads = [threading.Thread(target=lambda: taken.append(some.take())) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
    assert len({id(worker) for worker in taken}) == 20


def test_a_pool_of_none_is_refused():
    with pytest.raises(ValueError, match="0 workers"):
        Pool("cpu", 0)


# Loans


class Used(Stand):
    isolation = "isolated"
    isolation_reasons = ()

    def load(self, image):
        self.image = image


def test_a_loan_that_was_not_used_is_lent_again():
    made = Maker()
    made.kind = Used
    with Pool("cpu", 1, lambda: made.made.append(Used()) or made.made[-1]) as pool:
        first = pool.lend()
        worker = first._worker
        until(lambda: pool.warm == 1)
        first.close()
        first.close()
        assert worker.alive
        assert {pool.take(), pool.take()} >= {worker}


def test_a_loan_that_was_given_a_module_is_never_lent_again():
    with Pool("cpu", 1, Used) as pool:
        first = pool.lend()
        with first:
            first.load("module")
        assert first._worker.cancelled.is_set()
        assert not first.alive
        until(lambda: not first._worker.alive)
        assert pool.take() is not first._worker


def test_nobody_waits_for_the_end_of_a_used_worker_but_the_pool_s_own_end():
    class Slow(Used):
        def close(self):
            assert ended.wait(20)
            super().close()

    ended = threading.Event()
    with Pool("cpu", 1, Slow) as pool:
        used = pool.lend()
        used.load("module")
        used.close()
        assert used._worker.cancelled.is_set()
        assert used._worker.alive
        pool.lend().close()
        threading.Timer(0.2, ended.set).start()
    assert not used._worker.alive
    late = Pool("cpu", 1, Used)
    loan = late.lend()
    loan.load("module")
    late.close()
    loan.close()
    assert not loan._worker.alive


def test_a_closed_loan_gives_nothing_more():
    with Pool("cpu", 1, Used) as pool:
        first = pool.lend()
        first.close()
        with pytest.raises(ValueError, match="another's"):
            first.load("module")
        assert not first.alive


def test_loans_that_come_back_too_late_or_dead_are_ended():
    with Pool("cpu", 1, Used) as pool:
        dead, late = pool.lend(), pool.lend()
        dead._worker.dead = True
        dead.close()
        assert not dead._worker.alive
    late.close()
    assert not late._worker.alive


def test_the_next_worker_is_put_off_while_one_is_not_to_be_disturbed():
    maker = Maker()
    with Pool("cpu", 1, maker) as quiet:
        until(lambda: quiet.warm == 1)
        loan = Loan(quiet, quiet.take())
        until(lambda: quiet.warm == 1)
        loan.cancel()
        loan.close()
        loan = quiet.lend(undisturbed_s=30)
        time.sleep(0.1)
        assert (quiet.warm, len(maker.made)) == (0, 2)
        # Whoever waits for one is worth more than quiet.
        second = quiet.lend(undisturbed_s=30)
        assert len(maker.made) == 3
        loan.cancel()
        loan.close()
        until(lambda: quiet.warm == 1)
        second.cancel()
        second.close()
        third = quiet.lend(undisturbed_s=0.05)
        until(lambda: quiet.warm == 1)
        third.close()
