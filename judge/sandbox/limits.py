"""Limits of the kernel on a process: memory, processor time, file sizes, descriptors."""

import resource
from dataclasses import dataclass


@dataclass(frozen=True)
class ProcessLimits:
    """None leaves a limit as it is.

    address_bytes: whole address space; unusable where CUDA runs, which reserves far more than it uses.
    data_bytes: private writable memory. cpu_s: processor time of all threads; the process then gets
    SIGXCPU and a second later SIGKILL. file_bytes: largest file it may write.
    """

    address_bytes: int | None = None
    data_bytes: int | None = None
    cpu_s: int | None = None
    file_bytes: int | None = 0
    open_files: int | None = 64


def apply_limits(limits: ProcessLimits) -> None:
    """Bind the calling process; a limit that is already lower stays."""
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, limits.file_bytes)
    _lower(resource.RLIMIT_NOFILE, limits.open_files)
    _lower(resource.RLIMIT_AS, limits.address_bytes)
    _lower(resource.RLIMIT_DATA, limits.data_bytes)
    if limits.cpu_s is not None:
        _lower(resource.RLIMIT_CPU, limits.cpu_s, limits.cpu_s + 1)


def _lower(which: int, soft: int | None, hard: int | None = None) -> None:
    if soft is None:
        return
    hard = soft if hard is None else hard
    _, ceiling = resource.getrlimit(which)
    if ceiling != resource.RLIM_INFINITY:
        hard = min(hard, ceiling)
    resource.setrlimit(which, (min(soft, hard), hard))
