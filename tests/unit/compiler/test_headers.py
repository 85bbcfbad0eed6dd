"""Which headers a source gets: CUDA's device headers and the judge's own, nothing else."""

import pytest

from judge.compiler.cache import DiskCache
from judge.compiler.headers import PRELUDE, headers_for

NO_DISK = DiskCache(None)


def names(source):
    return set(headers_for(source, NO_DISK).files)


def test_plain_source_gets_only_the_judges_headers():
    files = names("__global__ void k() {}\n")
    assert {PRELUDE, "common.cuh", "cstdint", "cmath", "limits"} <= files
    assert "cuda_fp16.h" not in files


def test_closure_follows_includes_under_any_condition():
    files = names("#if 0\n #  include <cuda_fp16.h>\n#endif\n")
    assert {"cuda_fp16.h", "cuda_fp16.hpp"} <= files


def test_nothing_outside_the_header_folders():
    plain = names("")
    for name in ("/etc/passwd", "../../../../etc/passwd", "../lib/libnvrtc.so.13", "no/such.h", "/proc/self/environ"):
        assert names(f'#include "{name}"\n#if __has_include(<{name}>)\n#endif\n') == plain


def test_digest_names_the_content():
    one, two = headers_for("", NO_DISK), headers_for("#include <cuda_fp16.h>\n", NO_DISK)
    assert one.digest == headers_for("int x;\n", NO_DISK).digest
    assert one.digest != two.digest


def test_closure_from_disk_is_the_closure(tmp_path):
    disk = DiskCache(tmp_path)
    source = "#include <mma.h>\n#include <cuda_pipeline.h>\n"
    fresh = headers_for(source, disk)
    assert list(tmp_path.iterdir())
    assert headers_for(source, disk).files == fresh.files
    for entry in tmp_path.iterdir():
        entry.write_bytes(b"damage")
    assert headers_for(source, disk).digest == fresh.digest


@pytest.mark.parametrize(
    "name", ["a" * 5000, "a/" * 50_000 + "b.h", "../" * 3000 + "x", "\ufffd", "\u2028" * 150, "cuda_fp16.h/x"]
)
def test_a_name_no_file_can_have_is_no_header_and_no_error(name):
    plain = headers_for("", DiskCache(None))
    assert headers_for(f'#include "{name}"\n#include <{name}>\n', DiskCache(None)).files.keys() == plain.files.keys()
