"""The part of the messages that is about timing: what is asked, and the evidence that comes back."""

from collections.abc import Sequence
from dataclasses import dataclass

from judge.timing.secret import BLOCK_ROWS, MAX_KEPT, Secret
from judge.worker.wire import WireError


@dataclass(frozen=True)
class TimingRequest:
    """How a bench case is timed.

    key: hex of the secret that its data and the choice of verified repeats follow from (timing/secret.py).
    signed: inputs that get other signs for each repeat. rows: equal parts of the outputs; 0 keeps the last
    repeat's outputs alone. budget_s: how long it may sample. rulers: cubin of the judge's own kernels.
    """

    key: str
    budget_s: float = 1.0
    rows: int = 0
    signed: tuple[str, ...] = ()
    rulers: bytes = b""


@dataclass(frozen=True)
class Evidence:
    """Outputs of timed repeats. last: number of the repeat whose outputs are the result's.

    kept: numbers of others, of each of which `rows` has the verified rows of every output, one after the other.
    """

    last: int
    kept: tuple[int, ...] = ()
    rows: bytes = b""


def kept_bytes(timing: TimingRequest, output_bytes: Sequence[int]) -> int:
    """Bytes of the rows that are kept of one repeat. output_bytes: of each output."""
    if not timing.rows:
        return 0
    return min(BLOCK_ROWS, timing.rows) * sum(size // timing.rows for size in output_bytes)


def evidence_cap(timing: TimingRequest | None, output_bytes: Sequence[int]) -> int:
    """The most bytes that evidence may have."""
    return 0 if timing is None else MAX_KEPT * kept_bytes(timing, output_bytes)


def checked_evidence(
    timing: TimingRequest | None, output_bytes: Sequence[int], last: int, kept: tuple[int, ...], rows: bytes
) -> Evidence:
    """Evidence as a worker sent it. Raises WireError where it is not what its key asks for."""
    if timing is None:
        raise WireError("evidence of a case that was not to be timed")
    secret = Secret(bytes.fromhex(timing.key))
    numbers = set(kept)
    sound = len(numbers) == len(kept) <= MAX_KEPT and all(
        0 <= number < last and secret.verified(number) for number in numbers
    )
    if not sound or len(rows) != len(kept) * kept_bytes(timing, output_bytes):
        raise WireError("the evidence of a timed case is not what its key asks for")
    return Evidence(last, kept, rows)
