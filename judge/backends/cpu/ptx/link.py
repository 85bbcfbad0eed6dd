"""Syntax of a module to its IR: variables laid out, functions resolved, kernels built."""

import struct

from judge.backends.cpu import ir
from judge.backends.cpu.addresses import FUNCTION_SLOT, slot_base
from judge.backends.cpu.ptx import syntax
from judge.backends.cpu.ptx.dwarf import chain_inlined, name_locals
from judge.backends.cpu.ptx.errors import PtxError
from judge.backends.cpu.ptx.inline import build_kernel
from judge.backends.cpu.ptx.parser import parse
from judge.backends.cpu.ptx.resolve import align_up, resolve, storage_of
from judge.backends.cpu.ptx.routine import Routine, Storage
from judge.backends.cpu.ptx.scope import FunctionName, Meaning, Refused

MAX_CONSTANT_BYTES = 64 << 10
MAX_GLOBAL_BYTES = 1 << 30
MAX_INITIAL_BYTES = 64 << 20


def load(text: str) -> ir.Module:
    """Parse and link a PTX module.

    Raises PtxError, and nothing else, when the text is not PTX or needs what only a GPU has.
    """
    return link(parse(text))


def link(module: syntax.Module) -> ir.Module:
    """The IR of a parsed module. Raises PtxError."""
    functions = dict(module.functions)
    for new, old in module.aliases.items():
        if old not in functions:
            raise PtxError(f".alias {new} of {old}, which is not a function")
        functions[new] = functions[old]
    layout = _Layout(module, functions)
    routines: dict[str, Routine] = {}
    for name, function in functions.items():
        if function.body is not None:
            routines[name] = resolve(function, layout.names, functions)
            chain_inlined(routines[name], module.inlined)
    pointed = layout.pointed.union(*(routine.pointed for routine in routines.values()))
    pointers = {name: layout.addresses[name] for name in sorted(pointed) if name in routines}
    kernels = {
        name: name_locals(build_kernel(function, routines, pointers), module.local_names)
        for name, function in functions.items()
        if function.is_entry and function.body is not None
    }
    return ir.Module(
        kernels=kernels,
        globals_=tuple(layout.variables["global"]),
        global_bytes=layout.ends["global"],
        constants=tuple(layout.variables["const"]),
        constant_bytes=layout.ends["const"],
        version=module.version,
        target=module.target,
        debug=module.debug,
    )


