"""Runs random instruction forms and random programs on an executor and on the interpreter, and compares."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from judge.backends.cpu.interpreter import Interpreter
from judge.backends.cpu.refusal import NotEmulatedError
from tests.fuzz import batch as batches
from tests.fuzz import programs
from tests.fuzz.batch import Batch, choose_forms, make_batch
from tests.fuzz.differences import Difference, compare
from tests.fuzz.executors import Executor
from tests.fuzz.program_generator import make_program
from tests.fuzz.programs import Program, reduced


@dataclass
class Outcome:
    """forms: how many were tried. spellings: the distinct ones among them. refused: those not emulated."""

    forms: int = 0
    spellings: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    differences: list[Difference] = field(default_factory=list)

    def add(self, other: "Outcome") -> None:
        self.forms += other.forms
        self.spellings |= other.spellings
        self.refused |= other.refused
        self.differences += other.differences


def try_batch(executor: Executor, batch: Batch) -> list[Difference]:
    """Differences of one batch."""
    rows = []
    for runner in (Interpreter(), executor):
        memory, arguments, target = batch.memory()
        runner.run(batch.module, batches.KERNEL, (1, 1, 1), (batch.threads, 1, 1), 0, arguments, memory)
        rows.append(batch.rows(memory, target))
    return compare(batch, rows[0], rows[1])


def fuzz_forms(executor: Executor, count: int, seed: int) -> Outcome:
    """Try `count` random forms in one kernel, less those that the executor refuses by name."""
    rng = random.Random(seed)
    threads = rng.choice((32, 32, 64))
    forms = choose_forms(rng, count)
    refused: set[str] = set()
    while True:
        batch = make_batch(random.Random(seed), 0, threads, forms)
        try:
            differences = try_batch(executor, batch)
        except NotEmulatedError as error:
            unknown = {form.spelling for form in forms if form is not None and form.spelling in str(error)}
            if not unknown:
                raise
            refused |= unknown
            forms = [form for form in forms if form is None or form.spelling not in unknown]
        else:
            return Outcome(len(forms), {result.spelling for result in batch.results}, refused, differences)


@dataclass(frozen=True)
class ProgramDifference:
    """buffer: 0 inputs, 1 rows, 2 atomic cells. word: 32-bit word in it."""

    seed: int
    buffer: int
    word: int
    expected: int
    got: int
    program: Program

    def __str__(self) -> str:
        where = f"buffer {self.buffer} word {self.word}"
        if self.buffer == 1:
            thread, name = divmod(self.word, programs.ROW_WORDS)
            where = f"{programs.WORD_NAMES[name]} of thread {thread}"
        return f"program {self.seed}: {where}: expected {self.expected:#x}, got {self.got:#x}"


def try_program(executor: Executor, program: Program) -> ProgramDifference | None:
    """The first word in which the executor and the interpreter differ."""
    module = program.module()
    results = []
    for runner in (Interpreter(), executor):
        memory, arguments = program.memory()
        runner.run(module, programs.KERNEL, program.grid, program.block, 0, arguments, memory)
        results.append([block.view(np.uint32) for block in program.buffers(memory)])
    return first_difference(program, *results)


def first_difference(
    program: Program, expected_buffers: Sequence[np.ndarray], got_buffers: Sequence[np.ndarray]
) -> ProgramDifference | None:
    """The first 32-bit word in which two runs of a program differ."""
    for number, (expected, got) in enumerate(zip(expected_buffers, got_buffers, strict=True)):
        places = np.flatnonzero(expected != got)
        if number == 1:
            places = places[~_both_nan(places, expected, got)]
        if places.size:
            word = int(places[0])
            return ProgramDifference(program.seed, number, word, int(expected[word]), int(got[word]), program)
    return None


def _both_nan(places: np.ndarray, expected: np.ndarray, got: np.ndarray) -> np.ndarray:
    """Float variables may hold NaNs of different payloads."""
    is_float = np.isin(places % programs.ROW_WORDS, programs.FLOAT_WORDS)
    return is_float & np.isnan(expected[places].view(np.float32)) & np.isnan(got[places].view(np.float32))


def fuzz_program(executor: Executor, seed: int) -> ProgramDifference | None:
    """Try the program of a seed."""
    return try_program(executor, make_program(seed))


def minimal(executor: Executor, difference: ProgramDifference) -> Program:
    """The smallest program cut from this one that still differs."""
    return reduced(difference.program, lambda candidate: try_program(executor, candidate) is not None)
