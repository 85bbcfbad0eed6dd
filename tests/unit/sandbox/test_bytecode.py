import importlib.util
import os
import subprocess
import sys

import pytest

from judge.sandbox import bytecode


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of two modules, one in a folder that boxes use and one in another."""
    for folder in ("worker", "web"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "module.py").write_text("x = 1\n")
    (tmp_path / "own.py").write_text("y = 1\n")
    monkeypatch.setattr(bytecode, "PACKAGE", tmp_path)
    return tmp_path


def keep():
    bytecode.keep_bytecode.__wrapped__()


def kept(source):
    place = importlib.util.cache_from_source(os.fspath(source))
    return os.stat(place).st_mtime_ns if os.path.exists(place) else None


def test_what_boxes_import_is_compiled_and_only_again_when_it_changed(package):
    keep()
    module = package / "worker" / "module.py"
    first = kept(module)
    assert first is not None
    assert kept(package / "own.py") is not None
    assert kept(package / "web" / "module.py") is None
    keep()
    assert kept(module) == first
    module.write_text("x = 11\n")
    keep()
    assert kept(module) > first


def test_bytecode_of_another_interpreter_or_none_is_replaced(package):
    module = package / "worker" / "module.py"
    keep()
    place = importlib.util.cache_from_source(os.fspath(module))
    for content in (b"", b"\0" * 16):
        with open(place, "wb") as file:
            file.write(content)
        keep()
        with open(place, "rb") as file:
            assert file.read(4) == importlib.util.MAGIC_NUMBER


def test_a_module_with_a_mistake_and_a_folder_that_takes_nothing_disturb_nobody(package, monkeypatch):
    (package / "worker" / "broken.py").write_text("def\n")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    keep()
    assert kept(package / "worker" / "module.py") is not None
    monkeypatch.setattr(bytecode.py_compile, "compile", full)
    (package / "own.py").write_text("y = 22\n")
    keep()


def test_all_that_a_worker_imports_of_the_package_is_in_the_folders():
    program = (
        "import sys; import judge.worker.main; from judge.worker.main import open_device; "
        "import judge.backends.cpu.device, judge.backends.cuda.device; "
        "print(*{m.__file__ for n, m in sys.modules.items() if n.partition('.')[0] == 'judge'}, sep='\\n')"
    )
    ended = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert set(ended.stdout.split()) <= {os.fspath(source) for source in bytecode._sources()}
