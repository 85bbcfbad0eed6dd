"""Times a case on a device and keeps outputs of repeats that the judge will verify.

    fresh signs, poison -> cold sample -> a secret third: 16 rows kept -> ... -> last: all outputs stay

Before every repeat, warm-ups included, the inputs get signs that no repeat had before and outputs and
workspaces are poisoned: an answer kept from an earlier repeat is wrong, and one that was not computed shows.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from judge.backends.base import POISON_BYTE, Device, Launch
from judge.problem import Role
from judge.records import Timing
from judge.timing.comparison import PairPolicy, sample_pairs
from judge.timing.sampling import Bench, Policy, sample, summarize
from judge.timing.secret import MAX_KEPT, Secret
from judge.worker.messages import CaseRequest
from judge.worker.timing_messages import Evidence, TimingRequest


class RefreshingBench(Bench, Protocol):
    """A Bench that can also give inputs other signs."""

    def refresh(self, address: int, count: int, element_bytes: int, before: int, now: int) -> None: ...

    def close(self) -> None: ...


@runtime_checkable
class TimedDevice(Device, Protocol):
    """A device whose clock is worth reading (a GPU)."""

    def renew(self) -> None:
        """Load the module anew."""
        ...

    def rival(self, image: bytes) -> Device:
        """The same device and allocations with a second module."""
        ...

    def bench(self, rulers: bytes) -> RefreshingBench: ...


@dataclass
class _Keeper:
    """The data of each repeat and what is kept of it.

    kept: (repeat, rows of every output) of verified repeats. seed: of the signs that the inputs have now.
    """

    device: Device
    bench: RefreshingBench
    request: CaseRequest
    timing: TimingRequest
    addresses: dict[str, int]
    workspaces: Sequence[tuple[int, int]]
    secret: Secret
    seed: int = 0
    last: int = -1
    candidates: int = 0
    kept: list[tuple[int, bytes]] = field(default_factory=list)

    def prepare(self, repeat: int) -> None:
        self.give_signs(self.secret.seed(repeat))
        self.poison()

    def poison(self) -> None:
        for buffer in self.request.outputs:
            self.device.poison(self.addresses[buffer.name], buffer.size_bytes, POISON_BYTE)
        for address, size_bytes in self.workspaces:
            self.device.poison(address, size_bytes, POISON_BYTE)

    def give_signs(self, seed: int) -> None:
        for buffer in self.request.buffers:
            if buffer.role is Role.INPUT and buffer.name in self.timing.signed:
                count = buffer.size_bytes // buffer.element_bytes
                self.bench.refresh(self.addresses[buffer.name], count, buffer.element_bytes, self.seed, seed)
        self.seed = seed

    def keep(self, repeat: int, last: bool) -> None:
        if last:
            self.last = repeat
        elif self.timing.rows and self.secret.verified(repeat):
            place = self.secret.place(self.candidates, MAX_KEPT)
            self.candidates += 1
            if place < MAX_KEPT:
                self.kept[place : place + 1] = [(repeat, self._rows_of(repeat))]

    def _rows_of(self, repeat: int) -> bytes:
        first, count = self.secret.block(repeat, self.timing.rows)
        parts = []
        for buffer in self.request.outputs:
            row_bytes = buffer.size_bytes // self.timing.rows
            parts.append(self.device.download(self.addresses[buffer.name] + first * row_bytes, count * row_bytes))
        return b"".join(parts)


def time_case(
    device: TimedDevice,
    request: CaseRequest,
    launches: Sequence[Launch],
    addresses: dict[str, int],
    workspaces: Sequence[tuple[int, int]],
) -> tuple[Timing, Evidence]:
    """Sample a case; its outputs are then those of the last repeat, its inputs what they were in the beginning."""
    timing = request.timing
    assert timing is not None
    bench = device.bench(timing.rulers)
    try:
        keeper = _Keeper(device, bench, request, timing, addresses, workspaces, Secret(bytes.fromhex(timing.key)))
        policy = Policy(budget_s=timing.budget_s)
        samples = sample(bench, launches, policy, before=keeper.prepare, after=keeper.keep)
        keeper.give_signs(0)
    finally:
        bench.close()
    evidence = Evidence(keeper.last, tuple(n for n, _ in keeper.kept), b"".join(rows for _, rows in keeper.kept))
    return summarize(samples, policy), evidence


def time_pair(
    device: TimedDevice,
    request: CaseRequest,
    ours: Sequence[Launch],
    rival: Device,
    theirs: Sequence[Launch],
    addresses: dict[str, int],
    workspaces: Sequence[tuple[int, int]],
) -> tuple[tuple[float, float], ...]:
    """Times of two kernels in turns, on the same data, in microseconds."""
    timing = request.timing
    assert timing is not None
    assert isinstance(rival, TimedDevice)
    bench = device.bench(timing.rulers)
    other = rival.bench(timing.rulers)
    secret = Secret(bytes.fromhex(timing.key))
    keeper = _Keeper(device, bench, request, timing, addresses, workspaces, secret)

    def one(repeat: int, second: bool) -> float:
        keeper.poison()
        return other.cold_sample(theirs) if second else bench.cold_sample(ours)

    try:
        pairs = sample_pairs(one, keeper.prepare, secret.swap, PairPolicy(budget_s=timing.budget_s), time.monotonic)
        keeper.give_signs(0)
    finally:
        other.close()
        bench.close()
    return pairs
