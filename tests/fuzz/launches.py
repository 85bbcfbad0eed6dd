"""One PTX text on the interpreter and on the JIT, with the same memory."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from judge.backends.base import BufferLabel
from judge.backends.cpu.executor import JitExecutor
from judge.backends.cpu.interpreter import Interpreter
from judge.backends.cpu.memory import DeviceMemory
from judge.backends.cpu.ptx import load
from tests.fuzz.executors import Executor


def run_both(
    text: str,
    threads: int,
    *,
    input_bytes: int = 1024,
    output_bytes: int = 1024,
    runners: Sequence[Executor] | None = None,
) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """(the interpreter's output bytes, the JIT's, their results) of kernel `k(in, out)`; in[i] = i as 32-bit words."""
    outputs, results = [], []
    for runner in runners or (Interpreter(), JitExecutor()):
        memory = DeviceMemory()
        source = memory.allocate(BufferLabel("in", 4, (input_bytes // 4,), "input"), input_bytes)
        target = memory.allocate(BufferLabel("out", 4, (output_bytes // 4,), "output"), output_bytes)
        memory.view(source, input_bytes)[:] = np.arange(input_bytes // 4, dtype=np.uint32).view(np.uint8)
        arguments = source.to_bytes(8, "little") + target.to_bytes(8, "little")
        results.append(runner.run(load(text), "k", (1, 1, 1), (threads, 1, 1), 0, arguments, memory))
        outputs.append(memory.view(target, output_bytes).copy())
    return outputs[0], outputs[-1], results
