"""Timing has a GPU alone, other work shares it; who else works there is named."""

import os
import threading
import time

import pytest

from judge.timing import exclusive
from judge.timing.exclusive import GpuLock
from judge.timing.neighbors import Neighbor, Watch, busiest, is_descendant, strangers, told


def test_shared_holders_do_not_wait_for_each_other_and_a_timed_one_waits_for_all(tmp_path):
    lock = GpuLock("GPU-1/2", tmp_path)
    events = []

    def time_something():
        with lock.alone():
            events.append("timed")

    with lock.shared(), lock.shared():
        thread = threading.Thread(target=time_something)
        thread.start()
        time.sleep(0.1)
        events.append("work ends")
    thread.join(5)
    assert events == ["work ends", "timed"]
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "kernel-judge-gpu-GPU-1_2.gate",
        "kernel-judge-gpu-GPU-1_2.lock",
    ]
    assert all(p.stat().st_mode & 0o666 == 0o666 for p in tmp_path.iterdir()), "for judges of other users"


def test_one_that_waits_to_time_comes_before_later_work_and_is_told_of(tmp_path, monkeypatch):
    monkeypatch.setattr(exclusive, "PATIENCE_S", 0.05)
    lock = GpuLock("x", tmp_path)
    events = []

    def hold(how, name):
        with how(lambda: events.append(f"{name} waits")):
            events.append(name)
            time.sleep(0.05)

    with lock.shared():
        first = threading.Thread(target=hold, args=(lock.alone, "timing"))
        first.start()
        time.sleep(0.15)
        second = threading.Thread(target=hold, args=(lock.shared, "work"))
        second.start()
        time.sleep(0.15)
    first.join(5)
    second.join(5)
    assert [event for event in events if "waits" not in event] == ["timing", "work"]
    assert events[0] == "timing waits"


def test_two_gpus_do_not_wait_for_each_other_and_no_gpu_locks_nothing(tmp_path):
    with GpuLock("a", tmp_path).alone(), GpuLock("b", tmp_path).alone():
        pass
    with GpuLock("", tmp_path).alone(), GpuLock("", tmp_path).alone():
        assert len(list(tmp_path.iterdir())) == 4


def test_the_lock_ends_with_an_exception(tmp_path):
    lock = GpuLock("a", tmp_path)
    with pytest.raises(ZeroDivisionError), lock.alone():
        raise ZeroDivisionError
    with lock.alone():
        pass


def test_neighbors_are_named_with_their_share():
    assert told(()) == ""
    many = [Neighbor(n, "train", 10 * n) for n in range(1, 7)]
    words = told(many)
    assert "train (process 1), 10% of the SMs" in words
    assert words.endswith("and 2 more")
    assert "process 9" in told([Neighbor(9, "", None)])
    assert busiest([(1, 5), (2, 0), (1, 80), (1, 20)]) == {1: 80, 2: 0}


def test_processes_started_by_us_are_no_neighbors():
    assert is_descendant(os.getpid(), {os.getppid()})
    assert not is_descendant(1, {os.getpid()})
    assert not is_descendant(2**22 + 1, {os.getpid()})


def process(proc, pid, parent):
    (proc / str(pid)).mkdir(parents=True)
    (proc / str(pid) / "stat").write_text(f"{pid} (a name) with ) in it) S {parent} 0 0")


def test_who_works_beside_us(tmp_path):
    for pid, parent in ((100, 1), (101, 100), (102, 101), (200, 1)):
        process(tmp_path, pid, parent)
    shares = {102: 90, 200: 40, 300: 5, 301: 50}
    assert strangers([102, 200], shares, {100}, tmp_path) == [200]
    assert strangers([102], shares, {100}, tmp_path) == []
    assert strangers([102, 103, 0], {102: 90, 103: 0}, {100}, tmp_path) == [], "an open context is no work"
    assert strangers([102, 300], shares, {100}, tmp_path) == [300], "ours is known, so the unknown one is another"
    assert strangers([301], shares, {100}, tmp_path) == [], "counted by the host: this is our worker"
    assert strangers([300, 301, 200], shares, {100}, tmp_path) == [300, 200]


def test_without_a_gpu_nobody_is_seen():
    watch = Watch("")
    assert (watch.uuid, watch.found()) == ("", ())
    assert Watch("00000000:FF:00.0").found() == ()
