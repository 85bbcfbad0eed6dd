"""Which group of a warp's lanes runs next, and where lanes that were apart go on together."""

from judge.backends.cpu.ir import Kernel
from judge.backends.cpu.lowering import calls
from judge.backends.cpu.lowering.context import Lowering
from judge.backends.cpu.lowering.flow import Block, makes_wait
from judge.backends.cpu.lowering.layout import PC_EXITED, PC_TOGETHER, PC_WARP_WAIT, State, Status
from judge.backends.cpu.lowering.uniformity import Uniformity
from judge.backends.cpu.lowering.values import Builder, Value, const_int


def state_store(b: Builder, field: State, text: str) -> None:
    b.store(b.offset("%st", field), Value(text, "i32"))


def spend_fuel(b: Builder, empty: str, enough: str) -> None:
    """Take one unit of the warp's share and go to one of two labels."""
    pointer = b.offset("%st", State.FUEL)
    left = b.binary("sub", b.load(pointer, "i64"), const_int(1, "i64"))
    b.store(pointer, left)
    spent = b.icmp("slt", left, const_int(0, "i64"))
    b.emit(f"br i1 {spent.text}, label %{empty}, label %{enough}")


class Dispatcher:
    """Emits the head of a warp function.

    parting: blocks that also exist for lanes that run apart. resumed: blocks a warp may go on at, all lanes
    together.
    """

    def __init__(
        self,
        kernel: Kernel,
        blocks: list[Block],
        parting: list[Block],
        lw: Lowering,
        uniformity: Uniformity,
        resumed: set[int],
    ) -> None:
        self.kernel, self.blocks, self.parting, self.lw = kernel, blocks, parting, lw
        self.uniformity, self.resumed = uniformity, resumed
        self.registers = lw.registers
        self.b = lw.b

    def emit(self) -> None:
        b = self.b
        b.label("enter")
        self._rotation()
        b.label("dispatch")
        b.emit("%lowest_pcs = load <32 x i32>, ptr %st, align 64")
        b.emit("%lowest = call i32 @llvm.vector.reduce.umin.v32i32(<32 x i32> %lowest_pcs)")
        b.emit("br label %choose")
        b.label("choose")
        b.emit("%chosen = phi i32 [ %lowest, %dispatch ], [ %rotated, %seek ]")
        b.emit("%pcs = load <32 x i32>, ptr %st, align 64")
        b.emit("%c0 = insertelement <32 x i32> poison, i32 %chosen, i64 0")
        b.emit("%cv = shufflevector <32 x i32> %c0, <32 x i32> poison, <32 x i32> zeroinitializer")
        b.emit("%group = icmp eq <32 x i32> %pcs, %cv")
        b.emit("%groupbits = bitcast <32 x i1> %group to i32")
        b.emit(f"%others = select <32 x i1> %group, <32 x i32> splat (i32 {PC_EXITED}), <32 x i32> %pcs")
        b.emit("%waitmin = call i32 @llvm.vector.reduce.umin.v32i32(<32 x i32> %others)")
        state_store(self.b, State.MASK32, "%groupbits")
        state_store(self.b, State.WAIT_MIN32, "%waitmin")
        places = [f"i32 {b_.number}, label %at_{b_.number}" for b_ in self.parting]
        places += [f"i32 {number | PC_TOGETHER}, label %t_{number}" for number in sorted(self.resumed)]
        b.emit(f"switch i32 %chosen, label %idle [ {' '.join(places)} ]")
        self._share()
        b.label("idle")
        b.emit(f"%warp_bit = and i32 %chosen, {PC_WARP_WAIT}")
        b.emit("%has_warp_bit = icmp ne i32 %warp_bit, 0")
        b.emit(f"%below = icmp ult i32 %chosen, {PC_TOGETHER}")
        b.emit("%warp_waits = and i1 %has_warp_bit, %below")
        b.emit("br i1 %warp_waits, label %meet_warp, label %really_idle")
        b.label("meet_warp")
        self._release_warp()
        b.label("really_idle")
        b.emit(f"%gone = icmp eq i32 %chosen, {PC_EXITED}")
        b.emit(f"%idle_status = select i1 %gone, i32 {Status.DONE}, i32 {Status.PARKED}")
        b.emit("ret i32 %idle_status")
        meetings = self.uniformity.meetings | {b_.number for b_ in self.blocks if self._follows_barrier(b_)}
        for block in self.parting:
            b.label(f"at_{block.number}")
            if block.number in meetings:
                self._rejoin(block)
            else:
                b.emit(f"br label %a_{block.number}")

    def _share(self) -> None:
        """Where a group that parted or must wait goes on: at the next choice, unless the warp has had its share."""
        b = self.b
        b.label("share")
        spend_fuel(b, "had_its_share", "dispatch")
        b.label("had_its_share")
        state_store(b, State.ROTATE32, "0")
        b.emit(f"ret i32 {Status.YIELD}")

    def _follows_barrier(self, block: Block) -> bool:
        return block.start > 0 and makes_wait(self.kernel.instructions[block.start - 1])

    def _release_warp(self) -> None:
        """Nobody else in the warp can run: all who wait at a bar.warp.sync have met."""
        b = self.b
        pcs = b.load("%st", "i32", True, align=64)
        waits = b.binary(
            "and",
            b.icmp("uge", pcs, const_int(PC_WARP_WAIT, "i32")),
            b.icmp("ult", pcs, const_int(PC_TOGETHER, "i32")),
        )
        cleared = b.binary("xor", pcs, const_int(PC_WARP_WAIT, "i32"))
        b.store("%st", b.select(waits, cleared, pcs), align=64)
        calls.tick_warp(self.lw)
        b.emit("br label %dispatch")

    def _rotation(self) -> None:
        """After running out of fuel: give the next group above the last one a turn."""
        b = self.b
        last = b.load(b.offset("%st", State.ROTATE32), "i32")
        state_store(self.b, State.ROTATE32, "-1")
        turn = b.icmp("sge", last, const_int(0, "i32"))
        b.emit(f"br i1 {turn.text}, label %seek, label %dispatch")
        b.label("seek")
        pcs = b.load("%st", "i32", True, align=64)
        above = b.icmp("ugt", pcs, last)
        runnable = b.icmp("ult", pcs, const_int(PC_TOGETHER, "i32"))
        candidates = b.select(b.binary("and", above, runnable), pcs, b.splat(const_int(PC_EXITED, "i32")))
        b.emit(f"%rotated = call i32 @llvm.vector.reduce.umin.v32i32({candidates.typed})")
        found = b.icmp("ne", Value("%rotated", "i32"), const_int(PC_EXITED, "i32"))
        b.emit(f"br i1 {found.text}, label %choose, label %dispatch")

    def _rejoin(self, block: Block) -> None:
        """Go on together when all live lanes are here and agree on every uniform value."""
        b, number = self.b, block.number
        live = b.load(b.offset("%st", State.LIVE32), "i32")
        everyone = b.icmp("eq", Value("%groupbits", "i32"), live)
        b.emit(f"br i1 {everyone.text}, label %meet_{number}, label %a_{number}")
        b.label(f"meet_{number}")
        uniform = [r for r in sorted(self.registers.scalars) if block.live_in >> r & 1]
        if not uniform:
            b.emit(f"br label %t_{number}")
            return
        agreed = self.lw.call_on_registers("i1", "judge_meet", uniform)
        b.emit(f"br i1 {agreed}, label %t_{number}, label %a_{number}")
