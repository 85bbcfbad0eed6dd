"""Kernels in the manner of public solutions, through the real compiler and the CPU device, against NumPy."""

import re

import numpy as np
import pytest

from judge.backends.cpu.device import CpuDevice
from tests.corpus.cases import CASES, Case
from tests.corpus.harness import FOLDER, compare, execute, image


def check(case: Case, device: CpuDevice | None = None) -> None:
    runs = _runs(case)
    for run, (outputs, outcome) in zip(runs, execute(case.file, runs, device), strict=True):
        assert [d.message for d in outcome.diagnoses] == []
        assert outcome.printed == run.printed
        for position, expected in run.expected.items():
            found = run.read.get(position, np.asarray)(outputs[position])
            compare(run, found, np.asarray(expected).reshape(found.shape))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_kernel_gives_what_numpy_gives(case: Case):
    check(case)


@pytest.mark.parametrize("case", [case for case in CASES if case.file == "ptx.cu"], ids=lambda case: case.name)
def test_the_interpreter_gives_it_too_where_a_kernel_is_written_in_ptx(case: Case):
    device = CpuDevice(jit=False)
    device.load(*image(case.file))
    check(case, device)


def test_every_kernel_of_the_corpus_has_a_case():
    kernels = {
        name
        for path in FOLDER.glob("*.cu")
        for name in re.findall(r"__global__ void (\w+)\(", path.read_text(encoding="utf-8"))
    }
    used = {run.kernel for case in CASES for run in _runs(case)}
    assert used == kernels
    assert len(kernels) >= 150


def _runs(case: Case) -> list:
    made = case.make(np.random.default_rng(7))
    return made if isinstance(made, list) else [made]
