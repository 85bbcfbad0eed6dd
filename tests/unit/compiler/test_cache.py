"""The store on disk: whole entries or none, a bound, and no failure that matters."""

import os

from judge.compiler.cache import DiskCache, default_folder

KEY = "ab" * 32


def test_what_was_written_is_read(tmp_path):
    cache = DiskCache(tmp_path / "deep" / "store")
    assert cache.read(KEY) is None
    cache.write(KEY, b"content")
    assert cache.read(KEY) == b"content"
    assert os.stat(tmp_path / "deep" / "store").st_mode & 0o777 == 0o700


def test_damage_is_a_miss(tmp_path):
    cache = DiskCache(tmp_path)
    cache.write(KEY, b"content")
    (entry,) = tmp_path.iterdir()
    for damaged in (entry.read_bytes()[:-1], entry.read_bytes()[:-1] + b"x", b"", b"short"):
        entry.write_bytes(damaged)
        assert cache.read(KEY) is None
    cache.write(KEY, b"again")
    assert cache.read(KEY) == b"again"


def test_bound_drops_what_was_used_longest_ago(tmp_path):
    cache = DiskCache(tmp_path, max_bytes=1000)
    for i in range(6):
        cache.write(f"{i:064x}", bytes(100))
        os.utime(tmp_path / f"{i:064x}.kj", (i + 1, i + 1))
    cache.read(f"{0:064x}")
    cache.write("f" * 64, bytes(240))
    assert cache.read(f"{0:064x}") is not None
    assert cache.read(f"{1:064x}") is None
    assert cache.read("f" * 64) is not None
    assert sum(entry.stat().st_size for entry in tmp_path.iterdir()) <= 1000


def test_entry_too_large_for_the_bound_is_not_kept(tmp_path):
    cache = DiskCache(tmp_path, max_bytes=1000)
    cache.write(KEY, bytes(900))
    assert cache.read(KEY) is None


def test_store_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    cache = DiskCache(tmp_path / "file")
    cache.write(KEY, b"content")
    assert cache.read(KEY) is None
    nothing = DiskCache(None)
    nothing.write(KEY, b"content")
    assert nothing.read(KEY) is None


def test_folder_follows_xdg(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "kernel-judge"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_folder().parent.name == ".cache"
