"""What a run is asked to do: backends, cases, seed."""

from dataclasses import dataclass
from typing import Literal

from judge.errors import UsageError
from judge.problem import Case, Problem
from judge.spelling import nearest


@dataclass(frozen=True)
class Options:
    """How to judge.

    cases: names of the only cases to run; empty means all of the group.
    group: "all", "sample" or "bench". seed: None draws one. resources: of the kernels, even without a GPU.
    schedule: order of blocks and warps on the CPU, 0 as numbered, 1 backwards, else shuffled by it; None
    lets the seed choose one for every second hidden case.
    """

    backend: Literal["auto", "cpu", "cuda"] = "auto"
    cases: tuple[str, ...] = ()
    group: Literal["all", "sample", "bench"] = "all"
    seed: int | None = None
    fail_fast: bool = False
    resources: bool = False
    schedule: int | None = None


def choose_cases(problem: Problem, options: Options) -> tuple[Case, ...]:
    """The cases the options name, in the problem's order.

    Raises UsageError for a name the problem does not have.
    """
    known = [case.name for case in problem.cases]
    for wanted in options.cases:
        if wanted not in known:
            close = nearest(wanted, known, 0.5)
            advice = f"Did you mean {close}?" if close else f"Its cases: {', '.join(known)}."
            raise UsageError(f"{problem.id} has no case {wanted!r}. {advice}")
    if options.cases:
        return tuple(case for case in problem.cases if case.name in options.cases)
    if options.group == "all":
        return problem.cases
    return tuple(case for case in problem.cases if case.group == options.group)
