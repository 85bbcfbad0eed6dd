"""Quotients, remainders and upper halves of products in machine code: an operand of a lane's own, and of the warp."""

import numpy as np
import pytest

from judge.backends.base import BufferLabel
from judge.backends.cpu.executor import JitExecutor
from judge.backends.cpu.memory import DeviceMemory
from judge.backends.cpu.ptx import load

LANES = 32


def dividends(bits):
    edge = 1 << (bits - 1)
    near = [
        0,
        1,
        2,
        3,
        7,
        10,
        255,
        256,
        257,
        edge - 2,
        edge - 1,
        edge,
        edge + 1,
        2 * edge - 1,
        2 * edge - 2,
        2 * edge - 7,
    ]
    drawn = np.random.default_rng(bits).integers(0, 1 << 63, LANES - len(near)).tolist()
    return near + [value * 2 + 1 & (2 * edge - 1) for value in drawn]


def divisors(bits):
    edge = 1 << (bits - 1)
    return [0, 1, 3, 7, 1000, edge - 1, edge, edge + 3, 2 * edge - 1, 2 * edge - 5]


def signed(value, bits):
    return value - (1 << bits) if value >> (bits - 1) else value


def expected(operation, type_, a, d):
    """As the PTX ISA has it, and NVIDIA GPUs do: rounded to zero; by zero all ones."""
    bits = int(type_[1:])
    ones = (1 << bits) - 1
    if operation == "mul.hi":
        a, d = (signed(value, bits) if type_[0] == "s" else value for value in (a, d))
        return a * d >> bits & ones
    if d == 0:
        return ones
    if type_[0] == "s":
        a, d = signed(a, bits), signed(d, bits)
    quotient = abs(a) // abs(d) * (1 if (a < 0) == (d < 0) else -1)
    return (quotient if operation == "div" else a - quotient * d) & ones


def text(operation, type_, own):
    bits = int(type_[1:])
    divisor = f"ld.global.b{bits} %d, [%p+{8 * LANES}];" if own else f"ld.param.b{bits} %d, [d];"
    return f"""
.version 8.6
.target sm_90
.address_size 64
.visible .entry one(.param .u64 in_, .param .u64 out_, .param .u64 d) {{
.reg .b64 %p, %q, %o; .reg .b32 %t; .reg .b{bits} %a, %d, %r;
ld.param.u64 %p, [in_]; ld.param.u64 %q, [out_]; mov.u32 %t, %tid.x;
mul.wide.u32 %o, %t, 8; add.s64 %p, %p, %o; add.s64 %q, %q, %o;
ld.global.b{bits} %a, [%p]; {divisor}
{operation}.{type_} %r, %a, %d;
st.global.b{bits} [%q], %r;
ret; }}
"""


@pytest.mark.parametrize("own", [True, False], ids=["of each lane", "of the warp"])
@pytest.mark.parametrize("type_", ["s16", "u16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("operation", ["div", "rem", "mul.hi"])
def test_a_result_is_exact_for_every_pair(operation, type_, own):
    bits = int(type_[1:])
    executor, module = JitExecutor(1), load(text(operation, type_, own))
    above = dividends(bits)
    for divisor in divisors(bits):
        memory = DeviceMemory()
        given = np.array(above + [divisor] * LANES, dtype=np.uint64).view(np.uint8)
        address = memory.allocate(BufferLabel("in", 1, (given.size,), "input"), given.size)
        result = memory.allocate(BufferLabel("out", 1, (8 * LANES,), "output"), 8 * LANES)
        memory.view(address, given.size)[:] = given
        memory.view(result, 8 * LANES)[:] = 0
        arguments = np.array([address, result, divisor], dtype=np.uint64).tobytes()
        ran = executor.run(module, "one", (1, 1, 1), (LANES, 1, 1), 0, arguments, memory)
        assert not ran.events
        found = memory.view(result, 8 * LANES).view(np.uint64).tolist()
        assert found == [expected(operation, type_, a, divisor) for a in above], divisor
