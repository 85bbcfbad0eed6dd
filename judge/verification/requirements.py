"""Does a right kernel also do what the exercise asks for? Checks bounds on exact counters.

The counters come from the CPU backend; a GPU run has none, so requirements are not checked there.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from judge.problem import Arrays, Case, Problem, Requirement
from judge.records import Counters
from judge.tallies import active_lanes, extra_wavefronts, sectors_per_request, shared_pattern


@dataclass(frozen=True)
class Unmet:
    """One requirement that a case does not meet. figure: what was measured, in the requirement's unit."""

    requirement: Requirement
    figure: float
    buffer: str | None = None

    case: str = ""

    @property
    def message(self) -> str:
        of = {
            "read_amplification": f"{self.buffer} is read {self.figure:.2f} times over",
            "flops_ratio": f"{self.figure:.2f} times the floating-point operations that the case needs are done",
            "bytes_ratio": f"{self.figure:.2f} times the bytes that the case needs are moved",
            "flops_over_baseline": f"{self.case} takes {self.figure:.2f} times the floating-point operations that "
            f"the same kernel does in {self.requirement.baseline}",
            "sectors_per_request": f"a request of a warp for {self.buffer} takes {self.figure:.2f} sectors of 32 bytes",
            "requests_ratio": f"warps read {self.buffer} in {self.figure:.2f} times as many requests as 16-byte "
            "loads of whole warps take",
            "bank_conflicts": f"bank conflicts cost {self.figure:.2f} extra passes a request to shared memory",
            "idle_lanes": f"{self.figure:.2f} of the lanes of a warp's instruction take no part",
        }[self.requirement.counter]
        return f"{self.requirement.sentence} Here {of}; the limit is {self.requirement.limit:g}."


def needs_patterns(problem: Problem, case: Case) -> bool:
    """Whether a requirement that applies to the case needs the pass that counts access patterns."""
    return any(requirement.of_patterns and _applies(requirement, case) for requirement in problem.requirements)


def _applies(requirement: Requirement, case: Case) -> bool:
    return requirement.applies is None or requirement.applies(case)


Baseline = Callable[[str], Counters | None]


def unmet_requirements(
    problem: Problem, case: Case, inputs: Arrays, counters: Counters, baseline: Baseline
) -> tuple[Unmet, ...]:
    """Every requirement that applies to the case and is not met, in declaration order; none on access patterns.

    baseline: the counters of the same submission in another case; None when it has none, because the case
    failed there. A requirement on it is left unchecked then: that case's own verdict tells more.
    """
    found = []
    for requirement in problem.requirements:
        if requirement.of_patterns or not _applies(requirement, case):
            continue
        if requirement.counter == "flops_over_baseline":
            unit = baseline(requirement.baseline)
            if unit is None:
                continue
            figure, buffer = counters.flops / max(1, unit.flops), None
        else:
            figure, buffer = _measure(problem, case, inputs, counters, requirement)
        if not figure <= requirement.limit:
            found.append(Unmet(requirement, figure, buffer, case.name))
    return tuple(found)


def unmet_patterns(problem: Problem, case: Case, counters: Counters) -> tuple[Unmet, ...]:
    """Every requirement on access patterns that applies and is not met. counters: of the pass that counts them."""
    found = []
    for requirement in problem.requirements:
        if requirement.of_patterns and _applies(requirement, case):
            figure, buffer = _measure_pattern(counters, requirement)
            if not figure <= requirement.limit:
                found.append(Unmet(requirement, figure, buffer, case.name))
    return tuple(found)


def baseline_names(problem: Problem, cases: Iterable[Case]) -> tuple[str, ...]:
    """The cases whose counts the requirements on these cases are measured against."""
    return tuple(
        dict.fromkeys(
            requirement.baseline
            for case in cases
            for requirement in problem.requirements
            if requirement.baseline and _applies(requirement, case)
        )
    )


def told_amplification(problem: Problem, counters: Counters) -> float | None:
    """The largest read amplification over the buffers a requirement names, else that of the largest input.

    Largest by its distinct bytes read: how often four bytes of a length are read says nothing. None without one.
    """
    named = {buffer for requirement in problem.requirements for buffer in requirement.buffers}
    names = named or {buffer.name for buffer in problem.inputs}
    figures = [
        (traffic.unique_bytes_read, traffic.read_amplification)
        for name, traffic in counters.buffers.items()
        if name in names and traffic.read_amplification is not None
    ]
    if named:
        return max((figure for _, figure in figures), default=None)
    return max(figures, default=(0, None))[1]


def _measure(
    problem: Problem, case: Case, inputs: Arrays, counters: Counters, requirement: Requirement
) -> tuple[float, str | None]:
    if requirement.counter == "read_amplification":
        figures = [
            (traffic.read_amplification or 0.0, name)
            for name, traffic in counters.buffers.items()
            if name in requirement.buffers
        ]
        return max([*figures, *_copies(problem, counters, requirement)], default=(0.0, None))
    if requirement.counter == "flops_ratio":
        return counters.flops / max(1, problem.minimum_flops(case, inputs)), None
    moved = counters.global_bytes_read + counters.global_bytes_written
    return moved / max(1, problem.minimum_bytes(case, inputs)), None


COPY_SHARE, COPY_READS = 0.25, 1.5
"""Scratch memory is taken for a copy of buffers from this share of their bytes on, read this often. Partial results
that a second launch merges are smaller, or read about once."""


def _copies(problem: Problem, counters: Counters, requirement: Requirement) -> list[tuple[float, str | None]]:
    """What reads of the named buffers were moved to: workspaces and `__device__` variables read over and over."""
    own = {buffer.name for buffer in problem.buffers}
    scratch = {name: traffic for name, traffic in counters.buffers.items() if name not in own}
    wanted = sum(t.unique_bytes_read for name, t in counters.buffers.items() if name in requirement.buffers)
    read = sum(t.bytes_read for t in scratch.values())
    unique = sum(t.unique_bytes_read for t in scratch.values())
    if not unique or unique < COPY_SHARE * wanted or read < COPY_READS * unique:
        return []
    return [(read / unique, max(scratch, key=lambda name: scratch[name].bytes_read))]


WIDEST_REQUEST = 32 * 16
"""Bytes that one load instruction of a warp can bring: 16 for each lane."""


def _measure_pattern(counters: Counters, requirement: Requirement) -> tuple[float, str | None]:
    if requirement.counter == "sectors_per_request":
        patterns = [
            (sectors_per_request(pattern) or 0.0, name)
            for name, traffic in counters.buffers.items()
            for pattern in (traffic.reads, traffic.writes)
            if name in requirement.buffers and pattern is not None
        ]
        return max(patterns, default=(0.0, None))
    if requirement.counter == "requests_ratio":
        ratios = [
            (traffic.reads.requests * WIDEST_REQUEST / traffic.unique_bytes_read, name)
            for name, traffic in counters.buffers.items()
            if name in requirement.buffers and traffic.reads is not None and traffic.unique_bytes_read
        ]
        return max(ratios, default=(0.0, None))
    if requirement.counter == "bank_conflicts":
        return extra_wavefronts(shared_pattern(counters)) or 0.0, None
    lanes = active_lanes(counters)
    return 1 - lanes / 32 if lanes is not None else 0.0, None
