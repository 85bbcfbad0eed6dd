"""Makes wrong input out of right input: a seeded mangler of bytes and of words."""

import re
from random import Random

ODD_BYTES = (
    b"\0",
    b"\xff",
    b"\x7f",
    b"\x80",
    b"\xed\xa0\x80",
    b"\r",
    b"\n",
    b"\x1b[31m",
    b"KJF1",
    b"99999999999999999999",
)
ODD_TEXT = (
    "\x1b[31m",
    "\u202e",
    "\u2028",
    "\x9b2J",
    "\x85",
    "\x0c",
    "\r",
    "\n",
    "\t",
    "\U000e0001",
    "\ud800",
    "\0",
    "\ufeff",
    "FORGED\n",
    "\nFORGED ACCEPTED",
    "9" * 5000,
    "-1",
    "1e999",
    "NaN",
    "{",
    "}",
    "(",
    ")",
    "<",
    ">",
    "<<<",
    ">>>",
    "[",
    "]",
    "/*",
    "*/",
    "//",
    "\\",
    "\\\n",
    '"',
    "'",
    ",",
    ";",
    "@launch",
    "@workspace",
    "%",
    "{}",
    "a" * 3000,
)
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


def mangled_bytes(random: Random, data: bytes) -> bytes:
    """The bytes with a few pieces changed, cut, doubled or put in."""
    out = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4, 8))):
        at = random.randrange(len(out) + 1)
        end = min(len(out), at + random.choice((1, 2, 4, 8, 64)))
        match random.randrange(6):
            case 0:
                out[at:end] = b""
            case 1:
                out[at:at] = random.choice(ODD_BYTES)
            case 2:
                out[at:at] = out[at:end]
            case 3:
                out[at:end] = random.randbytes(end - at)
            case 4 if at < len(out):
                out[at] ^= 1 << random.randrange(8)
            case _:
                out = out[: random.randrange(len(out) + 1)] if random.random() < 0.2 else out
    return bytes(out)


def mangled_text(random: Random, text: str, other: str, words: tuple[str, ...] = ()) -> str:
    """The text with a few words changed, cut, doubled, moved or put in.

    other: a text pieces are taken from. words: what means something to the reader of it.
    """
    pieces = _WORD.findall(text)
    foreign = _WORD.findall(other) or [" "]
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        at = random.randrange(len(pieces) + 1)
        length = random.choice((1, 1, 2, 5, 20))
        match random.randrange(7):
            case 0:
                del pieces[at : at + length]
            case 1:
                pieces.insert(at, random.choice(ODD_TEXT))
            case 2:
                pieces[at:at] = pieces[at : at + length] * random.choice((1, 2, 50))
            case 3:
                start = random.randrange(len(foreign))
                pieces[at : at + length] = foreign[start : start + length]
            case 4 if words:
                pieces.insert(at, random.choice(words))
            case 5 if words:
                pieces[at : at + 1] = [random.choice(words)]
            case _:
                pieces[at:at] = [random.choice(ODD_TEXT)] * random.choice((1, 3, 300))
    return "".join(pieces)
