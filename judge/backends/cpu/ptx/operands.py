"""Operands of instructions: syntax to the routine's own registers, places and constants."""

from judge.backends.cpu import ir
from judge.backends.cpu.ptx import syntax
from judge.backends.cpu.ptx.routine import Draft, Operand, Parameter, Place, PlaceAddress, Storage
from judge.backends.cpu.ptx.scope import FunctionName, Meaning, Names, Refused


class Operands(Names):
    """Turns each operand into what its letter in the instruction table wants; `text` names the instruction."""

    def value(self, operand: syntax.Operand, text: str, *, vector: bool = False) -> Operand:
        if type(operand) is str:
            meaning = self.look_up(operand)
            if type(meaning) is ir.Register:
                return meaning
            return self.symbol_value(meaning, operand, 0, text, vector)
        if isinstance(operand, ir.Immediate):
            return operand
        if isinstance(operand, syntax.NameOffset):
            return self.symbol_value(self.look_up(operand.name), operand.name, operand.offset, text, False)
        if isinstance(operand, syntax.Braces) and vector:
            return self.vector(operand, text)
        raise self.fail(f"malformed operand of {text}")

    def symbol_value(
        self, meaning: "Meaning | ir.Special | ir.Immediate", name: str, offset: int, text: str, vector: bool
    ) -> Operand:
        match meaning:
            case ir.Special() | ir.Immediate() if offset == 0:
                return meaning
            case ir.Vector() if vector and offset == 0:
                return meaning
            case ir.Symbol():
                return ir.Symbol(meaning.name, meaning.space, meaning.offset + offset) if offset else meaning
            case Storage():
                self.use(meaning)
                return Place(meaning, offset)
            case Parameter():
                meaning.scalar = False
                return Place(meaning.storage, offset)
            case FunctionName():
                self.pointed.add(meaning.name)
                return ir.Immediate(meaning.address + offset)
            case Refused():
                raise self.fail(meaning.reason)
            case _:
                raise self.fail(f"malformed operand of {text}: {name}")

    def use(self, storage: Storage) -> None:
        if storage.space == "shared":
            self.routine.shared[storage] = None

    def destination(self, operand: syntax.Operand, text: str, *, vector: bool = False) -> "Operand | None":
        if type(operand) is str:
            if operand == "_":
                return None
            meaning = self.look_up(operand)
            if type(meaning) is ir.Register or (vector and isinstance(meaning, ir.Vector)):
                return meaning
        elif isinstance(operand, syntax.Braces) and vector:
            return self.vector(operand, text, written=True)
        raise self.fail(f"malformed operand of {text}: its result needs a register")

    def vector(self, braces: syntax.Braces, text: str, *, written: bool = False) -> ir.Vector:
        elements: list[ir.Register | ir.Immediate | None] = []
        for element in braces.elements:
            if element == "_":
                elements.append(None)
                continue
            meaning = element if isinstance(element, ir.Immediate) else self.look_up(element)
            if isinstance(meaning, ir.Register) or (isinstance(meaning, ir.Immediate) and not written):
                elements.append(meaning)
            else:
                raise self.fail(f"malformed operand of {text}: {element} in a vector")
        return ir.Vector(tuple(elements))

    def memory(self, operand: syntax.Operand, text: str) -> Operand:
        if not isinstance(operand, syntax.Memory):
            raise self.fail(f"malformed operand of {text}: an address in [ ] is needed")
        if operand.base is None:
            return ir.Address(None, operand.offset)
        meaning = self.look_up(operand.base)
        match meaning:
            case ir.Register() if meaning.bits not in (32, 64):
                raise self.fail(f"{text}: {meaning.name} is a .{meaning.type} register and cannot hold an address")
            case ir.Register() | ir.Symbol():
                return ir.Address(meaning, operand.offset)
            case Storage():
                self.use(meaning)
                return PlaceAddress(meaning, operand.offset)
            case Parameter():
                meaning.scalar = False
                return PlaceAddress(meaning.storage, operand.offset)
            case Refused():
                raise self.fail(meaning.reason)
            case _:
                raise self.fail(f"malformed operand of {text}: [{operand.base}]")

    def predicate(self, operand: syntax.Operand, text: str) -> Operand:
        if not isinstance(operand, syntax.Inverted):
            return self.value(operand, text)
        register = self.look_up(operand.name)
        if not isinstance(register, ir.Register) or register.type != "pred":
            raise self.fail(f"malformed operand of {text}: !{operand.name} is not a predicate")
        inverse = self.routine.register(f"!{register.name}", "pred")
        self.routine.items.append(Draft("not", ("pred",), (inverse,), (register,), None, self.location))
        return inverse
