"""What a diagnosis says: what happened, who did it, where, and what usually mends it."""

from dataclasses import dataclass

from judge.backends.cpu.addresses import NULL_SLOT, split
from judge.backends.cpu.events import AccessEvent, Party
from judge.records import DiagnosisKind

_VERBS = {"read": "reads", "write": "writes", "atomic": "updates"}
_INT_SPAN = 1 << 32


@dataclass(frozen=True)
class Place:
    """Memory an address belongs to, in the user's words.

    offset: byte offset from its start, negative before it. element_bytes and shape: as the user sees it.
    """

    name: str
    words: str
    offset: int
    size: int
    element_bytes: int
    shape: tuple[int, ...]

    @property
    def index(self) -> tuple[int, ...]:
        """Index in the place's own shape when inside it, else the flat element number."""
        flat = self.offset // self.element_bytes
        if not 0 <= self.offset < self.size or not self.shape:
            return (flat,)
        index = []
        for extent in reversed(self.shape):
            index.append(flat % extent)
            flat //= extent
        return tuple(reversed(index))

    @property
    def element(self) -> str:
        if self.shape == (1,) and 0 <= self.offset < self.size:
            return self.words
        return f"{self.words}[{']['.join(map(str, self.index))}]"


@dataclass(frozen=True)
class Told:
    """kind: the event's own, or a narrower one that explains it."""

    kind: DiagnosisKind
    message: str
    hint: str | None = None


@dataclass(frozen=True)
class OtherSide:
    """The other party of an event between two threads, with the line it was at. same_line: both were at one line."""

    party: Party
    line: int | None
    same_line: bool = False

    @property
    def where(self) -> str:
        return f" at line {self.line}" if self.line is not None else ""


def tell(event: AccessEvent, place: Place | None, other: OtherSide | None) -> Told:
    """The sentence and the hint of an event. place: the memory it touched, where it touched any."""
    who = f"thread {triple(event.thread)} of block {triple(event.block)}"
    detail = f": {event.detail}" if event.detail else ""
    match event.kind:
        case DiagnosisKind.OUT_OF_BOUNDS:
            return _out_of_bounds(event, place, who)
        case DiagnosisKind.MISALIGNED:
            where = f"byte {place.offset} of {place.words}" if place else f"address {event.address:#x}"
            return Told(
                event.kind,
                f"{who} {_verb(event)} {event.size} bytes at {where}, which is not a multiple of {event.size}.",
                f"An access of {event.size} bytes needs an address that is a multiple of {event.size}: check the index "
                "and the row length of a vector such as float4, or where a pointer that was cast begins.",
            )
        case DiagnosisKind.INPUT_MODIFIED:
            where = place.element if place else "a buffer"
            return Told(
                event.kind,
                f"{who} writes {where}; inputs are read-only.",
                "Write results to the output or to a @workspace.",
            )
        case DiagnosisKind.UNINITIALIZED:
            return _uninitialized(event, place, who, other)
        case DiagnosisKind.RACE:
            return _race(event, place, who, other)
        case DiagnosisKind.DIVERGENT_BARRIER:
            return _barrier(event, who, other)
        case DiagnosisKind.DEADLOCK:
            elsewhere = f"; others wait{other.where}" if other is not None else ""
            return Told(
                event.kind,
                f"{who} waits for ever: no other thread of its block can run any more{detail}{elsewhere}.",
                "Let every thread of the block reach one __syncthreads(). A bar.sync with a count opens only when that "
                "many threads have come to the barrier of its number.",
            )
        case DiagnosisKind.ASSERT:
            return Told(event.kind, f"{who} failed an assertion{detail}.")
        case DiagnosisKind.TRAP:
            return Told(event.kind, f"{who} stopped the kernel with a trap{detail}.")
        case _:
            return Told(event.kind, f"{event.kind.value.replace('_', ' ')} by {who}{detail}.")


def triple(coordinates: tuple[int, int, int]) -> str:
    return "({}, {}, {})".format(*coordinates)


def _verb(event: AccessEvent) -> str:
    return _VERBS.get(event.action, "accesses")


