"""Lower one kernel to an LLVM function that runs one warp until it ends, waits or runs out of fuel.

Every block exists twice. In the `t_` version all live lanes run together: uniform values are
scalars and branches are direct. In the `a_` version lanes stand at different blocks: the group with
the lowest PC runs, masked, and a branch is direct as long as its target lies below every waiting
lane's. A branch that parts the lanes copies the scalars to vectors and goes on in the second
version; where all have met again and the uniform values agree, the first one takes over.
"""

from dataclasses import dataclass

from judge.backends.cpu.ir import Immediate, Instruction, Kernel
from judge.backends.cpu.lowering import (
    arithmetic,
    async_copy,
    calls,
    conversion,
    floats,
    matrix_ops,
    memory_ops,
    moves,
    warp_ops,
    wmma_ops,
)
from judge.backends.cpu.lowering.carried import carried_copies
from judge.backends.cpu.lowering.context import Lowering, Registers
from judge.backends.cpu.lowering.copies import copied_bytes, quiet_reads
from judge.backends.cpu.lowering.dispatch import Dispatcher, spend_fuel, state_store
from judge.backends.cpu.lowering.flags import loose_stores
from judge.backends.cpu.lowering.flow import (
    EXIT,
    Block,
    is_barrier,
    is_warp_barrier,
    makes_wait,
    split_blocks,
    written_registers,
)
from judge.backends.cpu.lowering.layout import (
    PC_PARKED,
    PC_TOGETHER,
    PC_WARP_WAIT,
    CtaShape,
    Ctx,
    EventKind,
    State,
    Status,
)
from judge.backends.cpu.lowering.runtime import interface
from judge.backends.cpu.lowering.undefined import Definedness, doubtful_registers
from judge.backends.cpu.lowering.uniformity import Uniformity, analyze, apart
from judge.backends.cpu.lowering.values import Value, const_int
from judge.backends.cpu.refusal import NotEmulatedError

OPERATIONS = {
    **arithmetic.OPERATIONS,
    **floats.OPERATIONS,
    **moves.OPERATIONS,
    **conversion.OPERATIONS,
    **memory_ops.OPERATIONS,
    **warp_ops.OPERATIONS,
    **async_copy.OPERATIONS,
    **matrix_ops.OPERATIONS,
    **wmma_ops.OPERATIONS,
    **calls.OPERATIONS,
}

_TERMINATORS = {"bra", "brx", "ret", "exit", "trap"}


@dataclass(frozen=True)
class LoweredKernel:
    """LLVM text of a kernel and what the launcher must know of it.

    blocks: the basic blocks; block b counts warps in counter 2b and lanes in 2b+1; its number is
    its PC. guarded: counter of each guarded instruction, by instruction index (lanes only). parted:
    counter of the warps that a block's last branch parted, by block number. Both follow the blocks' counters.
    """

    text: str
    state_bytes: int
    blocks: list[Block]
    guarded: dict[int, int]
    parted: dict[int, int]
    counters: int
    uniformity: Uniformity


ENTRY_PC = PC_TOGETHER


def lower_kernel(
    kernel: Kernel, *, shape: CtaShape, masked_stores: bool, watch: bool, patterns: bool = False
) -> LoweredKernel:
    """shape: of the CTAs it will be launched with. watch: find races and uninitialised reads, next to bounds.

    patterns: with code that counts sectors and bank conflicts.
    Raises NotEmulatedError for an instruction the CPU backend does not have.
    """
    blocks = split_blocks(kernel)
    uniformity = analyze(kernel, blocks, shape=shape)
    return _KernelLowering(kernel, blocks, uniformity, shape, masked_stores, watch, patterns).lower()


