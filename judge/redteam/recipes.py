"""How recipes are made: sources too large, or of bytes too odd, to stand in a catalogue file.

Each function marked as a recipe is one, by its name: in large.py what is deep, long or grows, in odd.py
launch lines, bytes that are no text, and text that a reader should take for something else.
"""

from collections.abc import Callable

HEAD = "// @launch k<<<1, 64>>>(x, out, N, factor)\n"
KERNEL = "__global__ void k(const float* x, float* out, int N, float factor) {\n  const int i = threadIdx.x;\n"
HONEST = KERNEL + "  out[i] = factor * x[i];\n}\n"
CAP = 256 * 1024

RECIPES: dict[str, Callable[[], bytes]] = {}


def recipe(build: Callable[[], bytes | str]) -> Callable[[], bytes | str]:
    def as_bytes() -> bytes:
        built = build()
        return built.encode() if isinstance(built, str) else built

    RECIPES[build.__name__] = as_bytes
    return build


def filled(text: str) -> str:
    """The text repeated up to the largest source that is taken, in front of an honest kernel."""
    room = CAP - len(HEAD) - len(HONEST) - 8
    return HEAD + text * (room // len(text)) + "\n" + HONEST


def in_kernel(text: str) -> str:
    return HEAD + KERNEL + text + "\n  out[i] = factor * x[i];\n}\n"


def before(text: str) -> str:
    return HEAD + text + "\n" + HONEST
