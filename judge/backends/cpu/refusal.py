"""What both executors raise for an instruction form they do not have."""

from judge.backends.cpu.ir import Location


class NotEmulatedError(Exception):
    """An instruction form the CPU backend does not have; str() names it. location: where it stands."""

    def __init__(self, form: str, location: Location | None = None) -> None:
        super().__init__(form)
        self.location = location
