"""A routine and everything it calls to one IR kernel.

Each call is replaced by a copy of the callee with registers and local variables of its own. An
argument that lives where the callee expects it is shared rather than copied: a callee never writes
its own `.param` inputs. Recursion cannot be written out this way and is refused.
"""

from collections.abc import Mapping
from math import prod

from judge.backends.cpu import ir
from judge.backends.cpu.ptx import syntax
from judge.backends.cpu.ptx.copier import Copier
from judge.backends.cpu.ptx.errors import NotEmulatedError, PtxError, readable_name
from judge.backends.cpu.ptx.fold import first_refusal, fold_branches
from judge.backends.cpu.ptx.parameters import fits
from judge.backends.cpu.ptx.resolve import align_up, storage_of
from judge.backends.cpu.ptx.routine import (
    Argument,
    CallSite,
    Draft,
    Parameter,
    Routine,
    Storage,
)

MAX_INSTRUCTIONS = 200_000
MAX_REGISTERS = 1_000_000
MAX_LOCAL_VARIABLES = 10_000
MAX_CALL_DEPTH = 100
MAX_STATIC_SHARED_BYTES = 48 << 10
MAX_LOCAL_BYTES = 512 << 10
MAX_PARAMETER_BYTES = 32764
BUILTINS = frozenset({"vprintf", "__assertfail", "malloc", "free"})
"""Functions the runtime provides; a call of one stays a `call`."""

_DYNAMIC_SHARED_ALIGN = 16


def build_kernel(
    entry: syntax.Function, routines: Mapping[str, Routine], pointers: Mapping[str, int] | None = None
) -> ir.Kernel:
    """The kernel of an entry. Raises PtxError when it uses what the backend lacks or grows too large.

    pointers: the functions whose address the module takes, and what the address is.
    """
    return _Inliner(entry, routines, pointers or {}).kernel


