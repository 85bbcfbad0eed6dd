"""A worker that calls itself a GPU and runs PTX on the CPU: for the order of things on a machine without one.

Started by test_pipeline_cuda.py in place of a CUDA worker: python cuda_stand_in.py --channel FD
"""

import dataclasses
import socket
import sys

from judge.backends.cpu.device import CpuDevice
from judge.sandbox.inside import Confinement, close_inherited
from judge.worker.main import serve


class SteadyClock:
    """A stopwatch that runs the launches and always reads 100 microseconds."""

    def __init__(self, device):
        self.device = device

    def cold_sample(self, launches):
        for launch in launches:
            self.device.launch(launch, time_limit_s=10)
        return 100.0

    def clock_mhz(self):
        return 1980


class StandIn(CpuDevice):
    def __init__(self):
        super().__init__()
        self.properties = dataclasses.replace(self.properties, kind="cuda", name="stand-in", arch="sm_90")

    def stopwatch(self):
        return SteadyClock(self)


if __name__ == "__main__":
    descriptor = int(sys.argv[sys.argv.index("--channel") + 1])
    close_inherited(descriptor)
    channel = socket.socket(fileno=descriptor)
    channel.setblocking(True)
    serve(StandIn(), channel, Confinement("none"))
