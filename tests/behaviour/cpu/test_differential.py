"""The JIT against the interpreter on random forms and programs, and the fuzzer against planted faults."""

import random

import pytest

from judge.backends.cpu.executor import JitExecutor
from judge.backends.cpu.interpreter import OPERATIONS, Interpreter
from judge.backends.cpu.interpreter.integers import per_lane
from judge.backends.cpu.interpreter.state import Step
from tests.fuzz.batch import make_batch
from tests.fuzz.campaign import fuzz_forms, fuzz_program, minimal, try_batch
from tests.fuzz.executors import Sabotaged
from tests.fuzz.forms import all_forms
from tests.fuzz.program_generator import make_program


@pytest.mark.parametrize("seed", range(3))
def test_the_jit_gives_what_the_interpreter_gives(seed: int):
    outcome = fuzz_forms(JitExecutor(), 100, seed)
    assert [str(d) for d in outcome.differences] == []
    assert outcome.forms > 90


@pytest.mark.parametrize("seed", range(8))
def test_the_jit_runs_structured_programs_as_the_interpreter_does(seed: int):
    assert str(fuzz_program(JitExecutor(), seed)) == "None"


def test_the_interpreter_knows_every_form():
    batch = make_batch(random.Random(1), 0, 32, list(all_forms()))
    assert try_batch(Interpreter(), batch) == []


PLANTED = {
    "brev": lambda step: per_lane(step, lambda a: a, "u32", "u32"),
    "popc": lambda step: per_lane(step, lambda a: a.bit_count() & 31, "u32", "u32"),
    "sad": lambda step: per_lane(step, lambda a, b, c: abs(a - b), step.instruction.types[0]),
    "rem": lambda step: per_lane(step, lambda a, b: a % b if b else -1, step.instruction.types[0]),
    "bmsk": lambda step: per_lane(step, lambda a, b: ((1 << b) - 1) << a & 0xFFFF_FFFF if b < 99 else 0, "u32"),
}


@pytest.mark.parametrize("opcode", sorted(PLANTED))
def test_a_wrong_instruction_is_found(opcode: str):
    forms = [form for form in all_forms() if form.opcode == opcode] * 12
    batch = make_batch(random.Random(2), 0, 32, forms)
    differences = try_batch(Sabotaged(opcode, PLANTED[opcode]), batch)
    assert differences
    assert all(f"{opcode}." in d.result.text for d in differences)


def test_a_value_taken_from_the_wrong_arm_is_found_and_cut_down():
    """A selp that takes one lane's predicate for all: what a wrong uniformity analysis does."""
    right = OPERATIONS["selp"]

    def uniform_selp(step: Step) -> None:
        a, b, p = step.instruction.sources
        chosen = a if step.predicates(p)[0] else b
        step.write_raw(step.instruction.destinations[0], "b32", step.raw(chosen, "b32"))

    executor = Sabotaged("selp", uniform_selp)
    difference = next(d for d in (fuzz_program(executor, seed) for seed in range(20)) if d is not None)
    smallest = minimal(executor, difference)
    assert len(smallest.body.nodes) < len(difference.program.body.nodes)
    assert fuzz_program(Interpreter(), difference.seed) is None
    assert OPERATIONS["selp"] is right


def test_programs_visit_every_kind_of_statement():
    text = "".join(make_program(seed).text() for seed in range(60))
    for wanted in (
        "brx.idx",
        "bar.sync",
        "shfl.sync",
        "vote.sync",
        "red.global",
        "call.uni",
        "exit;",
        "st.local",
        "redux",
    ):
        assert wanted in text
