"""Which options a target stands for."""

import pytest

from judge.compiler import Target


def architecture(target):
    return [option.partition("=")[2] for option in target.options if option.startswith("--gpu-architecture=")]


@pytest.mark.parametrize(
    ("arch", "told"), [("sm_90", "sm_90a"), ("sm_100", "sm_100a"), ("sm_80", "sm_80"), ("sm_89", "sm_89")]
)
def test_a_cubin_may_use_what_only_its_architecture_has(arch, told):
    assert architecture(Target("cubin", arch, "optimized")) == [told]


def test_ptx_for_the_cpu_is_of_no_single_architecture():
    assert architecture(Target("ptx", "compute_90", "debug")) == ["compute_90"]
