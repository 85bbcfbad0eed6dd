"""Does a right kernel also do what the exercise asks for? Checks bounds on exact counters.

The counters come from the CPU backend; a GPU run has none, so requirements are not checked there.
"""

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

    @property
    def message(self) -> str:
        of = {
            "read_amplification": f"{self.buffer} is read {self.figure:.2f} times over",
            "flops_ratio": f"{self.figure:.2f} times the floating-point operations that the case needs are done",
            "bytes_ratio": f"{self.figure:.2f} times the bytes that the case needs are moved",
            "sectors_per_request": f"a request of a warp for {self.buffer} takes {self.figure:.2f} sectors of 32 bytes",
            "bank_conflicts": f"bank conflicts cost {self.figure:.2f} extra passes a request to shared memory",
            "idle_lanes": f"{self.figure:.2f} of the lanes of a warp's instruction take no part",
        }[self.requirement.counter]
        return f"{self.requirement.sentence} Here {of}; the limit is {self.requirement.limit:g}."


def needs_patterns(problem: Problem, case: Case) -> bool:
    """Whether a requirement that applies to the case needs the pass that counts access patterns."""
    return any(requirement.of_patterns and _applies(requirement, case) for requirement in problem.requirements)


def _applies(requirement: Requirement, case: Case) -> bool:
    return requirement.applies is None or requirement.applies(case)


def unmet_requirements(
    problem: Problem, case: Case, inputs: Arrays, counters: Counters, *, patterns: bool = False
) -> tuple[Unmet, ...]:
    """Every requirement of the problem that applies to the case and is not met, in declaration order.

    patterns: the counters are those of the pass that counts access patterns; only requirements on these are
    checked, and without it only the others.
    """
    found = []
    for requirement in problem.requirements:
        if requirement.of_patterns is not patterns or not _applies(requirement, case):
            continue
        figure, buffer = _measure(problem, case, inputs, counters, requirement)
        if not figure <= requirement.limit:
            found.append(Unmet(requirement, figure, buffer))
    return tuple(found)


def largest_amplification(problem: Problem, counters: Counters) -> float | None:
    """The largest read amplification over the buffers a requirement names, else over all inputs; None without one."""
    named = {buffer for requirement in problem.requirements for buffer in requirement.buffers}
    names = named or {buffer.name for buffer in problem.inputs}
    figures = [
        traffic.read_amplification
        for name, traffic in counters.buffers.items()
        if name in names and traffic.read_amplification is not None
    ]
    return max(figures, default=None)


def _measure(
    problem: Problem, case: Case, inputs: Arrays, counters: Counters, requirement: Requirement
) -> tuple[float, str | None]:
    if requirement.counter == "read_amplification":
        figures = [
            (traffic.read_amplification or 0.0, name)
            for name, traffic in counters.buffers.items()
            if name in requirement.buffers
        ]
        return max(figures, default=(0.0, None))
    if requirement.counter == "sectors_per_request":
        patterns = [
            (sectors_per_request(pattern) or 0.0, name)
            for name, traffic in counters.buffers.items()
            for pattern in (traffic.reads, traffic.writes)
            if name in requirement.buffers and pattern is not None
        ]
        return max(patterns, default=(0.0, None))
    if requirement.counter == "bank_conflicts":
        return extra_wavefronts(shared_pattern(counters)) or 0.0, None
    if requirement.counter == "idle_lanes":
        lanes = active_lanes(counters)
        return 1 - lanes / 32 if lanes is not None else 0.0, None
    if requirement.counter == "flops_ratio":
        return counters.flops / max(1, problem.minimum_flops(case, inputs)), None
    moved = counters.global_bytes_read + counters.global_bytes_written
    return moved / max(1, problem.minimum_bytes(case, inputs)), None
