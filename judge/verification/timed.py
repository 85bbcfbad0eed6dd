"""Are the outputs of timed repeats right? Compares rows of them with float64.

Each repeat had other signs in its inputs, which follow from the case's secret; so does the choice of rows.
Of the last repeat all rows are compared where that is cheap, else a sample drawn by the system after the run;
the report says how many.
"""

import os
import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judge.problem import Array, Buffer, Case, Problem, Taker, Timed
from judge.records import ErrorSummary, Mismatch
from judge.timing.fresh import Fresh
from judge.timing.secret import BLOCK_ROWS, Secret
from judge.verdict import Verdict
from judge.verification.compare import CaseJudgement, OutputComparison, compare_output
from judge.verification.numbers import show_number
from judge.verification.tolerances import tolerance_of
from judge.worker.timing_messages import Evidence

LAST_FLOPS = 4e9
"""Operations of the reference that the last repeat may cost; more than that is verified in a sample of rows."""

LEAST_ROWS = 256
_ROWS_AT_ONCE = range(256, 1 << 16)
_FLOPS_AT_ONCE = 1e7
"""Rows are compared in portions of about so many operations: rows of one element would else cost more to divide."""

MOST_THREADS = 8

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class TimedCheck:
    """judgement: of all that was compared. repeats: how many were; rows: of the last one, of `total`."""

    judgement: CaseJudgement
    repeats: int
    rows: int
    total: int


def verify_timed(
    problem: Problem,
    case: Case,
    inputs: Mapping[str, Array],
    outputs: Mapping[str, bytes],
    evidence: Evidence,
    key: str,
) -> TimedCheck:
    """Compare the last repeat's outputs and the rows kept of others.

    inputs: without signs. outputs: raw bytes of the last repeat. key: of the case's TimingRequest.
    Raises ValueError for a problem that does not say how its timed outputs are verified.
    """
    timed = problem.timed
    if timed is None:
        raise ValueError(f"{problem.id} has no reference for rows")
    secret = Secret(bytes.fromhex(key))
    total = timed.rows(case)
    last = rows_of_last(problem, case, inputs, total)
    portion = _rows_at_once(problem.minimum_flops(case, inputs) / max(1, total))
    parts = [last[first : first + portion] for first in range(0, last.size, portion)]
    jobs = [(evidence.last, part, _picked(problem, outputs, total, part)) for part in parts]
    jobs += _kept(problem, case, evidence, secret, total)

    def one(job: tuple[int, Rows, dict[str, Array]]) -> list[OutputComparison]:
        repeat, rows, got = job
        return _compare(problem, timed, case, takers(timed, inputs, secret.seed(repeat)), rows, got)

    with ThreadPoolExecutor(min(MOST_THREADS, os.cpu_count() or 1)) as threads:
        compared = list(threads.map(one, jobs))
    judgement = _judge(problem, case, evidence, jobs, compared)
    return TimedCheck(judgement, 1 + len(evidence.kept), int(last.size), total)


def takers(timed: Timed, inputs: Mapping[str, Array], seed: int) -> dict[str, Taker]:
    """The inputs of a repeat, made row by row."""
    return {name: Fresh(array, seed if name in timed.signed else 0) for name, array in inputs.items()}


