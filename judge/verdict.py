"""Verdicts, each with the three texts every face of the judge shows.

The enum is the only place where a verdict is named; the command line, the reports, the page and
the API all read their wording from here.
"""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True)
class VerdictText:
    """The three lengths in which a verdict is told."""

    label: str
    sentence: str
    next_step: str


class Verdict(StrEnum):
    """What became of a submission, or of one case of it."""

    ACCEPTED = "accepted"
    WRONG_ANSWER = "wrong_answer"
    UNDEFINED_BEHAVIOR = "undefined_behavior"
    REQUIREMENT_UNMET = "requirement_unmet"
    COMPILE_ERROR = "compile_error"
    LAUNCH_ERROR = "launch_error"
    RUNTIME_ERROR = "runtime_error"
    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"
    NOT_RUN = "not_run"
    CANCELLED = "cancelled"
    JUDGE_ERROR = "judge_error"

    @property
    def text(self) -> VerdictText:
        return _TEXTS[self]

    @property
    def label(self) -> str:
        return self.text.label

    @property
    def exit_code(self) -> int:
        """The exit code of the command line for this verdict (the table in the README)."""
        return _EXIT_CODES.get(self, 1)

    @classmethod
    def worst(cls, verdicts: "list[Verdict]") -> "Verdict":
        """The verdict of a whole from the verdicts of its parts; accepted when there are none."""
        return min(verdicts, key=_SEVERITY.index, default=cls.ACCEPTED)


_TEXTS = {
    Verdict.ACCEPTED: VerdictText(
        "ACCEPTED",
        "Every case came out right.",
        "Compare with the model solutions: judge solution PROBLEM.",
    ),
    Verdict.WRONG_ANSWER: VerdictText(
        "WRONG ANSWER",
        "The kernel ran, but an output differs from the float64 reference by more than allowed.",
        "Start from the first mismatch and the smallest failing case; the replay line runs only that case.",
    ),
    Verdict.UNDEFINED_BEHAVIOR: VerdictText(
        "UNDEFINED BEHAVIOR",
        "The kernel did something CUDA gives no meaning to, so its values prove nothing.",
        "Fix the access or barrier at the line the diagnosis names, then run again.",
    ),
    Verdict.REQUIREMENT_UNMET: VerdictText(
        "REQUIREMENT UNMET",
        "The values are right, but the kernel does not do what the exercise asks for.",
        "Read the requirement in the statement; `judge stats` shows the counters and the lines they come from.",
    ),
    Verdict.COMPILE_ERROR: VerdictText(
        "COMPILE ERROR",
        "The source did not compile, so nothing was run.",
        "Fix the first error in the list; later ones often follow from it.",
    ),
    Verdict.LAUNCH_ERROR: VerdictText(
        "LAUNCH ERROR",
        "A launch line asks for something the device or the kernel does not allow.",
        "Check grid, block, shared bytes and arguments of the launch line the message names.",
    ),
    Verdict.RUNTIME_ERROR: VerdictText(
        "RUNTIME ERROR",
        "The kernel stopped with an error before it finished.",
        "Look at the line and thread of the diagnosis; the CPU backend gives the exact access.",
    ),
    Verdict.TIME_LIMIT: VerdictText(
        "TIME LIMIT",
        "The kernel did not end within its time.",
        "Look for a loop that never ends or a barrier that some threads never reach.",
    ),
    Verdict.MEMORY_LIMIT: VerdictText(
        "MEMORY LIMIT",
        "The submission needs more memory than the problem allows.",
        "Make workspaces and per-thread arrays smaller.",
    ),
    Verdict.NOT_RUN: VerdictText(
        "NOT RUN",
        "The case was left out, because others before it had to be killed.",
        "Mend the cases that were run; --case NAME runs this one alone.",
    ),
    Verdict.CANCELLED: VerdictText(
        "CANCELLED",
        "Judging was stopped before it finished.",
        "Submit again when ready.",
    ),
    Verdict.JUDGE_ERROR: VerdictText(
        "JUDGE ERROR",
        "The judge or the machine failed; this is not the kernel's fault.",
        "Run again; if it happens twice, report the incident id.",
    ),
}

_EXIT_CODES = {
    Verdict.ACCEPTED: 0,
    Verdict.COMPILE_ERROR: 4,
    Verdict.LAUNCH_ERROR: 4,
    Verdict.JUDGE_ERROR: 3,
    Verdict.CANCELLED: 130,
}

# What is told first when cases differ: our own faults, then what makes every value meaningless.
_SEVERITY = [
    Verdict.JUDGE_ERROR,
    Verdict.CANCELLED,
    Verdict.COMPILE_ERROR,
    Verdict.LAUNCH_ERROR,
    Verdict.UNDEFINED_BEHAVIOR,
    Verdict.RUNTIME_ERROR,
    Verdict.TIME_LIMIT,
    Verdict.MEMORY_LIMIT,
    Verdict.WRONG_ANSWER,
    Verdict.REQUIREMENT_UNMET,
    Verdict.NOT_RUN,
    Verdict.ACCEPTED,
]
