"""One copy of a routine: its operands with the copy's registers, variables and source places."""

from collections.abc import Callable, Mapping

from judge.backends.cpu import ir
from judge.backends.cpu.ptx.errors import PtxError
from judge.backends.cpu.ptx.routine import Argument, Draft, Operand, Parameter, Place, PlaceAddress, Storage


class Copier:
    """Rewrites the operands of one copy of a routine."""

    def __init__(
        self,
        new_local: Callable[[Storage, ir.Location | None], tuple[str, int]],
        shared_offsets: Mapping[Storage, int],
        registers: list[ir.Register],
        places: dict[Storage, tuple[str, int]],
        call: ir.Location | None,
    ) -> None:
        self.new_local = new_local
        self.shared_offsets = shared_offsets
        self.registers = registers
        self.places = places
        self.call = call
        self.locations: dict[int, ir.Location] = {}

    def place(self, storage: Storage) -> tuple[str, int]:
        """(name, offset) of a variable in this copy; the variables of calls get theirs on first use."""
        if storage.space == "shared":
            return storage.name, self.shared_offsets[storage]
        found = self.places.get(storage)
        if found is None:
            found = self.places[storage] = self.new_local(storage, self.call)
        return found

    def location(self, location: ir.Location | None) -> ir.Location | None:
        """The location with the calls that led here at the end of its chain."""
        if self.call is None or location is None:
            return location or self.call
        known = self.locations.get(id(location))
        if known is None:
            known = self.locations[id(location)] = _chained(location, self.call)
        return known

    def guard(self, guard: ir.Guard | None) -> ir.Guard | None:
        return guard and ir.Guard(self.registers[guard.register.index], guard.negated)

    def scalar(self, argument: Argument) -> "ir.Register | ir.Immediate":
        """The value of a builtin's argument."""
        value = argument.register if isinstance(argument, Parameter) else argument
        if value is None:
            raise PtxError("malformed operand of call: a builtin takes scalars", self.call)
        return self.registers[value.index] if isinstance(value, ir.Register) else value

    def operand(self, operand: Operand) -> ir.Operand:
        kind = type(operand)
        if kind is ir.Register:
            return self.registers[operand.index]  # type: ignore[union-attr]
        match operand:
            case ir.Address(base=ir.Register() as base):
                return ir.Address(self.registers[base.index], operand.offset)
            case PlaceAddress():
                name, offset = self.place(operand.storage)
                return ir.Address(ir.Symbol(name, operand.storage.space, offset), operand.offset)
            case Place():
                name, offset = self.place(operand.storage)
                return ir.Symbol(name, operand.storage.space, offset + operand.offset)
            case ir.Vector():
                return ir.Vector(
                    tuple(self.registers[e.index] if isinstance(e, ir.Register) else e for e in operand.elements)
                )
            case _:
                return operand

    def instruction(self, draft: Draft) -> ir.Instruction:
        return ir.Instruction(
            draft.opcode,
            draft.modifiers,
            tuple([None if operand is None else self.operand(operand) for operand in draft.destinations]),
            tuple([self.operand(operand) for operand in draft.sources]),
            self.guard(draft.guard),
            self.location(draft.location),
        )


def _chained(location: ir.Location, call: ir.Location) -> ir.Location:
    outer = call if location.inlined_at is None else _chained(location.inlined_at, call)
    return ir.Location(location.file, location.line, location.column, outer)
