"""Frames survive the wire, and anything that is no frame is refused before memory is taken for it."""

import socket
import struct
import threading

import pytest

from judge.worker.wire import MAGIC, MAX_BLOBS, ChannelClosed, FrameReader, WireError, encode, receive, send_all


@pytest.fixture
def pair():
    left, right = socket.socketpair()
    with left, right:
        yield left, right


@pytest.mark.parametrize("blobs", [[], [b""], [b"abc", b"", bytes(range(256)) * 4096]])
def test_a_frame_comes_back_as_it_was_sent(pair, blobs):
    left, right = pair
    sender = threading.Thread(target=send_all, args=(left, encode({"type": "x", "n": 3}, blobs)))
    sender.start()
    frame = receive(FrameReader(right, 1 << 24))
    sender.join()
    assert frame.header == {"type": "x", "n": 3}
    assert [bytes(blob) for blob in frame.blobs] == blobs


def test_frames_arrive_in_pieces_and_one_after_another(pair):
    left, right = pair
    right.setblocking(False)
    reader = FrameReader(right, 100)
    raw = b"".join(encode({"type": "one"}, [b"12345"])) + b"".join(encode({"type": "two"}))
    got = []
    for byte in raw:
        left.sendall(bytes([byte]))
        frame = reader.advance()
        if frame is not None:
            got.append(frame)
    assert [frame.header["type"] for frame in got] == ["one", "two"]
    assert bytes(got[0].blobs[0]) == b"12345"


@pytest.mark.parametrize(
    "raw",
    [
        b"hello, world of kernels",
        struct.pack("<4sII", b"KJF0", 2, 0),
        struct.pack("<4sII", MAGIC, 1 << 31, 0),
        struct.pack("<4sII", MAGIC, 2, MAX_BLOBS + 1),
        struct.pack("<4sII", MAGIC, 4, 0) + b"\xff\xfe{}",
        struct.pack("<4sII", MAGIC, 2, 0) + b"[]",
        struct.pack("<4sII", MAGIC, 2, 0) + b"{}",
        struct.pack("<4sII", MAGIC, 12, 0) + b'{"type": 12}',
        struct.pack("<4sII", MAGIC, 14, 1) + b'{"type": "x" }' + struct.pack("<Q", 1 << 60),
        struct.pack("<4sII", MAGIC, 14, 2) + b'{"type": "x" }' + struct.pack("<QQ", 60, 41),
    ],
)
def test_bytes_that_are_no_frame_are_refused(pair, raw):
    left, right = pair
    left.sendall(raw)
    with pytest.raises(WireError):
        receive(FrameReader(right, 100))


def test_the_end_of_the_channel_is_clean_only_between_frames(pair):
    left, right = pair
    reader = FrameReader(right, 100)
    left.sendall(b"".join(encode({"type": "x"}))[:7])
    left.close()
    with pytest.raises(ChannelClosed) as caught:
        receive(reader)
    assert not caught.value.clean


def test_deep_json_is_refused_and_not_a_crash(pair):
    left, right = pair
    text = b'{"type":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    threading.Thread(target=left.sendall, args=(struct.pack("<4sII", MAGIC, len(text), 0) + text,)).start()
    with pytest.raises(WireError):
        receive(FrameReader(right, 100))
