"""The process in which nvdisasm reads a cubin, once: `python judge/compiler/disassembly_box.py FD TOOL`, not with -m.

    request -> cubin into a file -> limits -> another user, no network, no further process -> nvdisasm in its place

A stranger's source decides what is in the cubin, and nvdisasm was not written to read a stranger's files: it gets a
box of its own with nothing in it but itself and this one file. Paths stay open to it, for it has to load its
libraries; what they lead to is the box's own root.
"""

import os
import socket
import sys
from pathlib import Path

from judge.sandbox.frames import receive_frame
from judge.sandbox.inside import boxed, close_inherited, die_with_supervisor, limit_processes
from judge.sandbox.limits import ProcessLimits, apply_limits
from judge.sandbox.privileges import PrivilegeError, drop_root
from judge.sandbox.seccomp import SealError, seal_network, seal_processes

REQUEST_CAP_BYTES = 256 << 20
OPTIONS = ("--print-code", "--print-line-info-inline")


def main(descriptor: int, tool: str) -> None:
    die_with_supervisor()
    close_inherited(descriptor)
    home = Path(os.environ["HOME"])
    if not boxed():
        # Another user is to walk through it; there is nothing in it but the file.
        home.chmod(0o711)
    with socket.socket(fileno=descriptor) as channel:
        channel.setblocking(True)
        request, [cubin] = receive_frame(channel, REQUEST_CAP_BYTES)
    path = home / "module.cubin"
    path.write_bytes(cubin)
    path.chmod(0o644)
    apply_limits(ProcessLimits(**request["limits"]))
    try:
        drop_root()
        # A change of user takes the wish away.
        die_with_supervisor()
        if boxed():
            limit_processes()
        seal_network()
        seal_processes()
    except (PrivilegeError, SealError) as error:
        sys.exit(f"the process cannot be sealed: {error}")
    os.execv(tool, [tool, *OPTIONS, str(path)])


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
