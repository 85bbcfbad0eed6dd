"""Bytes a module keeps in device memory from its loading on: its __device__ and __constant__ variables.

`__device__ char g[1L << 62];` compiles in no time; it is refused here, before any device is asked.
"""

import re

from judge.compiler.resources import device_data_bytes

MAX_STATIC_BYTES = 256 << 20

_VARIABLE = re.compile(
    rb"^[ \t]*(?:\.(?:visible|weak|common)[ \t]+)*\.(?:global|const)\b(?P<rest>[^=;{]*)", re.MULTILINE
)
_TYPE = re.compile(rb"\.[bsuf](8|16|32|64|128)\b")
_EXTENT = re.compile(rb"\[(\d+)\]")
_MOST_DIGITS = 19
"""Inline assembly writes what it likes, and Python refuses to read a number of thousands of digits."""


def shared_arrays(image: bytes, symbol: str) -> int:
    """Bytes of the `__shared__` arrays that a kernel of a PTX image declares in its own body.

    symbol: the kernel's mangled name; the compiler builds the names of its local statics from it.
    """
    if not symbol.startswith("_Z"):
        return 0
    own = rf"^[ \t]*\.shared\b[^=;{{\n]*?\b_ZZ{re.escape(symbol[2:])}E[^;\n]*".encode()
    total = 0
    for match in re.finditer(own, image, re.MULTILINE):
        element = _TYPE.search(match[0])
        size = int(element[1]) // 8 if element else 8
        for extent in _EXTENT.findall(match[0]):
            size *= int(extent)
        total += size
    return total


def static_bytes(image: bytes, kind: str) -> int:
    """kind: "ptx" or "cubin"."""
    if kind == "cubin":
        return device_data_bytes(image)
    total = 0
    for match in _VARIABLE.finditer(image):
        element = _TYPE.search(match["rest"])
        size = int(element[1]) // 8 if element else 8
        for extent in _EXTENT.findall(match["rest"]):
            size *= int(extent) if len(extent) <= _MOST_DIGITS else 10**_MOST_DIGITS
        total += size
    return total
