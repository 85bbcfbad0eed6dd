"""From a cubin to its SASS by source lines: NVIDIA's nvdisasm in a box of its own, and what it printed taken apart.

cubin -> cache, or box (disassembly_box) -> text -> instructions by line
"""

import dataclasses
import hashlib
import os
import re
import select
import socket
import sys
import time
import zlib
from pathlib import Path

from judge.compiler.boxed import box_environment
from judge.compiler.cache import DiskCache, default_folder
from judge.errors import MachineError
from judge.sandbox.bubblewrap import Absence, bubblewrap
from judge.sandbox.frames import OutOfTime, PeerGone, send_frame
from judge.sandbox.limits import ProcessLimits
from judge.sandbox.process import BoxedProcess
from judge.sandbox.view import plain_view
from judge.submission.unit import SOURCE_NAME
from judge.tools import find_tool

TOOL = "nvdisasm"
INSTALL = "pip install nvidia-cuda-nvdisasm, or a CUDA toolkit with its bin folder on PATH"

WALL_LIMIT_S = 60.0
MAX_TEXT_BYTES = 8 << 20
LIMITS = ProcessLimits(address_bytes=4 << 30, data_bytes=1 << 30, cpu_s=int(WALL_LIMIT_S), file_bytes=0, open_files=64)
_BOX = Path(__file__).parent / "disassembly_box.py"
_FORMAT = "sass 1"

_SECTION = re.compile(r"\s*\.section\s+\.text\.([^,\s]+),")
_PLACE = re.compile(r'\s*//## File "([^"]*)", line ([0-9]{1,9})\b')
_INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(\S[^;]*;)")
_LABEL = re.compile(r"(\.L_x_[0-9]+):")


class DisassemblyError(MachineError):
    """nvdisasm gave no text that can be shown: it failed, took too long or wrote too much. Exit code 3."""


def kept_disassembly(cubin: bytes, cache: DiskCache | None = None) -> str | None:
    """What disassemble() stored of this cubin; None where it did not, or where nvdisasm is not installed."""
    tool = find_tool(TOOL)
    if tool is None:
        return None
    data = _disk(cache).read(_key(cubin, tool))
    try:
        return None if data is None else zlib.decompress(data).decode("utf-8", "replace")
    except zlib.error:
        return None


def disassemble(cubin: bytes, *, trusted: bool, cache: DiskCache | None = None) -> str:
    """All code of a cubin with its source lines, as nvdisasm prints it, and kept in the cache.

    trusted: whether the submission is one's own; a stranger's is read only where there is a real box.
    Raises MachineError where nvdisasm is missing or there is no box, DisassemblyError where it fails.
    """
    tool = find_tool(TOOL)
    if tool is None:
        raise MachineError(f"{TOOL} is not installed: {INSTALL}.")
    found = bubblewrap()
    if isinstance(found, Absence) and not trusted:
        raise MachineError(f"A stranger's cubin is read in a box only, and there is none: {found.reason}. {found.fix}.")
    text = _run(tool.resolve(), cubin)
    _disk(cache).write(_key(cubin, tool), zlib.compress(text, 1))
    return text.decode("utf-8", "replace")


def _disk(cache: DiskCache | None) -> DiskCache:
    return cache if cache is not None else DiskCache(default_folder())


def _key(cubin: bytes, tool: Path) -> str:
    """A name in the cache. Another nvdisasm may print the same code otherwise."""
    status = os.stat(tool)
    version = f"{_FORMAT}\0{status.st_size}\0{status.st_mtime_ns}\0".encode()
    return hashlib.sha256(version + hashlib.sha256(cubin).digest()).hexdigest()


def _run(tool: Path, cubin: bytes) -> bytes:
    """What the tool writes about the cubin. Raises DisassemblyError."""
    deadline = time.monotonic() + WALL_LIMIT_S
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = BoxedProcess(
            [sys.executable, "-P", "-s", str(_BOX), str(theirs.fileno()), str(tool)],
            plain_view([tool]),
            box_environment(),
            (theirs.fileno(),),
            LIMITS.data_bytes,
        )
        try:
            theirs.close()
            ours.setblocking(False)
            process.settle()
            send_frame(ours, {"limits": dataclasses.asdict(LIMITS)}, [cubin], deadline)
            text = _read_all(process, deadline)
            code = process.exit_code(max(deadline - time.monotonic(), 0.0))
        except (OutOfTime, PeerGone):
            text, code = _read_all(process, time.monotonic() + 1.0), process.exit_code()
        finally:
            process.end()
    if code is None:
        raise DisassemblyError(f"{TOOL} did not end within {WALL_LIMIT_S:g} s.")
    if code != 0:
        told = text.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
        raise DisassemblyError(f"{TOOL} could not read the cubin: {told or f'it ended with code {code}'}.")
    return text


def _read_all(process: BoxedProcess, deadline: float) -> bytes:
    """All it prints until it closes its output or time is up. Raises DisassemblyError when that is too much."""
    text = bytearray()
    descriptor = process.stdout.fileno()
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    while poller.poll(1000 * max(deadline - time.monotonic(), 0.0)):
        part = os.read(descriptor, 1 << 16)
        if not part:
            break
        text += part
        if len(text) > MAX_TEXT_BYTES:
            raise DisassemblyError(f"The SASS has more than {MAX_TEXT_BYTES >> 20} MiB of text.")
    return bytes(text)


def sass_by_line(text: str, symbol: str) -> dict[int, list[str]]:
    """Instructions of a kernel by the line of the submission they came from; under 0 those of other files.

    What a function of a header became stands under the line of the submission that called it. Labels stand before
    the instruction that a branch to them reaches.
    """
    at: dict[int, list[str]] = {}
    line, open_chain, inside = 0, False, False
    label = ""
    for raw in text.split("\n"):
        section = _SECTION.match(raw)
        if section:
            inside = section[1] == symbol
            line, open_chain, label = 0, False, ""
        elif not inside:
            continue
        elif place := _PLACE.match(raw):
            # The innermost place comes first; the first one of the submission in such a chain is the line.
            own = int(place[2]) if place[1].lstrip("/") == SOURCE_NAME else 0
            line = own if not open_chain or line == 0 else line
            open_chain = True
        elif named := _LABEL.match(raw):
            label = f"{named[1]}: "
        elif instruction := _INSTRUCTION.match(raw):
            open_chain = False
            at.setdefault(line, []).append(f"{label}/*{instruction[1]}*/ {' '.join(instruction[2].split())}")
            label = ""
    return at
