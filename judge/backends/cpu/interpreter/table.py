"""The table of opcodes: which function says what an instruction means."""

from collections.abc import Callable

from judge.backends.cpu.interpreter.state import Operation

OPERATIONS: dict[str, Operation] = {}


def executes(*opcodes: str) -> Callable[[Operation], Operation]:
    """Register a function as the meaning of the opcodes."""

    def register(operation: Operation) -> Operation:
        for opcode in opcodes:
            if opcode in OPERATIONS:
                raise ValueError(f"{opcode} is defined twice")
            OPERATIONS[opcode] = operation
        return operation

    return register
