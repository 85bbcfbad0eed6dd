"""Compile boxes that stand ready: used once, replaced, and gone with their owner."""

import os
import signal
import time

import pytest

from judge.compiler import CPU_ARCH, Target, WarmBoxes, compile_unit
from judge.compiler.cache import DiskCache
from judge.compiler.headers import headers_for
from judge.submission.read import read_submission
from judge.submission.unit import build_unit
from tests.unit.submission.example import CONSTANTS, KERNEL, PROBLEM

PTX = Target("ptx", CPU_ARCH, "debug")
UNIT = build_unit(read_submission(KERNEL.encode(), "kernel.cu", PROBLEM), PROBLEM, (CONSTANTS,))


def warm(boxes, count=1):
    deadline = time.monotonic() + 60
    while boxes.warm < count:
        assert time.monotonic() < deadline, "no box stands ready"
        time.sleep(0.005)


@pytest.fixture
def boxes():
    with WarmBoxes([PTX], quiet_s=60.0) as made:
        warm(made)
        yield made


def test_a_box_that_stands_ready_says_the_same_as_one_that_is_started(boxes, tmp_path):
    ready = compile_unit(UNIT, PTX, DiskCache(tmp_path / "a"), boxes.take)
    fresh = compile_unit(UNIT, PTX, DiskCache(tmp_path / "b"))
    assert ready.ok
    assert (ready.image, ready.lowered, ready.log) == (fresh.image, fresh.lowered, fresh.log)


def test_no_box_is_given_out_twice_and_the_next_waits_to_be_told(boxes):
    with boxes.take(PTX) as first, boxes.take(PTX) as second:
        assert first is not second
        assert boxes.warm == 0
        time.sleep(0.3)
        assert boxes.warm == 0
        boxes.refill()
        warm(boxes)
        with boxes.take(PTX) as third:
            assert third not in (first, second)


def test_a_box_that_died_while_it_waited_is_not_given_out(boxes, tmp_path):
    [(_, waiting)] = boxes._ready.values()
    os.kill(waiting._process.pid, signal.SIGKILL)
    deadline = time.monotonic() + 20
    while waiting.alive:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    assert compile_unit(UNIT, PTX, DiskCache(tmp_path), boxes.take).ok


def test_a_box_serves_every_architecture_but_no_other_limits(tmp_path):
    fast = Target("cubin", "", "fast")
    with WarmBoxes([fast], quiet_s=60.0) as boxes:
        warm(boxes)
        with boxes.take(Target("cubin", "sm_90", "optimized")) as other:
            assert boxes.warm == 1
            with pytest.raises(ValueError, match="cannot compile for"):
                other.compile("", "kernel.cu", (), headers_for("", DiskCache(tmp_path)), fast)
        answer = compile_unit(UNIT, Target("cubin", "sm_80", "fast"), DiskCache(tmp_path), boxes.take)
        assert answer.ok
        assert boxes.warm == 0


def test_their_owner_takes_them_along(boxes):
    [(_, waiting)] = boxes._ready.values()
    boxes.close()
    boxes.close()
    assert boxes.warm == 0
    with pytest.raises(ProcessLookupError):
        os.kill(waiting._process.pid, 0)
