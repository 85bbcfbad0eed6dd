"""What a bench case needs around its run on a GPU: the request, the verification, the appraisal.

secret key -> request -> worker, alone on its GPU -> verified rows -> roofline and tier
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from judge.events import EventSink
from judge.problem import Array, Case, Problem
from judge.records import Timing
from judge.timing.exclusive import gpu_lock
from judge.timing.neighbors import Watch, told
from judge.timing.roofline import Work, appraise
from judge.timing.rulers import rulers_for
from judge.timing.secret import new_key
from judge.verification.compare import CaseJudgement
from judge.verification.timed import verify_timed
from judge.worker.messages import CaseRequest, CaseResult
from judge.worker.session import Session
from judge.worker.timing_messages import TimingRequest

BENCH_BUDGET_S = 1.5
"""How long a bench case may sample its time."""


@dataclass(frozen=True)
class Worth:
    """The figures of a timed case as a report shows them."""

    timing: Timing | None = None
    gbs: float | None = None
    fraction: float | None = None
    tier: Literal["gold", "silver", "bronze"] | None = None


def timing_request(problem: Problem, case: Case, arch: str, budget_s: float = BENCH_BUDGET_S) -> TimingRequest:
    """How a case is timed on a device of that architecture. Raises MachineError without a compiler."""
    timed = problem.timed
    return TimingRequest(
        key=new_key(),
        budget_s=budget_s,
        rows=timed.rows(case) if timed else 0,
        signed=timed.signed if timed else (),
        rulers=rulers_for(arch),
    )


def verified(
    problem: Problem, case: Case, inputs: Mapping[str, Array], result: CaseResult, key: str
) -> tuple[CaseJudgement, CaseResult] | None:
    """The judgement of a timed case's outputs and the result with what was verified; None for one not timed so."""
    if problem.timed is None or result.timing is None or result.evidence is None or not result.outputs:
        return None
    check = verify_timed(problem, case, inputs, result.outputs, result.evidence, key)
    update = {
        "fresh_data": bool(problem.timed.signed),
        "verified_repeats": check.repeats,
        "verified_rows": check.rows,
        "rows": check.total,
    }
    timing = result.timing.model_copy(update=update)
    return check.judgement, CaseResult(**{**vars(result), "timing": timing})


def worth(problem: Problem, case: Case, inputs: Mapping[str, Array], result: CaseResult) -> Worth:
    """The figures of a case that was accepted."""
    if result.timing is None:
        return Worth()
    outputs = sum(
        int(np.prod(buffer.extent(case.parameters), dtype=np.int64)) * buffer.numpy_dtype.itemsize
        for buffer in problem.outputs
    )
    work = Work(
        bytes_=problem.minimum_bytes(case, inputs),
        output_bytes=outputs,
        flops=problem.minimum_flops(case, inputs),
        launches=max(1, len(result.launches)),
        arithmetic=problem.timed.arithmetic if problem.timed else "f32",
    )
    appraisal = appraise(result.timing, work)
    tiers = problem.timed.tiers if problem.timed else None
    tier = tiers.of(appraisal.fraction) if tiers and appraisal.fraction is not None else None
    return Worth(appraisal.timing, appraisal.gbs, appraisal.fraction, tier)


def run_on_gpu(session: Session, request: CaseRequest, sink: EventSink) -> CaseResult:
    """Run a case when it is its turn on the GPU: a timed one alone, others beside each other."""
    address = session.properties().address
    lock = gpu_lock(address)

    def waiting() -> None:
        sink.note(
            "Waiting for the GPU: another judge is timing on it" + ("" if request.timing is None else ", or works")
        )

    if request.timing is None:
        with lock.shared(waiting):
            return session.run_case(request)
    with lock.alone(waiting):
        watch = Watch(address)
        result = session.run_case(request)
        return _with_neighbors(result, told(watch.found()))


def _with_neighbors(result: CaseResult, words: str) -> CaseResult:
    """The result, its time marked as noisy where others worked on the GPU meanwhile."""
    if not words or result.timing is None:
        return result
    because = (*result.timing.noisy_because, words)
    timing = result.timing.model_copy(update={"noisy": True, "noisy_because": because})
    return CaseResult(**{**vars(result), "timing": timing})
