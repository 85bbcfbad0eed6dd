"""Syntax of one function to a Routine: every name looked up, every operand checked for its kind.

Scopes nest: a name means its innermost declaration, registers and variables must be declared before
they are used, labels may come later. Names of the module (variables and functions) lie outermost.
"""

from collections.abc import Mapping, MutableMapping

from judge.backends.cpu import ir
from judge.backends.cpu.ptx import syntax
from judge.backends.cpu.ptx.errors import NotEmulatedError, PtxError
from judge.backends.cpu.ptx.instructions import Form, Spelling
from judge.backends.cpu.ptx.one_cta import OneCta
from judge.backends.cpu.ptx.parameters import decide, placed_access
from judge.backends.cpu.ptx.routine import (
    Argument,
    CallSite,
    Draft,
    Operand,
    Parameter,
    ParameterAccess,
    Routine,
    Storage,
)
from judge.backends.cpu.ptx.scope import Meaning, Scope
from judge.backends.cpu.ptx.widths import mismatch

MAX_VARIABLE_BYTES = 1 << 30


def storage_of(variable: syntax.Variable) -> Storage:
    """Size and alignment of a variable; raises PtxError when it is too large."""
    element = max(1, ir.WIDTHS[variable.type] // 8) * variable.lanes
    count = 1
    for size in variable.dimensions or ():
        count *= size
    if element * count > MAX_VARIABLE_BYTES:
        raise PtxError(f"variable {variable.name} is too large: {element * count} bytes", variable.location)
    align = max(variable.align or 1, element)
    dynamic = variable.linkage == "extern" and count == 0
    return Storage(variable.name, variable.space, element * count, align, variable.type, variable.ordinal, dynamic)


def resolve(
    function: syntax.Function, names: MutableMapping[str, Meaning], functions: Mapping[str, syntax.Function]
) -> Routine:
    """The routine of a function with a body.

    names: meaning of the module's variables and functions. Raises PtxError.
    """
    return _Resolver(function, names, functions).routine


class _Resolver(OneCta):
    def __init__(
        self, function: syntax.Function, names: MutableMapping[str, Meaning], functions: Mapping[str, syntax.Function]
    ) -> None:
        super().__init__(Routine(function.name, function.is_entry), names, function.location)
        self.functions = functions
        self.calls: list[Parameter] = []
        self.branches: list[tuple[int, str, Scope]] = []
        self.formals(function)
        self.scope = Scope(self.scope)
        for statement in function.body or ():
            self.statement(statement)
        self.routine.labels = self.scope.labels
        self.routine.pointed = self.pointed
        self.land_branches()
        for parameter in self.calls:
            decide(self.routine, parameter)
        self.routine.items = [
            placed_access(item) if isinstance(item, ParameterAccess) else item for item in self.routine.items
        ]

    # -- declarations

    def formals(self, function: syntax.Function) -> None:
        if function.is_entry:
            offset = 0
            for variable in function.parameters:
                storage = storage_of(variable)
                offset = align_up(offset, storage.align)
                self.declare(variable.name, ir.Symbol(variable.name, "param", offset))
                offset += storage.size
            return
        for variables, into in (
            (function.parameters, self.routine.parameters),
            (function.results, self.routine.results),
        ):
            for variable in variables:
                into.append(self.call_variable(variable))

    def call_variable(self, variable: syntax.Variable) -> "Parameter | ir.Register":
        if variable.space == "reg":
            register = self.routine.register(variable.name, variable.type)
            self.declare(variable.name, register)
            return register
        storage = storage_of(variable)
        storage.space = "local"
        parameter = Parameter(variable.name, storage.size, storage, storage.size in (1, 2, 4, 8))
        self.calls.append(parameter)
        self.declare(variable.name, parameter)
        return parameter

    def registers(self, statement: syntax.Registers) -> None:
        self.location = statement.location
        if statement.count is not None:
            if statement.name in self.scope.ranges:
                raise self.fail(f"{statement.name}<{statement.count}> is declared twice")
            self.scope.ranges[statement.name] = (statement.count, statement.type, statement.lanes)
        else:
            self.declare(statement.name, self.new_register(statement.name, statement.type, statement.lanes))

    def variable(self, statement: syntax.Variable) -> None:
        self.location = statement.location
        if statement.space == "param":
            self.call_variable(statement)
            return
        if statement.space not in ("local", "shared") or statement.initial is not None:
            raise self.fail(f"malformed PTX: .{statement.space} variable {statement.name} inside a function")
        storage = storage_of(statement)
        self.declare(statement.name, storage)
        if statement.space == "local":
            self.routine.local.append(storage)
        else:
            self.routine.shared[storage] = None

    # -- statements

    def statement(self, statement: syntax.Statement) -> None:
        match statement:
            case syntax.Instruction():
                self.location = statement.location
                self.instruction(statement)
            case syntax.Label():
                self.location = statement.location
                if statement.name in self.scope.labels:
                    raise self.fail(f"label {statement.name} is defined twice")
                self.scope.labels[statement.name] = len(self.routine.items)
            case syntax.Call():
                self.location = statement.location
                self.call(statement)
            case syntax.Registers():
                self.registers(statement)
            case syntax.Variable():
                self.variable(statement)
            case syntax.ScopeStart():
                self.scope = Scope(self.scope)
            case syntax.ScopeEnd():
                assert self.scope.parent is not None
                self.scope = self.scope.parent
            case syntax.BranchTable():
                self.scope.tables[statement.name] = statement.targets
            case syntax.Prototype():
                pass

    def instruction(self, statement: syntax.Instruction) -> None:
        if statement.spelling.form is None:
            if self.expand(statement):
                return
            self.refuse(statement.spelling.text)
            return
        try:
            self.emulated(statement, statement.spelling, statement.spelling.form)
        except NotEmulatedError as error:
            self.refuse(error.name)

    def emulated(self, statement: syntax.Instruction, spelling: Spelling, form: Form) -> None:
        guard = self.guard(statement.guard)
        opcode, modifiers, operands = spelling.opcode, spelling.modifiers, statement.operands
        if opcode in ("ld", "st") and "param" in modifiers and self.parameter_access(statement, guard):
            return
        destinations: list[Operand | None] = []
        sources: list[Operand] = []
        for letter, operand in zip(form.patterns[len(operands)], operands, strict=True):
            if letter in "rv":
                sources.append(self.value(operand, spelling.text, vector=letter == "v"))
            elif letter in "dD":
                destinations.append(self.destination(operand, spelling.text, vector=letter == "D"))
            elif letter == "m":
                sources.append(self.memory(operand, spelling.text))
            elif letter == "P":
                if isinstance(operand, syntax.Pair):
                    destinations.append(self.destination(operand.first, spelling.text))
                    destinations.append(self.destination(operand.second, spelling.text))
                else:
                    destinations.append(self.destination(operand, spelling.text))
            elif letter == "n":
                sources.append(self.predicate(operand, spelling.text))
            elif letter == "i":
                if not isinstance(operand, ir.Immediate):
                    raise self.fail(f"malformed operand of {spelling.text}: a constant is needed")
                sources.append(operand)
            else:
                if not isinstance(operand, str):
                    raise self.fail(f"malformed operand of {spelling.text}: a label is needed")
                self.branches.append((len(self.routine.items), operand, self.scope))
        if not self.routine.is_entry and opcode == "ld" and "param" in modifiers:
            # Taking the address of a function's parameter puts it into local memory.
            modifiers = tuple("local" if m == "param" else m for m in modifiers)
        fault = mismatch(opcode, modifiers, destinations, sources)
        if fault:
            raise self.fail(f"{spelling.text}: {fault}")
        self.routine.items.append(Draft(opcode, modifiers, tuple(destinations), tuple(sources), guard, self.location))

    def refuse(self, name: str) -> None:
        """Note what only a GPU runs, in the place of the statement."""
        self.routine.items.append(Draft("refused", (name,), (), (), None, self.location))

    def guard(self, guard: syntax.Guard | None) -> ir.Guard | None:
        if guard is None:
            return None
        register = self.look_up(guard.name)
        if not isinstance(register, ir.Register) or register.type != "pred":
            raise self.fail(f"malformed PTX: guard {guard.name} is not a predicate register")
        return ir.Guard(register, guard.negated)

    def parameter_access(self, statement: syntax.Instruction, guard: ir.Guard | None) -> bool:
        """Take an ld.param or st.param of a call's variable; False when it is about the kernel's own parameters."""
        spelling, operands = statement.spelling, statement.operands
        is_store = spelling.opcode == "st"
        memory, other = operands[0 if is_store else 1], operands[1 if is_store else 0]
        meaning = self.look_up(memory.base) if isinstance(memory, syntax.Memory) and memory.base else None
        if not isinstance(meaning, Parameter):
            if is_store:
                raise self.fail(f"malformed operand of {spelling.text}: not a parameter of a call")
            return False
        if is_store and meaning in self.routine.parameters:
            raise self.fail(f"{spelling.text} to {meaning.name}, which is an input of the function")
        assert isinstance(memory, syntax.Memory)
        operand: Operand | None
        if is_store:
            operand = self.value(other, spelling.text, vector=True)
        else:
            operand = self.destination(other, spelling.text, vector=True)
        type_ = next(m for m in reversed(spelling.modifiers) if m in ir.WIDTHS)
        width = ir.WIDTHS[type_] // 8 * (len(operand.elements) if isinstance(operand, ir.Vector) else 1)
        if memory.offset < 0 or memory.offset + width > meaning.size:
            raise self.fail(f"{spelling.text} lies outside of parameter {meaning.name}, which has {meaning.size} bytes")
        if memory.offset or not isinstance(operand, ir.Register | ir.Immediate):
            meaning.scalar = False
        self.routine.items.append(
            ParameterAccess(meaning, memory.offset, spelling.modifiers, type_, operand, is_store, guard, self.location)
        )
        return True

    def call(self, statement: syntax.Call) -> None:
        function = self.functions.get(statement.target)
        if function is None:
            pointer = self.find(statement.target)
            if isinstance(pointer, ir.Register):
                self.call_through(statement, pointer)
                return
            raise self.fail(f"call of {statement.target}, which is not a function")
        if function.is_entry:
            raise self.fail(f"call of {statement.target}, which is a kernel")
        guard = self.guard(statement.guard)
        results, arguments = (
            [self.argument(name) for name in names] for names in (statement.results, statement.arguments)
        )
        if len(results) != len(function.results) or len(arguments) != len(function.parameters):
            raise self.fail(f"call of {function.name} does not match its declaration")
        variables = [argument for argument in (*results, *arguments) if isinstance(argument, Parameter)]
        if len(set(variables)) < len(variables) and set(results) & set(variables):
            raise self.fail(f"call of {function.name} uses one variable for a result and something else")
        self.routine.callees.setdefault(function.name, self.location)
        self.routine.items.append(CallSite(function.name, results, arguments, guard, self.location))

    def call_through(self, statement: syntax.Call, pointer: ir.Register) -> None:
        if pointer.bits != 64:
            raise self.fail(f"call through {pointer.name}, which cannot hold an address")
        results, arguments = (
            [self.argument(name) for name in names] for names in (statement.results, statement.arguments)
        )
        self.routine.calls_pointers = True
        site = CallSite(pointer, results, arguments, self.guard(statement.guard), self.location)
        self.routine.items.append(site)

    def argument(self, name: "str | ir.Immediate") -> Argument:
        if isinstance(name, ir.Immediate):
            return name
        meaning = self.look_up(name)
        if isinstance(meaning, Parameter | ir.Register):
            return meaning
        raise self.fail(f"malformed operand of call: {name}")

    def land_branches(self) -> None:
        for index, name, scope in self.branches:
            draft = self.routine.items[index]
            assert isinstance(draft, Draft)
            self.location = draft.location
            if draft.opcode == "bra":
                draft.sources = (ir.Target(self.label(name, scope)),)
            else:
                targets = self.table(name, scope)
                draft.sources += tuple(ir.Target(self.label(target, scope)) for target in targets)


def align_up(offset: int, align: int) -> int:
    return -(-offset // align) * align
