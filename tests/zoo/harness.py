"""A specimen of the zoo on the CPU backend, with every detector on. See specimen.py for what a specimen is."""

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from judge.backends.base import BufferLabel, DeviceFault, Launch
from judge.backends.cpu.device import SOURCE_NAME, CpuDevice
from judge.records import Diagnosis
from tests.zoo.specimen import Specimen, include_folders


@dataclass(frozen=True)
class Findings:
    """What the CPU backend said. out: the output, None when the launch ended early."""

    diagnoses: tuple[Diagnosis, ...]
    verdict: str | None
    message: str
    out: np.ndarray | None

    @property
    def proved(self) -> list[Diagnosis]:
        return [d for d in self.diagnoses if not d.warning]

    @property
    def mild(self) -> list[Diagnosis]:
        return [d for d in self.diagnoses if d.warning]


@cache
def compile_ptx(source: str) -> bytes:
    from cupy_backends.cuda.libs import nvrtc

    program = nvrtc.createProgram(source, SOURCE_NAME, (), ())
    try:
        nvrtc.compileProgram(program, ("-arch=compute_90", "-std=c++17", "-G", *include_folders()))
        text = nvrtc.getPTX(program)
    except nvrtc.NVRTCError as error:
        raise AssertionError(nvrtc.getProgramLog(program)) from error
    finally:
        nvrtc.destroyProgram(program)
    return text if isinstance(text, bytes) else text.encode()


@lru_cache(maxsize=1)
def _loaded(source: str) -> CpuDevice:
    """A device with its code, which the next look at the same specimen takes, too."""
    device = CpuDevice()
    device.load(compile_ptx(source), source)
    return device


def examine(specimen: Specimen, *, threads: int = 2, time_limit_s: float | None = None, schedule: int = 0) -> Findings:
    """Run a specimen on the CPU backend with every detector on."""
    device = _loaded(specimen.source)
    device.release_all()
    device.executor.threads = threads
    n = specimen.n
    inputs = np.arange(1, n + 1, dtype=np.float32)
    addresses = []
    for name, role in (("in", "input"), ("out", "output"), ("ws", "workspace")):
        address = device.allocate(BufferLabel(name, 4, (n,), role), 4 * n)
        if role == "input":
            device.upload(address, inputs.tobytes())
        else:
            device.poison(address, 4 * n, 0xFF)
        addresses.append(address)
    arguments = np.array(addresses, np.uint64).tobytes() + np.int32(n).tobytes()
    launch = Launch("kernel", specimen.grid, specimen.block, specimen.shared_bytes, arguments)
    limit = time_limit_s or (0.3 if specimen.hot else 10.0)
    try:
        outcome = device.launch(launch, time_limit_s=limit, schedule=schedule)
    except DeviceFault as fault:
        return Findings(tuple(fault.diagnoses), fault.verdict, str(fault), None)
    out = np.frombuffer(device.download(addresses[1], 4 * n), np.float32)
    return Findings(tuple(outcome.diagnoses), None, "", out)
