"""Is there a GPU worth starting a CUDA worker for? A cheap look at device files, no CUDA call."""

import os
import re
from pathlib import Path

_DEVICE_FILES = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg")


def gpu_present() -> bool:
    """True where the driver left a device file; only a started worker proves that the GPU works."""
    return any(Path(name).exists() for name in _DEVICE_FILES)


def gpu_count(root: Path = Path("/")) -> int:
    """How many GPUs this process may use, by device files and CUDA_VISIBLE_DEVICES."""
    files = [path for path in (root / "dev").glob("nvidia*") if re.fullmatch(r"nvidia\d+", path.name)]
    count = len(files) or int((root / "dev/dxg").exists())
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return count
    return min(count, len([name for name in visible.split(",") if name.strip()]))
