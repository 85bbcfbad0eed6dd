"""Runs a kernel on the CPU backend with its access patterns counted."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from judge.backends.base import BufferLabel, Launch
from judge.backends.cpu.device import SOURCE_NAME, CpuDevice
from judge.compiler.target import Target
from judge.records import Counters

ELEMENTS = 4096


@dataclass(frozen=True)
class Counted:
    counters: Counters
    unique: dict[str, int]
    source: str

    def line(self, text: str):
        """Counters of the first line that holds the text."""
        number = next(n for n, line in enumerate(self.source.splitlines(), start=1) if text in line)
        return next(entry for entry in self.counters.lines if entry.line == number)


@cache
def compile_ptx(source: str, mode: str) -> bytes:
    from cupy_backends.cuda.libs import nvrtc

    program = nvrtc.createProgram(source, SOURCE_NAME, (), ())
    options = [
        o for o in Target("ptx", "compute_90", mode).options if not o.startswith(("--pre-include", "--no-source"))
    ]
    try:
        nvrtc.compileProgram(program, tuple(options))
        text = nvrtc.getPTX(program)
    finally:
        nvrtc.destroyProgram(program)
    return text if isinstance(text, bytes) else text.encode()


def run_counted(source: str, grid=1, block=32, *, patterns: bool = True, threads: int = 2, debug: bool = False):
    """Launches every kernel of the source in turn, each as (const float* in, float* out), both ELEMENTS floats.

    Returns a Counted for each launch. debug: unoptimized code, which keeps every branch of the source.
    """
    device = CpuDevice(threads=threads)
    device.load(compile_ptx(source, "debug" if debug else "fast"), source)
    addresses = [
        device.allocate(BufferLabel("in", 4, (ELEMENTS,), "input"), 4 * ELEMENTS),
        device.allocate(BufferLabel("out", 4, (ELEMENTS,), "output"), 4 * ELEMENTS),
    ]
    device.upload(addresses[0], np.arange(ELEMENTS, dtype=np.float32).tobytes())
    arguments = np.array(addresses, np.uint64).tobytes()
    found = []
    for name in device.module.kernels:
        extent = block if isinstance(block, tuple) else (block, 1, 1)
        launch = Launch(name, (grid, 1, 1), extent, 0, arguments)
        outcome = device.launch(launch, time_limit_s=10, patterns=patterns)
        assert not [d for d in outcome.diagnoses if not d.warning], outcome.diagnoses
        found.append(Counted(outcome.counters, dict(outcome.unique_bytes_read), source))
    return found


def counted(body: str, grid=1, block=32, **settings) -> Counted:
    """One kernel with this body; x is the thread's index in its block."""
    source = (
        'extern "C" __global__ void kernel(const float* in, float* out) {\n  const int x = threadIdx.x;\n'
        + body
        + "\n}\n"
    )
    [one] = run_counted(source, grid, block, **settings)
    return one