def _uninitialized(event: AccessEvent, place: Place | None, who: str, other: OtherSide | None) -> Told:
    if place is None:
        return Told(
            event.kind,
            f"{who} uses a variable that has no value on the path it took.",
            "Give the variable a value where it is declared: an `if` or a loop around its assignment may not run.",
        )
    hints = {
        "shared": "Fill every element that is read, the tail of a tile included (with 0, or -inf for a maximum); if "
        "another thread fills it, a barrier must lie between.",
        "local": "Give every element or member a value before it is read: `float acc[4] = {};` sets all to 0.",
    }
    hint = "The judge gives outputs and workspaces no value: write before you read, or start a sum from 0."
    if other is not None:
        return Told(
            event.kind,
            f"{who} reads {place.element}, which holds a copy{_made(other)} of something that was never given a value.",
            "Copying an unset member or padding is no fault, using the copy is: give the original a value first.",
        )
    return Told(
        event.kind,
        f"{who} reads {place.element}, which nothing was written to.",
        hints.get(event.space, hint),
    )


def _made(other: OtherSide) -> str:
    return f" (made at line {other.line})" if other.line is not None else ""


def _race(event: AccessEvent, place: Place | None, who: str, other: OtherSide | None) -> Told:
    if place is None or other is None:
        return Told(event.kind, f"{who} races with another thread.")
    party = other.party
    mate = f"thread {triple(party.thread)}"
    if party.scope == "grid":
        mate += f" of block {triple(party.block)}"
    verb = {"read": "reads", "write": "wrote", "atomic": "updated"}.get(party.action, "touched")
    begin = f"{who} {_verb(event)} {place.element}, which {mate} {verb}{other.where}"
    missing = {
        "warp": "nothing makes the two lanes of the warp wait for each other",
        "block": "no barrier lies between",
        "grid": "blocks of one launch run in any order",
    }[party.scope or "block"]
    hints = {
        "warp": "Put __syncwarp() between the two accesses, or __syncthreads() where other warps take part: lanes of a "
        "warp need not run in step.",
        "block": "Put __syncthreads() between the two accesses. In a loop, one barrier after filling shared memory and "
        "one before it is filled again.",
        "grid": "Let each block write elements of its own, use atomics, or hand results to a second launch. Data that "
        "an atomic announces need a __threadfence() between their write and the atomic.",
    }
    if not event.warning:
        hint = hints[party.scope or "block"]
        if other.same_line and party.scope != "grid":
            hint = _one_line_hint(event, party)
        return Told(event.kind, f"{begin}; {missing}.", hint)
    if event.detail == "collective":
        return Told(
            event.kind,
            f"{begin}; only a warp shuffle or vote lies between, which orders no memory.",
            hints["warp"],
        )
    return Told(
        event.kind,
        f"{begin}; both leave the same value, so it does no harm.",
        "Let one thread write it, and a barrier follow.",
    )


def _one_line_hint(event: AccessEvent, party: Party) -> str:
    """Both sides of a race are at one line: a barrier beside it may not be what is missing."""
    if "read" not in (event.action, party.action):
        return "Give each thread an element of its own, let one thread write, or use an atomic operation."
    return (
        "Let threads that update one element use an atomic such as atomicAdd. Where each reads another's element "
        "(a scan, a tree), put a barrier between the read and the write, and one after each step."
    )


def _barrier(event: AccessEvent, who: str, other: OtherSide | None) -> Told:
    if event.detail == "left":
        return Told(
            event.kind,
            f"{who} left the kernel before this barrier, at which other threads of its warp wait.",
            "It works on today's GPUs. To be safe let every thread reach the barrier and guard the work instead.",
        )
    if event.detail.startswith("count:"):
        return Told(
            event.kind,
            f"{who} waits at a barrier of {event.detail[6:]} threads, which is not a multiple of 32.",
            "A barrier counts whole warps: round the count up to a multiple of 32.",
        )
    if event.detail.startswith("mask:"):
        _, named, here = event.detail.split(":")
        return _members(event, who, int(named, 16), int(here, 16))
    if other is not None and other.party.action == "is elsewhere":
        return Told(
            event.kind,
            f"{who} is at an instruction of the whole warp that thread {triple(other.party.thread)} does not come to: "
            f"{event.detail}.",
            "Let all 32 lanes of the warp reach it together: no branch between them, whole warps in the block.",
        )
    waits = f" while thread {triple(other.party.thread)} waits at another barrier{other.where}" if other else ""
    return Told(
        event.kind,
        f"{who} waits at this barrier{waits or ' that other threads of its block do not come to'}.",
        "Every thread of the block must reach the same __syncthreads(): one of the two stands in an if or a loop that "
        "not all threads take.",
    )


