"""The order in which the CPU backend runs blocks and warps. CUDA promises none, so a right kernel allows any.

0 is the order of the numbers, 1 is backwards, every other number shuffles both. Samples run in order;
hidden cases take turns, and the run's seed chooses the order of those that do not run as numbered.
"""

import hashlib

from judge.problem import Case, Group, Problem
from judge.records import Diagnosis, DiagnosisKind

MAX_SCHEDULE = 2**31 - 1


def schedule_of(problem: Problem, case: Case, seed: int) -> int:
    """The schedule of a case: 0 but for every second hidden case, whatever cases are chosen for a run."""
    hidden = [other.name for other in problem.cases if other.group is Group.HIDDEN]
    if case.name not in hidden or hidden.index(case.name) % 2 == 0:
        return 0
    digest = hashlib.sha256(f"{seed}/{case.name}/schedule".encode()).digest()
    # Backwards often: with few blocks a shuffled order is often nearly the order of the numbers.
    if digest[0] % 2 == 0:
        return 1
    return 2 + int.from_bytes(digest[1:9], "little") % (MAX_SCHEDULE - 1)


def describe_schedule(schedule: int) -> str:
    """How a report speaks of it."""
    if schedule == 0:
        return "as numbered"
    return "backwards" if schedule == 1 else f"shuffled by {schedule}"


def order_dependence(schedule: int) -> Diagnosis:
    """What is told when a case is right as numbered and wrong in this schedule."""
    return Diagnosis(
        kind=DiagnosisKind.ORDER_DEPENDENT,
        message="The answer depends on the order of blocks and warps: it is right when they run in the order of "
        f"their numbers and wrong when they run {describe_schedule(schedule)} (schedule {schedule}).",
        hint="A GPU runs blocks and warps in any order. Let no block rely on another one having run, and let no "
        "result depend on who comes last; hand results on from one launch to the next.",
    )
