"""Is there a GPU worth starting a CUDA worker for? A cheap look at device files, no CUDA call."""

from pathlib import Path

_DEVICE_FILES = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg")


def gpu_present() -> bool:
    """True where the driver left a device file; only a started worker proves that the GPU works."""
    return any(Path(name).exists() for name in _DEVICE_FILES)
