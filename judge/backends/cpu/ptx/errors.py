"""What the PTX front end says when it refuses a module."""

from judge.backends.cpu.ir import Location
from judge.errors import JudgeError


class PtxError(JudgeError):
    """The PTX is malformed or uses what the CPU backend does not have.

    location: the line of the CUDA source, from the last `.loc` before the fault; None where none
    precedes it. Exit code 4: to the user this is a compile error.
    """

    exit_code = 4

    def __init__(self, message: str, location: Location | None = None) -> None:
        super().__init__(message)
        self.location = location


class NotEmulatedError(PtxError):
    """Real PTX that only a GPU runs; name is what it is called in the message."""

    def __init__(self, name: str, location: Location | None = None) -> None:
        super().__init__(f"not emulated: {name}, needs a GPU", location)
        self.name = name
