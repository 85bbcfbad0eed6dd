"""Output on descriptor 1 is caught, capped, and told apart launch by launch; in a process of its own."""

import subprocess
import sys

SCRIPT = """
import ctypes, os, sys
from judge.backends.cuda.printing import PrintCapture
capture = PrintCapture(cap_bytes=1000)
told = []
told.append(capture.take())
os.write(1, b"one")
told.append(capture.take())
os.write(1, b"\\xff\\xfe two")
sys.stdout.write(" and three")
sys.stdout.flush()
told.append(capture.take())
libc = ctypes.CDLL(None)
for _ in range(2000):
    libc.printf(b"%s\\n", b"x" * 409)
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
    assert told[3] == (("x" * 409 + "\n") * 3)[:1000] + "\n[output cut after 1000 bytes]"
    assert told[4] == ""
    assert told[5] == "0123456789abcde"
    assert done.stdout == ""
