"""Frames for a small sandboxed process: length, JSON header, raw blobs. Standard library only.

    header bytes (u32) | header (JSON: an object with "sizes") | blobs

The reader gives a cap for everything it will take; nothing is unpickled. The worker's wire
(worker/wire.py) carries arrays and costs NumPy's import, which a process of 0.1 s cannot afford.
"""

import json
import select
import socket
import struct
import time
from collections.abc import Sequence
from typing import Any

_LENGTH = struct.Struct("<I")


class FrameError(Exception):
    """What came is no frame, or larger than the cap."""


class PeerGone(Exception):  # noqa: N818 - the usual end of a box that was killed
    """The other side closed the channel or died."""


class OutOfTime(Exception):  # noqa: N818 - the verdict on a compilation
    """The deadline passed."""


def send_frame(
    channel: socket.socket, header: dict[str, Any], blobs: Sequence[bytes] = (), deadline: float | None = None
) -> None:
    """Send a frame. deadline: of time.monotonic(). Raises PeerGone, OutOfTime."""
    text = json.dumps({**header, "sizes": [len(blob) for blob in blobs]}).encode()
    for part in (_LENGTH.pack(len(text)), text, *blobs):
        rest = memoryview(part)
        while rest.nbytes:
            _wait(channel, select.POLLOUT, deadline)
            try:
                rest = rest[channel.send(rest) :]
            except BlockingIOError:
                continue
            except (BrokenPipeError, ConnectionResetError) as error:
                raise PeerGone from error


def receive_frame(
    channel: socket.socket, cap_bytes: int, deadline: float | None = None
) -> tuple[dict[str, Any], list[bytes]]:
    """The next frame, at most cap_bytes long. Raises FrameError, PeerGone, OutOfTime."""
    (size,) = _LENGTH.unpack(_read(channel, _LENGTH.size, deadline))
    if size > cap_bytes:
        raise FrameError(f"a header of {size} bytes, at most {cap_bytes} are taken")
    try:
        header = json.loads(_read(channel, size, deadline))
        sizes = [int(one) for one in header["sizes"]]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise FrameError("the header is not what a frame has") from error
    if not isinstance(header, dict) or min(sizes, default=0) < 0 or size + sum(sizes) > cap_bytes:
        raise FrameError(f"a frame of {sum(sizes)} bytes, at most {cap_bytes} are taken")
    return header, [_read(channel, one, deadline) for one in sizes]


def _read(channel: socket.socket, size: int, deadline: float | None) -> bytes:
    data = bytearray(size)
    rest = memoryview(data)
    while rest.nbytes:
        _wait(channel, select.POLLIN, deadline)
        try:
            count = channel.recv_into(rest)
        except BlockingIOError:
            continue
        except ConnectionResetError as error:
            raise PeerGone from error
        if count == 0:
            raise PeerGone
        rest = rest[count:]
    return bytes(data)


def _wait(channel: socket.socket, event: int, deadline: float | None) -> None:
    if deadline is None:
        return
    poller = select.poll()
    poller.register(channel, event)
    if not poller.poll(max(0.0, deadline - time.monotonic()) * 1000) and time.monotonic() >= deadline:
        raise OutOfTime
