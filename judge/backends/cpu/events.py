"""What an executor of the CPU backend reports while a kernel runs: faults, by site and thread.

Both executors (the NumPy interpreter and the JIT) give these records; diagnose.py turns them into
the diagnoses a learner reads. An event knows addresses and instruction indices only; names, lines
and shapes are looked up later, so that nothing slow happens while a kernel runs.
"""

from dataclasses import dataclass

from judge.records import DiagnosisKind

Coordinates = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Party:
    """The other side of a fault between two threads (a race, a barrier met at another place).

    instruction: index in Kernel.instructions, or None where it is not known.
    scope: what the two have in common at most: "warp", "block" or "grid".
    """

    instruction: int | None
    block: Coordinates
    thread: Coordinates
    action: str = "write"
    scope: str = ""


@dataclass(frozen=True, slots=True)
class AccessEvent:
    """One fault, or many of one site when count is above 1 (the first is the one described).

    kind: what happened.
    kernel: name of the entry in the module.
    instruction: index in Kernel.instructions.
    block, thread: blockIdx and threadIdx (x, y, z) of the first thread that did it.
    action: "read", "write", "atomic", or "" where no memory is touched.
    space: "global", "shared", "local", "const" or "param" once the address is resolved; "" without memory.
    address: for space "global" the 64-bit slot-tagged address; for the others the offset within the space.
    size: bytes of one lane's access (a whole vector for .v2 and .v4).
    limit: bytes of the block the access was checked against; None when the address names no live block.
    count: how often this site did it in this launch.
    detail: words the executor adds: the assertion's text, the values of a barrier, ….
    warning: legal or harmless, worth a word.
    """

    kind: DiagnosisKind
    kernel: str
    instruction: int
    block: Coordinates
    thread: Coordinates
    action: str = ""
    space: str = ""
    address: int = 0
    size: int = 0
    limit: int | None = None
    count: int = 1
    other: Party | None = None
    detail: str = ""
    warning: bool = False
