"""What a box sees of the machine: the interpreter, its packages, this package, shared libraries. Nothing else.

Everything is shown read-only at its own place, in a root that is otherwise empty: no home, no /etc but
the loader's cache, no /proc and no /sys. Only a box with a GPU gets a /proc of its own (the driver
writes there), the device files of its one GPU, and what the driver asks of the hardware's topology.
"""

import importlib.util
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import judge

PACKAGE_ROOT = Path(judge.__file__).resolve().parent.parent
TMP_BYTES = 64 << 20
_SYSTEM_PREFIXES = {"/usr", "/usr/local", "/"}
_LIBRARY_FOLDERS = ("/lib64", "/usr/lib64", "/usr/local/lib", "/lib/{}", "/usr/lib/{}", "/usr/local/lib/{}")
_LOADER_FILES = ("/etc/ld.so.cache", "/etc/alternatives")
_BOXED_PACKAGES = ("numpy", "pydantic", "pydantic_core", "llvmlite", "cupy_backends", "nvidia", "typing_inspection")
_PLAIN_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
_PRIVATE = ("/", "/home", "/root", "/etc", "/var", "/proc", "/sys", "/dev", "/tmp", "/run")
_TOPOLOGY = ("/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/module/nvidia", "/sys/module/nvidia_uvm")


@dataclass(frozen=True)
class View:
    """read_only: shown at their own places. links: (target, place). devices: device files, usable.

    proc: whether there is a /proc, of the box's own processes. tmp_bytes: size of /tmp, the only
    writable place. ordinal: how CUDA counts the assigned GPU with this environment.
    """

    read_only: tuple[str, ...]
    links: tuple[tuple[str, str], ...] = ()
    devices: tuple[str, ...] = _PLAIN_DEVICES
    proc: bool = False
    tmp_bytes: int = TMP_BYTES
    environment: dict[str, str] = field(default_factory=dict)
    ordinal: int = 0


def plain_view(extra: Sequence[Path] = ()) -> View:
    """For the compiler and the CPU backend. extra: more to show, read-only."""
    shown = _outermost([*_interpreter(), *_libraries(), *map(str, extra)])
    return View(read_only=shown, links=_links(shown))


def gpu_view(ordinal: int, extra: Sequence[Path] = ()) -> View:
    """For a worker on one GPU. ordinal: its place among the GPUs this process may use, by PCI address."""
    gpu = assigned_gpu(ordinal)
    more = [name for name in (*_TOPOLOGY, "/usr/lib/wsl") if os.path.exists(name)]
    shown = _outermost([*_interpreter(), *_libraries(), *more, *map(str, extra)])
    devices = (*_PLAIN_DEVICES, *gpu.devices)
    return View(shown, _links(shown), devices, proc=True, environment=gpu.environment, ordinal=gpu.ordinal)


@dataclass(frozen=True)
class AssignedGpu:
    """devices: its device files. With the environment, CUDA counts it as `ordinal`, in a box or not."""

    devices: tuple[str, ...]
    environment: dict[str, str]
    ordinal: int


def assigned_gpu(ordinal: int, root: Path = Path("/")) -> AssignedGpu:
    """The one GPU a box gets.

    Where it cannot be told which device file is its own (MIG, a driver that is not awake), the box gets
    all of them and CUDA_VISIBLE_DEVICES decides as it does outside.
    """
    nodes = {path.name for path in (root / "dev").glob("nvidia*") if re.fullmatch(r"nvidia\d+", path.name)}
    shared = [name for name in ("nvidiactl", "nvidia-uvm", "nvidia-caps", "dxg") if (root / "dev" / name).exists()]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    known = [gpu for gpu in _gpus_by_address(root) if gpu[0] in nodes]
    wanted = _place(visible, ordinal)
    environment = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    if len(nodes) > 1 and wanted is not None and wanted < len(known):
        node, uuid = known[wanted]
        environment["CUDA_VISIBLE_DEVICES"] = uuid
        nodes, ordinal = {node}, 0
    elif visible is not None:
        environment["CUDA_VISIBLE_DEVICES"] = visible
    return AssignedGpu(tuple(f"/dev/{name}" for name in (*sorted(nodes), *shared)), environment, ordinal)


