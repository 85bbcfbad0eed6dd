"""Compiles the judge's own timing kernels (rulers.cu) for an architecture, in the compile box, once a machine."""

import hashlib
from pathlib import Path

from judge.compiler.boxed import Box
from judge.compiler.cache import DiskCache, default_folder
from judge.compiler.headers import headers_for
from judge.compiler.target import Target
from judge.compiler.versions import toolkit_version
from judge.errors import MachineError

_SOURCE = Path(__file__).with_name("rulers.cu")


def rulers_for(arch: str, cache: DiskCache | None = None) -> bytes:
    """The cubin of rulers.cu for "sm_90" and the like. Raises MachineError where it cannot be made."""
    source = _SOURCE.read_text(encoding="utf-8")
    disk = cache if cache is not None else DiskCache(default_folder())
    target = Target("cubin", arch, "optimized")
    headers = headers_for(source, disk)
    parts = ["rulers 2", toolkit_version() or "", *target.options, headers.digest, source]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    known = disk.read(key)
    if known:
        return known
    with Box(target) as box:
        answer = box.compile(source, _SOURCE.name, (), headers)
    if answer.failure or answer.limit or not answer.image:
        raise MachineError(f"the judge's own timing kernels do not compile for {arch}: {answer.log[:2000]}")
    disk.write(key, answer.image)
    return answer.image
