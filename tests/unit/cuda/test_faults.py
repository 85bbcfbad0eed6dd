"""CUDA errors become verdicts: the kernel's faults are the kernel's, the machine's are not."""

import pytest

from judge.backends.cuda.faults import launch_fault
from judge.records import DiagnosisKind


@pytest.mark.parametrize(
    ("code", "verdict", "kind"),
    [
        (700, "runtime_error", DiagnosisKind.OUT_OF_BOUNDS),
        (716, "runtime_error", DiagnosisKind.MISALIGNED),
        (719, "runtime_error", DiagnosisKind.TRAP),
        (715, "runtime_error", DiagnosisKind.TRAP),
        (710, "runtime_error", DiagnosisKind.ASSERT),
    ],
)
def test_errors_of_a_running_kernel_are_sticky_and_have_a_kind(code, verdict, kind):
    fault = launch_fault(code, "driver's words", while_running=True)
    assert (fault.verdict, fault.fatal) == (verdict, True)
    assert [diagnosis.kind for diagnosis in fault.diagnoses] == [kind]
    assert f"CUDA error {code}" in str(fault)


@pytest.mark.parametrize("code", [1, 2, 9, 701, 720])
def test_errors_of_the_launch_leave_the_device_usable(code):
    fault = launch_fault(code, "driver's words", while_running=False)
    assert (fault.verdict, fault.fatal) == ("launch_error", False)


@pytest.mark.parametrize("code", [2, 46, 79, 214, 999, -1])
def test_anything_else_is_the_machines_fault(code):
    fault = launch_fault(code, "cudaErrorUnknown", while_running=True)
    assert (fault.verdict, fault.fatal) == ("judge_error", True)
    assert "cudaErrorUnknown" in str(fault)
