"""What a device printf prints: C's format string over the argument buffer that vprintf gets.

Arguments lie one after another at their natural alignment: 4 bytes for int and char, 8 for long,
long long, pointers, strings and double (float is promoted).
"""

import re
import struct
from collections.abc import Callable

_CONVERSION = re.compile(
    rb"%(?P<flags>[-+ #0]*)(?P<width>\*|\d+)?(?:\.(?P<precision>\*|\d+)?)?(?P<length>hh|h|ll|l|j|z|t|L)?(?P<kind>.)",
    re.DOTALL,
)
_CAP = 1 << 16
_WIDEST = 4096


class _Arguments:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._offset = 0
        self.count = 0

    def take(self, code: str) -> int | float:
        """The next argument by struct code, zero past the end of the buffer."""
        size = struct.calcsize(code)
        start = -(-self._offset // size) * size
        self._offset = start + size
        self.count += 1
        piece = self._data[start : start + size].ljust(size, b"\0")
        value: int | float = struct.unpack("<" + code, piece)[0]
        return value


def format_printf(format_: bytes, arguments: bytes, read_string: Callable[[int], bytes]) -> tuple[str, int]:
    """(text, number of arguments used). read_string gives the bytes at a device address, up to its NUL."""
    pending = _Arguments(arguments)
    pieces: list[bytes] = []
    position = 0
    while (match := _CONVERSION.search(format_, position)) is not None:
        pieces.append(format_[position : match.start()])
        pieces.append(_convert(match, pending, read_string))
        position = match.end()
    pieces.append(format_[position:])
    return b"".join(pieces)[:_CAP].decode("utf-8", "replace"), pending.count


def _convert(match: re.Match[bytes], pending: _Arguments, read_string: Callable[[int], bytes]) -> bytes:
    kind = match["kind"].decode("latin-1")
    if kind == "%":
        return b"%"
    if kind not in "diouxXeEfFgGaAcsp":
        return match.group()
    flags = match["flags"].decode()
    width, precision = match["width"], match["precision"]
    has_precision = b"." in match.group()
    if width == b"*":
        amount = int(pending.take("i"))
        flags += "-" if amount < 0 else ""
        width = str(abs(amount)).encode()
    if precision == b"*":
        amount = int(pending.take("i"))
        has_precision, precision = amount >= 0, str(amount).encode()
    columns = str(min(int(width), _WIDEST)) if width else ""
    digits = "." + str(min(int(precision or b"0"), _WIDEST)) if has_precision else ""
    spec = "%" + flags + columns
    plain = "%" + flags.replace("0", "") + columns
    long = (match["length"] or b"").decode() in ("l", "ll", "j", "z", "t")
    if kind in "diouxX":
        code = ("q" if long else "i") if kind in "di" else ("Q" if long else "I")
        return _integer(int(pending.take(code)), kind, spec + digits, match["length"] or b"")
    if kind == "c":
        return (plain + "c").encode() % bytes([int(pending.take("i")) & 0xFF])
    if kind == "s":
        return (plain + digits + "s").encode() % read_string(int(pending.take("Q")))
    if kind == "p":
        return (plain + "s").encode() % hex(int(pending.take("Q"))).encode()
    value = float(pending.take("d"))
    if kind in "aA":
        text = value.hex()
        return (plain + "s").encode() % (text if kind == "a" else text.upper()).encode()
    return (spec + digits + kind).encode() % value


def _integer(value: int, kind: str, spec: str, length: bytes) -> bytes:
    bits = {b"hh": 8, b"h": 16}.get(length)
    if bits is not None:
        value &= (1 << bits) - 1
        if kind in "di" and value >> (bits - 1):
            value -= 1 << bits
    if kind == "o" and "#" in spec:
        # Python writes the alternate octal as 0o17, C as 017.
        return (spec.replace("#", "") + "s").encode() % f"0{value:o}".encode()
    return (spec + ("d" if kind in "iu" else kind)).encode() % value
