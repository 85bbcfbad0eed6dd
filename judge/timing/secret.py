"""What a kernel must not know of its timed repeats: their data, and which of them are verified.

Everything follows from one key that the judge draws for a case. It stays in host memory, where no
kernel reads, and both sides of the wire derive the same from it.
"""

import hashlib
import os

VERIFIED_ONE_IN = 3
VERIFIED_AT_FIRST = 12
"""Repeats, warm-ups counted, of which all that are timed are verified: a slow kernel has no more of them, and a third
of few is too little to go by."""

MAX_KEPT = 64
"""Repeats whose rows are kept for verification; of more, a random choice."""

BLOCK_ROWS = 16
"""Neighboring rows of one kept repeat that are verified."""


class Secret:
    """The secrets of one timed case. key: random bytes."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def seed(self, repeat: int) -> int:
        """Seed of the signs of a repeat, never 0 (which means none)."""
        return self._draw("signs", repeat) | 1

    def verified(self, repeat: int) -> bool:
        return repeat < VERIFIED_AT_FIRST or self._draw("verified", repeat) % VERIFIED_ONE_IN == 0

    def block(self, repeat: int, rows: int) -> tuple[int, int]:
        """First row and number of rows that are verified of a repeat whose outputs have so many."""
        size = min(BLOCK_ROWS, rows)
        return self._draw("block", repeat) % (rows - size + 1), size

    def place(self, candidate: int, full: int) -> int:
        """Which of `full` kept repeats the candidate (counted from 0) replaces; `full` or more means none."""
        return self._draw("place", candidate) % (candidate + 1) if candidate >= full else candidate

    def swap(self, repeat: int) -> bool:
        """Whether the second of two compared kernels goes first."""
        return bool(self._draw("swap", repeat) & 1)

    def _draw(self, what: str, number: int) -> int:
        digest = hashlib.blake2b(f"{what} {number}".encode(), key=self._key, digest_size=8).digest()
        return int.from_bytes(digest, "little")


def new_key() -> str:
    """Hex of a key that nobody knows."""
    return os.urandom(32).hex()
