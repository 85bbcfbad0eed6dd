"""What a box is shown: the interpreter and libraries, one GPU, never a folder of the user."""

import os
import sys

import pytest

from judge.sandbox import view
from judge.sandbox.bubblewrap import Absence, Bubblewrap, _advice, bubblewrap
from judge.sandbox.view import PACKAGE_ROOT, View, assigned_gpu, gpu_view, plain_view


def within(path, shown):
    return any(path == place or path.startswith(f"{place}/") for place in shown)


def test_a_plain_view_shows_what_python_needs_and_no_more():
    shown = plain_view().read_only
    assert within(os.path.realpath(sys.executable), shown) or within(os.path.dirname(os.__file__), shown)
    assert str(PACKAGE_ROOT / "judge") in shown
    for private in ("/home", "/root", "/etc", "/var", "/proc", "/sys", "/tmp", "/usr/bin", str(PACKAGE_ROOT)):
        assert not within(private, shown), private
    assert not within(str(PACKAGE_ROOT / "problems"), shown)
    assert not within(str(PACKAGE_ROOT / "reference"), shown)
    assert not plain_view().proc


def test_nothing_is_shown_twice():
    shown = plain_view([PACKAGE_ROOT / "judge" / "sandbox", PACKAGE_ROOT / "tests"]).read_only
    assert str(PACKAGE_ROOT / "judge" / "sandbox") not in shown
    assert str(PACKAGE_ROOT / "tests") in shown
    for place in shown:
        assert not within(place, [other for other in shown if other != place])


@pytest.mark.parametrize("variable", ["LD_LIBRARY_PATH", "CUDA_PATH"])
def test_a_variable_cannot_show_a_folder_that_holds_a_home(variable, monkeypatch, tmp_path):
    home = tmp_path / "home" / "somebody"
    libraries = home / "cuda" / "lib64"
    libraries.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    for named, expected in ((home, False), (home.parent, False), (libraries, True), ("/", False), ("", False)):
        monkeypatch.setenv(variable, str(named))
        view._libraries.cache_clear()
        assert (str(named) in view._libraries()) is expected, named
    monkeypatch.setenv(variable, "lib")
    view._libraries.cache_clear()
    assert "lib" not in view._libraries()
    monkeypatch.undo()
    view._libraries.cache_clear()


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with GPUs: (device file number, UUID) in the order of PCI addresses."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def build(*gpus):
        for number, (minor, uuid) in enumerate(gpus):
            folder = tmp_path / f"proc/driver/nvidia/gpus/0000:{number:02x}:00.0"
            folder.mkdir(parents=True)
            (folder / "information").write_text(f"Model: \t X\nGPU UUID: \t {uuid}\nDevice Minor: \t {minor}\n")
            (tmp_path / "dev").mkdir(exist_ok=True)
            (tmp_path / f"dev/nvidia{minor}").touch()
        for name in ("nvidiactl", "nvidia-uvm", "nvidia-modeset"):
            (tmp_path / "dev" / name).touch()
        return tmp_path

    return build


SHARED = ("/dev/nvidiactl", "/dev/nvidia-uvm")
TWO = ((1, "GPU-aa"), (0, "GPU-bb"))


def test_a_box_gets_the_files_of_its_own_gpu_only(machine):
    root = machine(*TWO)
    first, second = assigned_gpu(0, root), assigned_gpu(1, root)
    assert (first.devices, first.ordinal) == (("/dev/nvidia1", *SHARED), 0)
    assert first.environment["CUDA_VISIBLE_DEVICES"] == "GPU-aa"
    assert (second.devices, second.ordinal) == (("/dev/nvidia0", *SHARED), 0)
    assert second.environment["CUDA_VISIBLE_DEVICES"] == "GPU-bb"


def test_the_gpus_that_are_visible_are_counted(machine, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1, 0")
    assert assigned_gpu(0, machine(*TWO)).devices == ("/dev/nvidia0", *SHARED)


def test_a_lonely_gpu_needs_no_choice(machine):
    gpu = assigned_gpu(0, machine((0, "GPU-aa")))
    assert gpu.devices == ("/dev/nvidia0", *SHARED)
    assert "CUDA_VISIBLE_DEVICES" not in gpu.environment


@pytest.mark.parametrize(
    ("visible", "gpus"),
    [("MIG-12", TWO), (None, ((0, "GPU-????????"), (1, "GPU-bb")))],
)
def test_where_a_gpu_cannot_be_told_apart_all_are_given_and_cuda_decides(machine, monkeypatch, visible, gpus):
    if visible:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    gpu = assigned_gpu(1 if visible is None else 0, machine(*gpus))
    assert gpu.devices == ("/dev/nvidia0", "/dev/nvidia1", *SHARED)
    assert gpu.environment.get("CUDA_VISIBLE_DEVICES") == visible
    assert gpu.ordinal == (1 if visible is None else 0)


def test_a_gpu_box_has_a_proc_and_no_more_than_topology_of_sys():
    shown = gpu_view(0)
    assert shown.proc
    assert all(path.startswith(("/sys/devices/system/", "/sys/module/")) for path in shown.read_only if "/sys" in path)


def test_the_way_in_depends_on_who_starts_it():
    box = View(("/usr/lib",))
    as_user = Bubblewrap("bwrap", "user").arguments(box)
    as_root = Bubblewrap("bwrap", "root").arguments(box)
    assert {"--unshare-user", "--disable-userns"} <= set(as_user)
    assert "--unshare-user" not in as_root
    assert as_root[as_root.index("--cap-drop") + 1] == "ALL"
    old = Bubblewrap("bwrap", "user", modern=False).arguments(box)
    assert {"--disable-userns", "--size"} & set(old) == set()
    for line in (as_user, as_root, old):
        assert {"--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--die-with-parent"} <= set(line)
        assert line[line.index("--remount-ro") + 1] == "/"
        assert line.index("--remount-ro") > line.index("--tmpfs")
        assert "--proc" not in line
    assert Bubblewrap("bwrap", "nobody").starts_as == 65534


def test_without_the_program_the_reason_and_the_fix_are_told(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    bubblewrap.cache_clear()
    try:
        found = bubblewrap()
    finally:
        monkeypatch.undo()
        bubblewrap.cache_clear()
    assert isinstance(found, Absence)
    assert found.reason == "bubblewrap is not installed"
    assert "install bubblewrap" in found.fix


@pytest.fixture
def program(monkeypatch, tmp_path):
    """Put a script in bwrap's place."""

    def install(script):
        file = tmp_path / "bwrap"
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    bubblewrap.cache_clear()
    yield install
    bubblewrap.cache_clear()


def test_a_program_that_does_not_work_gives_its_own_reason(program):
    program('echo "bwrap: setting up uid map: denied" >&2; exit 1')
    found = bubblewrap()
    assert isinstance(found, Absence)
    assert found.reason == "bwrap: setting up uid map: denied"
    assert "seccomp=unconfined" in found.fix
    assert "mend what it says" in _advice("something else") or os.geteuid() == 0


def test_an_older_program_is_used_without_what_it_does_not_know(program):
    program('case "$*" in *--size*) echo "bwrap: Unknown option --size" >&2; exit 1;; esac')
    found = bubblewrap()
    assert isinstance(found, Bubblewrap)
    assert not found.modern