class _Inliner:
    def __init__(self, entry: syntax.Function, routines: Mapping[str, Routine], pointers: Mapping[str, int]) -> None:
        self.routines = routines
        self.pointers = pointers
        self.registers: list[ir.Register] = []
        self.instructions: list[ir.Instruction] = []
        self.local: list[ir.Variable] = []
        self.local_bytes = 0
        self.copies: dict[str, int] = {}
        self.active: list[str] = []
        self.budget = MAX_INSTRUCTIONS
        if entry.clustered:
            raise NotEmulatedError(f"thread block clusters (kernel {readable_name(entry.name)})", entry.location)
        routine = routines[entry.name]
        shared, static_bytes, self.shared_offsets = self.lay_out_shared(routine)
        parameters, parameter_bytes = lay_out_parameters(entry)
        self.copy(routine, {}, {}, None)
        registers, instructions = fold_branches(tuple(self.registers), self.instructions)
        refused = first_refusal(instructions)
        if refused is not None:
            raise NotEmulatedError(refused.modifiers[0], refused.location)
        self.kernel = ir.Kernel(
            name=entry.name,
            registers=registers,
            instructions=tuple(instructions),
            parameters=parameters,
            parameter_bytes=parameter_bytes,
            shared=shared,
            shared_static_bytes=static_bytes,
            local=tuple(self.local),
            local_bytes=align_up(self.local_bytes, 16),
            max_threads=_threads(entry.max_threads),
            required_threads=_triple(entry.required_threads),
        )

    def lay_out_shared(self, entry: Routine) -> tuple[tuple[ir.Variable, ...], int, dict[Storage, int]]:
        """Static variables in the order of their declarations, then the dynamic ones, all at one offset."""
        used: dict[Storage, None] = {}
        seen = {entry.name}
        waiting = [entry]
        while waiting:
            routine = waiting.pop()
            used.update(routine.shared)
            for name in (*routine.callees, *(self.pointers if routine.calls_pointers else ())):
                if name in self.routines and name not in seen:
                    seen.add(name)
                    waiting.append(self.routines[name])
        ordered = sorted(used, key=lambda storage: storage.ordinal)
        offsets: dict[Storage, int] = {}
        end = 0
        for storage in ordered:
            if not storage.dynamic:
                offsets[storage] = align_up(end, storage.align)
                end = offsets[storage] + storage.size
        if end > MAX_STATIC_SHARED_BYTES:
            raise PtxError(
                f"kernel {readable_name(entry.name)} has {end} bytes of static shared memory, "
                f"at most {MAX_STATIC_SHARED_BYTES}: use extern __shared__ and the launch's shared bytes for more"
            )
        dynamic = [storage for storage in ordered if storage.dynamic]
        # A dynamic array may ask for more than 16 bytes of alignment; the static part is padded to give it.
        end = align_up(end, max((s.align for s in dynamic if s.align > _DYNAMIC_SHARED_ALIGN), default=1))
        offsets.update((storage, align_up(end, _DYNAMIC_SHARED_ALIGN)) for storage in dynamic)
        variables = tuple(ir.Variable(s.name, "shared", offsets[s], s.size, s.align, s.element_type) for s in ordered)
        return variables, end, offsets

    def copy(
        self,
        routine: Routine,
        bound_registers: dict[int, ir.Register],
        bound_places: dict[Storage, tuple[str, int]],
        call: ir.Location | None,
    ) -> None:
        """Append a copy of a routine.

        bound_registers: parameters that live in the caller's registers, by index of the routine's own.
        bound_places: the same for parameters in local memory, (name, offset).
        """
        self.active.append(routine.name)
        registers = self.fresh_registers(routine, bound_registers)
        places = dict(bound_places)
        for storage in routine.local:
            places[storage] = self.new_local(storage, call)
        for parameter in (*routine.parameters, *routine.results):
            if isinstance(parameter, Parameter) and parameter.register is None and parameter.storage not in places:
                places[parameter.storage] = self.new_local(parameter.storage, call)
        copier = Copier(self.new_local, self.shared_offsets, registers, places, call)
        starts: list[int] = []
        branches: list[int] = []
        last = len(routine.items) - 1
        for index, item in enumerate(routine.items):
            starts.append(len(self.instructions))
            if isinstance(item, CallSite):
                self.call(copier, item)
                continue
            assert isinstance(item, Draft)
            draft = item
            if draft.opcode == "ret" and len(self.active) > 1:
                if index == last and draft.guard is None:
                    continue
                draft = Draft("bra", draft.modifiers, (), (ir.Target(last + 1),), draft.guard, draft.location)
            if draft.opcode in ("bra", "brx"):
                branches.append(len(self.instructions))
            self.append(copier.instruction(draft))
        starts.append(len(self.instructions))
        for position in branches:
            self.instructions[position] = _moved(self.instructions[position], starts)
        self.active.pop()

    def append(self, instruction: ir.Instruction) -> None:
        self.spend(instruction.location)
        self.instructions.append(instruction)

    def spend(self, location: ir.Location | None) -> None:
        self.budget -= 1
        if self.budget < 0:
            raise self.too_large(f"{MAX_INSTRUCTIONS} instructions", location)

    def too_large(self, limit: str, location: ir.Location | None) -> PtxError:
        return PtxError(
            f"the compiled kernel {readable_name(self.active[0])} is too large: more than {limit}", location
        )

    def fresh_registers(self, routine: Routine, bound: dict[int, ir.Register]) -> list[ir.Register]:
        registers = []
        for register in routine.registers:
            fresh = bound.get(register.index)
            if fresh is None:
                fresh = self.new_register(register.name, register.type)
            registers.append(fresh)
        return registers

    def new_register(self, name: str, type_: str) -> ir.Register:
        if len(self.registers) >= MAX_REGISTERS:
            raise self.too_large(f"{MAX_REGISTERS} registers", None)
        register = ir.Register(len(self.registers), name, type_)
        self.registers.append(register)
        return register

    def new_local(self, storage: Storage, location: ir.Location | None) -> tuple[str, int]:
        offset = align_up(self.local_bytes, storage.align)
        self.local_bytes = offset + storage.size
        if self.local_bytes > MAX_LOCAL_BYTES:
            name, limit = readable_name(self.active[0]), MAX_LOCAL_BYTES >> 10
            raise PtxError(f"kernel {name} needs more than {limit} KiB of local memory a thread", location)
        if len(self.local) >= MAX_LOCAL_VARIABLES:
            raise self.too_large(f"{MAX_LOCAL_VARIABLES} local variables", location)
        copies = self.copies[storage.name] = self.copies.get(storage.name, 0) + 1
        name = f"{storage.name}#{copies}" if copies > 1 else storage.name
        self.local.append(ir.Variable(name, "local", offset, storage.size, storage.align, storage.element_type))
        return name, offset

    # -- calls

    def call(self, copier: Copier, site: CallSite) -> None:
        location = copier.location(site.location)
        self.spend(location)
        if isinstance(site.callee, ir.Register):
            self.call_through(copier, site, site.callee, location)
            return
        routine = self.routines.get(site.callee)
        if routine is None:
            self.builtin(copier, site, location)
            return
        if site.callee in self.active:
            self.refuse(f"recursive function {readable_name(site.callee)}", location)
            return
        if len(self.active) >= MAX_CALL_DEPTH:
            raise PtxError(f"calls are nested deeper than {MAX_CALL_DEPTH}", location)
        skip = len(self.instructions) if site.guard is not None else None
        if site.guard is not None:
            inverse = ir.Guard(copier.registers[site.guard.register.index], not site.guard.negated)
            self.append(ir.Instruction("bra", (), (), (ir.Target(0),), inverse, location))
        registers: dict[int, ir.Register] = {}
        places: dict[Storage, tuple[str, int]] = {}
        for formal, actual in zip(routine.parameters, site.arguments, strict=True):
            self.bind(copier, formal, actual, registers, places, location, result=False)
        late = [
            self.bind(copier, formal, actual, registers, places, location, result=True)
            for formal, actual in zip(routine.results, site.results, strict=True)
        ]
        self.copy(routine, registers, places, location)
        for instruction in late:
            if instruction is not None:
                self.append(instruction)
        if skip is not None:
            self.land(skip)

    def call_through(self, copier: Copier, site: CallSite, pointer: ir.Register, location: ir.Location | None) -> None:
        """Compare the pointer with each function it may hold and call that one; no function of them is a trap."""
        address = copier.registers[pointer.index]
        skip: list[int] = []
        if site.guard is not None:
            inverse = ir.Guard(copier.registers[site.guard.register.index], not site.guard.negated)
            skip.append(len(self.instructions))
            self.append(ir.Instruction("bra", (), (), (ir.Target(0),), inverse, location))
        for name, known in self.pointers.items():
            if not fits(self.routines[name], site):
                continue
            other = self.new_register("%other", "pred")
            sources = (address, ir.Immediate(known))
            self.append(ir.Instruction("setp", ("ne", "u64"), (other,), sources, None, location))
            past = len(self.instructions)
            self.append(ir.Instruction("bra", (), (), (ir.Target(0),), ir.Guard(other, False), location))
            self.call(copier, CallSite(name, site.results, site.arguments, None, site.location))
            skip.append(len(self.instructions))
            self.append(ir.Instruction("bra", ("uni",), (), (ir.Target(0),), None, location))
            self.land(past)
        self.append(ir.Instruction("trap", (), (), (), None, location))
        for position in skip:
            self.land(position)

    def land(self, position: int) -> None:
        """Let the branch at a position lead to the next instruction."""
        bra = self.instructions[position]
        target = (ir.Target(len(self.instructions)),)
        self.instructions[position] = ir.Instruction("bra", bra.modifiers, (), target, bra.guard, bra.location)

    def bind(
        self,
        copier: Copier,
        formal: "Parameter | ir.Register",
        actual: Argument,
        registers: dict[int, ir.Register],
        places: dict[Storage, tuple[str, int]],
        location: ir.Location | None,
        *,
        result: bool,
    ) -> ir.Instruction | None:
        """Connect one argument or result; a result may need the returned instruction after the call."""
        size = formal.size if isinstance(formal, Parameter) else formal.bits // 8
        if isinstance(actual, Parameter) and actual.size != size:
            raise PtxError(f"parameter {formal.name} has {size} bytes, its argument {actual.size}", location)
        home = formal.register if isinstance(formal, Parameter) else formal
        source = actual.register if isinstance(actual, Parameter) else actual
        if home is not None:
            if isinstance(source, ir.Register):
                mapped = copier.registers[source.index]
                shared = isinstance(actual, Parameter) and isinstance(formal, Parameter)
                if (shared or result) and mapped.bits == home.bits:
                    registers[home.index] = mapped
                    return None
            fresh = registers[home.index] = self.new_register(home.name, home.type)
            return self.transfer(copier, actual, source, fresh, size, location, result=result)
        assert isinstance(formal, Parameter)
        if isinstance(actual, Parameter) and source is None:
            places[formal.storage] = copier.place(actual.storage)
            return None
        name, offset = places[formal.storage] = self.new_local(formal.storage, location)
        address = ir.Address(ir.Symbol(name, "local", offset))
        type_ = f"b{size * 8}"
        if isinstance(source, ir.Register):
            source = copier.registers[source.index]
            if size not in (1, 2, 4, 8) or source.bits < size * 8:
                raise PtxError(f"parameter {formal.name} has {size} bytes, its argument {source.bits // 8}", location)
            if result:
                return ir.Instruction("ld", ("local", type_), (source,), (address,), None, location)
        if result or source is None or size not in (1, 2, 4, 8):
            raise PtxError(f"malformed operand of call: {formal.name}", location)
        self.append(ir.Instruction("st", ("local", type_), (), (address, source), None, location))
        return None

    def transfer(
        self,
        copier: Copier,
        actual: Argument,
        source: "ir.Register | ir.Immediate | None",
        fresh: ir.Register,
        size: int,
        location: ir.Location | None,
        *,
        result: bool,
    ) -> ir.Instruction | None:
        """Move between an argument and the register `fresh` that stands for it in the callee."""
        type_ = f"b{size * 8}"
        if isinstance(actual, Parameter) and source is None:
            name, offset = copier.place(actual.storage)
            address = ir.Address(ir.Symbol(name, "local", offset))
            if result:
                return ir.Instruction("st", ("local", type_), (), (address, fresh), None, location)
            self.append(ir.Instruction("ld", ("local", type_), (fresh,), (address,), None, location))
            return None
        if isinstance(source, ir.Register):
            source = copier.registers[source.index]
            if source.bits != fresh.bits:
                raise PtxError(f"argument {source.name} is not as wide as its parameter", location)
        if source is None or (result and isinstance(source, ir.Immediate)):
            raise PtxError("malformed operand of call: a result needs a variable", location)
        width = "pred" if fresh.type == "pred" else f"b{fresh.bits}"
        if result:
            assert isinstance(source, ir.Register)
            return ir.Instruction("mov", (width,), (source,), (fresh,), None, location)
        self.append(ir.Instruction("mov", (width,), (fresh,), (source,), None, location))
        return None

    def refuse(self, name: str, location: ir.Location | None) -> None:
        """Only a fault when the kernel can get there (see fold.py)."""
        self.append(ir.Instruction("refused", (name,), (), (), None, location))

    def builtin(self, copier: Copier, site: CallSite, location: ir.Location | None) -> None:
        assert isinstance(site.callee, str)
        if site.callee not in BUILTINS:
            if site.callee.startswith("cuda"):
                self.refuse(f"{site.callee} of the device runtime", location)
                return
            raise PtxError(f"function {readable_name(site.callee)} is declared but has no body", location)
        self.append(
            ir.Instruction(
                "call",
                (site.callee,),
                tuple(copier.scalar(result) for result in site.results),
                tuple(copier.scalar(argument) for argument in site.arguments),
                copier.guard(site.guard),
                location,
            )
        )


