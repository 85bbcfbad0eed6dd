"""Device printf formats its argument buffer as C does."""

import struct

import pytest

from judge.backends.cpu.device_printf import format_printf

STRINGS = {0x1000: b"tile", 0x2000: b""}


def pack(*arguments: int | float) -> bytes:
    """Arguments at their natural alignment: int as 4 bytes, float as double, big ints as 8."""
    data = b""
    for argument in arguments:
        code = "d" if isinstance(argument, float) else "q" if abs(argument) >= 1 << 31 else "i"
        size = struct.calcsize(code)
        data += b"\0" * (-len(data) % size) + struct.pack("<" + code, argument)
    return data


@pytest.mark.parametrize(
    ("format_", "arguments", "text"),
    [
        (b"plain\n", b"", "plain\n"),
        (b"%d %i %u", pack(-3, 4, -1), "-3 4 4294967295"),
        (b"%5d|%-5d|%05d|%+d", pack(7, 7, 7, 7), "    7|7    |00007|+7"),
        (b"%x %X %#x %o %#o", pack(255, 255, 255, 8, 8), "ff FF 0xff 10 010"),
        (b"%.3f %8.2f %e %g", pack(1.5, 2.25, 1.0, 0.5), "1.500     2.25 1.000000e+00 0.5"),
        (b"%d %f", pack(1, 2.0), "1 2.000000"),
        (b"%lld %llu", pack(1 << 40, 1 << 40), "1099511627776 1099511627776"),
        (b"%c%c", pack(ord("o"), ord("k")), "ok"),
        (b"%*d|%.*f", pack(4, 7, 1, 2.55), "   7|2.5"),
        (b"%hhd %hu", pack(200, 70000), "-56 4464"),
        (b"100%%", b"", "100%"),
        (b"%f %f", pack(float("inf"), float("nan")), "inf nan"),
        (b"%q %d", pack(5), "%q 5"),
    ],
)
def test_conversions(format_: bytes, arguments: bytes, text: str):
    assert format_printf(format_, arguments, STRINGS.__getitem__)[0] == text


def test_strings_and_pointers_are_eight_bytes():
    arguments = struct.pack("<i4xQQ", 3, 0x1000, 0xABC)
    text, count = format_printf(b"%d %6s %p", arguments, STRINGS.__getitem__)
    assert (text, count) == ("3   tile 0xabc", 3)


def test_a_short_buffer_and_a_huge_width_do_no_harm():
    assert format_printf(b"%d %d", pack(1), STRINGS.__getitem__)[0] == "1 0"
    assert len(format_printf(b"%999999999d", pack(1), STRINGS.__getitem__)[0]) == 4096
