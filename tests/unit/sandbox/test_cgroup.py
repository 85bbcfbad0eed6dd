"""Control groups: finding one's own in both hierarchies, and one at work where this machine lets us."""

import subprocess
import sys

import pytest

from judge.sandbox.cgroup import _own_groups, find_controllers, new_group

V1 = (
    "8:pids:/\n4:memory:/api/box\n1:cpu,cpuacct:/\n0::/\n",
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "40 31 0:37 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
)
V2 = (
    "0::/user.slice/judge.service\n",
    "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
)
CONTAINER = (
    "4:memory:/docker/abc\n",
    "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (V1, {"memory": "sys/fs/cgroup/memory/api/box", "pids": "sys/fs/cgroup/pids", "": "sys/fs/cgroup/unified"}),
        (V2, {"": "sys/fs/cgroup/user.slice/judge.service"}),
        (CONTAINER, {"memory": "sys/fs/cgroup/memory"}),
    ],
)
def test_the_own_group_is_found(tmp_path, texts, expected):
    folder = tmp_path / "proc/self"
    folder.mkdir(parents=True)
    (folder / "cgroup").write_text(texts[0])
    (folder / "mountinfo").write_text(texts[1])
    found = _own_groups(tmp_path)
    assert {name: str(path.relative_to(tmp_path)) for name, path in found.items()} == expected


def test_no_hierarchy_is_no_group(tmp_path):
    assert _own_groups(tmp_path) == {}


@pytest.mark.skipif(find_controllers() is None, reason="this process may not make control groups")
def test_a_group_bounds_memory_tells_so_and_goes_away():
    group = new_group()
    assert group is not None
    group.limit_memory(64 << 20)
    join = "".join(f"open({str(file)!r}, 'w').write('0')\n" for file in group.entry_files)
    ended = subprocess.run([sys.executable, "-c", join + "bytearray(b'1') * (256 << 20)"], check=False)
    assert ended.returncode == -9
    assert group.ran_out_of_memory()
    folders = [file.parent for file in group.entry_files]
    group.remove()
    assert not any(folder.exists() for folder in folders)


@pytest.mark.skipif(find_controllers() is None, reason="this process may not make control groups")
def test_a_group_that_nothing_happened_to_says_so():
    group = new_group()
    assert group is not None
    assert not group.ran_out_of_memory()
    group.remove()
