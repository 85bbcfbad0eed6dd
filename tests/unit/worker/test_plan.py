"""Launch plans: argument blocks are laid out as a kernel reads them, bad figures are refused by name."""

import struct

import pytest

from judge.backends.base import DeviceFault, DeviceProperties, KernelAttributes, Launch
from judge.worker.messages import LaunchSpec, WorkspaceSpec
from judge.worker.plan import CPU_THREAD_LIMIT, check_launch, in_bytes, pack_arguments, read_launches, read_workspaces

CUDA = DeviceProperties(kind="cuda", name="a GPU", arch="sm_90")
CPU = DeviceProperties(kind="cpu", name="a CPU", arch="compute_90")
SPEC = LaunchSpec("k", "kernel<64>", 3)


def refusal(grid=(1, 1, 1), block=(32, 1, 1), shared=0, properties=CUDA, **attributes):
    known = {"static_shared_bytes": 0, "max_threads_per_block": 1024, "parameter_bytes": 0} | attributes
    launch = Launch("k", grid, block, shared, b"\0" * 8)
    with pytest.raises(DeviceFault) as caught:
        check_launch(launch, SPEC, KernelAttributes(**known), properties)
    return caught.value


def test_arguments_lie_at_their_natural_alignment():
    block = pack_arguments([("bool", True), ("int", -5), ("bool", False), ("pointer", 1 << 40), ("float", 0.5)])
    assert block == struct.pack("<?3xi?7xQf", True, -5, False, 1 << 40, 0.5)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"grid": (0, 1, 1)}, "line 3: grid.x = 0: a grid needs at least one block"),
        ({"grid": (1, 1, -7)}, "line 3: grid.z = -7: a grid needs at least one block"),
        ({"grid": (1, 70000, 1)}, "line 3: grid.y = 70000, the limit is 65535"),
        ({"grid": (1 << 40, 1, 1)}, f"line 3: grid.x = {1 << 40}, the limit is 2147483647"),
        ({"block": (32, 0, 1)}, "line 3: block.y = 0: a block needs at least one thread"),
        ({"block": (1, 1, 65)}, "line 3: block.z = 65, the limit is 64"),
        (
            {"block": (1025, 1, 1), "max_threads_per_block": 64},
            "line 3: block of 1025 x 1 x 1 = 1025 threads; this device allows 1024 a block "
            "(the kernel's __launch_bounds__ allows 64)",
        ),
        (
            {"block": (16, 16, 1), "max_threads_per_block": 64},
            "line 3: block of 16 x 16 x 1 = 256 threads; this device allows 1024 a block, but the kernel only 64: "
            "its __launch_bounds__ or registers say so",
        ),
        ({"shared": 300000}, "line 3: shared memory 300000 bytes, the limit is 232448"),
        (
            {"shared": 230000, "static_shared_bytes": 4096},
            "line 3: shared memory 234096 bytes (4096 static + 230000 dynamic), the limit is 232448",
        ),
        ({"shared": -1}, "line 3: shared memory of -1 bytes: the size must not be negative"),
    ],
)
def test_a_bad_launch_is_refused_with_line_figure_and_limit(given, words):
    fault = refusal(**given)
    assert fault.verdict == "launch_error"
    assert str(fault) == words


def test_static_shared_memory_has_its_own_limit():
    fault = refusal(static_shared_bytes=65536)
    assert "static shared memory 65536 bytes, the limit is 49152" in str(fault)


def test_a_default_launch_is_named_as_one():
    launch = Launch("k", (0, 1, 1), (1, 1, 1), 0, b"")
    with pytest.raises(DeviceFault, match=r"^default launch: grid\.x = 0"):
        check_launch(launch, LaunchSpec("k", "k", None), KernelAttributes(0, 1024, 0), CUDA)


def test_a_grid_too_large_to_emulate_says_so_and_is_fine_on_a_gpu():
    grid = (CPU_THREAD_LIMIT // 32 + 1, 1, 1)
    fault = refusal(grid=grid, properties=CPU)
    assert fault.verdict == "time_limit"
    assert "emulates" in str(fault)
    assert "--backend cuda" in str(fault)
    check_launch(Launch("k", grid, (32, 1, 1), 0, b""), SPEC, KernelAttributes(0, 1024, 0), CUDA)


def test_an_argument_block_of_another_size_was_written_by_the_launch_line():
    assert refusal(parameter_bytes=12).verdict == "launch_error"


def test_launches_come_back_from_the_words_of_the_planner():
    geometry = struct.pack("<16q", 1, 2, 3, 4, 5, 6, 7, 4, -1, 0, 1 << 40, 1, 1, 1, 0, 0)
    arguments = b"abcd".ljust(4096, b"\0") + bytes(4096)
    one, two = read_launches(geometry, arguments, (SPEC, LaunchSpec("m", "merge", 4)))
    assert one == Launch("k", (1, 2, 3), (4, 5, 6), 7, b"abcd")
    assert two == Launch("m", (-1, 0, 1 << 40), (1, 1, 1), 0, b"")


@pytest.mark.parametrize("size", [-1, 4097, 1 << 50])
def test_an_impossible_argument_size_is_refused(size):
    with pytest.raises(DeviceFault, match="CUDA allows 4096"):
        read_launches(struct.pack("<8q", 1, 1, 1, 1, 1, 1, 0, size), bytes(4096), (SPEC,))


def test_workspaces_are_bounded_and_never_negative():
    specs = (WorkspaceSpec("part", "float", 1), WorkspaceSpec("lse", "float", 2))
    sizes = read_workspaces(struct.pack("<4q", 4, 100, 4, 0), specs, 1000)
    assert [size.size_bytes for size in sizes] == [400, 0]
    with pytest.raises(DeviceFault, match="line 2: workspace lse has -3 elements") as caught:
        read_workspaces(struct.pack("<4q", 4, 100, 4, -3), specs, 1000)
    assert caught.value.verdict == "launch_error"
    with pytest.raises(DeviceFault, match=r"line 1: workspace part has 1099511627776 elements \(4\.0 TiB\)") as caught:
        read_workspaces(struct.pack("<4q", 4, 1 << 40, 4, 1), specs, 64 << 20)
    assert caught.value.verdict == "memory_limit"
    assert "this problem allows 64.0 MiB" in str(caught.value)


@pytest.mark.parametrize(("count", "text"), [(0, "0 bytes"), (9999, "9999 bytes"), (3 << 20, "3.0 MiB")])
def test_byte_counts_read_well(count, text):
    assert in_bytes(count) == text
