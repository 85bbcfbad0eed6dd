"""The state of lowering one kernel: registers, the current block's values, mask and guard.

Inside a block a register is an LLVM value. Between blocks it lies in the warp's state block, as
one scalar or as 32 lanes; only registers that some block reads from another have a place there.
"""

from dataclasses import dataclass

from judge.backends.cpu.addresses import SPACE_SLOTS, slot_base
from judge.backends.cpu.ir import Address, Immediate, Instruction, Kernel, Operand, Register, Special, Symbol
from judge.backends.cpu.lowering.carried import Carried
from judge.backends.cpu.lowering.layout import QUIET_SITE, STRONG_SITE, CtaShape, Ctx, State
from judge.backends.cpu.lowering.runtime_lanes import table_entry
from judge.backends.cpu.lowering.uniformity import Uniformity
from judge.backends.cpu.lowering.values import BITS, Builder, Value, const_int, float_elem, int_elem, vtype
from judge.backends.cpu.refusal import NotEmulatedError


def register_elem(register: Register) -> str:
    """The LLVM element type a register is kept in."""
    if register.type == "pred":
        return "i1"
    if register.type in ("f32", "f64"):
        return float_elem(register.bits)
    return int_elem(max(register.bits, 8))


@dataclass(frozen=True)
class Place:
    """Where a register lies in the state block."""

    offset: int
    elem: str
    vec: bool


