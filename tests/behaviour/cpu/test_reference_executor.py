"""Machines without the JIT judge on the interpreter: values, bounds, barriers and time limits as everywhere."""

import numpy as np
import pytest

from judge.backends.base import BufferLabel, DeviceFault, Launch
from judge.backends.cpu import device as device_module
from judge.backends.cpu.device import CpuDevice
from judge.backends.cpu.reference_executor import ReferenceExecutor
from tests.zoo.harness import compile_ptx

REVERSED = """
extern "C" __global__ void kernel(const float* in, float* out, int n) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x + n] = tile[63 - threadIdx.x];
}
extern "C" __global__ void endless(const float* in, float* out, int n) { while (true) __nanosleep(1); }
"""


def run(kernel: str, n: int, time_limit_s: float = 5.0):
    device = CpuDevice(jit=False)
    assert isinstance(device.executor, ReferenceExecutor)
    device.load(compile_ptx(REVERSED), REVERSED)
    source = np.arange(64, dtype=np.float32)
    addresses = []
    for name, role in (("in", "input"), ("out", "output")):
        address = device.allocate(BufferLabel(name, 4, (64,), role), 256)
        device.upload(address, source.tobytes())
        addresses.append(address)
    arguments = np.array(addresses, np.uint64).tobytes() + np.int32(n).tobytes()
    outcome = device.launch(Launch(kernel, (1, 1, 1), (64, 1, 1), 0, arguments), time_limit_s=time_limit_s)
    return outcome, np.frombuffer(device.download(addresses[1], 256), np.float32)


def test_values_come_out_right_and_nothing_is_counted():
    outcome, out = run("kernel", 0)
    assert out.tolist() == list(range(63, -1, -1))
    assert outcome.diagnoses == []
    assert outcome.counters is None


def test_an_access_out_of_bounds_is_told_with_its_line():
    with pytest.raises(DeviceFault) as fault:
        run("kernel", 1)
    assert fault.value.verdict == "undefined_behavior"
    assert [(d.kind.value, d.line, d.index) for d in fault.value.diagnoses] == [("out_of_bounds", 6, (64,))]


def test_an_endless_kernel_ends():
    with pytest.raises(DeviceFault) as fault:
        run("endless", 0, time_limit_s=0.05)
    assert fault.value.verdict == "time_limit"


@pytest.mark.parametrize(("machine", "jit"), [("x86_64", True), ("aarch64", False)])
def test_the_machine_decides(monkeypatch, machine, jit):
    monkeypatch.setattr(device_module.platform, "machine", lambda: machine)
    assert isinstance(CpuDevice().executor, ReferenceExecutor) is not jit
