"""Does a right kernel also do what the exercise asks for? Checks bounds on exact counters.

The counters come from the CPU backend; a GPU run has none, so requirements are not checked there.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from judge.problem import Arrays, Case, Problem, Requirement
from judge.records import Counters


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
        }[self.requirement.counter]
        return f"{self.requirement.sentence} Here {of}; the limit is {self.requirement.limit:g}."


Baseline = Callable[[str], Counters | None]


def unmet_requirements(
    problem: Problem, case: Case, inputs: Arrays, counters: Counters, baseline: Baseline
) -> tuple[Unmet, ...]:
    """Every requirement of the problem that applies to the case and is not met, in declaration order.

    baseline: the counters of the same submission in another case; None when it has none, because the case
    failed there. A requirement on it is left unchecked then: that case's own verdict tells more.
    """
    found = []
    for requirement in problem.requirements:
        if requirement.applies is not None and not requirement.applies(case):
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


def baseline_names(problem: Problem, cases: Iterable[Case]) -> tuple[str, ...]:
    """The cases whose counts the requirements on these cases are measured against."""
    return tuple(
        dict.fromkeys(
            requirement.baseline
            for case in cases
            for requirement in problem.requirements
            if requirement.baseline and (requirement.applies is None or requirement.applies(case))
        )
    )


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
    if requirement.counter == "flops_ratio":
        return counters.flops / max(1, problem.minimum_flops(case, inputs)), None
    moved = counters.global_bytes_read + counters.global_bytes_written
    return moved / max(1, problem.minimum_bytes(case, inputs)), None