class Registers:
    """Places of the registers that live across blocks: vectors for all, scalars for the uniform ones."""

    def __init__(self, kernel: Kernel, uniformity: Uniformity, across: int) -> None:
        self.scalars: dict[int, Place] = {}
        self.vectors: dict[int, Place] = {}
        offset = int(State.REGISTERS)
        vectors = []
        for register in kernel.registers:
            if not across >> register.index & 1:
                continue
            elem = register_elem(register)
            size = 16 if elem == "i128" else 8
            offset = -(-offset // size) * size
            if not uniformity.is_varying(register):
                self.scalars[register.index] = Place(offset, elem, False)
                offset += size
            if elem == "i1":
                self.vectors[register.index] = Place(offset, elem, True)
                offset += size
            else:
                vectors.append((register, elem))
        offset = -(-offset // 64) * 64
        for register, elem in vectors:
            self.vectors[register.index] = Place(offset, elem, True)
            offset += -(-32 * BITS[elem] // 8 // 64) * 64
        self.state_bytes = offset


class Lowering:
    """What an operation needs to emit itself."""

    def __init__(
        self,
        kernel: Kernel,
        uniformity: Uniformity,
        registers: Registers,
        *,
        masked_stores: bool,
        shape: CtaShape,
        watch: bool,
        patterns: bool = False,
    ) -> None:
        self.kernel = kernel
        self.uniformity = uniformity
        self.registers = registers
        self.masked_stores = masked_stores
        self.shape = shape
        self.b = Builder()
        self.values: dict[int, Value] = {}
        self.mask = const_int(1, "i1")
        """Active lanes of the block, a vector of i1."""
        self.mask_bits = "-1"
        """The same as an i32 operand."""
        self.guard: Value | None = None
        self.carry: Value | None = None
        self.index = 0
        """Number of the instruction being lowered: the site of its events."""
        self.functions: dict[str, str] = {}
        """Helper functions of the module by name, each emitted once."""
        self.tables: dict[str, str] = {}
        """Names of constant tables of registers, by their entries."""
        self.whole_warp = False
        """All live lanes run this code: the others have exited and may be overwritten."""
        self.scratch_bytes = 0
        self.watch = watch
        """Emit what finds races and uninitialised reads."""
        self.patterns = patterns
        """Emit what counts sectors and bank conflicts."""
        self.quiet = False
        """The instruction may read what has no value: it only copies."""
        self.carried = Carried()
        """Copies of what may have no value."""
        self.loose: frozenset[int] = frozenset()
        """Volatile stores to what is no flag."""
        self.strong = False
        """The access being lowered is volatile, atomic or ordered: two such never race."""

    @property
    def site(self) -> str:
        """The i32 operand that says which access this is."""
        return f"i32 {self.index | (STRONG_SITE if self.strong else 0) | (QUIET_SITE if self.quiet else 0)}"

    def place(self, index: int) -> Place | None:
        """Where a register lies in the version of the code being emitted."""
        if self.whole_warp and index in self.registers.scalars:
            return self.registers.scalars[index]
        return self.registers.vectors.get(index)

    def call_on_registers(self, result: str, name: str, registers: list[int]) -> str:
        """Call judge_meet or judge_spread on registers that have a scalar and a vector; the result's name."""
        entries = [
            table_entry(self.registers.vectors[r].offset, place.offset, place.elem)
            for r in registers
            for place in [self.registers.scalars[r]]
        ]
        values = ", ".join(f"i64 {entry}" for entry in entries)
        table = self.tables.setdefault(values, f"@registers_{len(self.tables)}")
        return self.b.call(result, name, "ptr %st", f"ptr {table}", f"i32 {len(entries)}")

    # operands -----------------------------------------------------------------------------

    def read(self, operand: Operand | None, elem: str, *, signed: bool = False) -> Value:
        """An operand as `elem`; a register of another width is truncated or extended."""
        value = self.raw(operand, elem)
        if value.elem == elem:
            return value
        if value.bits == BITS[elem]:
            return self.b.bitcast(value, elem)
        if value.is_float:
            value = self.b.bitcast(value, int_elem(value.bits))
        resized = self.b.resize(value, int_elem(BITS[elem]), signed)
        return self.b.bitcast(resized, elem)

    def raw(self, operand: Operand | None, elem: str) -> Value:
        if isinstance(operand, Register):
            return self.register(operand)
        if isinstance(operand, Immediate):
            return self.immediate(operand, elem)
        if isinstance(operand, Special):
            return self.special(operand.name)
        if isinstance(operand, Symbol):
            return const_int(self.symbol_value(operand), "i64")
        if isinstance(operand, Address):
            return self.address_value(operand)
        raise NotEmulatedError(f"operand {operand!r}")

    def symbol_value(self, symbol: Symbol) -> int:
        """A symbol's address in its own space; the generic one for module-level variables."""
        return symbol.offset + (slot_base(SPACE_SLOTS["global"]) if symbol.space == "global" else 0)

    def address_value(self, address: Address) -> Value:
        if address.base is None:
            return const_int(address.offset, "i64")
        if isinstance(address.base, Symbol):
            return const_int(self.symbol_value(address.base) + address.offset, "i64")
        base = self.register(address.base)
        if base.is_float:
            base = self.b.bitcast(base, int_elem(base.bits))
        base = self.b.resize(base, "i64")
        if not address.offset:
            return base
        return self.b.binary("add", base, const_int(address.offset, "i64"))

    def immediate(self, immediate: Immediate, elem: str) -> Value:
        bits = BITS[elem]
        if immediate.float_bits and immediate.float_bits != bits:
            raise NotEmulatedError(f"a {immediate.float_bits}-bit float constant where {bits} bits are read")
        if elem in ("float", "double", "half"):
            return self.b.bitcast(const_int(immediate.value, int_elem(bits)), elem)
        return const_int(immediate.value, elem)

    def register(self, register: Register) -> Value:
        known = self.values.get(register.index)
        if known is None:
            known = self._load(register)
            self.values[register.index] = known
        return known

    def _load(self, register: Register) -> Value:
        place = self.place(register.index)
        if place is None:  # read in the block that should have written it first: never written
            elem = register_elem(register)
            return self.b.splat(const_int(0, elem)) if elem.startswith("i") else self._zero(elem)
        pointer = self.b.offset("%st", place.offset)
        if place.elem == "i1":
            if place.vec:
                bits = self.b.load(pointer, "i32")
                return self.b.assign(f"bitcast i32 {bits.text} to <32 x i1>", "i1", True)
            return self.b.resize(self.b.load(pointer, "i8"), "i1")
        return self.b.load(pointer, place.elem, place.vec, align=64 if place.vec else None)

    def _zero(self, elem: str) -> Value:
        return Value("zeroinitializer", elem, True)

    # results ------------------------------------------------------------------------------

    def write(self, register: Operand | None, value: Value, *, signed: bool = False) -> None:
        """Set a register (or nothing for the sink) to a value, resized to the register's width."""
        if register is None:
            return
        if not isinstance(register, Register):
            raise NotEmulatedError(f"destination {register!r}")
        elem = register_elem(register)
        if value.elem != elem:
            if value.bits != BITS[elem]:
                if value.is_float:
                    value = self.b.bitcast(value, int_elem(value.bits))
                value = self.b.resize(value, int_elem(BITS[elem]), signed)
            value = self.b.bitcast(value, elem)
        if self.guard is not None:
            value = self.b.select(self.guard, value, self.register(register))
        self.values[register.index] = value

    def scratch(self, size_bytes: int = 1024) -> str:
        """A buffer on the stack; 1024 bytes hold 32 lanes of 32 bytes, the largest vector access."""
        self.scratch_bytes = max(self.scratch_bytes, size_bytes)
        return "%scratch"

    def flush(self, live_out: int, dirty: set[int]) -> None:
        """Store the registers a block wrote and another may read, for the active lanes only."""
        for index in sorted(dirty):
            place = self.place(index)
            if place is None or not live_out >> index & 1:
                continue
            value = self.values[index]
            pointer = self.b.offset("%st", place.offset)
            if not place.vec:
                if value.vec:
                    raise AssertionError(f"register {index} was taken for uniform but varies")
                if place.elem == "i1":
                    value = self.b.resize(value, "i8")
                self.b.store(pointer, value)
                continue
            value = self.b.splat(value)
            if place.elem == "i1":
                bits = self.b.assign(f"bitcast <32 x i1> {value.text} to i32", "i32")
                if not self.whole_warp:
                    old = self.b.load(pointer, "i32")
                    mask = Value(self.mask_bits, "i32")
                    keep = self.b.binary("and", old, self.b.binary("xor", mask, const_int(-1, "i32")))
                    bits = self.b.binary("or", keep, self.b.binary("and", bits, mask))
                self.b.store(pointer, bits)
            elif self.whole_warp:
                self.b.store(pointer, value, align=64)
            elif self.masked_stores:
                self.masked_store(pointer, value)
            else:
                old = self.b.load(pointer, place.elem, True, align=64)
                self.b.store(pointer, self.b.select(self.mask, value, old), align=64)

    def masked_store(self, pointer: str, value: Value) -> None:
        kind = {"float": "f32", "double": "f64", "half": "f16"}.get(value.elem, value.elem)
        name = f"llvm.masked.store.v32{kind}.p0"
        vector = vtype(value.elem, True)
        self.b.declarations.add(f"declare void @{name}({vector}, ptr, i32, <32 x i1>)")
        self.b.emit(f"call void @{name}({value.typed}, ptr {pointer}, i32 64, {self.mask.typed})")

    # special registers --------------------------------------------------------------------

    def special(self, name: str) -> Value:
        b = self.b
        fixed = {
            "ntid.x": Ctx.NTID_X32,
            "ntid.y": Ctx.NTID_Y32,
            "ntid.z": Ctx.NTID_Z32,
            "nctaid.x": Ctx.NCTAID_X32,
            "nctaid.y": Ctx.NCTAID_Y32,
            "nctaid.z": Ctx.NCTAID_Z32,
            "nwarpid": Ctx.WARPS32,
        }
        if name in fixed:
            return b.load(b.offset("%ctx", fixed[name]), "i32")
        place = {"ctaid.x": State.CTAID_X32, "ctaid.y": State.CTAID_Y32, "ctaid.z": State.CTAID_Z32}
        if name in place:
            return b.load(b.offset("%st", place[name]), "i32")
        if name == "warpid":
            return b.load(b.offset("%st", State.WARP32), "i32")
        if name in ("tid.x", "tid.y", "tid.z"):
            return self._thread_id("xyz".index(name[-1]))
        if name == "laneid":
            return self.lanes("i32") if self.shape is not CtaShape.SINGLE else const_int(0, "i32")
        if name.startswith("lanemask_"):
            return self._lane_mask(name.removeprefix("lanemask_"))
        if name in ("clock", "clock64", "clock_hi", "globaltimer", "globaltimer_lo", "globaltimer_hi"):
            return self._clock(name)
        constants = {
            "smid": 0,
            "nsmid": 1,
            "gridid": 0,
            "warp_sz": 32,
            "total_smem_size": None,
            "dynamic_smem_size": None,
        }
        if name in ("dynamic_smem_size", "total_smem_size"):
            field = Ctx.DYNAMIC_SHARED if name.startswith("dynamic") else Ctx.SHARED_BYTES
            return b.resize(b.load(b.offset("%ctx", field), "i64"), "i32")
        if name.lower() in constants:
            return const_int(constants[name.lower()] or 0, "i32")
        if name.startswith("envreg"):
            return const_int(0, "i32")
        raise NotEmulatedError(f"special register %{name}")

    def lanes(self, elem: str) -> Value:
        numbers = ", ".join(f"{elem} {lane}" for lane in range(32))
        return Value(f"<{numbers}>", elem, True)

    def _thread_id(self, axis: int) -> Value:
        b = self.b
        if self.shape is CtaShape.SINGLE:
            return const_int(0, "i32")
        warp = b.load(b.offset("%st", State.WARP32), "i32")
        if self.shape is CtaShape.LINE:
            if axis:
                return const_int(0, "i32")
            return b.binary("add", b.binary("shl", warp, const_int(5, "i32")), self.lanes("i32"))
        table = b.load(b.offset("%ctx", Ctx.THREAD_IDS), "ptr").text
        start = b.binary("mul", b.resize(warp, "i64"), const_int(3 * 128, "i64"))
        return b.load(b.offset(b.offset(table, start), axis * 128), "i32", True, align=4)

    def _lane_mask(self, kind: str) -> Value:
        table = {
            "eq": [1 << i for i in range(32)],
            "lt": [(1 << i) - 1 for i in range(32)],
            "le": [(2 << i) - 1 for i in range(32)],
            "gt": [0xFFFFFFFF & ~((2 << i) - 1) for i in range(32)],
            "ge": [0xFFFFFFFF & ~((1 << i) - 1) for i in range(32)],
        }
        if kind not in table:
            raise NotEmulatedError(f"special register %lanemask_{kind}")
        if self.shape is CtaShape.SINGLE:
            return const_int(table[kind][0], "i32")
        return Value("<" + ", ".join(f"i32 {v & 0xFFFFFFFF}" for v in table[kind]) + ">", "i32", True)

    def _clock(self, name: str) -> Value:
        self.b.declarations.add("declare i64 @llvm.readcyclecounter()")
        ticks = self.b.assign("call i64 @llvm.readcyclecounter()", "i64")
        if name.endswith("_hi"):
            return self.b.resize(self.b.binary("lshr", ticks, const_int(32, "i64")), "i32")
        if name in ("clock", "globaltimer_lo"):
            return self.b.resize(ticks, "i32")
        return ticks

    # masks --------------------------------------------------------------------------------

    def active(self) -> tuple[Value, str]:
        """Lanes the current instruction works on: the block's mask and its guard, as vector and i32."""
        if self.guard is None:
            return self.mask, self.mask_bits
        if self.guard.const == 1:
            return self.mask, self.mask_bits
        both = self.b.binary("and", self.mask, self.b.splat(self.guard))
        bits = self.b.assign(f"bitcast <32 x i1> {both.text} to i32", "i32")
        return both, bits.text

    def refuse(self, instruction: Instruction) -> NotEmulatedError:
        return NotEmulatedError(instruction.form)
