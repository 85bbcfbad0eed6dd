"""What this machine has for judging: one finding for each thing, with the fix where something is wrong.

The texts are safe to paste in public: no user names, no folders of the user, no serial numbers.
"""

import os
import platform
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import judge
from judge.catalogue import find_problems
from judge.compiler.probing import probe_compiler
from judge.errors import JudgeError, MachineError
from judge.sandbox.cgroup import find_controllers
from judge.sandbox.tier import MEANING, Tier, isolation
from judge.tools import find_tool

SETUP = "make setup"
MIN_FREE_BYTES = 1 << 30
PROBE_SOURCE = 'extern "C" __global__ void probe(float* x) { x[threadIdx.x] = 1.0f; }'
PROBE_NAME = b"probe"
PROBE_ARCH = "compute_90"
TOOLS = {
    "ncu": "judge profile",
    "compute-sanitizer": "judge sanitize",
    "nvdisasm": "SASS on the pages",
}
"""Programs of NVIDIA's that a command or a page uses where they are."""


@dataclass(frozen=True)
class Finding:
    """status: ok, warn (judging works, with a limit) or fail (judging does not work). fix: what mends it."""

    name: str
    status: Literal["ok", "warn", "fail"]
    text: str
    fix: str = ""


def examine() -> list[Finding]:
    """Every finding, in the order a reader wants them. A probe that fails is a finding, never an error."""
    return [paste_safe(finding) for probe in PROBES for finding in probe()]


def paste_safe(finding: Finding) -> Finding:
    """The finding with the user's folders and name taken out."""
    return Finding(finding.name, finding.status, _anonymous(finding.text), _anonymous(finding.fix))


def _anonymous(text: str) -> str:
    checkout = str(Path(judge.__file__).resolve().parent.parent)
    replaced = text.replace(checkout, "<checkout>")
    home = str(Path.home())
    return replaced.replace(home, "~") if home not in {"", "/"} else replaced


def _judge() -> list[Finding]:
    found = f"kernel-judge {judge.__version__}, Python {platform.python_version()}, {platform.system()} "
    found += platform.machine()
    if platform.machine() != "x86_64" or platform.system() != "Linux":
        return [Finding("judge", "warn", found, "Only x86_64 Linux is tested.")]
    return [Finding("judge", "ok", found)]


def _problems() -> list[Finding]:
    try:
        known = find_problems()
    except JudgeError as error:
        return [Finding("problems", "fail", str(error), "Run from a checkout, or set $JUDGE_PROBLEMS.")]
    if not known:
        return [Finding("problems", "fail", "the problems folder is empty", "Set $JUDGE_PROBLEMS to another.")]
    return [Finding("problems", "ok", f"{len(known)}: {', '.join(known)}")]


def _nvrtc() -> list[Finding]:
    try:
        from cupy.cuda import nvrtc  # type: ignore[import-untyped,unused-ignore]

        major, minor = nvrtc.getVersion()
        program = nvrtc.createProgram(PROBE_SOURCE, "probe.cu", (), ())
        nvrtc.compileProgram(program, (f"--gpu-architecture={PROBE_ARCH}",))
        ptx = nvrtc.getPTX(program)
        nvrtc.destroyProgram(program)
    except (ImportError, OSError, RuntimeError) as error:
        return [Finding("nvrtc", "fail", _first_line(error), SETUP)]
    if PROBE_NAME not in ptx:
        return [Finding("nvrtc", "fail", f"NVRTC {major}.{minor} compiles to nothing", SETUP)]
    return [Finding("nvrtc", "ok", f"NVRTC {major}.{minor} compiles for {PROBE_ARCH}")]


def _cupy() -> list[Finding]:
    try:
        import cupy  # type: ignore[import-untyped,unused-ignore]
    except (ImportError, OSError) as error:
        return [Finding("cupy", "fail", _first_line(error), SETUP)]
    return [Finding("cupy", "ok", f"CuPy {cupy.__version__}")]


def _jit() -> list[Finding]:
    try:
        from llvmlite import binding

        features = binding.get_host_cpu_features()
        found = f"llvmlite {version('llvmlite')}, LLVM {'.'.join(map(str, binding.llvm_version_info))}, "
        found += f"{binding.get_host_cpu_name()}, {os.cpu_count()} cores"
    except (ImportError, OSError, PackageNotFoundError, RuntimeError) as error:
        return [Finding("jit", "fail", _first_line(error), SETUP)]
    vectors = [name for name in ("avx2", "avx512f", "fma", "f16c") if features.get(name)]
    if "avx2" not in vectors:
        return [Finding("jit", "warn", f"{found}; no AVX2", "Judging works on this CPU, but slowly.")]
    return [Finding("jit", "ok", f"{found}; {', '.join(vectors)}")]


