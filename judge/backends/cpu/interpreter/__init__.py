"""The reference executor: what every instruction of the IR means, in NumPy, slow and obvious.

It is the definition the JIT's lowering is fuzzed against. `table.OPERATIONS` maps an opcode to the
function that executes it; the modules below fill it, one family each:
integers, bits, floats, compare, conversion, moves, access, atomics, warpwide, builtins, matrix.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judge.backends.cpu import ir
from judge.backends.cpu.addresses import MODULE_SLOT, SPACE_SLOTS, slot_base
from judge.backends.cpu.events import AccessEvent, Coordinates
from judge.backends.cpu.interpreter import (
    access,
    async_copy,
    atomics,
    bits,
    builtins,
    compare,
    conversion,
    floats,
    integers,
    matrix,
    moves,
    warpwide,
)
from judge.backends.cpu.interpreter.scheduler import run_grid
from judge.backends.cpu.interpreter.state import Bytes, Launch, Memory, StoppedError
from judge.backends.cpu.interpreter.table import OPERATIONS
from judge.backends.cpu.refusal import NotEmulatedError

__all__ = ["OPERATIONS", "Interpreter", "InterpreterResult", "Memory", "NotEmulatedError", "run_kernel"]

FAMILIES = (access, async_copy, atomics, bits, builtins, compare, conversion, floats, integers, matrix, moves, warpwide)
"""The modules that define instructions; importing them fills OPERATIONS."""

DEFAULT_INSTRUCTION_LIMIT = 50_000_000


@dataclass(frozen=True)
class InterpreterResult:
    """How a launch went.

    events: one a site, with counts. printed: output of device printf. instructions: warp instructions run.
    stopped: "" when it ran to its end, else "trap", "assert", "deadlock" or "budget".
    """

    events: tuple[AccessEvent, ...]
    printed: str
    instructions: int
    stopped: str = ""


def run_kernel(
    module: ir.Module,
    kernel_name: str,
    grid: Coordinates,
    block: Coordinates,
    shared_bytes: int,
    arguments: bytes,
    memory: Memory,
    instruction_limit: int = DEFAULT_INSTRUCTION_LIMIT,
    schedule: int = 0,
) -> InterpreterResult:
    """Run one launch over the allocations of `memory`, which it changes in place.

    shared_bytes: dynamic shared memory of a block. arguments: the kernel's parameter block.
    schedule: order of CTAs and warps, 0 as numbered, 1 backwards, else shuffled by it.
    Raises NotEmulatedError for an instruction without a definition and KeyError for an unknown kernel.
    """
    kernel = module.kernels[kernel_name]
    padded = np.zeros(max(kernel.parameter_bytes, len(arguments)), dtype=np.uint8)
    padded[: len(arguments)] = np.frombuffer(arguments, dtype=np.uint8)
    dynamic_start = -(-kernel.shared_static_bytes // 16) * 16
    launch = Launch(
        module=module,
        kernel=kernel,
        grid=grid,
        block=block,
        shared_bytes=dynamic_start + shared_bytes if shared_bytes else kernel.shared_static_bytes,
        dynamic_shared_bytes=shared_bytes,
        arguments=padded,
        constants=initial_block(module, module.constants, module.constant_bytes),
        module_variables=_module_variables(module, memory),
        memory=memory,
        instruction_limit=instruction_limit,
        schedule=schedule,
    )
    stopped = ""
    with np.errstate(all="ignore"):
        try:
            run_grid(launch)
        except StoppedError as stop:
            stopped = stop.reason
    return InterpreterResult(tuple(launch.events.values()), "".join(launch.printed), launch.instructions, stopped)


def _module_variables(module: ir.Module, memory: Memory) -> Bytes:
    """`__device__` variables live on between launches where the memory keeps a block for them."""
    block = memory.resolve(MODULE_SLOT)
    return block if block is not None else initial_block(module, module.globals_, module.global_bytes)


def initial_block(module: ir.Module, variables: Sequence[ir.Variable], size: int) -> Bytes:
    """What a module's variables of one space hold at load, addresses of other variables filled in."""
    block = np.zeros(size, dtype=np.uint8)
    places = {v.name: v for v in (*module.globals_, *module.constants)}
    for variable in variables:
        if variable.initial:
            data = np.frombuffer(variable.initial, dtype=np.uint8)
            block[variable.offset : variable.offset + data.size] = data
        for offset, name, addend in variable.relocations:
            target = places[name]
            address = slot_base(SPACE_SLOTS[target.space]) + target.offset + addend
            start = variable.offset + offset
            block[start : start + 8] = np.frombuffer(address.to_bytes(8, "little"), dtype=np.uint8)
    return block


class Interpreter:
    """The interpreter behind the executor interface of the differential tests."""

    def run(
        self,
        module: ir.Module,
        kernel: str,
        grid: Coordinates,
        block: Coordinates,
        shared_bytes: int,
        arguments: bytes,
        memory: Memory,
    ) -> InterpreterResult:
        """Run one launch; see run_kernel."""
        return run_kernel(module, kernel, grid, block, shared_bytes, arguments, memory)
