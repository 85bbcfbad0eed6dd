"""What a running launch consists of: the launch, its CTAs, their warps, and a step of a warp.

A register is 64 raw bits a lane; instructions read and write it by width, since PTX lets the type
of an instruction differ from the type of a register. A value narrower than its register is
zero-extended, or sign-extended where a signed load or conversion wrote it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from judge.backends.cpu import ir
from judge.backends.cpu.addresses import MODULE_SLOT, SPACE_SLOTS, slot_base
from judge.backends.cpu.events import AccessEvent, Coordinates, Party
from judge.backends.cpu.interpreter.rounding import Floats, Raw, decode, encode, flush, format_of
from judge.backends.cpu.refusal import NotEmulatedError
from judge.records import DiagnosisKind

LANES = 32
Bytes = NDArray[np.uint8]
Lanes = NDArray[np.intp]
Mask = NDArray[np.bool_]

_WORD = (1 << 64) - 1


class Memory(Protocol):
    """Contents of a device allocation by slot number; None when there is none."""

    def resolve(self, slot: int) -> Bytes | None: ...


class StoppedError(Exception):
    """A trap, a failed assertion, a deadlock or an exhausted budget ended the launch. reason says which."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass
class Launch:
    """One launch as it runs."""

    module: ir.Module
    kernel: ir.Kernel
    grid: Coordinates
    block: Coordinates
    shared_bytes: int
    """Static, alignment and dynamic shared memory of a CTA together."""
    dynamic_shared_bytes: int
    arguments: Bytes
    constants: Bytes
    module_variables: Bytes
    memory: Memory
    instruction_limit: int
    schedule: int = 0
    """Order of CTAs and warps; see running_order."""
    instructions: int = 0
    events: dict[tuple[object, ...], AccessEvent] = field(default_factory=dict)
    printed: list[str] = field(default_factory=list)

    def report(self, event: AccessEvent) -> None:
        """Keep the first event of a site and count the rest."""
        site = (event.kind, event.instruction, event.space, event.action)
        known = self.events.get(site)
        if known is not None:
            # The first event stays the description; only the count moves.
            event = AccessEvent(
                **{name: getattr(known, name) for name in AccessEvent.__slots__ if name != "count"},
                count=known.count + event.count,
            )
        self.events[site] = event


