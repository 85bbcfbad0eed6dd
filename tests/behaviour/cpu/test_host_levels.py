"""The code the CPU backend makes for lesser processors gives the same results: each level in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
from judge.backends.cpu.lowering import jit
jit.host_features()
level = sys.argv[1]
jit.host_features = lambda: jit.HostFeatures(level, "", level == "x86-64-v4")
from judge.backends.cpu import device, executor
device.host_features = executor.host_features = jit.host_features
from judge.backends.cpu.executor import JitExecutor
from tests.fuzz.campaign import fuzz_forms, fuzz_program
from tests.zoo.harness import examine
from tests.zoo.specimen import ZOO, read_specimen

outcome = fuzz_forms(JitExecutor(), 60, 5)
assert not outcome.differences, outcome.differences
assert str(fuzz_program(JitExecutor(), 5)) == "None"
for name in ("bugs/race_missing_barrier", "bugs/uninitialized_shared_tail", "right/barriers", "right/double_buffering"):
    specimen = read_specimen(ZOO / (name + ".cu"))
    found = {d.kind.value for d in examine(specimen).proved}
    assert found == ({specimen.bug.kind} if specimen.bug else set()), (name, found)
print("ran as", level)
"""


@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_a_processor_level_gives_the_same_results(level):
    if level == "x86-64-v4" and "avx512vl" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this processor has no AVX-512")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, level], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == f"ran as {level}\n"