def _place(visible: str | None, ordinal: int) -> int | None:
    """The GPU's place among all of the machine, or None where it is named in another way."""
    if visible is None:
        return ordinal
    names = [name.strip() for name in visible.split(",")]
    return int(names[ordinal]) if ordinal < len(names) and names[ordinal].isdigit() else None


def _gpus_by_address(root: Path) -> list[tuple[str, str]]:
    """(device file, UUID) of every GPU in the order of PCI addresses; empty where the driver does not tell."""
    found = []
    for folder in sorted((root / "proc/driver/nvidia/gpus").glob("*")):
        try:
            told = (folder / "information").read_text()
        except OSError:
            return []
        minor = re.search(r"^Device Minor:\s*(\d+)", told, re.M)
        uuid = re.search(r"^GPU UUID:\s*(GPU-[0-9a-f-]+)$", told, re.M)
        if minor is None or uuid is None:
            return []
        found.append((f"nvidia{minor[1]}", uuid[1]))
    return found


@cache
def _interpreter() -> tuple[str, ...]:
    shown = [str(PACKAGE_ROOT / "judge")]
    for prefix in (sys.prefix, sys.base_prefix, os.path.realpath(sys.base_prefix)):
        if prefix not in _SYSTEM_PREFIXES:
            shown.append(prefix)
    shown += [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    shown += [entry for entry in sys.path if os.path.basename(entry) in {"site-packages", "dist-packages"}]
    shown += _package_folders()
    shown += _link_chain(sys.executable)
    return tuple(path for path in shown if os.path.exists(path))


def _package_folders() -> list[str]:
    """Where the packages a box imports lie, on PYTHONPATH in a folder of any name for example."""
    folders = []
    for name in _BOXED_PACKAGES:
        spec = importlib.util.find_spec(name)
        for place in (spec.submodule_search_locations or []) if spec is not None else []:
            folders.append(str(Path(place).parent))
    return [folder for folder in folders if folder not in _PRIVATE]


def _link_chain(path: str) -> list[str]:
    """A file and every link on the way to it: each must be there for the last to be found."""
    chain = [path]
    while os.path.islink(chain[-1]) and len(chain) < 16:
        chain.append(os.path.normpath(os.path.join(os.path.dirname(chain[-1]), os.readlink(chain[-1]))))
    return chain


@cache
def _libraries() -> tuple[str, ...]:
    triplet = sysconfig.get_config_var("MULTIARCH") or f"{os.uname().machine}-linux-gnu"
    folders = [name.format(triplet) for name in _LIBRARY_FOLDERS]
    if not any(os.path.isdir(name) for name in folders if triplet in name):
        folders.append("/usr/lib")
    folders += _configured_folders()
    for variable in ("LD_LIBRARY_PATH", "CUDA_PATH", "CUDA_HOME"):
        folders += os.environ.get(variable, "").split(os.pathsep)
    return tuple(path for path in (*folders, *_LOADER_FILES) if _may_be_shown(path))


def _configured_folders() -> list[str]:
    """Where the loader looks besides its own folders."""
    lines: list[str] = []
    for file in sorted(Path("/etc/ld.so.conf.d").glob("*.conf")):
        try:
            lines += file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
    return [line.strip() for line in lines if line.startswith("/")]


def _may_be_shown(path: str) -> bool:
    """Whether it exists and is no folder that holds what is private."""
    real = os.path.realpath(path)
    home = os.path.realpath(Path.home())
    outer = os.path.commonpath([real, home]) == real if path.startswith("/") else True
    return not outer and real not in _PRIVATE and os.path.exists(path)


def _outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """Each path once, without those that lie in another one; a shown link's place is left to _links."""
    absolute = sorted({os.path.normpath(path) for path in paths})
    roots = {link for link in ("/lib", "/lib64") if os.path.islink(link)}
    absolute = sorted({os.path.realpath(path) if _top(path) in roots else path for path in absolute})
    kept: list[str] = []
    for path in absolute:
        if not any(path.startswith(f"{other}/") for other in kept):
            kept.append(path)
    return tuple(kept)


def _links(shown: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """/lib and /lib64 where they are links on this machine: the loader's own path leads through one."""
    return tuple((os.readlink(place), place) for place in ("/lib", "/lib64") if os.path.islink(place))


def _top(path: str) -> str:
    return "/" + path.split("/")[1]
