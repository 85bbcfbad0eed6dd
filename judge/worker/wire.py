"""Frames between the supervisor and a worker: magic, sizes, a JSON header, raw blobs.

    b"KJF1" | header bytes (u32) | number of blobs (u32) | header (JSON) | sizes (u64 each) | blobs

The peer of the supervisor ran a stranger's kernel, so nothing in a frame is trusted: every size is
checked against a cap before memory is taken for it, and nothing is ever unpickled. The channel is
a socket of its own; standard output and error of a worker are logs and never parsed.
"""

import json
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MAGIC = b"KJF1"
MAX_HEADER_BYTES = 16 << 20
MAX_BLOBS = 64

_HEAD = struct.Struct("<4sII")


class WireError(Exception):
    """The bytes on the channel are no frame, or larger than the receiver allows."""


class ChannelClosed(Exception):  # noqa: N818 - the end of a conversation, not always an error
    """The other side closed the channel. `clean` is True between two frames."""

    def __init__(self, *, clean: bool) -> None:
        super().__init__("channel closed" if clean else "channel closed in the middle of a frame")
        self.clean = clean


@dataclass(frozen=True)
class Frame:
    header: dict[str, Any]
    blobs: tuple[memoryview, ...] = ()


def encode(header: dict[str, Any], blobs: Sequence[bytes | memoryview] = ()) -> list[memoryview]:
    """The parts of a frame in the order they go out; blobs are not copied."""
    text = json.dumps(header, separators=(",", ":"), allow_nan=True).encode()
    if len(text) > MAX_HEADER_BYTES or len(blobs) > MAX_BLOBS:
        raise WireError(f"a frame of {len(text)} header bytes and {len(blobs)} blobs is over the limits of the wire")
    views = [memoryview(blob).cast("B") if len(blob) else memoryview(b"") for blob in blobs]
    sizes = struct.pack(f"<{len(views)}Q", *(view.nbytes for view in views))
    head = _HEAD.pack(MAGIC, len(text), len(views)) + text + sizes
    return [memoryview(head), *(view for view in views if view.nbytes)]


class FrameReader:
    """Reads frames from a socket, in pieces where it is non-blocking.

    blob_cap: the most bytes all blobs of one frame may have together; set it anew before a reply
    whose size is known.
    """

    def __init__(self, channel: socket.socket, blob_cap: int) -> None:
        self._channel = channel
        self.blob_cap = blob_cap
        self._restart()

    def _restart(self) -> None:
        self._stage = "head"
        self._begin(_HEAD.size)
        self._header: dict[str, Any] = {}
        self._sizes: tuple[int, ...] = ()
        self._blobs: list[memoryview] = []

    def _begin(self, size: int) -> None:
        # np.empty: no pass over memory that is about to be filled anyway.
        self._buffer: memoryview = np.empty(size, np.uint8).data
        self._filled = 0

    def advance(self) -> Frame | None:
        """A whole frame, or None when a non-blocking channel has no more bytes for now.

        Raises WireError on bytes that are no frame and ChannelClosed at the end of the stream.
        """
        while True:
            while self._filled < self._buffer.nbytes:
                try:
                    count = self._channel.recv_into(self._buffer[self._filled :])
                except (BlockingIOError, InterruptedError):
                    return None
                except ConnectionResetError:
                    count = 0
                if count == 0:
                    raise ChannelClosed(clean=self._stage == "head" and self._filled == 0)
                self._filled += count
            frame = self._complete()
            if frame is not None:
                self._restart()
                return frame

    def _complete(self) -> Frame | None:
        """One part of the frame has arrived; set up the next, or give the frame."""
        if self._stage == "head":
            magic, header_bytes, blobs = _HEAD.unpack(self._buffer)
            if magic != MAGIC or header_bytes > MAX_HEADER_BYTES or blobs > MAX_BLOBS:
                raise WireError("what came over the channel is no frame")
            self._blob_count = blobs
            self._stage = "header"
            self._begin(header_bytes + 8 * blobs)
            return None
        if self._stage == "header":
            self._take_header()
            self._stage = "blobs"
        else:
            self._blobs.append(self._buffer)
        if len(self._blobs) < len(self._sizes):
            self._begin(self._sizes[len(self._blobs)])
            return None
        return Frame(self._header, tuple(self._blobs))

    def _take_header(self) -> None:
        text_bytes = self._buffer.nbytes - 8 * self._blob_count
        try:
            header = json.loads(bytes(self._buffer[:text_bytes]))
        except (ValueError, RecursionError) as error:
            raise WireError("the header of a frame is no JSON") from error
        if not isinstance(header, dict) or not isinstance(header.get("type"), str):
            raise WireError("the header of a frame has no type")
        self._header = header
        self._sizes = struct.unpack(f"<{self._blob_count}Q", self._buffer[text_bytes:])
        if sum(self._sizes) > self.blob_cap:
            raise WireError(f"a frame of {sum(self._sizes)} bytes, at most {self.blob_cap} were expected")


def send_all(channel: socket.socket, parts: Sequence[memoryview]) -> None:
    """Send a frame over a blocking socket."""
    for part in parts:
        channel.sendall(part)


def receive(reader: FrameReader) -> Frame:
    """The next frame of a blocking channel."""
    frame = reader.advance()
    if frame is None:
        raise WireError("receive() needs a blocking channel")
    return frame
