"""Judges CUDA kernels: compiles, runs, compares with float64, and says what is wrong and where."""

import os

from judge.gpu import gpu_present

__version__ = "0.1.0"

# NumPy reads this once, when it is first imported. Threads of BLAS wait by spinning; where the CPU is also the device
# that runs the kernel, they take from it twice the time that they save.
if not gpu_present():
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
