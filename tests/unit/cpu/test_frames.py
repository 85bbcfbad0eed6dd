"""Frames of kernels' code: how large they are, what happens to those that a thread's stack does not hold."""

import platform
from functools import cache

import pytest

from judge.backends.cpu.lowering import jit
from judge.backends.cpu.lowering.jit import (
    KERNEL_LEVEL,
    MAX_FRAME_BYTES,
    RUNTIME_LEVEL,
    MachineCode,
    frame_bytes,
    kernel_code,
)
from judge.backends.cpu.refusal import NotEmulatedError

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="frames are read from x86-64 code")

VALUE_BYTES = 128


def alive_together(count):
    """LLVM text of a function with so many values of 128 bytes that are all needed in the end."""
    loads = "".join(f"  %a{i} = load volatile <32 x float>, ptr %p\n" for i in range(count))
    sums = "".join(
        f"  %s{i} = fadd <32 x float> {f'%s{i - 1}' if i else 'zeroinitializer'}, %a{count - 1 - i}\n"
        for i in range(count)
    )
    return f"define void @warp(ptr %p) {{\n{loads}{sums}  store <32 x float> %s{count - 1}, ptr %p\n  ret void\n}}\n"


def alive_in_turn(count):
    """LLVM text of a function with so many values of 128 bytes, each needed in the next block alone."""
    blocks = "".join(
        f"b{i}:\n  %v{i} = fadd <32 x float> %v{i - 1}, %v{i - 1}\n  br label %b{i + 1}\n" for i in range(1, count)
    )
    return (
        "define void @warp(ptr %p) {\n  %v0 = load <32 x float>, ptr %p\n  br label %b1\n"
        f"{blocks}b{count}:\n  store <32 x float> %v{count - 1}, ptr %p\n  ret void\n}}\n"
    )


@cache
def made(text, level):
    return MachineCode().object_file(jit._with_attributes(text), level)


@pytest.mark.parametrize("level", [KERNEL_LEVEL, RUNTIME_LEVEL])
@pytest.mark.parametrize("count", [600, 2000])
def test_a_large_frame_is_read_from_the_code(level, count):
    assert 0.5 * VALUE_BYTES * count < frame_bytes(made(alive_together(count), level)) < 2.5 * VALUE_BYTES * count


def test_a_small_frame_needs_no_loop_over_its_pages():
    assert frame_bytes(made(alive_together(10), KERNEL_LEVEL)) == 0


def test_a_kernel_with_too_large_a_frame_is_made_again_where_values_share_places(monkeypatch):
    text = alive_in_turn(800)
    large, small = (frame_bytes(made(text, level)) for level in (KERNEL_LEVEL, RUNTIME_LEVEL))
    assert small < large
    monkeypatch.setattr(jit, "MAX_FRAME_BYTES", (small + large) // 2)
    assert kernel_code(MachineCode(), jit._with_attributes(text)) == made(text, RUNTIME_LEVEL)


def test_a_kernel_that_no_stack_holds_is_refused(monkeypatch):
    monkeypatch.setattr(jit, "MAX_FRAME_BYTES", 32 << 10)
    with pytest.raises(
        NotEmulatedError, match=r"so many values at the same time, \d+ bytes of a stack where 32768 are"
    ):
        kernel_code(MachineCode(), jit._with_attributes(alive_together(600)))


def test_the_limit_is_half_of_the_smallest_default_stack():
    assert 2 * MAX_FRAME_BYTES <= 2 << 20
