"""Sources that want to read the host, exhaust the compiler or deceive a reader: each ends as a compile error.

The numbers in comments are those of the catalogue of hostile inputs the design keeps.
"""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from judge.compiler import Target, compile_unit
from judge.compiler.boxed import Box
from judge.compiler.cache import DiskCache
from judge.compiler.headers import headers_for
from judge.errors import MachineError
from judge.sandbox.limits import ProcessLimits
from judge.submission.read import read_submission
from judge.submission.unit import build_unit
from tests.unit.submission.example import CONSTANTS, PROBLEM

CANARY = "canary-4b1f-in-a-file-of-the-host"
KERNEL = "// @launch k<<<N, 32>>>(x, out)\n__global__ void k(const float* x, float* out) { out[0] = x[0]; }\n"


@dataclass(frozen=True)
class Impatient(Target):
    """A target with a tenth of the usual time and memory."""

    @property
    def wall_limit_s(self) -> float:
        return 1.0

    @property
    def limits(self) -> ProcessLimits:
        return ProcessLimits(address_bytes=2 << 30, data_bytes=256 << 20, cpu_s=2)


PTX = Target("ptx", "compute_90", "debug")
IMPATIENT = Impatient("ptx", "compute_90", "debug")


def compiled(source, target=PTX):
    unit = build_unit(read_submission(source.encode(), "a.cu", PROBLEM), PROBLEM, (CONSTANTS,))
    return compile_unit(unit, target, DiskCache(None))


@pytest.fixture
def canary(tmp_path):
    path = tmp_path / "canary.h"
    path.write_text(f"{CANARY}\n")
    return path


# C1, C2, C3, C6, C7
@pytest.mark.parametrize(
    "text",
    [
        '#include "{path}"',
        "#include <{path}>",
        '#define FILE_ "{path}"\n#include FILE_',
        '#include_next "{path}"',
        '#include "../../../../../../../..{path}"',
        '#include "/proc/self/environ"',
        '#include "/proc/self/cmdline"',
        '#include "/proc/self/maps"',
        '#include "/dev/stdin"',
        '#include "/proc/self/fd/0"',
        '#include "/proc/self/fd/3"',
        '#include "/bin/sh"',
        '#include "/"',
        '#include "/proc/kmsg"',
    ],
)
def test_no_file_of_the_host_is_read(text, canary, monkeypatch):
    monkeypatch.setenv("CANARY_VARIABLE", CANARY)
    started = time.monotonic()
    compilation = compiled(text.format(path=canary) + "\n" + KERNEL)
    assert time.monotonic() - started < 5
    assert not compilation.ok
    assert "open source file" in compilation.log
    assert CANARY not in compilation.log
    assert "CANARY_VARIABLE" not in compilation.log


# C4
def test_fifo_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    compilation = compiled(f'#include "{tmp_path / "fifo"}"\n{KERNEL}')
    assert not compilation.ok
    assert compilation.seconds < 5


def test_existence_of_a_file_cannot_be_asked(canary):
    there = f'#if __has_include("{canary}")\n__device__ int found;\n#endif\n'
    compilation = compiled(there + KERNEL)
    assert compilation.ok
    assert b"found" not in compilation.image
    absent = str(canary)[:-2] + ".i"
    assert not os.path.exists(absent)
    told = [compiled(f'#include "{path}"\n{KERNEL}').log.replace(path, "PATH") for path in (str(canary), absent)]
    assert told[0] == told[1]


# C8, C9, C10, C11: what is cut at a limit says so and takes no longer than the limit.
@pytest.mark.parametrize(
    "source",
    [
        "template <int N> struct B { __device__ B<N + 1> operator->(); };\n__device__ void f() { B<0> b; b->x; }\n",
        "template <int N, int M> struct T { static constexpr int v = T<N - 1, 2 * M>::v + T<N - 1, 2 * M + 1>::v; };\n"
        "template <int M> struct T<0, M> { static constexpr int v = 1; };\n__device__ int z = T<40, 0>::v;\n",
        "".join(f"#define A{i} {f'A{i - 1} ' * 16 if i else '+1'}\n" for i in range(9)) + "__device__ int z = 0 A8;\n",
        "__device__ int big[64 << 20] = {1};\n",
    ],
    ids=["arrow", "templates", "macros", "array"],
)
def test_endless_compilations_end_at_a_limit(source):
    started = time.monotonic()
    compilation = compiled(source + KERNEL, IMPATIENT)
    assert time.monotonic() - started < 6
    assert not compilation.ok
    assert "compile limit" in compilation.messages[0].message


def test_time_limit_is_reported_as_one():
    loop = "".join(
        f"constexpr_f int f{i}(int n) {{ int s = 0; for (int i = 0; i < 100000; ++i) s ^= i * n; return s; }}\n"
        f"constexpr int v{i} = f{i}({i});\n"
        for i in range(400)
    ).replace("constexpr_f", "__device__ constexpr")
    compilation = compiled(loop + KERNEL, IMPATIENT)
    assert compilation.timed_out
    assert "did not finish within 1 s" in compilation.messages[0].message