class Cta:
    """One thread block: its shared memory and warps."""

    def __init__(self, launch: Launch, index: Coordinates) -> None:
        self.launch = launch
        self.index = index
        self.shared = np.zeros(launch.shared_bytes, dtype=np.uint8)
        x, y, z = launch.block
        self.threads = x * y * z
        self.warps = [Warp(self, number) for number in range(-(-self.threads // LANES))]
        self.arrivals: dict[int, list[int]] = {}
        """Predicates of bar.arrive threads by barrier; they are counted but do not wait."""


@dataclass(frozen=True)
class PendingCopy:
    """A cp.async of one lane that nobody waited for yet: its group's number and the bytes for a shared offset."""

    lane: int
    group: int
    offset: int
    data: Bytes


class Warp:
    """32 lanes: registers, carry flag, program counters and what each lane waits for."""

    def __init__(self, cta: Cta, number: int) -> None:
        kernel = cta.launch.kernel
        self.cta = cta
        self.number = number
        count = max((r.index for r in kernel.registers), default=-1) + 1
        self.registers: Raw = np.zeros((count, LANES), dtype=np.uint64)
        self.carry: Mask = np.zeros(LANES, dtype=bool)
        self.local: Bytes = np.zeros((LANES, kernel.local_bytes), dtype=np.uint8)
        self.pc = np.zeros(LANES, dtype=np.int64)
        self.thread = np.arange(LANES) + number * LANES
        self.alive: Mask = self.thread < cta.threads
        self.barrier = np.full(LANES, -1, dtype=np.int64)
        """Barrier a lane is parked at, -1 for none."""
        self.barrier_count = np.zeros(LANES, dtype=np.int64)
        """Threads that barrier waits for, 0 for the whole block."""
        self.barrier_value: Mask = np.zeros(LANES, dtype=bool)
        self.meeting: Mask = np.zeros(LANES, dtype=bool)
        """Lanes parked until the others of their member mask come."""
        self.yielded: Mask = np.zeros(LANES, dtype=bool)
        self.copies: list[PendingCopy] = []
        self.committed = np.zeros(LANES, dtype=np.int64)
        """cp.async groups each lane has closed."""
        self.jumps = np.zeros(LANES, dtype=np.int64)
        """Backward jumps since a lane was last set aside."""

    def thread_index(self, lane: int) -> Coordinates:
        """threadIdx of a lane."""
        x, y, _ = self.cta.launch.block
        linear = self.number * LANES + lane
        return linear % x, linear // x % y, linear // (x * y)


@dataclass
class Step:
    """One instruction about to be executed by `lanes` of a warp (guard already applied).

    Values read are compact: one entry for each executing lane, in lane order.
    """

    warp: Warp
    index: int
    instruction: ir.Instruction
    lanes: Lanes

    @property
    def launch(self) -> Launch:
        return self.warp.cta.launch

    @property
    def modifiers(self) -> tuple[str, ...]:
        return self.instruction.modifiers

    def has(self, modifier: str) -> bool:
        return modifier in self.instruction.modifiers

    def rounding(self, default: str = "rn") -> str:
        return next((m for m in self.instruction.modifiers if m in ("rn", "rz", "rm", "rp", "rna")), default)

    def raw(self, operand: ir.Operand, type_: str) -> Raw:
        """Bits of an operand, cut to the width of the type."""
        width = ir.WIDTHS[type_]
        mask = np.uint64((1 << min(width, 64)) - 1)
        masked: Raw = self._bits(operand, type_) & mask
        return masked

    def _bits(self, operand: ir.Operand, type_: str) -> Raw:
        match operand:
            case ir.Register(index=index):
                bits: Raw = self.warp.registers[index, self.lanes]
                return bits
            case ir.Immediate():
                return self._splat(immediate_bits(operand, type_))
            case ir.Special(name=name):
                return special_register(self.warp, name)[self.lanes]
            case ir.Symbol():
                return self._splat(symbol_address(operand))
            case ir.Address(base=base, offset=offset):
                start = self._splat(0) if base is None else self._bits(base, "b64")
                if isinstance(base, ir.Register) and base.bits == 32:
                    return (start + np.uint64(offset & _WORD)) & np.uint64(0xFFFF_FFFF)
                return start + np.uint64(offset & _WORD)
            case _:
                raise NotEmulatedError(f"{self.instruction.form} with operand {operand}")

    def _splat(self, value: int) -> Raw:
        return np.full(len(self.lanes), value & _WORD, dtype=np.uint64)

    def integers(self, operand: ir.Operand, type_: str) -> list[int]:
        """Python integers of an operand, negative ones where the type is signed.

        A packed type (u16x2) gives the low halves of all lanes, then the high halves.
        """
        raw = self.raw(operand, type_)
        if type_.endswith("x2"):
            halves = np.concatenate([raw & np.uint64(0xFFFF), raw >> np.uint64(16)])
            return signed_list(halves, 16) if type_[0] == "s" else halves.tolist()
        if type_[0] == "s":
            return signed_list(raw, ir.WIDTHS[type_])
        return raw.tolist()  # type: ignore[no-any-return]

    def floats(self, operand: ir.Operand, type_: str) -> Floats:
        """Values of a floating-point operand, shape (elements, lanes), flushed when the form says .ftz."""
        format_, elements = format_of(type_)
        raw = self.raw(operand, type_)
        split = np.stack([(raw >> np.uint64(format_.bits * e)) & _element_mask(format_.bits) for e in range(elements)])
        values = decode(split, format_)
        # f64 has no .ftz; in a conversion the modifier speaks of its f32 side only.
        if self.has("ftz") and type_ != "f64" and (self.instruction.opcode != "cvt" or type_ == "f32"):
            values = flush(values, format_)
        return values

    def predicates(self, operand: ir.Operand) -> Mask:
        if isinstance(operand, ir.Immediate):
            return np.full(len(self.lanes), operand.value != 0)
        holds: Mask = self.raw(operand, "pred") != 0
        return holds

    def write_raw(self, operand: ir.Operand | None, type_: str, raw: Raw) -> None:
        """Write bits of the type's width into a register of the same or a larger width."""
        if operand is None:
            return
        if not isinstance(operand, ir.Register):
            raise NotEmulatedError(f"{self.instruction.form} with destination {operand}")
        width = min(ir.WIDTHS[type_], 64)
        bits = raw & np.uint64((1 << width) - 1)
        if type_[0] == "s" and width < operand.bits:
            sign = np.uint64(1 << (width - 1))
            bits = (bits ^ sign) - sign
        self.warp.registers[operand.index, self.lanes] = bits & np.uint64((1 << min(operand.bits, 64)) - 1)

    def write_integers(self, operand: ir.Operand | None, type_: str, values: Sequence[int]) -> None:
        """Write integers modulo the type's width; packed types as `integers` gives them."""
        mask = (1 << min(ir.WIDTHS[type_], 64)) - 1
        if type_.endswith("x2"):
            halves = np.array([v & 0xFFFF for v in values], dtype=np.uint64)
            low, high = halves[: len(self.lanes)], halves[len(self.lanes) :]
            self.write_raw(operand, type_, low | high << np.uint64(16))
            return
        self.write_raw(operand, type_, np.array([v & mask for v in values], dtype=np.uint64))

    def write_floats(self, operand: ir.Operand | None, type_: str, values: Floats) -> None:
        """Write values of shape (elements, lanes) that are numbers of the type already."""
        format_, elements = format_of(type_)
        codes = encode(values, format_)
        raw = codes[0]
        for element in range(1, elements):
            raw = raw | codes[element] << np.uint64(format_.bits * element)
        self.write_raw(operand, type_, raw)

    def write_predicates(self, operand: ir.Operand | None, values: Mask) -> None:
        self.write_raw(operand, "pred", values.astype(np.uint64))

    def report(
        self,
        kind: DiagnosisKind,
        lane: int,
        *,
        action: str = "",
        space: str = "",
        address: int = 0,
        size: int = 0,
        limit: int | None = None,
        count: int = 1,
        other: Party | None = None,
        detail: str = "",
    ) -> None:
        """Report a fault of a lane at this instruction."""
        self.launch.report(
            AccessEvent(
                kind=kind,
                kernel=self.launch.kernel.name,
                instruction=self.index,
                block=self.warp.cta.index,
                thread=self.warp.thread_index(lane),
                action=action,
                space=space,
                address=address,
                size=size,
                limit=limit,
                count=count,
                other=other,
                detail=detail,
            )
        )


Operation = Callable[[Step], None]


def _element_mask(bits: int) -> np.uint64:
    return np.uint64((1 << bits) - 1)


def signed_list(raw: Raw, bits: int) -> list[int]:
    """Two's complement integers of the low `bits` bits."""
    shift = np.uint64(64 - bits)
    return (raw.astype(np.uint64) << shift).view(np.int64).__rshift__(np.int64(64 - bits)).tolist()  # type: ignore[no-any-return]


def immediate_bits(immediate: ir.Immediate, type_: str) -> int:
    """Bit pattern of an immediate as an operand of a type; a decimal float takes the width of the type."""
    width = ir.WIDTHS[type_]
    if immediate.float_bits == 64 and width == 32:
        value = np.array([immediate.value], dtype=np.uint64).view(np.float64)
        return int(value.astype(np.float32).view(np.uint32)[0])
    if immediate.float_bits == 32 and width == 64:
        value32 = np.array([immediate.value], dtype=np.uint32).view(np.float32)
        return int(value32.astype(np.float64).view(np.uint64)[0])
    return immediate.value


def symbol_address(symbol: ir.Symbol) -> int:
    """Address of a variable within its space; global addresses carry their tag already."""
    if symbol.space == "global":
        return slot_base(MODULE_SLOT) + symbol.offset
    return symbol.offset


def generic_base(space: str) -> int:
    """What cvta adds to an address of a space to make it generic."""
    return 0 if space == "global" else slot_base(SPACE_SLOTS[space])


_AXES = "xyz"


def special_register(warp: Warp, name: str) -> Raw:
    """Value of a special register in all 32 lanes."""
    launch = warp.cta.launch
    lane = np.arange(LANES, dtype=np.uint64)
    one = np.uint64(1)
    base, _, axis = name.lstrip("%").partition(".")
    if base == "tid":
        x, y, _ = launch.block
        linear = warp.thread.astype(np.uint64)
        return {"x": linear % np.uint64(x), "y": linear // np.uint64(x) % np.uint64(y)}.get(
            axis, linear // np.uint64(x * y)
        )
    by_axis = {
        "ntid": launch.block,
        "ctaid": warp.cta.index,
        "nctaid": launch.grid,
        "clusterid": warp.cta.index,
        "nclusterid": launch.grid,
        "cluster_ctaid": (0, 0, 0),
        "cluster_nctaid": (1, 1, 1),
    }
    if base in by_axis:
        return np.full(LANES, by_axis[base][_AXES.index(axis)], dtype=np.uint64)
    per_lane = {
        "laneid": lane,
        "lanemask_eq": one << lane,
        "lanemask_lt": (one << lane) - one,
        "lanemask_le": (one << (lane + one)) - one,
        "lanemask_gt": np.uint64(0xFFFF_FFFF) & ~((one << (lane + one)) - one),
        "lanemask_ge": np.uint64(0xFFFF_FFFF) & ~((one << lane) - one),
    }
    if base in per_lane:
        return per_lane[base]
    # Clocks count executed instructions: they rise, which is all a kernel may rely on.
    clock = launch.instructions
    scalars = {
        "warpid": warp.number,
        "nwarpid": len(warp.cta.warps),
        "WARP_SZ": LANES,
        "smid": 0,
        "nsmid": 1,
        "gridid": 1,
        "cluster_ctarank": 0,
        "cluster_nctarank": 1,
        "is_explicit_cluster": 0,
        "dynamic_smem_size": launch.dynamic_shared_bytes,
        "total_smem_size": launch.shared_bytes,
        "aggr_smem_size": launch.shared_bytes,
        "clock": clock & 0xFFFF_FFFF,
        "clock_hi": clock >> 32,
        "clock64": clock,
        "globaltimer": clock,
        "globaltimer_lo": clock & 0xFFFF_FFFF,
        "globaltimer_hi": clock >> 32,
    }
    if base in scalars:
        return np.full(LANES, scalars[base], dtype=np.uint64)
    if base.startswith(("envreg", "pm")):
        return np.zeros(LANES, dtype=np.uint64)
    raise NotEmulatedError(f"special register %{name}")
