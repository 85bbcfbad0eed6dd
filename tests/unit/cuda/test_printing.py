"""Output on descriptor 1 is caught, capped, and told apart launch by launch; in a process of its own."""

import subprocess
import sys

SCRIPT = """
import os, sys
from judge.backends.cuda.printing import PrintCapture
capture = PrintCapture(cap_bytes=1000, drained_s=10)
told = []
told.append(capture.take())
os.write(1, b"one")
told.append(capture.take())
os.write(1, b"\\xff\\xfe two")
sys.stdout.write(" and three")
sys.stdout.flush()
told.append(capture.take())
for _ in range(200):
    os.write(1, b"x" * 4096)
told.append(capture.take())
told.append(capture.take())
os.write(1, b"0123456789abcde")
told.append(capture.take())
sys.stderr.write(repr(told))
"""


def test_each_take_gives_what_was_written_since_the_last():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=True)
    told = eval(done.stderr)
    assert told[0] == ""
    assert told[1] == "one"
    assert told[2] == "\ufffd\ufffd two and three"
    assert told[3] == "x" * 1000 + f"\n[output cut: {200 * 4096 - 1000} more bytes]"
    assert told[4] == ""
    assert told[5] == "0123456789abcde"
    assert done.stdout == ""