def test_infinite_recursion_of_templates_is_the_compilers_to_refuse():
    compilation = compiled(
        "template <int N> struct T { static constexpr int v = T<N + 1>::v; };\n__device__ int z = T<0>::v;\n" + KERNEL
    )
    assert not compilation.ok
    assert "excessive recursion" in compilation.messages[0].message


# C15. ptxas keeps the lower 32 bits of a section's size.
@pytest.mark.parametrize("target", [PTX, Target("cubin", "sm_90", "fast")], ids=["ptx", "cubin"])
@pytest.mark.parametrize("size", ["1L << 40", "1L << 33", "(1L << 32) + 64", "(1L << 28) + 1"])
def test_giant_variables_are_refused_before_any_device(size, target):
    compilation = compiled(f"__device__ char g[{size}];\n" + KERNEL.replace("x[0]", "x[0] + g[1]"), target)
    assert not compilation.ok
    assert "at most 268435456 are allowed" in compilation.messages[0].message


# C16
def test_too_much_shared_memory_is_refused_for_the_arch():
    source = KERNEL.replace("{ out", "{ __shared__ float s[300000]; s[threadIdx.x] = x[1]; __syncthreads(); out")
    source = source.replace("x[0];", "s[5];")
    compilation = compiled(source, Target("cubin", "sm_90", "fast"))
    assert not compilation.ok
    assert "shared data" in compilation.messages[0].message


# C20
def test_floods_are_cut():
    warnings = "".join(f"__device__ void f{i}() {{ int unused; }}\n" for i in range(3000))
    many = compiled(warnings + KERNEL)
    assert many.ok
    assert len(many.log.encode()) <= 64 * 1024
    assert "further messages are not shown" in many.log
    long = compiled("#error " + "x" * 200_000 + "\n" + KERNEL)
    assert not long.ok
    assert len(long.log.encode()) < 4096


# C21
def test_control_sequences_are_inert():
    compilation = compiled("#error \x1b[31mred \x1b]52;c;aGk=\x07 </script> \u202eabc\n" + KERNEL)
    assert not compilation.ok
    assert all(c.isprintable() or c == "\n" for c in compilation.log)
    assert "\\x1b[31mred" in compilation.messages[0].message


def test_forged_places_are_not_believed():
    compilation = compiled('#line 1 "/etc/shadow"\n#error found it\n' + KERNEL)
    assert not compilation.ok
    assert compilation.messages[0].line is None
    forged = compiled('#line 77 "submission.cu"\n#error far away\n' + KERNEL)
    assert not forged.ok
    assert "far away" in forged.log


def test_reserved_names_cannot_be_taken_over():
    compilation = compiled('extern "C" __global__ void judge_plan_launches_0(long long* g) { g[0] = 1; }\n' + KERNEL)
    assert not compilation.ok


# C23
@pytest.mark.parametrize("call", ['system("id")', "cudaDeviceSynchronize()", 'fopen("/etc/passwd", "r")'])
def test_host_calls_do_not_compile(call):
    compilation = compiled(KERNEL.replace("{ out", "{ " + call + "; out"))
    assert not compilation.ok
    assert "undefined" in compilation.messages[0].message


def test_assembler_cannot_embed_files(canary):
    compilation = compiled(
        f'asm(".incbin \\"{canary}\\"");\n{KERNEL}'.replace("{ out", f'{{ asm(".include \\"{canary}\\""); out'),
        Target("cubin", "sm_90", "fast"),
    )
    assert not compilation.ok
    assert CANARY not in compilation.log


def test_the_box_sees_nothing_of_the_users_environment(monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", CANARY)
    with Box(PTX) as box:
        environment = Path(f"/proc/{box._process.pid}/environ").read_bytes()
        assert CANARY.encode() not in environment
        box.compile("__global__ void k() {}", "submission.cu", (), headers_for("", DiskCache(None)))


def test_no_process_and_no_folder_is_left():
    with Box(PTX) as box:
        pid, home = box._process.pid, box._process.home
        assert home.is_dir()
    assert not home.exists()
    assert not os.path.exists(f"/proc/{pid}")


def test_box_dies_with_its_starter():
    script = (
        "import os, time\nfrom judge.compiler.boxed import Box\nfrom judge.compiler import Target\n"
        "box = Box(Target('ptx', 'compute_90', 'debug'))\nbox.wait_until_sealed()\n"
        "print(box._process.pid, flush=True)\nos.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=False)
    pid = int(done.stdout)
    deadline = time.monotonic() + 5
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
        time.sleep(0.02)
    status = Path(f"/proc/{pid}/stat")
    state = status.read_text().split()[2] if status.exists() else "gone"
    assert state in ("gone", "Z")


def test_compiler_that_cannot_start_is_no_compile_error(monkeypatch):
    monkeypatch.setattr("judge.compiler.boxed._BOX", "/no/such/box.py")
    with pytest.raises(MachineError, match="did not start"):
        compiled(KERNEL)
