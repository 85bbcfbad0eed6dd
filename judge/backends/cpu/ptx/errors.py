"""What the PTX front end says when it refuses a module."""

import re

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


def readable_name(symbol: str) -> str:
    """The identifiers of a mangled name: `_Z4facti` gives `fact`, `_ZN1B1fEf` gives `B::f`."""
    match = re.match(r"_Z[KLS]*(N[KLS]*)?", symbol)
    if match is None:
        return symbol
    at = match.end()
    names: list[str] = []
    while (length := re.compile(r"[1-9]\d{0,3}").match(symbol, at)) is not None and len(names) < 8:
        at = length.end() + int(length[0])
        names.append(symbol[length.end() : at])
        if match[1] is None:
            break
    return "::".join(names) or symbol
