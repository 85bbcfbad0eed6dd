"""The reference interpreter against hardware: random instruction forms and structured programs.

The definition of an instruction is only as good as its agreement with a GPU. Forms whose result
hardware does not fix (addresses, the order of atomics) are left out.
"""

import random
import re
from dataclasses import dataclass

import numpy as np
import pytest

from judge.backends.cpu.interpreter import Interpreter
from tests.fuzz import batch as batches
from tests.fuzz import programs
from tests.fuzz.batch import make_batch
from tests.fuzz.campaign import first_difference
from tests.fuzz.differences import compare
from tests.fuzz.program_generator import make_program

ADDRESSES = ("cvta.", "isspacep.")
"""Forms that show where memory lies."""

GUARDED = re.compile(r"@!?cond (set|testp)\.")
"""ptxas 13.0 expands a guarded set with a float result, or testp, so that lanes left out lose their old value."""


UNFIXED = ("cp.async.",)
"""Forms that look at what hardware may already have done, or not."""


def fixed_by_hardware(results) -> set[int]:
    """Ids of the results for which a GPU must give the interpreter's value."""
    fixed = set()
    for result, following in zip(results, [*results[1:], None], strict=True):
        # The last result of a wmma is a register of a fragment, whose layout is each GPU's own.
        last = following is None or following.text != result.text
        opaque = result.spelling.startswith("wmma.") and last
        unfixed = result.spelling.startswith((*ADDRESSES, *UNFIXED))
        if not (result.ordered or unfixed or opaque or GUARDED.search(result.text) or FAR_SHIFT.search(result.text)):
            fixed.add(id(result))
    return fixed


FAR_SHIFT = re.compile(r"sh[lr]\.[bsu]16 .*, (0x[0-9a-f]{5,}|\d{6,});", re.IGNORECASE)
"""ptxas 13.0 keeps the low 16 bits of a shift amount that is a constant, where a register of that value clamps."""


@dataclass
class Gpu:
    """Runs PTX text through the driver."""

    def run(self, text, kernel, grid, block, buffers):
        """Run with the buffers as pointer parameters, in order; their contents afterwards."""
        import cupy

        module = cupy.cuda.function.Module()
        module.load(text.encode())
        arrays = [cupy.asarray(b) for b in buffers]
        module.get_function(kernel)(grid, block, tuple(arrays))
        cupy.cuda.runtime.deviceSynchronize()
        return [cupy.asnumpy(a) for a in arrays]


@pytest.mark.parametrize("seed", range(20))
def test_the_interpreter_gives_what_the_gpu_gives(seed):
    rng = random.Random(seed)
    batch = make_batch(rng, 150, rng.choice((32, 64)))
    memory, arguments, target = batch.memory()
    Interpreter().run(batch.module, batches.KERNEL, (1, 1, 1), (batch.threads, 1, 1), 0, arguments, memory)
    expected = batch.rows(memory, target)
    output = np.zeros_like(expected)
    _, got = Gpu().run(batch.text, batches.KERNEL, (1, 1, 1), (batch.threads, 1, 1), [batch.inputs, output])
    fixed = fixed_by_hardware(batch.results)
    found = [str(d) for d in compare(batch, expected, got) if id(d.result) in fixed]
    assert found == [], "\n".join(found)


@pytest.mark.parametrize("seed", range(30))
def test_the_interpreter_runs_programs_as_the_gpu_does(seed):
    program = make_program(seed)
    memory, arguments = program.memory()
    before = [block.copy().view(np.uint32) for block in program.buffers(memory)]
    Interpreter().run(program.module(), programs.KERNEL, program.grid, program.block, 0, arguments, memory)
    got = Gpu().run(program.text(), programs.KERNEL, program.grid, program.block, before)
    expected = [block.view(np.uint32) for block in program.buffers(memory)]
    assert str(first_difference(program, expected, got)) == "None"
