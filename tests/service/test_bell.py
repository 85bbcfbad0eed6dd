"""What wakes the processes of one machine: a ring comes at once, and one that is lost costs little."""

import threading
import time

from judge.dispatch.bell import Bell, bell_of


def test_a_ring_wakes_one_who_waits_and_is_kept_for_one_who_comes():
    bell = Bell()
    heard = []
    waiting = threading.Thread(target=lambda: heard.append(bell_of(bell.descriptor).wait(20)))
    waiting.start()
    bell.ring()
    waiting.join(10)
    assert heard == [True]
    bell.ring()
    bell.ring()
    assert (bell.wait(0), bell.wait(0), bell.wait(0)) == (True, True, False)
    bell.ring()
    bell.ring()
    bell.drain()
    began = time.monotonic()
    assert not bell.wait(0.05)
    assert time.monotonic() - began >= 0.04


def test_without_a_bell_there_is_none():
    assert bell_of(-1) is None
