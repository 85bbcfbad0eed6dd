"""Compiles a file of the corpus with the real compiler, and runs one of its kernels on the CPU device."""

import atexit
import hashlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from judge.backends.base import BufferLabel, Device, Launch, LaunchOutcome
from judge.backends.cpu.device import SOURCE_NAME, CpuDevice
from judge.compiler import Target, compile_unit
from judge.compiler.cache import DiskCache
from judge.submission.model import Submission
from judge.submission.unit import TranslationUnit
from judge.verification.workshop import Workshop

FOLDER = Path(__file__).parent
POISON = 0xFF

Argument = np.ndarray | np.generic


@dataclass(frozen=True)
class Run:
    """One launch and what it must give.

    arguments: arrays are buffers (None where only the shape counts: see `blank`), scalars are passed by value.
    expected: by position of the argument, in any precision. rtol and atol: numpy's.
    ordered: False where the elements' order follows that of blocks and warps, which the CPU runs one after another.
    printed: text of device printf. read: how to see an output's elements as numbers (bfloat16 comes as uint16).
    """

    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: Sequence[Argument]
    expected: dict[int, np.ndarray] = field(default_factory=dict)
    shared_bytes: int = 0
    rtol: float = 1e-5
    atol: float = 1e-6
    printed: str = ""
    read: dict[int, Callable[[np.ndarray], np.ndarray]] = field(default_factory=dict)
    ordered: bool = True


Maker = Callable[[np.random.Generator], Run | list[Run]]


def blank(shape: int | tuple[int, ...], dtype: object = np.float32) -> np.ndarray:
    """An output that nothing wrote yet: every byte poison, NaN as a float."""
    array = np.empty(shape, dtype=dtype)
    array.view(np.uint8).reshape(-1)[:] = POISON
    return array


class PatientTarget(Target):
    """A machine that runs tests may be busy: the limit on time is not what these are about."""

    @property
    def wall_limit_s(self) -> float:
        return 120.0


@cache
def _headers() -> DiskCache:
    return DiskCache(Path(tempfile.mkdtemp(prefix="corpus-headers-")))


@cache
def _workshop() -> Workshop:
    """A box for all files: what is tested is the code, not the compiler's box."""
    shop = Workshop()
    atexit.register(shop.close)
    return shop


CPU_TARGET = PatientTarget("ptx", "compute_90", "debug")


@cache
def image(file: str, target: Target = CPU_TARGET) -> tuple[bytes, str]:
    """(image, source) of a file of the corpus, compiled as submissions are judged: PTX for the CPU, or a cubin."""
    source = (FOLDER / file).read_text(encoding="utf-8")
    digest = hashlib.sha256(source.encode()).hexdigest()
    submission = Submission(file, source, source, (), (), True, (), (), digest)
    unit = TranslationUnit(source + "\n", SOURCE_NAME, (), (), submission, (), ())
    compilation = compile_unit(unit, target, _headers(), _workshop().turn)
    assert compilation.ok, compilation.log
    return compilation.image, source


@cache
def _device(file: str) -> CpuDevice:
    device = CpuDevice(threads=1)
    ptx, source = image(file)
    device.load(ptx, source)
    return device


def _buffer(device: Device, name: str, array: np.ndarray) -> int:
    """Watched like an output; reading what is blank in it is a fault."""
    label = BufferLabel(name, array.itemsize, array.shape, "output")
    address = device.allocate(label, max(array.nbytes, 1))
    data = np.ascontiguousarray(array).tobytes()
    if data == bytes([POISON]) * len(data):
        device.poison(address, len(data), POISON)
    else:
        device.upload(address, data)
    return address


def execute(
    file: str, runs: Run | list[Run], device: Device | None = None
) -> list[tuple[list[np.ndarray], LaunchOutcome]]:
    """Run launches one after another on fresh memory; an array used by several launches is one buffer.

    device: one that has loaded the file; the CPU by default.
    """
    device = device or _device(file)
    device.release_all()
    addresses: dict[int, int] = {}
    outcomes = []
    for run in runs if isinstance(runs, list) else [runs]:
        block = bytearray()
        for number, argument in enumerate(run.arguments):
            if isinstance(argument, np.ndarray):
                if id(argument) not in addresses:
                    addresses[id(argument)] = _buffer(device, f"argument{number}", argument)
                raw = addresses[id(argument)].to_bytes(8, "little")
            else:
                raw = argument.tobytes()
            block += bytes(-len(block) % len(raw)) + raw
        launch = Launch(run.kernel, _three(run.grid), _three(run.block), run.shared_bytes, bytes(block))
        outcome = device.launch(launch, time_limit_s=60)
        outputs = [
            np.frombuffer(device.download(addresses[id(a)], a.nbytes), dtype=a.dtype).reshape(a.shape)
            if isinstance(a, np.ndarray)
            else np.asarray(a)
            for a in run.arguments
        ]
        outcomes.append((outputs, outcome))
    return outcomes


def compare(run: Run, found: np.ndarray, wanted: np.ndarray) -> None:
    """Whole numbers that are expected as such must be equal; everything else is held to the run's tolerance."""
    if found.dtype.kind in "iu" and wanted.dtype.kind in "iu":
        np.testing.assert_array_equal(found, wanted)
    else:
        np.testing.assert_allclose(found, wanted, run.rtol, run.atol)


def _three(sizes: tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z
