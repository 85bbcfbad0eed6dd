"""The exit codes of the command line, in one table. The README shows it, a test walks it end to end."""

from enum import IntEnum


class Exit(IntEnum):
    ACCEPTED = 0
    NOT_ACCEPTED = 1
    USAGE = 2
    JUDGE_OR_MACHINE = 3
    COMPILE_ERROR = 4
    NOTHING_TO_DO = 5
    PENDING = 6
    INTERRUPTED = 130

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    Exit.ACCEPTED: "accepted, or the command did what it was asked",
    Exit.NOT_ACCEPTED: "any other verdict on the submission; for `verify`, a problem that is not in order; "
    "for `selftest`, a promise broken",
    Exit.USAGE: "usage: unknown command, option, problem or case, or a file that cannot be read",
    Exit.JUDGE_OR_MACHINE: "the judge or the machine failed; never the submitter's fault",
    Exit.COMPILE_ERROR: "the source did not compile, or a launch line is wrong",
    Exit.NOTHING_TO_DO: "nothing to do: no case selected, no further hint, everything solved",
    Exit.PENDING: "still pending when the waiting time was over",
    Exit.INTERRUPTED: "interrupted (Ctrl-C)",
}