class _KernelLowering:
    def __init__(
        self,
        kernel: Kernel,
        blocks: list[Block],
        uniformity: Uniformity,
        shape: CtaShape,
        masked_stores: bool,
        watch: bool,
        patterns: bool,
    ) -> None:
        self.kernel = kernel
        self.blocks = blocks
        self.uniformity = uniformity
        across = 0
        for block in blocks:
            across |= block.live_in | block.live_out
        self.registers = Registers(kernel, uniformity, across)
        self.lw = Lowering(
            kernel,
            uniformity,
            self.registers,
            masked_stores=masked_stores,
            shape=shape,
            watch=watch,
            patterns=patterns,
        )
        self.b = self.lw.b
        if watch:
            self.lw.carried = carried_copies(kernel, blocks)
            self.lw.loose = loose_stores(kernel, blocks)
        self.quiet = quiet_reads(kernel, uniformity.spaces) if watch else frozenset()
        self.defined = Definedness(
            doubtful_registers(kernel, blocks, copied_bytes(kernel, uniformity.spaces)) if watch else [],
            self.registers.state_bytes,
        )
        self.guarded: dict[int, int] = {}
        self.parted: dict[int, int] = {}
        self.resumed = {0}
        """Blocks a warp may go on at, all lanes together, after it waited or gave others a turn."""

    def lower(self) -> LoweredKernel:
        for block in self.blocks:
            self._block(block, together=True)
        self.lw.uniformity = apart(self.kernel, self.uniformity)
        for block in self._parting:
            self._block(block, together=False)
        body, self.b.lines = self.b.lines, []
        self.lw.whole_warp = False
        Dispatcher(self.kernel, self.blocks, self._parting, self.lw, self.uniformity, self.resumed).emit()
        self.b.lines += body
        return LoweredKernel(
            self._assemble(),
            self.defined.state_bytes,
            self.blocks,
            self.guarded,
            self.parted,
            2 * len(self.blocks) + len(self.guarded) + len(self.parted),
            self.uniformity,
        )

    @property
    def _parting(self) -> list[Block]:
        """Blocks that also need the version for lanes that run apart: a single thread never does."""
        return [] if self.lw.shape is CtaShape.SINGLE else self.blocks

    def _assemble(self) -> str:
        declarations = {*self.b.declarations}
        declarations.add("declare i32 @llvm.cttz.i32(i32, i1)")
        declarations.add("declare i32 @llvm.ctpop.i32(i32)")
        declarations.add("declare i32 @llvm.vector.reduce.umin.v32i32(<32 x i32>)")
        size = self.lw.scratch_bytes
        scratch = [f"  %scratch = alloca [{size} x i8], align 64"] if size else []
        lines = ["define i32 @warp(ptr noalias %ctx, ptr noalias %st) {", "entry:", *scratch, "  br label %enter"]
        tables = [
            f"{name} = private unnamed_addr constant [{values.count('i64')} x i64] [{values}]"
            for values, name in self.lw.tables.items()
        ]
        return "\n".join(
            [interface(), *sorted(declarations), *tables, *self.lw.functions.values(), *lines, *self.b.lines, "}"]
        )

    # blocks -------------------------------------------------------------------------------

    def _label(self, number: int) -> str:
        return f"{'t' if self.lw.whole_warp else 'a'}_{number}"

    def _block(self, block: Block, *, together: bool) -> None:
        lw, b = self.lw, self.b
        lw.whole_warp = together
        b.label(self._label(block.number))
        lw.values = {}
        lw.carry = None
        lw.guard = None
        bits = b.load(b.offset("%st", State.LIVE32 if together else State.MASK32), "i32")
        lw.mask_bits = bits.text
        lw.mask = b.assign(f"bitcast i32 {bits.text} to <32 x i1>", "i1", True)
        self._count(block, bits)
        dirty: set[int] = set()
        code = self.kernel.instructions
        last = code[block.end - 1]
        for index in range(block.start, block.end):
            instruction = code[index]
            lw.index = index
            if instruction.opcode == "bra" and index < block.end - 1:
                continue  # to the next instruction: the blocks were joined
            if index == block.end - 1 and (instruction.opcode in _TERMINATORS or makes_wait(instruction)):
                break
            self._at_its_place(instruction)
            dirty.update(r.index for r in written_registers(instruction))
        if makes_wait(last) or last.opcode in _TERMINATORS:
            lw.index = block.end - 1
            lw.guard = None
            self.defined.before(lw, last)
        if is_barrier(last):
            self._barrier(block, last, dirty)
        elif is_warp_barrier(last):
            self._warp_barrier(block, last, dirty)
        elif last.opcode in _TERMINATORS:
            self._branch(block, last, dirty)
        else:
            lw.flush(block.live_out, dirty)
            self._go(block, block.successors[0], lw.mask_bits)

    def _at_its_place(self, instruction: Instruction) -> None:
        """A border: inline asm may hold what is no PTX in more ways than the reader knows, and ends no worker."""
        try:
            self._instruction(instruction)
        except NotEmulatedError as error:
            error.location = instruction.location
            raise
        except Exception as error:
            raise NotEmulatedError(f"{instruction.form} with these operands", instruction.location) from error

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
        lw.quiet = lw.index in self.quiet or lw.index in lw.carried.loads
        if lw.index not in self.quiet:
            self.defined.before(lw, instruction)
        operation(lw, instruction)
        self.defined.after(lw, instruction)
        lw.guard = None

    def _count(self, block: Block, bits: Value) -> None:
        b = self.b
        if not self.lw.whole_warp:
            b.call("void", "judge_count", "ptr %ctx", f"i64 {16 * block.number}", f"i32 {bits.text}")
            return
        counters = b.load(b.offset("%ctx", Ctx.COUNTERS), "ptr").text
        lanes = b.assign(f"call i32 @llvm.ctpop.i32(i32 {bits.text})", "i32")
        self._add(b.offset(counters, 16 * block.number), const_int(1, "i64"))
        self._add(b.offset(counters, 16 * block.number + 8), b.resize(lanes, "i64"))

    def _count_guarded(self) -> None:
        b = self.b
        number = 2 * len(self.blocks) + self.guarded.setdefault(self.lw.index, len(self.guarded) + len(self.parted))
        counters = b.load(b.offset("%ctx", Ctx.COUNTERS), "ptr").text
        _, bits = self.lw.active()
        lanes = b.assign(f"call i32 @llvm.ctpop.i32(i32 {bits})", "i32")
        self._add(b.offset(counters, 8 * number), b.resize(lanes, "i64"))

    def _count_parted(self, block: Block, amount: Value) -> None:
        """amount: 1 where the block's last branch parts the warp."""
        extra = self.parted.setdefault(block.number, len(self.guarded) + len(self.parted))
        counters = self.b.load(self.b.offset("%ctx", Ctx.COUNTERS), "ptr").text
        self._add(self.b.offset(counters, 8 * (2 * len(self.blocks) + extra)), amount)

    def _add(self, pointer: str, amount: Value) -> None:
        old = self.b.load(pointer, "i64")
        self.b.store(pointer, self.b.binary("add", old, amount))

    # leaving a block ----------------------------------------------------------------------

    def _branch(self, block: Block, last: Instruction, dirty: set[int]) -> None:
        lw = self.lw
        if last.opcode == "brx":
            return self._indirect(block, last, dirty)
        condition: Value | None = None
        if last.guard is not None:
            condition = lw.register(last.guard.register)
            if last.guard.negated:
                condition = lw.b.binary("xor", condition, const_int(1, "i1"))
        if last.opcode == "trap":
            return self._trap(block, condition, dirty)
        lw.flush(block.live_out, dirty)
        if condition is None:
            return self._go(block, block.successors[0], lw.mask_bits)
        taken, other = block.successors
        if taken == other:
            return self._go(block, taken, lw.mask_bits)
        return self._split(block, condition, taken, other)

    def _split(self, block: Block, condition: Value, taken: int, other: int) -> None:
        b, name = self.b, self._label(block.number)
        if not condition.vec:
            b.emit(f"br i1 {condition.text}, label %yes_{name}, label %no_{name}")
        else:
            mask = Value(self.lw.mask_bits, "i32")
            chosen = b.assign(f"bitcast <32 x i1> {condition.text} to i32", "i32")
            yes = b.binary("and", chosen, mask)
            b.emit(f"switch i32 {yes.text}, label %some_{name} [ i32 0, label %no_{name} ]")
            b.label(f"some_{name}")
            everybody = b.icmp("eq", yes, mask)
            b.emit(f"br i1 {everybody.text}, label %yes_{name}, label %apart_{name}")
            b.label(f"apart_{name}")
            self._count_parted(block, const_int(1, "i64"))
            no = b.binary("xor", yes, mask)
            if self.lw.whole_warp and EXIT in (taken, other):
                leaving, staying, target = (yes, no, other) if taken == EXIT else (no, yes, taken)
                self._set_pcs(leaving.text, EXIT)
                self._go(block, target, staying.text)
            elif self.lw.shape is CtaShape.SINGLE:
                b.emit("unreachable")
            else:
                self._materialize(block)
                self._set_pcs(yes.text, taken)
                self._set_pcs(no.text, other)
                self._dispatch()
        b.label(f"yes_{name}")
        self._go(block, taken, self.lw.mask_bits)
        b.label(f"no_{name}")
        self._go(block, other, self.lw.mask_bits)

    def _materialize(self, block: Block) -> None:
        """Give every lane its own copy of the uniform values that live on; their scalars have been stored."""
        if not self.lw.whole_warp:
            return
        registers = self.registers
        uniform = [r for r in sorted(registers.scalars) if r in registers.vectors and block.live_out >> r & 1]
        if uniform:
            self.lw.call_on_registers("void", "judge_spread", uniform)

    def _indirect(self, block: Block, last: Instruction, dirty: set[int]) -> None:
        """brx.idx: every lane goes to the target of its index."""
        lw, b = self.lw, self.b
        index = lw.read(last.sources[0], "i32")
        lw.flush(block.live_out, dirty)
        targets = block.successors[: len(last.sources) - 1]
        if index.vec and lw.shape is CtaShape.SINGLE:
            index = self._first_lane(index)
        if not index.vec:
            self._indirect_together(block, index, targets)
            return
        self._materialize(block)
        mask = Value(lw.mask_bits, "i32")
        first = b.splat(self._first_lane(index))
        others = b.assign(f"bitcast <32 x i1> {b.icmp('ne', index, first).text} to i32", "i32")
        parts = b.icmp("ne", b.binary("and", others, mask), const_int(0, "i32"))
        self._count_parted(block, b.resize(parts, "i64"))
        for k, target in enumerate(targets):
            here = b.icmp("eq", index, const_int(k, "i32"))
            lanes = b.binary("and", b.assign(f"bitcast <32 x i1> {here.text} to i32", "i32"), mask)
            self._set_pcs(lanes.text, target)
        self._dispatch()

    def _indirect_together(self, block: Block, index: Value, targets: list[int]) -> None:
        b, name = self.b, self._label(block.number)
        cases = " ".join(f"i32 {k}, label %case_{name}_{k}" for k in range(len(targets)))
        b.emit(f"switch i32 {index.text}, label %case_{name}_0 [ {cases} ]")
        for k, target in enumerate(targets):
            b.label(f"case_{name}_{k}")
            self._go(block, target, self.lw.mask_bits)

    def _set_pcs(self, lanes: str, target: int, flag: int = 0) -> None:
        """Send lanes (an i32 mask) to a block, or out of the kernel."""
        if target == EXIT:
            self.b.call("void", "judge_leave", "ptr %st", f"i32 {lanes}")
        else:
            self.b.call("void", "judge_stand", "ptr %st", f"i32 {lanes}", f"i32 {target | flag}")

    def _dispatch(self) -> None:
        """Choose the next group, unless the warp has had its share."""
        self.b.emit("br label %share")

    def _go(self, block: Block, target: int, lanes: str) -> None:
        """All lanes of the running group go to one block."""
        b = self.b
        if target == EXIT:
            self._set_pcs(lanes, EXIT)
            if self.lw.whole_warp:
                b.emit(f"ret i32 {Status.DONE}")
            else:
                self._dispatch()
            return
        backward = self.blocks[target].start <= block.start
        if self.lw.whole_warp:
            self._jump(target, lanes, backward)
            return
        name = b.fresh()[1:]
        waiting = b.load(b.offset("%st", State.WAIT_MIN32), "i32")
        first = b.icmp("ugt", waiting, const_int(target, "i32"))
        b.emit(f"br i1 {first.text}, label %next_{name}, label %turn_{name}")
        b.label(f"next_{name}")
        self._jump(target, lanes, backward)
        b.label(f"turn_{name}")
        self._set_pcs(lanes, target)
        self._dispatch()

    def _jump(self, target: int, lanes: str, backward: bool) -> None:
        b = self.b
        if not backward:
            b.emit(f"br label %{self._label(target)}")
            return
        name = b.fresh()[1:]
        spend_fuel(b, f"empty_{name}", f"again_{name}")
        b.label(f"empty_{name}")
        if self.lw.whole_warp:
            self.resumed.add(target)
            self._set_pcs(lanes, target, PC_TOGETHER)
        else:
            self._set_pcs(lanes, target)
            state_store(self.b, State.ROTATE32, str(target))
        b.emit(f"ret i32 {Status.YIELD}")
        b.label(f"again_{name}")
        b.emit(f"br label %{self._label(target)}")

    # barriers and traps -------------------------------------------------------------------

    def _barrier(self, block: Block, last: Instruction, dirty: set[int]) -> None:
        lw, b = self.lw, self.b
        if last.guard is not None:
            raise NotEmulatedError(f"@p {last.form}")
        operands = list(last.sources)
        predicate = None
        if "red" in last.modifiers:
            predicate = lw.read(operands.pop(), "i1")
        identity = operands[0] if operands else Immediate(0)
        count = operands[1] if len(operands) > 1 else Immediate(0)
        lw.flush(block.live_out, dirty)
        ids = b.splat(b.resize(b.splat(lw.read(identity, "i32")), "i8"))
        pointer = b.offset("%st", State.BARRIER_IDS)
        if not lw.whole_warp:
            ids = b.select(lw.mask, ids, b.load(pointer, "i8", True, align=32))
        b.store(pointer, ids, align=32)
        threads = lw.read(count, "i32")
        if threads.vec:
            threads = self._first_lane(threads)
        if not isinstance(count, Immediate):
            calls.check_barrier_count(lw, threads)
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
        elif lw.whole_warp:
            self.resumed.add(following)
            self._set_pcs(lw.mask_bits, following, PC_PARKED | PC_TOGETHER)
            b.emit(f"ret i32 {Status.PARKED}")
        else:
            self._set_pcs(lw.mask_bits, following, PC_PARKED)
            self._dispatch()

    def _warp_barrier(self, block: Block, last: Instruction, dirty: set[int]) -> None:
        """bar.warp.sync: lanes of two branches meet each other, so those that come first wait."""
        lw, b = self.lw, self.b
        if last.guard is not None:
            raise NotEmulatedError(f"@p {last.form}")
        calls.warp_barrier(lw, last)
        lw.flush(block.live_out, dirty)
        following = block.successors[0]
        if lw.whole_warp or following == EXIT:
            self._go(block, following, lw.mask_bits)
            return
        name = self._label(block.number)
        live = b.load(b.offset("%st", State.LIVE32), "i32")
        everyone = b.icmp("eq", live, Value(lw.mask_bits, "i32"))
        b.emit(f"br i1 {everyone.text}, label %all_{name}, label %wait_{name}")
        b.label(f"wait_{name}")
        self._set_pcs(lw.mask_bits, following, PC_WARP_WAIT)
        self._dispatch()
        b.label(f"all_{name}")
        self._go(block, following, lw.mask_bits)

    def _first_lane(self, value: Value) -> Value:
        b = self.b
        lane = b.assign(f"call i32 @llvm.cttz.i32(i32 {self.lw.mask_bits}, i1 true)", "i32")
        return b.assign(f"extractelement {value.typed}, i32 {lane.text}", value.elem)

    def _trap(self, block: Block, condition: Value | None, dirty: set[int]) -> None:
        lw, b, name = self.lw, self.b, self._label(block.number)
        lw.flush(block.live_out, dirty)
        bits = lw.mask_bits
        if condition is not None:
            chosen = b.assign(f"bitcast <32 x i1> {b.splat(condition).text} to i32", "i32")
            hit = b.binary("and", chosen, Value(lw.mask_bits, "i32"))
            b.emit(f"switch i32 {hit.text}, label %trap_{name} [ i32 0, label %go_{name} ]")
            b.label(f"trap_{name}")
            bits = hit.text
        lw.index = block.end - 1
        fault(lw, EventKind.TRAP, bits)
        b.emit(f"ret i32 {Status.FAULT}")
        if condition is not None:
            b.label(f"go_{name}")
            self._go(block, block.successors[1], lw.mask_bits)


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
