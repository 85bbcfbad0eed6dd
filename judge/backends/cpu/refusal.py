"""What both executors raise for an instruction form they do not have."""

from judge.backends.cpu.ir import Location


class NotEmulatedError(Exception):
    """An instruction form the CPU backend does not have; str() names it. location: where it stands."""

    location: Location | None = None
