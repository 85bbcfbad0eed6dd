"""What a differential test needs of an executor, and one that is wrong on purpose."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from judge.backends.cpu import ir
from judge.backends.cpu.events import Coordinates
from judge.backends.cpu.interpreter import OPERATIONS, Interpreter, InterpreterResult
from judge.backends.cpu.interpreter.state import Step
from judge.backends.cpu.memory import DeviceMemory


class Executor(Protocol):
    def run(
        self,
        module: ir.Module,
        kernel: str,
        grid: Coordinates,
        block: Coordinates,
        shared_bytes: int,
        arguments: bytes,
        memory: DeviceMemory,
    ) -> Any:
        """Run one launch and change `memory` in place."""
        ...


@dataclass(frozen=True)
class Sabotaged:
    """The interpreter with one opcode replaced, to see that the fuzzer notices."""

    opcode: str
    operation: Callable[[Step], None]

    def run(
        self,
        module: ir.Module,
        kernel: str,
        grid: Coordinates,
        block: Coordinates,
        shared_bytes: int,
        arguments: bytes,
        memory: DeviceMemory,
    ) -> InterpreterResult:
        right = OPERATIONS[self.opcode]
        OPERATIONS[self.opcode] = self.operation
        try:
            return Interpreter().run(module, kernel, grid, block, shared_bytes, arguments, memory)
        finally:
            OPERATIONS[self.opcode] = right