class _Layout:
    """Places the module's variables and says what every module-level name means."""

    def __init__(self, module: syntax.Module, functions: dict[str, syntax.Function]) -> None:
        self.names: dict[str, Meaning] = {
            name: FunctionName(name, slot_base(FUNCTION_SLOT) + 16 * (k + 1)) for k, name in enumerate(functions)
        }
        self.addresses = {name: m.address for name, m in self.names.items() if isinstance(m, FunctionName)}
        self.ends = {"global": 0, "const": 0}
        self.variables: dict[str, list[ir.Variable]] = {"global": [], "const": []}
        self.initial_bytes = 0
        self.pointed: set[str] = set()
        """Functions whose address a variable holds: a table of them, or what a class has virtual."""
        placed = []
        for variable in self.definitions(module):
            storage = storage_of(variable)
            if not storage.size and variable.space != "shared" and variable.linkage != "extern":
                raise PtxError(f"variable {variable.name} has no bytes: give the array an element", variable.location)
            if variable.space == "shared":
                self.names[variable.name] = storage
            elif variable.linkage == "extern":
                self.names[variable.name] = Refused(f"variable {variable.name} is declared but not defined")
            else:
                offset = align_up(self.ends[variable.space], storage.align)
                self.ends[variable.space] = offset + storage.size
                self.names[variable.name] = ir.Symbol(variable.name, variable.space, offset)
                placed.append((variable, storage, offset))
        if self.ends["const"] > MAX_CONSTANT_BYTES:
            raise PtxError(f"__constant__ variables take {self.ends['const']} bytes, at most {MAX_CONSTANT_BYTES}")
        if self.ends["global"] > MAX_GLOBAL_BYTES:
            raise PtxError(f"__device__ variables take {self.ends['global']} bytes, at most {MAX_GLOBAL_BYTES}")
        for variable, storage, offset in placed:
            self.variables[variable.space].append(self.filled(variable, storage, offset))

    def definitions(self, module: syntax.Module) -> list[syntax.Variable]:
        """Each variable once; a definition replaces an extern declaration."""
        chosen: dict[str, syntax.Variable] = {}
        for variable in module.variables:
            known = chosen.get(variable.name)
            if variable.name in self.names or (known is not None and "extern" not in (known.linkage, variable.linkage)):
                raise PtxError(f"{variable.name} is declared twice", variable.location)
            if known is None or known.linkage == "extern":
                chosen[variable.name] = variable
        return list(chosen.values())

    def filled(self, variable: syntax.Variable, storage: Storage, offset: int) -> ir.Variable:
        initial: bytes | None = None
        relocations: tuple[tuple[int, str, int], ...] = ()
        if variable.initial is not None:
            initial, relocations = self.image(variable, storage)
        return ir.Variable(
            variable.name,
            variable.space,
            offset,
            storage.size,
            storage.align,
            variable.type,
            initial,
            relocations,
        )

    def image(self, variable: syntax.Variable, storage: Storage) -> tuple[bytes, tuple[tuple[int, str, int], ...]]:
        """The bytes a variable starts with, and the addresses to put into them."""
        width = max(1, ir.WIDTHS[variable.type] // 8)
        values = variable.initial or []
        if len(values) * width > storage.size:
            raise PtxError(f"variable {variable.name} has more initial values than elements")
        self.initial_bytes += storage.size
        if self.initial_bytes > MAX_INITIAL_BYTES:
            raise PtxError(f"initialised variables take more than {MAX_INITIAL_BYTES >> 20} MiB")
        data = bytearray(storage.size)
        relocations: list[tuple[int, str, int]] = []
        for index, value in enumerate(values):
            at = index * width
            if isinstance(value, ir.Immediate):
                data[at : at + width] = _bytes(value, variable.type, width)
            elif value.mask is not None:
                self.masked_byte(variable, data, relocations, at, value)
            elif isinstance(function := self.names.get(value.name), FunctionName):
                if width != 8:
                    raise PtxError(f"variable {variable.name} holds an address in {width} bytes")
                self.pointed.add(value.name)
                data[at : at + width] = (function.address + value.addend).to_bytes(width, "little")
            elif self.relocates(variable, value):
                if width != 8:
                    raise PtxError(f"variable {variable.name} holds an address in {width} bytes")
                relocations.append((at, value.name, value.addend))
            else:
                symbol = self.names[value.name]
                place = symbol.offset if isinstance(symbol, ir.Symbol) else 0
                data[at : at + width] = (place + value.addend & (1 << width * 8) - 1).to_bytes(width, "little")
        return bytes(data), tuple(relocations)

    def relocates(self, variable: syntax.Variable, value: syntax.SymbolValue) -> bool:
        """Whether a value is a generic address."""
        meaning = self.names.get(value.name)
        if meaning is None:
            raise PtxError(f"variable {variable.name} holds the address of {value.name}, which is not defined")
        if isinstance(meaning, FunctionName | Storage | Refused):
            raise PtxError(f"variable {variable.name} holds the address of {value.name}, which has none here")
        return value.generic or (isinstance(meaning, ir.Symbol) and meaning.space == "global")

    def masked_byte(
        self,
        variable: syntax.Variable,
        data: bytearray,
        relocations: list[tuple[int, str, int]],
        at: int,
        value: syntax.SymbolValue,
    ) -> None:
        """One byte of an address: 0xFF(name), 0xFF00(name), … in eight neighbors make a relocation."""
        byte = (value.mask or 0).bit_length() // 8 - 1
        if not 0 <= byte < 8 or value.mask != 0xFF << 8 * byte or at < byte:
            raise PtxError(f"variable {variable.name} holds part of an address")
        if isinstance(function := self.names.get(value.name), FunctionName):
            self.pointed.add(value.name)
            data[at] = function.address + value.addend >> 8 * byte & 0xFF
            return
        if not self.relocates(variable, value):
            return
        slot = (at - byte, value.name, value.addend)
        if byte == 0:
            if at + 8 > len(data):
                raise PtxError(f"variable {variable.name} holds part of an address")
            relocations.append(slot)
        elif not relocations or relocations[-1] != slot:
            raise PtxError(f"variable {variable.name} holds part of an address")


def _bytes(value: ir.Immediate, type_: str, width: int) -> bytes:
    bits = value.value
    if value.float_bits == 64 and width == 4:
        double = struct.unpack("<d", struct.pack("<Q", bits))[0]
        if type_ == "f32":
            try:
                return struct.pack("<f", double)
            except OverflowError:
                return struct.pack("<f", float("inf") if double > 0 else float("-inf"))
    return (bits & (1 << 8 * width) - 1).to_bytes(width, "little")
