"""What a time is worth: set against what the same device did in the same minute.

    roof = max(minimum bytes / measured streaming read, minimum operations / measured rate)

A time far below what is possible is no record but a fault, of the kernel, the problem or the judge, and is
told as one. Possible is judged generously: only bytes that must come from memory count (outputs may stay in
L2), and operations may run on tensor cores, whatever the problem's own arithmetic is.
"""

from dataclasses import dataclass
from typing import Literal

from judge.problem import Arithmetic
from judge.records import Timing

CREDIBLE = 1.05
"""A figure above this multiple of what is possible is refused."""

LAUNCH_BOUND = 4.0
"""A case whose launches take less than this many times as long as empty ones says more of launching than of work."""


@dataclass(frozen=True)
class Work:
    """The least a case asks of any kernel. bytes_: inputs and outputs once; output_bytes: those of the outputs."""

    bytes_: int
    output_bytes: int
    flops: int
    launches: int
    arithmetic: Arithmetic = "f32"


@dataclass(frozen=True)
class Appraisal:
    """A timing with its roof. gbs and fraction are None where they would mislead."""

    timing: Timing
    gbs: float | None
    fraction: float | None


def appraise(timing: Timing, work: Work) -> Appraisal:
    """Set a time against the rates measured beside it."""
    least = {"minimum_bytes": work.bytes_, "minimum_flops": work.flops, "arithmetic": work.arithmetic}
    timing = timing.model_copy(update=least)
    rates = timing.rates
    if rates is None:
        return Appraisal(timing, work.bytes_ / (timing.median_us * 1e3), None)
    memory_us = work.bytes_ / (rates.read_gbs * 1e3)
    compute_us = work.flops / (rates.tflops(work.arithmetic) * 1e6)
    roof_us = max(memory_us, compute_us)
    bound: Literal["memory", "compute", "launch"] = "memory" if memory_us >= compute_us else "compute"
    refused = _impossible(timing, work)
    if refused:
        return Appraisal(timing.model_copy(update={"roof_us": roof_us, "bound": bound, "refused": refused}), None, None)
    if timing.median_us < LAUNCH_BOUND * rates.overhead_us * work.launches:
        return Appraisal(timing.model_copy(update={"roof_us": roof_us, "bound": "launch"}), None, None)
    told = timing.model_copy(update={"roof_us": roof_us, "bound": bound})
    return Appraisal(told, work.bytes_ / (timing.median_us * 1e3), roof_us / timing.median_us)


def _impossible(timing: Timing, work: Work) -> str | None:
    rates = timing.rates
    assert rates is not None
    read = max(work.bytes_ - work.output_bytes, 0)
    read_us = read / (rates.read_gbs * 1e3)
    if timing.median_us * CREDIBLE < read_us:
        return (
            f"not credible: {read / 1e6:.1f} MB have to be read and L2 was cold, which takes {read_us:.1f} us at the "
            f"{rates.read_gbs:.0f} GB/s this GPU reads, but the median is {timing.median_us:.1f} us. The kernel does "
            "not read all of its inputs, or knows them from somewhere else. The figure is not ranked"
        )
    fastest = max(rates.f32_tflops, rates.f16_tflops)
    least_us = work.flops / (fastest * 1e6)
    if timing.median_us * CREDIBLE < least_us:
        return (
            f"not credible: {work.flops / 1e9:.1f} GFLOP take {least_us:.1f} us at the {fastest:.0f} TFLOP/s of this "
            f"GPU's tensor cores, but the median is {timing.median_us:.1f} us. The kernel does not do all the work. "
            "The figure is not ranked"
        )
    return None
