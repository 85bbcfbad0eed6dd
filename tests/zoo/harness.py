"""The bug zoo: small kernels with one planted bug each, and right ones that look dangerous.

A file of tests/zoo/bugs or tests/zoo/right defines

    extern "C" __global__ void kernel(const float* in, float* out, float* ws, int n)

with `in` n floats (values 1..n), `out` and `ws` n floats that nobody has written. Its first lines may say

    // launch <<<4, 64>>> n=250      grid and block are integers or (x, y, z); shared=BYTES: dynamic shared memory
    // warnings 1                    how many warnings a right kernel gets

A bug's line ends in `// BUG kind`, with the kind of the diagnosis; the other line of a race may end in
`// OTHER`. A kind with a question mark (`race?`) stands for a warning.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from judge.backends.base import BufferLabel, DeviceFault, Launch
from judge.backends.cpu.device import SOURCE_NAME, CpuDevice
from judge.records import Diagnosis

ZOO = Path(__file__).parent
LAUNCH = re.compile(r"// launch <<<\s*(\([^)]*\)|\d+)\s*,\s*(\([^)]*\)|\d+)\s*>>>(?:\s+n=(\d+))?(?:\s+shared=(\d+))?")
MARK = re.compile(r"// BUG (\w+)(\??)")


@dataclass(frozen=True)
class Specimen:
    """A file of the zoo. kind and line: the planted bug (None in a right kernel); other: its second line."""

    path: Path
    source: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    n: int
    shared_bytes: int
    kind: str | None
    line: int | None
    mild: bool
    other: int | None
    warnings: int


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


def _extent(text: str) -> tuple[int, int, int]:
    numbers = [int(part) for part in re.findall(r"\d+", text)]
    x, y, z = [*numbers, 1, 1][:3]
    return x, y, z


def read_specimen(path: Path) -> Specimen:
    source = path.read_text()
    launch = LAUNCH.search(source)
    grid, block, n, shared = launch.groups() if launch else ("4", "64", None, None)
    kind, line, mild, other = None, None, False, None
    for number, text in enumerate(source.splitlines(), start=1):
        mark = MARK.search(text)
        if mark:
            kind, line, mild = mark[1], number, bool(mark[2])
        if text.rstrip().endswith("// OTHER"):
            other = number
    warnings = re.search(r"// warnings (\d+)", source)
    return Specimen(
        path,
        source,
        _extent(grid),
        _extent(block),
        int(n or 250),
        int(shared or 0),
        kind,
        line,
        mild,
        other,
        int(warnings[1]) if warnings else 0,
    )


def specimens(folder: str) -> Iterator[Specimen]:
    for path in sorted((ZOO / folder).glob("*.cu")):
        yield read_specimen(path)


def include_folders() -> list[str]:
    spec = find_spec("nvidia")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    roots = [Path(root) / "cu13" / "include" for root in spec.submodule_search_locations]
    return [f"-I{folder}" for root in roots for folder in (root, root / "cccl") if folder.is_dir()]


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


def examine(specimen: Specimen, *, threads: int = 2, time_limit_s: float = 5.0) -> Findings:
    """Run a specimen on the CPU backend with every detector on."""
    device = CpuDevice(threads=threads)
    device.load(compile_ptx(specimen.source), specimen.source)
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
    try:
        outcome = device.launch(launch, time_limit_s=time_limit_s)
    except DeviceFault as fault:
        return Findings(tuple(fault.diagnoses), fault.verdict, str(fault), None)
    out = np.frombuffer(device.download(addresses[1], 4 * n), np.float32)
    return Findings(tuple(outcome.diagnoses), None, "", out)