def _members(event: AccessEvent, who: str, named: int, here: int) -> Told:
    lane = event.thread[0] % 32
    if event.action == "self":
        return Told(
            event.kind,
            f"{who} takes part in a warp operation whose mask {named:#010x} does not name it.",
            "The mask has one bit a lane, not a number of lanes: 32 lanes are 0xffffffff. Name every lane that calls.",
        )
    absent = [k for k in range(32) if named >> k & 1 and not here >> k & 1]
    if absent:
        lanes = ", ".join(map(str, absent[:4])) + (", ..." if len(absent) > 4 else "")
        gone = f"lane{'s' if len(absent) > 1 else ''} {lanes} of its warp {'do' if len(absent) > 1 else 'does'}"
        return Told(
            event.kind,
            f"the mask {named:#010x} of {who} names lanes that do not take part: {gone} not come to this line.",
            "Let every lane the mask names reach the call: no early return, and no if around it that some lanes do "
            "not take. What a shuffle reads from an absent lane is undefined.",
        )
    return Told(
        event.kind,
        f"{who} (lane {lane}) reads from a lane that its mask {named:#010x} does not name.",
        "A shuffle may only read from lanes that take part in it.",
    )


def _out_of_bounds(event: AccessEvent, place: Place | None, who: str) -> Told:
    begin = f"{who} {_verb(event)} {event.size} byte{'s' if event.size != 1 else ''}"
    if place is None:
        if split(event.address)[0] == NULL_SLOT:
            return Told(
                event.kind,
                f"{begin} through a null pointer (address {event.address:#x}).",
                "A pointer argument is null or was never set; check the arguments of the launch line.",
            )
        return Told(
            event.kind,
            f"{begin} at address {event.address:#018x}, which lies in no buffer.",
            "The pointer was never set, or arithmetic on it overflowed.",
        )
    if place.size == 0:
        return Told(
            event.kind, f"{begin} of {place.words}, which has no bytes.", "Give the launch enough shared bytes."
        )
    wrapped = _wrapped_offset(place)
    if wrapped is not None:
        return Told(
            DiagnosisKind.INT_OVERFLOW_ADDRESS,
            f"{begin} of {place.words} at element {place.offset // place.element_bytes}; the index overflowed 32 bits "
            f"(element {wrapped // place.element_bytes} was meant).",
            "Compute the index in 64 bits: cast one factor to size_t or long long.",
        )
    return Told(event.kind, f"{begin} of {place.words}{_distance(place, event.size)}.", _bounds_hint(event, place))


def _bounds_hint(event: AccessEvent, place: Place) -> str:
    if place.offset < 0:
        return (
            "The index is negative: an entry of -1 (a page that is not in use), a difference of two indices, or the "
            "axes of the grid in another order than the kernel takes them."
        )
    flat = place.offset // place.element_bytes
    if _INT_SPAN // 2 <= flat < _INT_SPAN:
        return (
            f"As a signed 32-bit number that is {flat - _INT_SPAN}: an index below zero (an entry of -1, a difference) "
            "was computed with an unsigned number such as threadIdx.x, or overflowed."
        )
    return {
        "shared": "Check the index against the array's size, and the shared bytes of the launch line.",
        "local": "Check the loop bound against the array's size.",
    }.get(event.space, "Guard the access with the size: the last block is usually only partly filled.")


def _distance(place: Place, size: int) -> str:
    """Where outside the place the access lies, counted in elements."""
    last = place.size // place.element_bytes - 1
    shape = f", shape {'x'.join(map(str, place.shape))}" if len(place.shape) > 1 else ""
    valid = f"its elements are 0 to {last}{shape}"
    if 0 <= place.offset < place.size:
        inside = place.size - place.offset
        return f", {size - inside} of them past its end ({valid})"
    return f" at element {place.offset // place.element_bytes} ({valid})"


def _wrapped_offset(place: Place) -> int | None:
    """The byte offset meant when a 32-bit index wrapped around; None when that explains nothing."""
    for meant in (place.offset + _INT_SPAN * place.element_bytes, place.offset + _INT_SPAN):
        if place.offset < 0 and 0 <= meant < place.size:
            return meant
    return None