def rows_of_last(problem: Problem, case: Case, inputs: Mapping[str, Array], total: int) -> Rows:
    """Which rows of the last repeat are compared: all, or a random sample of blocks, in order."""
    affordable = int(total * LAST_FLOPS / max(1, problem.minimum_flops(case, inputs)))
    count = max(LEAST_ROWS, affordable)
    if count >= total:
        return np.arange(total, dtype=np.int64)
    blocks = -(-total // BLOCK_ROWS)
    chosen = sorted(random.SystemRandom().sample(range(blocks), min(blocks, -(-count // BLOCK_ROWS))))
    rows = (np.array(chosen, np.int64)[:, None] * BLOCK_ROWS + np.arange(BLOCK_ROWS)).reshape(-1)
    return rows[rows < total]


def _rows_at_once(flops_of_row: float) -> int:
    wanted = int(_FLOPS_AT_ONCE / max(1.0, flops_of_row))
    return min(max(wanted, _ROWS_AT_ONCE.start), _ROWS_AT_ONCE.stop)


def _picked(problem: Problem, outputs: Mapping[str, bytes], total: int, rows: Rows) -> dict[str, Array]:
    return {
        buffer.name: np.frombuffer(outputs[buffer.name], buffer.numpy_dtype).reshape(total, -1)[rows]
        for buffer in problem.outputs
    }


def _kept(
    problem: Problem, case: Case, evidence: Evidence, secret: Secret, total: int
) -> list[tuple[int, Rows, dict[str, Array]]]:
    jobs = []
    place = 0
    for repeat in evidence.kept:
        first, count = secret.block(repeat, total)
        got = {}
        for buffer in problem.outputs:
            size = int(np.prod(buffer.extent(case.parameters), dtype=np.int64)) // total * buffer.numpy_dtype.itemsize
            raw = evidence.rows[place : place + count * size]
            got[buffer.name] = np.frombuffer(raw, buffer.numpy_dtype).reshape(count, -1)
            place += count * size
        jobs.append((repeat, np.arange(first, first + count, dtype=np.int64), got))
    return jobs


def _compare(
    problem: Problem, timed: Timed, case: Case, inputs: Mapping[str, Taker], rows: Rows, got: Mapping[str, Array]
) -> list[OutputComparison]:
    wanted = timed.reference_rows(case, inputs, rows)
    return [
        compare_output(
            buffer,
            got[buffer.name],
            np.asarray(wanted[buffer.name], np.float64).reshape(rows.size, -1),
            tolerance_of(problem, buffer.name),
        )
        for buffer in problem.outputs
    ]


def _judge(
    problem: Problem,
    case: Case,
    evidence: Evidence,
    jobs: Sequence[tuple[int, Rows, dict[str, Array]]],
    compared: Sequence[Sequence[OutputComparison]],
) -> CaseJudgement:
    total = sum(c.wrong.size for of_job in compared for c in of_job)
    wrong = sum(int(c.wrong.sum()) for of_job in compared for c in of_job)
    max_abs = max((_largest(c) for of_job in compared for c in of_job), default=0.0)
    bad = [(job, c) for job, of_job in zip(jobs, compared, strict=True) for c in of_job if c.wrong.any()]
    if not bad:
        return _drift(compared, ErrorSummary(max_abs=max_abs, total=total))
    (repeat, rows, _), first = bad[0]
    mismatch = _first(case, first, rows)
    error = ErrorSummary(max_abs=max_abs, mismatches=wrong, total=total, first=mismatch)
    where = f"{mismatch.output}[{', '.join(map(str, mismatch.index))}]"
    values = f"{where}: got {show_number(mismatch.got)}, want {show_number(mismatch.want)}"
    repeats = {number for (number, _, _), _ in bad}
    message = f"{wrong} of {total} verified elements of timed repeats differ; the first is {values}."
    if evidence.last not in repeats:
        message = (
            f"Timed repeat {repeat} has wrong outputs, the last one has right ones: the kernel does not do the same "
            f"work every time. {message}"
        )
    elif len(repeats) == 1 and evidence.kept:
        message = f"Only the last timed repeat has wrong outputs. {message}"
    return CaseJudgement(Verdict.WRONG_ANSWER, message, error)


def _drift(compared: Sequence[Sequence[OutputComparison]], error: ErrorSummary) -> CaseJudgement:
    """Every element is inside its tolerance; whole rows may still be off by too much on average."""
    drifting = [text for of_job in compared for c in of_job for text in c.slices_over]
    if not drifting:
        return CaseJudgement(Verdict.ACCEPTED, "", error)
    message = f"Every element is inside its tolerance, but the error is systematic: {drifting[0]} (verified rows)."
    return CaseJudgement(Verdict.WRONG_ANSWER, message, error)


def _largest(compared: OutputComparison) -> float:
    error = compared.error
    finite = np.isfinite(error)
    return float(error[finite].max()) if finite.any() else 0.0


def _first(case: Case, compared: OutputComparison, rows: Rows) -> Mismatch:
    row, column = (int(i) for i in np.argwhere(compared.wrong)[0])
    buffer: Buffer = compared.buffer
    width = compared.wrong.shape[1]
    index = np.unravel_index(int(rows[row]) * width + column, buffer.extent(case.parameters))
    return Mismatch(
        output=buffer.name,
        index=tuple(int(i) for i in index),
        got=_figure(float(compared.got[row, column])),
        want=_figure(float(compared.want[row, column])),
    )


def _figure(value: float) -> float | str:
    return value if np.isfinite(value) else str(value)
