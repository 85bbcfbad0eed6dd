"""A worker process around the fake device, whose kernels misbehave on purpose.

Started by test_worker.py in place of the real worker's command: python worker_stand_in.py NAME --channel FD
"""

import os
import signal
import socket
import sys
import time

import numpy as np

from judge.backends.base import DeviceFault
from judge.sandbox.inside import Confinement, close_inherited
from judge.worker.main import serve, set_limits
from judge.worker.wire import encode, send_all
from tests.unit.worker.fake_device import FakeDevice, planner


def double(device, launch):
    x = np.frombuffer(device.download(device.labels["x"], device.sizes["x"]), np.float32)
    device.upload(device.labels["out"], (2 * x).tobytes())


def spin(device, launch):
    while True:
        time.sleep(0.01)


def die(device, launch):
    os.kill(os.getpid(), signal.SIGSEGV)


def leave(device, launch):
    print("last words \x1b[31m of a worker", flush=True)
    os._exit(7)


def swell(device, launch):
    hoard = []
    while True:
        hoard.append(bytearray(os.urandom(1 << 20) * 16))
        time.sleep(0.002)


def garble(device, launch):
    channel.sendall(b"no frame at all, but accepted: true")
    time.sleep(60)


def forge(device, launch):
    send_all(channel, encode({"type": "result", "body": {"verdict": "accepted"}}))
    time.sleep(60)


def stall(device, launch):
    for _ in range(3):
        send_all(channel, encode({"type": "stage", "name": "running"}))
    time.sleep(60)


def flood(device, launch):
    os.write(1, b"x" * (1 << 20))
    double(device, launch)


def fork_and_leave(device, launch):
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)


def fatal(device, launch):
    raise DeviceFault("runtime_error", "illegal address", fatal=True)


def trip(device, launch):
    raise ZeroDivisionError("a fault in our own device code")


KERNELS = {
    "double": double,
    "spin": spin,
    "die": die,
    "leave": leave,
    "swell": swell,
    "garble": garble,
    "forge": forge,
    "stall": stall,
    "flood": flood,
    "fork_and_leave": fork_and_leave,
    "fatal": fatal,
    "trip": trip,
}

if __name__ == "__main__":
    descriptor = int(sys.argv[sys.argv.index("--channel") + 1])
    close_inherited(descriptor)
    set_limits()
    channel = socket.socket(fileno=descriptor)
    channel.setblocking(True)
    if sys.argv[1] == "never-ready":
        sys.stderr.write("no such device here\n")
        sys.exit(3)
    fake = FakeDevice({"plan": planner((1, 1, 1, 1, 1, 1, 0)), **KERNELS})
    if sys.argv[1] == "refusing":
        fake.load_fault = DeviceFault("compile_error", "not emulated: wgmma, needs a GPU")
    serve(fake, channel, Confinement("none"))
