"""Limits of a user: requests in a minute, and open event streams. They live in the process and cost no query."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from judge.api.errors import Refusal

WINDOW_S = 60.0
MAX_BUCKETS = 10_000


@dataclass
class _Bucket:
    left: float
    at: float


class RateLimit:
    """A bucket a user: `rate` requests at once, refilled evenly over a minute. rate None: no limit."""

    def __init__(self, name: str, rate: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._rate = rate
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    def spend(self, user: str) -> dict[str, str]:
        """Take one; gives the headers that tell what is left. Raises Refusal when nothing is."""
        if self._rate is None:
            return {}
        now = self._clock()
        if len(self._buckets) > MAX_BUCKETS:
            # Those that are full again remember nothing.
            self._buckets = {u: b for u, b in self._buckets.items() if now - b.at < WINDOW_S}
        bucket = self._buckets.setdefault(user, _Bucket(self._rate, now))
        bucket.left = min(self._rate, bucket.left + (now - bucket.at) * self._rate / WINDOW_S)
        bucket.at = now
        policy = {"RateLimit-Policy": f'"{self._name}";q={self._rate};w={WINDOW_S:.0f}'}
        if bucket.left < 1:
            wait_s = max(1, round((1 - bucket.left) * WINDOW_S / self._rate + 0.5))
            headers = {**policy, "RateLimit": f'"{self._name}";r=0;t={wait_s}', "Retry-After": str(wait_s)}
            told = f"At most {self._rate} requests of this kind in a minute. Try again in {wait_s} s."
            raise Refusal("rate_limited", told, headers=headers)
        bucket.left -= 1
        full_s = round((self._rate - bucket.left) * WINDOW_S / self._rate)
        return {**policy, "RateLimit": f'"{self._name}";r={int(bucket.left)};t={full_s}'}


class StreamLimit:
    """How many event streams are open, in all and of each user."""

    def __init__(self, total: int, of_user: int) -> None:
        self._total = total
        self._of_user = of_user
        self._open: dict[str, int] = {}

    @property
    def open(self) -> int:
        return sum(self._open.values())

    @contextmanager
    def held(self, user: str) -> Iterator[None]:
        self.check(user)
        self._open[user] = self._open.get(user, 0) + 1
        try:
            yield
        finally:
            self._open[user] -= 1
            if not self._open[user]:
                del self._open[user]

    def check(self, user: str) -> None:
        """Raises Refusal when no further stream may be opened."""
        if self._open.get(user, 0) >= self._of_user or self.open >= self._total:
            told = "Close one, or ask with ?wait= instead."
            raise Refusal("too_many_streams", told, headers={"Retry-After": "5"})
