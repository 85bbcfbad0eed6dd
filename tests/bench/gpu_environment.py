"""What every benchmark on a GPU writes beside its figures: device, driver, clocks, date."""

import datetime
import importlib.metadata
import json
import os
import subprocess
from pathlib import Path
from typing import Any

_FIELDS = "name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,temperature.gpu,power.limit,ecc.mode.current"


def environment() -> dict[str, Any]:
    """Of the first GPU that this process sees; a field is None where it cannot be told."""
    asked = ["nvidia-smi", f"--query-gpu={_FIELDS}", "--format=csv,noheader"]
    try:
        lines = (
            subprocess.run(asked, capture_output=True, text=True, check=True, timeout=30).stdout.strip().splitlines()
        )
    except (OSError, subprocess.SubprocessError):
        lines = []
    gpus = [dict(zip(_FIELDS.split(","), (part.strip() for part in line.split(",")), strict=False)) for line in lines]
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "gpus": gpus,
        "cupy": _version("cupy-cuda13x") or _version("cupy-cuda12x"),
        "nvrtc": _version("nvidia-cuda-nvrtc"),
        "cores": os.cpu_count(),
    }


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def keep(name: str, body: dict[str, Any]) -> None:
    """Write figures with their environment to $OUT/NAME.json, where $OUT is set."""
    out = os.environ.get("OUT")
    if out:
        Path(out, f"{name}.json").write_text(json.dumps({"environment": environment(), **body}, indent=1))
