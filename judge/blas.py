"""How many threads NumPy's matrix products may use in this process."""

import os

from judge.gpu import gpu_present


def spare_the_cores() -> None:
    """Keep BLAS to one thread where the CPU is also the device; to be called before NumPy is imported, which reads it.

    Threads of BLAS wait for one another by spinning. Beside a kernel that runs on the same cores they take twice the
    time that they save.
    """
    if not gpu_present():
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
