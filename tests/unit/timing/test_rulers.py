"""The judge's own timing kernels compile for every kind of GPU it may meet, once."""

import pytest

from judge.compiler.cache import DiskCache
from judge.compiler.resources import has_kernel
from judge.errors import MachineError
from judge.timing.rulers import rulers_for


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
def test_rulers_compile_and_have_every_kernel_that_is_launched(arch, tmp_path):
    cache = DiskCache(tmp_path)
    image = rulers_for(arch, cache)
    for name in ("read", "copy", "f32", "f16", "empty", "refresh2", "refresh4"):
        assert has_kernel(image, f"judge_{name}"), name
    assert rulers_for(arch, cache) == image


def test_an_architecture_that_does_not_exist_is_told(tmp_path):
    with pytest.raises(MachineError, match="do not compile for sm_1"):
        rulers_for("sm_1", DiskCache(tmp_path))
