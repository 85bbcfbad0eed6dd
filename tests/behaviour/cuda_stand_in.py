"""A worker that calls itself a GPU and runs PTX on the CPU: for the order of things on a machine without one.

Started by test_pipeline_cuda.py in place of a CUDA worker: python cuda_stand_in.py --channel FD
"""

import copy
import dataclasses
import itertools
import re
import socket
import sys

import numpy as np

from judge.backends.cpu.device import CpuDevice
from judge.backends.cuda.faults import launch_fault
from judge.sandbox.inside import Confinement, close_inherited
from judge.timing.fresh import flipped
from judge.timing.sampling import Conditions, RatesSample
from judge.worker.main import serve

FAULT = re.compile(rb"// CUDA error (\d+)")
"""A module that has this somewhere stops in its first launch."""


class SteadyBench:
    """Runs the launches and always reads the same time: 100 microseconds, or what the device's name says."""

    def __init__(self, device):
        self.device = device
        self.noise = itertools.cycle([0.0, 0.1, 0.05])

    def cold_sample(self, launches):
        for launch in launches:
            self.device.launch(launch, time_limit_s=10)
        return self.device.sample_us + next(self.noise)

    def rates_sample(self):
        return RatesSample(read_gbs=200.0, copy_gbs=150.0, f32_tflops=50.0, f16_tflops=500.0, overhead_us=2.0)

    def conditions(self):
        return Conditions(clock_mhz=1980, temperature_c=40)

    def refresh(self, address, count, element_bytes, before, now):
        data = np.frombuffer(self.device.download(address, count * element_bytes), np.uint32)
        self.device.upload(address, flipped(flipped(data, before), now).tobytes())

    def close(self):
        pass


class StandIn(CpuDevice):
    sample_us = 100.0

    def __init__(self):
        super().__init__()
        self.properties = dataclasses.replace(self.properties, kind="cuda", name="stand-in", arch="sm_90")
        self._loaded = None

    def load(self, image, source, prepared=b""):
        self._loaded = (image, source, prepared)
        super().load(image, source, prepared)

    def launch(self, launch, **options):
        fault = FAULT.search(self._loaded[0])
        if fault and not launch.kernel.startswith("judge_plan"):
            raise launch_fault(int(fault[1]), "as the test wants it", while_running=True)
        return super().launch(launch, **options)

    def renew(self):
        self.load(*self._loaded)

    def rival(self, image):
        other = copy.copy(self)
        # The CPU device clears its memory with each module it loads; these two share theirs.
        other.release_all = lambda: None
        other.load(image, "")
        if b"slower" in image:
            other.sample_us = 110.0
        return other

    def bench(self, rulers):
        assert rulers[:4] == b"\x7fELF"
        return SteadyBench(self)


if __name__ == "__main__":
    descriptor = int(sys.argv[sys.argv.index("--channel") + 1])
    close_inherited(descriptor)
    channel = socket.socket(fileno=descriptor)
    channel.setblocking(True)
    serve(StandIn(), channel, Confinement("none"))