def _gpu() -> list[Finding]:
    without = Finding("gpu", "ok", "none; kernels are judged on the CPU backend, without times")
    try:
        import pynvml  # type: ignore[import-untyped,unused-ignore]

        pynvml.nvmlInit()
    except ImportError as error:
        return [Finding("gpu", "warn", _first_line(error), SETUP)]
    except pynvml.NVMLError:
        return [without]
    try:
        driver = pynvml.nvmlSystemGetDriverVersion()
        count = pynvml.nvmlDeviceGetCount()
        devices = [_device(pynvml, index) for index in range(count)]
    except pynvml.NVMLError as error:
        return [Finding("gpu", "warn", f"the driver answers with: {error}", "Check `nvidia-smi`.")]
    finally:
        pynvml.nvmlShutdown()
    if not devices:
        return [without]
    return [Finding("driver", "ok", f"NVIDIA driver {driver}"), *devices]


def _tools() -> list[Finding]:
    """Nothing is judged with them, so none has to be there."""
    parts = [f"{name} {'found' if find_tool(name) else 'not installed'}: {use}" for name, use in TOOLS.items()]
    return [Finding("tools", "ok", "; ".join(parts))]


def _device(pynvml: object, index: int) -> Finding:
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)  # type: ignore[attr-defined]
    name = pynvml.nvmlDeviceGetName(handle)  # type: ignore[attr-defined]
    major, minor = pynvml.nvmlDeviceGetCudaComputeCapability(handle)  # type: ignore[attr-defined]
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle)  # type: ignore[attr-defined]
    others = len(pynvml.nvmlDeviceGetComputeRunningProcesses(handle))  # type: ignore[attr-defined]
    text = f"{index}: {name}, compute {major}.{minor}, {memory.free >> 30} of {memory.total >> 30} GiB free"
    if others:
        return Finding("gpu", "warn", f"{text}; {others} other processes", "Times are noisy while others use the GPU.")
    return Finding("gpu", "ok", text)


def _isolation() -> list[Finding]:
    found = isolation()
    tried = f"{sum(probe.held for probe in found.probes)} of {len(found.probes)} probes held"
    why = f": {'; '.join(found.failures)}" if found.failures else ""
    findings = [Finding("isolation", "ok", f"{found.tier}: {MEANING[found.tier]}; {tried}")]
    if found.tier is not Tier.ISOLATED:
        advice = "Judge only kernels that you would also run yourself."
        fix = f"{found.fix}. Until then: {advice[0].lower()}{advice[1:]}" if found.fix else advice
        findings = [Finding("isolation", "warn", f"{found.tier}{why}; {MEANING[found.tier]}; {tried}", fix)]
    return [*findings, *_compiler_probes(), _memory_limit()]


_probed_compiler = cache(probe_compiler)


def _compiler_probes() -> list[Finding]:
    """Sources that ask the compiler for what it must not touch."""
    try:
        failures = [f"{probe.name}: {probe.text}" for probe in _probed_compiler() if not probe.held]
    except MachineError as error:
        return [Finding("compiler box", "fail", str(error), SETUP)]
    if failures:
        return [Finding("compiler box", "fail", "; ".join(failures), "Judge nothing of others on this machine.")]
    return [Finding("compiler box", "ok", "no file of the machine, no named pipe, no array without end gets through")]


def _memory_limit() -> Finding:
    if find_controllers() is not None:
        return Finding("memory limit", "ok", "the kernel bounds every box (control group), and the judge watches")
    return Finding("memory limit", "ok", "the judge watches resident memory; control groups cannot be made here")


def _cache() -> list[Finding]:
    root = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(root) if root else Path.home() / ".cache") / "kernel-judge"
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(existing, os.W_OK):
        return [Finding("cache", "warn", f"{folder} cannot be written", "Set $XDG_CACHE_HOME to a writable folder.")]
    free = shutil.disk_usage(existing).free
    used = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else 0
    text = f"{folder}: {used >> 20} MiB used, {free >> 30} GiB of disk free"
    if free < MIN_FREE_BYTES:
        return [Finding("cache", "warn", text, "Free some disk space; compiled kernels are kept there.")]
    return [Finding("cache", "ok", text)]


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else 'no reason given'}"


PROBES: tuple[Callable[[], list[Finding]], ...] = (
    _judge,
    _problems,
    _nvrtc,
    _cupy,
    _jit,
    _gpu,
    _tools,
    _isolation,
    _cache,
)