def lay_out_parameters(entry: syntax.Function) -> tuple[tuple[ir.KernelParameter, ...], int]:
    """Offsets of a kernel's parameters in its argument block, and the bytes of the block."""
    parameters = []
    end = 0
    for variable in entry.parameters:
        storage = storage_of(variable)
        offset = align_up(end, storage.align)
        parameters.append(ir.KernelParameter(variable.name, offset, storage.size, storage.align))
        end = offset + storage.size
    if end > MAX_PARAMETER_BYTES:
        raise PtxError(
            f"the parameters of kernel {readable_name(entry.name)} take {end} bytes, at most {MAX_PARAMETER_BYTES}"
        )
    return tuple(parameters), end


def _moved(instruction: ir.Instruction, starts: list[int]) -> ir.Instruction:
    sources = tuple(
        ir.Target(starts[source.index]) if isinstance(source, ir.Target) else source for source in instruction.sources
    )
    return ir.Instruction(
        instruction.opcode, instruction.modifiers, (), sources, instruction.guard, instruction.location
    )


def _threads(figures: tuple[int, ...] | None) -> int | None:
    if figures is None:
        return None
    return prod(figures)


def _triple(figures: tuple[int, ...] | None) -> tuple[int, int, int] | None:
    return None if figures is None else (*figures, 1, 1)[:3]  # type: ignore[return-value]
