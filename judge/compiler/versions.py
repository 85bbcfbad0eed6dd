"""The versions that decide what the compiler makes of a source, read without loading the compiler."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = (
    ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12"),
    ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12"),
    ("nvidia-cuda-crt",),
    ("nvidia-cuda-cccl", "nvidia-cuda-cccl-cu12"),
)


@cache
def toolkit_version() -> str | None:
    """Versions of NVRTC and the header packages; None when NVRTC is not from a package, so unknown."""
    found = [next(filter(None, map(_version, names)), None) for names in _PACKAGES]
    return " ".join(str(one) for one in found) if found[0] else None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
