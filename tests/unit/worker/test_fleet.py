"""Submissions spread over GPUs, and each stays on its own."""

import threading

import pytest

from judge.errors import MachineError
from judge.gpu import gpu_count
from judge.worker.fleet import Fleet


class FakePool:
    def __init__(self, ordinal):
        self.ordinal = ordinal
        self.open = False

    def __enter__(self):
        self.open = True
        return self

    def __exit__(self, *_):
        self.open = False

    def lend(self, **_):
        return f"worker on {self.ordinal}"


def fleet(count):
    pools = []

    def make(ordinal, warm):
        pools.append(FakePool(ordinal))
        return pools[-1]

    return Fleet(range(count), make_pool=make), pools


def test_submissions_go_where_fewest_are_and_stay_there():
    some, pools = fleet(3)
    with some:
        assert all(pool.open for pool in pools)
        with some.place() as a, some.place() as b, some.place() as c:
            assert {a("cuda"), b("cuda"), c("cuda")} == {f"worker on {n}" for n in range(3)}
            assert a("cuda") == a("cuda"), "a fresh worker of the same submission is on the same GPU"
            assert some.busy == {0: 1, 1: 1, 2: 1}
        assert some.busy == {0: 0, 1: 0, 2: 0}
    assert not any(pool.open for pool in pools)


def test_forty_submissions_from_many_threads_are_even():
    some, _ = fleet(2)
    seen = []
    gate = threading.Barrier(8)

    def submit():
        with some.place() as start:
            seen.append(start("cuda"))
            gate.wait(10)

    with some:
        threads = [threading.Thread(target=submit) for _ in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert len(seen) == 40
    assert 16 <= seen.count("worker on 0") <= 24
    assert some.busy == {0: 0, 1: 0}


def test_a_submission_that_fails_gives_its_place_back():
    some, _ = fleet(1)
    with some, pytest.raises(ZeroDivisionError), some.place():
        raise ZeroDivisionError
    assert some.busy == {0: 0}


def test_gpus_are_counted_by_device_files_and_the_environment(monkeypatch, tmp_path):
    (tmp_path / "dev").mkdir()
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert gpu_count(tmp_path) == 0
    for name in ("nvidia0", "nvidia1", "nvidia7", "nvidiactl", "nvidia-uvm"):
        (tmp_path / "dev" / name).touch()
    assert gpu_count(tmp_path) == 3
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,7")
    assert gpu_count(tmp_path) == 2
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert gpu_count(tmp_path) == 0
    with pytest.raises(MachineError, match="No NVIDIA GPU"):
        Fleet(())
