"""Frames of kernels' code: how large they are, what happens to those that a thread's stack does not hold."""

import platform
import threading
from functools import cache

import numpy as np
import pytest

from judge.backends.base import BufferLabel
from judge.backends.cpu.executor import JitExecutor
from judge.backends.cpu.lowering import jit
from judge.backends.cpu.lowering.jit import (
    KERNEL_LEVEL,
    RUNTIME_LEVEL,
    MachineCode,
    frame_bytes,
    kernel_code,
)
from judge.backends.cpu.memory import DeviceMemory
from judge.backends.cpu.ptx import load
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


@cache
def made(text, level):
    return MachineCode().object_file(jit._with_attributes(text), level)


@pytest.mark.parametrize("level", [KERNEL_LEVEL, RUNTIME_LEVEL])
@pytest.mark.parametrize("count", [600, 2000])
def test_a_large_frame_is_read_from_the_code(level, count):
    assert 0.5 * VALUE_BYTES * count < frame_bytes(made(alive_together(count), level)) < 2.5 * VALUE_BYTES * count


def test_a_small_frame_needs_no_loop_over_its_pages():
    assert frame_bytes(made(alive_together(10), KERNEL_LEVEL)) == 0


def test_a_kernel_that_no_stack_holds_is_refused(monkeypatch):
    monkeypatch.setattr(jit, "MAX_FRAME_BYTES", 32 << 10)
    with pytest.raises(
        NotEmulatedError, match=r"so many values at the same time, \d+ bytes of a stack where 32768 are"
    ):
        kernel_code(MachineCode(), jit._with_attributes(alive_together(600)))


def shifting(vectors):
    """PTX of a kernel that moves so many vectors of 16 bytes one place on, each loaded and stored in the same block."""
    moves = "".join(
        f"ld.global.v4.f32 {{%a, %b, %c, %d}}, [%p+{16 * i}]; st.global.v4.f32 [%q+{16 * i}], {{%b, %c, %d, %a}};\n"
        for i in range(vectors)
    )
    return f"""
.version 8.6
.target sm_90
.address_size 64
.visible .entry shifting(.param .u64 in_, .param .u64 out_) {{
.reg .b64 %p, %q, %o; .reg .b32 %t; .reg .f32 %a, %b, %c, %d;
ld.param.u64 %p, [in_]; ld.param.u64 %q, [out_]; mov.u32 %t, %tid.x;
mul.wide.u32 %o, %t, {16 * vectors}; add.s64 %p, %p, %o; add.s64 %q, %q, %o;
{moves}ret; }}
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_a_kernel_with_a_large_frame_runs_whatever_stack_its_caller_has(threads, monkeypatch):
    vectors, lanes, made_bytes = 450, 32, []
    stack_bytes = 512 << 10
    real = jit.kernel_code

    def noted(code, text):
        object_file = real(code, text)
        made_bytes.append(frame_bytes(object_file))
        return object_file

    monkeypatch.setattr(jit, "kernel_code", noted)
    given = np.arange(2 * lanes * vectors * 4, dtype=np.float32)
    memory = DeviceMemory()
    address, result = (
        memory.allocate(BufferLabel(name, 4, given.shape, name), given.nbytes) for name in ("input", "output")
    )
    memory.view(address, given.nbytes)[:] = given.view(np.uint8)
    arguments = np.array([address, result], dtype=np.uint64).tobytes()
    ran = []

    def run():
        executor = JitExecutor(threads)
        ran.append(
            executor.run(load(shifting(vectors)), "shifting", (1, 1, 1), (2 * lanes, 1, 1), 0, arguments, memory)
        )

    usual = threading.stack_size(stack_bytes)
    try:
        small = threading.Thread(target=run)
        small.start()
    finally:
        threading.stack_size(usual)
    small.join()
    assert [size > stack_bytes for size in made_bytes] == [True]
    assert [result.events for result in ran] == [()]
    found = memory.view(result, given.nbytes).view(np.float32).reshape(-1, 4)
    assert (found == np.roll(given.reshape(-1, 4), -1, axis=1)).all()
