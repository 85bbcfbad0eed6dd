"""How much device memory the variables of a module take, read from what a stranger's assembler may have written."""

import pytest

from judge.compiler.statics import MAX_STATIC_BYTES, static_bytes


@pytest.mark.parametrize(
    ("line", "size"),
    [
        (".global .align 4 .b8 a[100];", 100),
        (".visible .const .f32 c[4] = {1, 2, 3, 4};", 16),
        (".weak .global .u64 p;", 8),
        (".global .b32 grid[3][5];", 60),
    ],
)
def test_sizes_of_variables(line, size):
    assert static_bytes(line.encode(), "ptx") == size


def test_a_size_of_thousands_of_digits_is_too_large_and_no_error_of_ours():
    assert static_bytes(b".global .b8 hoard[" + b"9" * 6000 + b"];", "ptx") > MAX_STATIC_BYTES
