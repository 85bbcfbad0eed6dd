"""The corpus of kernels on a GPU: where it and NumPy agree, NumPy is a judge of the CPU backend too."""

from functools import cache

import numpy as np
import pytest

from judge.backends.cuda.device import CudaDevice
from tests.corpus.cases import CASES, Case
from tests.corpus.harness import PatientTarget, compare, execute, image


@cache
def device() -> CudaDevice:
    return CudaDevice(0, capture=False)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_kernel_gives_what_numpy_gives(case: Case):
    gpu = device()
    gpu.load(*image(case.file, PatientTarget("cubin", gpu.properties.arch, "optimized")))
    runs = case.make(np.random.default_rng(7))
    runs = runs if isinstance(runs, list) else [runs]
    for run, (outputs, _) in zip(runs, execute(case.file, runs, gpu), strict=True):
        for position, values in run.expected.items():
            found = run.read.get(position, np.asarray)(outputs[position])
            wanted = np.asarray(values).reshape(found.shape)
            if not run.ordered:
                found, wanted = np.sort(found, axis=None), np.sort(wanted, axis=None)
            compare(run, found, wanted)
