"""`judge verify` without a GPU, of kernels that say they need one."""

import pytest

from judge.verification.package import PlantedSubmission, read_expectation
from judge.verification.selfcheck import Check, Settings, run_check

SOURCE = """// problem: splitk-merge
// needs-gpu: {arch}
// @launch k<<<num_seqs, 128>>>(out)
__global__ void k(float* out) {{ {body} }}
"""
WGMMA = 'asm volatile("wgmma.fence.sync.aligned;");'


def finding(tmp_path, body, arch="sm_90"):
    path = tmp_path / "x.cu"
    path.write_text(SOURCE.format(arch=arch, body=body))
    planted = PlantedSubmission(path, "accepted", read_expectation(path))
    return run_check(Check("splitk-merge", "submission", planted), Settings())


def test_what_the_cpu_backend_does_not_know_is_compiled_instead(tmp_path):
    found = finding(tmp_path, WGMMA)
    assert found.ok, found
    told = "needs a GPU (not emulated: wgmma.fence.sync.aligned): compiles for sm_90, not judged"
    assert found.text == told


@pytest.mark.parametrize(
    ("body", "arch", "words"),
    [
        ("out[0] = wrong;", "sm_90", "what it got without one is compile_error"),
        ("", "sm_90", "what it got without one is wrong_answer"),
        (WGMMA, "sm_80", "does not compile for sm_80"),
    ],
)
def test_all_else_is_a_finding(tmp_path, body, arch, words):
    found = finding(tmp_path, body, arch)
    assert not found.ok
    assert words in found.text
