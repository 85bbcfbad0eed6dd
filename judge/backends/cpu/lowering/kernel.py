"""Lower one kernel to an LLVM function that runs one warp until it ends, waits or runs out of fuel.

Uniform blocks run with all live lanes and branch directly. In divergent code the lanes stand at
different blocks: the group with the lowest PC runs, and a branch is direct as long as its target
lies below every waiting lane's. PCs number the divergent blocks first, so lanes that wait where all
meet wait until the others arrive.
"""

from dataclasses import dataclass

from judge.backends.cpu.ir import Immediate, Instruction, Kernel
from judge.backends.cpu.lowering import arithmetic, calls, conversion, floats, memory_ops, moves, warp_ops
from judge.backends.cpu.lowering.context import Lowering, NotEmulatedError, Registers
from judge.backends.cpu.lowering.flow import EXIT, Block, is_barrier, split_blocks, written_registers
from judge.backends.cpu.lowering.layout import PC_EXITED, PC_PARKED, Ctx, EventKind, State, Status
from judge.backends.cpu.lowering.runtime import interface
from judge.backends.cpu.lowering.uniformity import Uniformity, analyze
from judge.backends.cpu.lowering.values import Value, const_int

OPERATIONS = {
    **arithmetic.OPERATIONS,
    **floats.OPERATIONS,
    **moves.OPERATIONS,
    **conversion.OPERATIONS,
    **memory_ops.OPERATIONS,
    **warp_ops.OPERATIONS,
    **calls.OPERATIONS,
}

_TERMINATORS = {"bra", "brx", "ret", "exit", "trap"}


@dataclass(frozen=True)
class LoweredKernel:
    """LLVM text of a kernel and what the launcher must know of it.

    blocks: the basic blocks; block b counts warps in counter 2b and lanes in 2b+1.
    guarded: counter number of each guarded instruction, by instruction index (lanes only).
    pc_of_block: PC number of each block.
    """

    text: str
    function: str
    state_bytes: int
    blocks: list[Block]
    guarded: dict[int, int]
    counters: int
    pc_of_block: list[int]
    uniformity: Uniformity

    @property
    def entry_pc(self) -> int:
        return self.pc_of_block[0]

    def block_of_pc(self, pc: int) -> int:
        return self.pc_of_block.index(pc)


def lower_kernel(
    kernel: Kernel, *, one_dimensional: bool, masked_stores: bool, all_varying: bool = False
) -> LoweredKernel:
    """Raises NotEmulatedError for an instruction the CPU backend does not have."""
    blocks = split_blocks(kernel)
    uniformity = analyze(kernel, blocks, one_dimensional=one_dimensional, all_varying=all_varying)
    return _KernelLowering(kernel, blocks, uniformity, one_dimensional, masked_stores).lower()


