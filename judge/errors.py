"""The errors of the judge. Each says what was wrong, where, and what to do."""


class JudgeError(Exception):
    """Root of every error the judge raises on purpose; `str()` is shown to the user as it is."""

    exit_code = 3


class UsageError(JudgeError):
    """The command or its input is off: unknown problem, missing file, bad option. Exit code 2."""

    exit_code = 2


class NothingToDoError(JudgeError):
    """The request is well formed but names no work: bench cases without a GPU, say. Exit code 5."""

    exit_code = 5


class SubmissionError(JudgeError):
    """The submission cannot be read: size, encoding, a launch or workspace line. Exit code 4.

    line and column are 1-based positions in the submitted file, None where there is none.
    """

    exit_code = 4

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class MachineError(JudgeError):
    """The machine or the installation failed: no NVRTC, a worker that cannot start. Exit code 3."""
