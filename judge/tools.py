"""Where NVIDIA's own programs lie on this machine."""

import importlib.util
import os
import shutil
from pathlib import Path


def find_tool(name: str) -> Path | None:
    """ncu, nvdisasm or the like: on PATH, in a CUDA toolkit, in NVIDIA's own folders, or in a package of theirs."""
    on_path = shutil.which(name)
    if on_path:
        return Path(on_path)
    folders = [*Path("/usr/local").glob("cuda*/bin"), *Path("/opt").glob("cuda*/bin")]
    folders += [*Path("/usr/local").glob("cuda*/compute-sanitizer"), *Path("/opt/nvidia").glob("nsight-compute/*")]
    folders = [*sorted(folders, reverse=True), *_package_folders()]
    return next((folder / name for folder in folders if os.access(folder / name, os.X_OK)), None)


def _package_folders() -> list[Path]:
    """nvidia/cu13/bin and the like, where pip puts programs of NVIDIA's packages."""
    spec = importlib.util.find_spec("nvidia")
    places = (spec.submodule_search_locations or []) if spec is not None else []
    return sorted((folder for place in places for folder in Path(place).glob("*/bin")), reverse=True)