class _KernelLowering:
    def __init__(
        self, kernel: Kernel, blocks: list[Block], uniformity: Uniformity, one_dimensional: bool, masked_stores: bool
    ) -> None:
        self.kernel = kernel
        self.blocks = blocks
        self.uniformity = uniformity
        across = 0
        for block in blocks:
            across |= block.live_in | block.live_out
        self.registers = Registers(kernel, uniformity, across)
        self.lw = Lowering(
            kernel, uniformity, self.registers, masked_stores=masked_stores, one_dimensional=one_dimensional
        )
        self.b = self.lw.b
        order = [b.number for b in blocks if b.number in uniformity.divergent]
        order += [b.number for b in blocks if b.number not in uniformity.divergent]
        self.pc = [0] * len(blocks)
        for position, number in enumerate(order):
            self.pc[number] = position
        self.guarded: dict[int, int] = {}

    def lower(self) -> LoweredKernel:
        self._dispatcher()
        for block in self.blocks:
            self._block(block)
        self._endings()
        counters = 2 * len(self.blocks) + len(self.guarded)
        text = self._assemble()
        return LoweredKernel(
            text, "warp", self.registers.state_bytes, self.blocks, self.guarded, counters, self.pc, self.uniformity
        )

    def _assemble(self) -> str:
        declarations = {*self.b.declarations}
        declarations.add("declare i32 @llvm.cttz.i32(i32, i1)")
        declarations.add("declare i32 @llvm.ctpop.i32(i32)")
        declarations.add("declare i32 @llvm.vector.reduce.umin.v32i32(<32 x i32>)")
        scratch = ["  %scratch = alloca [1024 x i8], align 64"] if self.lw.uses_scratch else []
        lines = ["define i32 @warp(ptr noalias %ctx, ptr noalias %st) {", "entry:", *scratch, "  br label %enter"]
        return "\n".join([interface(), *sorted(declarations), *self.lw.functions.values(), *lines, *self.b.lines, "}"])

    # dispatch -----------------------------------------------------------------------------

    def _dispatcher(self) -> None:
        b = self.b
        pcs = [f"i32 {pc}, label %at_{number}" for number, pc in enumerate(self.pc)]
        b.label("enter")
        if self.uniformity.all_varying:
            self._rotation()
        b.emit("br label %dispatch")
        b.label("dispatch")
        b.emit("%pcs = load <32 x i32>, ptr %st, align 64")
        b.emit("%lowest = call i32 @llvm.vector.reduce.umin.v32i32(<32 x i32> %pcs)")
        b.emit("br label %choose")
        b.label("choose")
        chosen = "%lowest"
        if self.uniformity.all_varying:
            b.emit("%chosen = phi i32 [ %lowest, %dispatch ], [ %rotated, %rotate ]")
            b.emit("%all = load <32 x i32>, ptr %st, align 64")
            chosen, pcs_name = "%chosen", "%all"
        else:
            pcs_name = "%pcs"
        b.emit(f"%c0 = insertelement <32 x i32> poison, i32 {chosen}, i64 0")
        b.emit("%cv = shufflevector <32 x i32> %c0, <32 x i32> poison, <32 x i32> zeroinitializer")
        b.emit(f"%group = icmp eq <32 x i32> {pcs_name}, %cv")
        b.emit("%groupbits = bitcast <32 x i1> %group to i32")
        b.emit(f"%others = select <32 x i1> %group, <32 x i32> splat (i32 {PC_EXITED}), <32 x i32> {pcs_name}")
        b.emit("%waitmin = call i32 @llvm.vector.reduce.umin.v32i32(<32 x i32> %others)")
        self._state_store(State.MASK32, "%groupbits")
        self._state_store(State.WAIT_MIN32, "%waitmin")
        b.emit(f"switch i32 {chosen}, label %idle [ {' '.join(pcs)} ]")
        b.label("idle")
        b.emit(f"%gone = icmp eq i32 {chosen}, {PC_EXITED}")
        b.emit(f"%idle_status = select i1 %gone, i32 {Status.DONE}, i32 {Status.PARKED}")
        b.emit("ret i32 %idle_status")
        for block in self.blocks:
            b.label(f"at_{block.number}")
            if block.number in self.uniformity.divergent:
                b.emit(f"br label %block_{block.number}")
                continue
            live = b.load(b.offset("%st", State.LIVE32), "i32")
            together = b.icmp("eq", Value("%groupbits", "i32"), live)
            b.emit(f"br i1 {together.text}, label %block_{block.number}, label %stuck")

    def _rotation(self) -> None:
        """After running out of fuel: give the next group above the last one a turn."""
        b = self.b
        last = b.load(b.offset("%st", State.ROTATE32), "i32")
        self._state_store(State.ROTATE32, "-1")
        turn = b.icmp("sge", last, const_int(0, "i32"))
        b.emit(f"br i1 {turn.text}, label %seek, label %dispatch")
        b.label("seek")
        b.emit("%rpcs = load <32 x i32>, ptr %st, align 64")
        pcs = Value("%rpcs", "i32", True)
        above = b.icmp("ugt", pcs, last)
        runnable = b.icmp("ult", pcs, const_int(PC_PARKED, "i32"))
        both = b.binary("and", above, runnable)
        candidates = b.select(both, pcs, b.splat(const_int(PC_EXITED, "i32")))
        b.emit(f"%rotated = call i32 @llvm.vector.reduce.umin.v32i32({candidates.typed})")
        found = b.icmp("ne", Value("%rotated", "i32"), const_int(PC_EXITED, "i32"))
        b.emit(f"br i1 {found.text}, label %rotate, label %dispatch")
        b.label("rotate")
        b.emit("br label %choose")

    def _endings(self) -> None:
        b = self.b
        b.label("stuck")
        b.emit(f"ret i32 {Status.STUCK}")

    def _state_store(self, field: State, text: str) -> None:
        self.b.store(self.b.offset("%st", field), Value(text, "i32"))

    # blocks -------------------------------------------------------------------------------

    def _block(self, block: Block) -> None:
        lw, b = self.lw, self.b
        uniform = block.number not in self.uniformity.divergent
        b.label(f"block_{block.number}")
        lw.values = {}
        lw.carry = None
        lw.guard = None
        lw.whole_warp = uniform
        bits = b.load(b.offset("%st", State.LIVE32 if uniform else State.MASK32), "i32")
        lw.mask_bits = bits.text
        lw.mask = b.assign(f"bitcast i32 {bits.text} to <32 x i1>", "i1", True)
        self._count(block, bits)
        dirty: set[int] = set()
        code = self.kernel.instructions
        last = code[block.end - 1]
        for index in range(block.start, block.end):
            instruction = code[index]
            lw.index = index
            if index == block.end - 1 and (instruction.opcode in _TERMINATORS or is_barrier(instruction)):
                break
            self._instruction(instruction)
            dirty.update(r.index for r in written_registers(instruction))
        if is_barrier(last):
            self._barrier(block, last, dirty, uniform)
        elif last.opcode in _TERMINATORS:
            self._branch(block, last, dirty, uniform)
        else:
            lw.flush(block.live_out, dirty, uniform_block=uniform)
            self._go(block, block.successors[0], lw.mask_bits, uniform)

    def _instruction(self, instruction: Instruction) -> None:
        lw = self.lw
        operation = OPERATIONS.get(instruction.opcode)
        if operation is None:
            raise NotEmulatedError(instruction.form)
        lw.guard = None
        if instruction.guard is not None:
            condition = lw.register(instruction.guard.register)
            if instruction.guard.negated:
                condition = lw.b.binary("xor", condition, const_int(1, "i1"))
            lw.guard = condition
            self._count_guarded()
        operation(lw, instruction)
        lw.guard = None

    def _count(self, block: Block, bits: Value) -> None:
        b = self.b
        counters = b.load(b.offset("%ctx", Ctx.COUNTERS), "ptr").text
        lanes = b.assign(f"call i32 @llvm.ctpop.i32(i32 {bits.text})", "i32")
        self._add(b.offset(counters, 16 * block.number), const_int(1, "i64"))
        self._add(b.offset(counters, 16 * block.number + 8), b.resize(lanes, "i64"))

    def _count_guarded(self) -> None:
        b = self.b
        number = 2 * len(self.blocks) + self.guarded.setdefault(self.lw.index, len(self.guarded))
        counters = b.load(b.offset("%ctx", Ctx.COUNTERS), "ptr").text
        _, bits = self.lw.active()
        if self.lw.guard is not None and not self.lw.guard.vec:
            bits = b.select(self.lw.guard, Value(self.lw.mask_bits, "i32"), const_int(0, "i32")).text
        lanes = b.assign(f"call i32 @llvm.ctpop.i32(i32 {bits})", "i32")
        self._add(b.offset(counters, 8 * number), b.resize(lanes, "i64"))

    def _add(self, pointer: str, amount: Value) -> None:
        old = self.b.load(pointer, "i64")
        self.b.store(pointer, self.b.binary("add", old, amount))

    # leaving a block ----------------------------------------------------------------------

    def _branch(self, block: Block, last: Instruction, dirty: set[int], uniform: bool) -> None:
        lw = self.lw
        if last.opcode == "brx":
            return self._indirect(block, last, dirty, uniform)
        condition: Value | None = None
        if last.guard is not None:
            condition = lw.register(last.guard.register)
            if last.guard.negated:
                condition = lw.b.binary("xor", condition, const_int(1, "i1"))
        if last.opcode == "trap":
            return self._trap(block, condition, dirty, uniform)
        lw.flush(block.live_out, dirty, uniform_block=uniform)
        if condition is None:
            return self._go(block, block.successors[0], lw.mask_bits, uniform)
        taken, other = block.successors
        if taken == other:
            return self._go(block, taken, lw.mask_bits, uniform)
        return self._split(block, condition, taken, other, uniform)

    def _split(self, block: Block, condition: Value, taken: int, other: int, uniform: bool) -> None:
        b, number = self.b, block.number
        if not condition.vec:
            b.emit(f"br i1 {condition.text}, label %yes_{number}, label %no_{number}")
        else:
            mask = Value(self.lw.mask_bits, "i32")
            chosen = b.assign(f"bitcast <32 x i1> {condition.text} to i32", "i32")
            yes = b.binary("and", chosen, mask)
            b.emit(f"switch i32 {yes.text}, label %some_{number} [ i32 0, label %no_{number} ]")
            b.label(f"some_{number}")
            everybody = b.icmp("eq", yes, mask)
            b.emit(f"br i1 {everybody.text}, label %yes_{number}, label %apart_{number}")
            b.label(f"apart_{number}")
            no = b.binary("xor", yes, mask)
            self._set_pcs(yes.text, taken)
            self._set_pcs(no.text, other)
            self._dispatch()
        b.label(f"yes_{number}")
        self._go(block, taken, self.lw.mask_bits, uniform)
        b.label(f"no_{number}")
        self._go(block, other, self.lw.mask_bits, uniform)

    def _indirect(self, block: Block, last: Instruction, dirty: set[int], uniform: bool) -> None:
        """brx.idx: every lane goes to the target of its index."""
        lw, b, number = self.lw, self.b, block.number
        index = lw.read(last.sources[0], "i32")
        lw.flush(block.live_out, dirty, uniform_block=uniform)
        targets = block.successors[: len(last.sources) - 1]
        if not index.vec:
            cases = " ".join(f"i32 {k}, label %case_{number}_{k}" for k in range(len(targets)))
            b.emit(f"switch i32 {index.text}, label %case_{number}_0 [ {cases} ]")
            for k, target in enumerate(targets):
                b.label(f"case_{number}_{k}")
                self._go(block, target, lw.mask_bits, uniform)
            return
        mask = Value(lw.mask_bits, "i32")
        for k, target in enumerate(targets):
            here = b.icmp("eq", index, const_int(k, "i32"))
            lanes = b.binary("and", b.assign(f"bitcast <32 x i1> {here.text} to i32", "i32"), mask)
            self._set_pcs(lanes.text, target)
        self._dispatch()

    def _set_pcs(self, lanes: str, target: int, flag: int = 0) -> None:
        """Send lanes (an i32 mask) to a block, or out of the kernel."""
        b = self.b
        pc = PC_EXITED if target == EXIT else self.pc[target] | flag
        chosen = b.assign(f"bitcast i32 {lanes} to <32 x i1>", "i1", True)
        old = b.load("%st", "i32", True, align=64)
        b.store("%st", b.select(chosen, b.splat(const_int(pc, "i32")), old), align=64)
        if target == EXIT:
            pointer = b.offset("%st", State.LIVE32)
            live = b.load(pointer, "i32")
            kept = b.binary("and", live, b.binary("xor", Value(lanes, "i32"), const_int(-1, "i32")))
            b.store(pointer, kept)

    def _dispatch(self) -> None:
        """Choose the next group, unless the warp has had its share."""
        number = self.b.fresh()[1:]
        self._spend(f"out_{number}", f"on_{number}")
        self.b.label(f"out_{number}")
        if self.uniformity.all_varying:
            self._state_store(State.ROTATE32, str(0))
        self.b.emit(f"ret i32 {Status.YIELD}")
        self.b.label(f"on_{number}")
        self.b.emit("br label %dispatch")

    def _spend(self, empty: str, enough: str) -> None:
        b = self.b
        pointer = b.offset("%st", State.FUEL)
        left = b.binary("sub", b.load(pointer, "i64"), const_int(1, "i64"))
        b.store(pointer, left)
        spent = b.icmp("slt", left, const_int(0, "i64"))
        b.emit(f"br i1 {spent.text}, label %{empty}, label %{enough}")

    def _go(self, block: Block, target: int, lanes: str, uniform: bool) -> None:
        """All lanes of the running group go to one block."""
        b = self.b
        if target == EXIT:
            self._set_pcs(lanes, EXIT)
            if uniform:
                b.emit(f"ret i32 {Status.DONE}")
            else:
                self._dispatch()
            return
        backward = self.blocks[target].start <= block.start
        divergent = target in self.uniformity.divergent
        if uniform:
            if divergent:
                self._state_store(State.MASK32, lanes)
                self._state_store(State.WAIT_MIN32, str(PC_EXITED))
            self._jump(target, lanes, backward, rotate=False)
            return
        if not divergent:
            name = b.fresh()[1:]
            live = b.load(b.offset("%st", State.LIVE32), "i32")
            everyone = b.icmp("eq", live, Value(lanes, "i32"))
            b.emit(f"br i1 {everyone.text}, label %met_{name}, label %wait_{name}")
            b.label(f"met_{name}")
            self._jump(target, lanes, backward, rotate=False)
            b.label(f"wait_{name}")
            self._set_pcs(lanes, target)
            self._dispatch()
            return
        name = b.fresh()[1:]
        waiting = b.load(b.offset("%st", State.WAIT_MIN32), "i32")
        first = b.icmp("ugt", waiting, const_int(self.pc[target], "i32"))
        b.emit(f"br i1 {first.text}, label %next_{name}, label %turn_{name}")
        b.label(f"next_{name}")
        self._jump(target, lanes, backward, rotate=True)
        b.label(f"turn_{name}")
        self._set_pcs(lanes, target)
        self._dispatch()

    def _jump(self, target: int, lanes: str, backward: bool, *, rotate: bool) -> None:
        b = self.b
        if not backward:
            b.emit(f"br label %block_{target}")
            return
        name = b.fresh()[1:]
        self._spend(f"empty_{name}", f"again_{name}")
        b.label(f"empty_{name}")
        self._set_pcs(lanes, target)
        if rotate and self.uniformity.all_varying:
            self._state_store(State.ROTATE32, str(self.pc[target]))
        b.emit(f"ret i32 {Status.YIELD}")
        b.label(f"again_{name}")
        b.emit(f"br label %block_{target}")

    # barriers and traps -------------------------------------------------------------------

    def _barrier(self, block: Block, last: Instruction, dirty: set[int], uniform: bool) -> None:
        lw, b = self.lw, self.b
        if last.guard is not None:
            raise NotEmulatedError(f"@p {last.form}")
        operands = list(last.sources)
        reduction = "red" in last.modifiers
        predicate = None
        if reduction:
            predicate = lw.read(operands.pop(), "i1")
        identity = operands[0] if operands else Immediate(0)
        count = operands[1] if len(operands) > 1 else Immediate(0)
        lw.flush(block.live_out, dirty, uniform_block=uniform)
        ids = b.resize(b.splat(lw.read(identity, "i32")), "i8")
        pointer = b.offset("%st", State.BARRIER_IDS)
        if not uniform:
            ids = b.select(lw.mask, ids, b.load(pointer, "i8", True, align=32))
        b.store(pointer, ids, align=32)
        threads = lw.read(count, "i32")
        if threads.vec:
            raise NotEmulatedError(f"{last.form} with a thread count that differs between lanes")
        b.store(b.offset("%st", State.BARRIER_COUNT32), threads)
        if predicate is not None:
            bits = b.assign(f"bitcast <32 x i1> {b.splat(predicate).text} to i32", "i32")
            place = b.offset("%st", State.BARRIER_PRED32)
            mask = Value(lw.mask_bits, "i32")
            kept = b.binary("and", b.load(place, "i32"), b.binary("xor", mask, const_int(-1, "i32")))
            b.store(place, b.binary("or", kept, b.binary("and", bits, mask)))
        following = block.successors[0]
        if following == EXIT:
            self._set_pcs(lw.mask_bits, EXIT)
            self._dispatch()
            return
        self._set_pcs(lw.mask_bits, following, PC_PARKED)
        if uniform:
            b.emit(f"ret i32 {Status.PARKED}")
        else:
            self._dispatch()

    def _trap(self, block: Block, condition: Value | None, dirty: set[int], uniform: bool) -> None:
        lw, b, number = self.lw, self.b, block.number
        lw.flush(block.live_out, dirty, uniform_block=uniform)
        bits = lw.mask_bits
        if condition is not None:
            chosen = b.assign(f"bitcast <32 x i1> {b.splat(condition).text} to i32", "i32")
            hit = b.binary("and", chosen, Value(lw.mask_bits, "i32"))
            b.emit(f"switch i32 {hit.text}, label %trap_{number} [ i32 0, label %go_{number} ]")
            b.label(f"trap_{number}")
            bits = hit.text
        lw.index = block.end - 1
        fault(lw, EventKind.TRAP, bits)
        b.emit(f"ret i32 {Status.FAULT}")
        if condition is not None:
            b.label(f"go_{number}")
            self._go(block, block.successors[1], lw.mask_bits, uniform)


def fault(lw: Lowering, kind: EventKind, lanes: str, *data: str) -> None:
    words = [f"i64 {d}" for d in (*data, "0", "0", "0")[:3]]
    lw.b.call(
        "void",
        "judge_fault",
        "ptr %ctx",
        "ptr %st",
        f"i32 {int(kind)}",
        f"i32 {lw.index}",
        f"i32 {lanes}",
        "i64 0",
        "i32 0",
        *words,
    )
