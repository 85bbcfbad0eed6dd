"""Running one PTX instruction on given operands, for tables of expected values."""

from collections.abc import Sequence

import numpy as np

from judge.backends.base import BufferLabel
from judge.backends.cpu.interpreter import InterpreterResult, run_kernel
from judge.backends.cpu.ir import WIDTHS
from judge.backends.cpu.memory import DeviceMemory
from judge.backends.cpu.ptx import load

Value = int | float

_HEAD = """
.version 8.6
.target sm_90
.address_size 64
"""


def bits_of(value: Value, type_: str) -> int:
    """Raw bits of a Python number; an int is taken as bits also for float types."""
    if isinstance(value, float):
        dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[type_]
        return int(np.array(value, dtype=dtype).view(f"u{np.dtype(dtype).itemsize}"))
    return value & ((1 << WIDTHS[type_]) - 1)


def evaluate(spelling: str, results: Sequence[str], sources: Sequence[str], rows: Sequence[Sequence[Value]]) -> list:
    """Bits that `spelling` gives, one row of operands a lane (32 at most); tuples where it has two results.

    results and sources are PTX types. The sources of a row are loaded from memory, so nothing is folded.
    """
    lanes = len(rows)
    lines = [
        _HEAD,
        ".visible .entry one(.param .u64 in_, .param .u64 out_) {",
        ".reg .b64 %in, %out, %o; .reg .b32 %t, %flag;",
        "ld.param.u64 %in, [in_]; ld.param.u64 %out, [out_]; mov.u32 %t, %tid.x;",
        "mul.wide.u32 %o, %t, 64; add.s64 %in, %in, %o; add.s64 %out, %out, %o;",
    ]
    for number, type_ in enumerate(sources):
        bits = max(WIDTHS[type_], 16)
        if type_ == "pred":
            lines += [f".reg .pred a{number}; ld.global.b32 %flag, [%in+{8 * number}];"]
            lines.append(f"setp.ne.u32 a{number}, %flag, 0;")
        else:
            lines.append(f".reg .b{bits} a{number}; ld.global.b{bits} a{number}, [%in+{8 * number}];")
    for number, type_ in enumerate(results):
        lines.append(f".reg .{'pred' if type_ == 'pred' else f'b{max(WIDTHS[type_], 16)}'} d{number};")
    targets = "|".join(f"d{n}" for n in range(len(results)))
    lines.append(f"{spelling} {targets}, {', '.join(f'a{n}' for n in range(len(sources)))};")
    for number, type_ in enumerate(results):
        if type_ == "pred":
            lines.append(f"selp.u32 %flag, 1, 0, d{number}; st.global.u32 [%out+{8 * number}], %flag;")
        else:
            lines.append(f"st.global.b{max(WIDTHS[type_], 16)} [%out+{8 * number}], d{number};")
    lines.append("ret; }")
    inputs = np.zeros((lanes, 8), dtype=np.uint64)
    for lane, row in enumerate(rows):
        for column, (value, type_) in enumerate(zip(row, sources, strict=True)):
            inputs[lane, column] = bits_of(value, type_)
    output, _ = run_text("\n".join(lines), "one", inputs, (lanes, 1, 1))
    table = output.view(np.uint64).reshape(lanes, 8)
    found = [tuple(int(table[lane, n]) for n in range(len(results))) for lane in range(lanes)]
    return [row[0] for row in found] if len(results) == 1 else found


def run_text(
    text: str,
    kernel: str,
    inputs: np.ndarray,
    block: tuple[int, int, int],
    grid: tuple[int, int, int] = (1, 1, 1),
    shared_bytes: int = 0,
    output_bytes: int | None = None,
    instruction_limit: int = 1_000_000,
) -> tuple[np.ndarray, InterpreterResult]:
    """Run a kernel of two pointer parameters (inputs, output); the output starts as zeros and comes back as bytes."""
    memory = DeviceMemory()
    data = np.ascontiguousarray(inputs).view(np.uint8).reshape(-1)
    source = memory.allocate(BufferLabel("in", 1, (data.size,), "input"), data.size)
    size = data.size if output_bytes is None else output_bytes
    target = memory.allocate(BufferLabel("out", 1, (size,), "output"), size)
    memory.view(source, data.size)[:] = data
    arguments = source.to_bytes(8, "little") + target.to_bytes(8, "little")
    result = run_kernel(load(text), kernel, grid, block, shared_bytes, arguments, memory, instruction_limit)
    return memory.view(target, size).copy(), result


def kernel_text(body: str, declarations: str = "") -> str:
    """A module with one kernel `k(in, out)`: %in and %out are loaded, %t is tid.x, %o is 4 times that."""
    return f"""{_HEAD}
{declarations}
.visible .entry k(.param .u64 in_, .param .u64 out_)
{{
.reg .b64 %in, %out, %o, %d<8>;
.reg .b32 %t, %r<16>;
.reg .b16 %h<8>;
.reg .f32 %f<8>;
.reg .pred %p<8>;
ld.param.u64 %in, [in_];
ld.param.u64 %out, [out_];
mov.u32 %t, %tid.x;
mul.wide.u32 %o, %t, 4;
{body}
ret;
}}
"""
