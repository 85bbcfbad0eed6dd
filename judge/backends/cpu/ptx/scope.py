"""Scopes of a function: what a name means at one place of it.

Scopes nest, the module's names lie outermost. `.reg .b32 %r<64>` declares a range; its registers come
into being when they are first named.
"""

import re
from collections.abc import MutableMapping
from dataclasses import dataclass, field

from judge.backends.cpu import ir
from judge.backends.cpu.ptx.errors import NotEmulatedError, PtxError
from judge.backends.cpu.ptx.instructions import (
    CLUSTER_REGISTERS,
    GPU_ONLY_SPECIAL_REGISTERS,
    RESERVED_SHARED_REGISTERS,
    SPECIAL_REGISTERS,
)
from judge.backends.cpu.ptx.routine import Parameter, Routine, Storage

RESERVED_SHARED_OFFSET = 1 << 24
_NUMBERED = re.compile(r"(.*?)(0|[1-9]\d{0,8})", re.ASCII)
_COMPONENTS = {"x": 0, "y": 1, "z": 2, "w": 3, "r": 0, "g": 1, "b": 2, "a": 3}
_SPECIALS = {f"%{name}": ir.Special(name) for name in SPECIAL_REGISTERS}
# The system's own part of shared memory: only passed on, by cooperative groups. It lies past all a kernel can have.
_RESERVED_SHARED = {f"%{name}": ir.Immediate(RESERVED_SHARED_OFFSET) for name in RESERVED_SHARED_REGISTERS}
_CLUSTER = {
    f"%{name}": ir.Special(meaning) if isinstance(meaning, str) else ir.Immediate(meaning)
    for name, meaning in CLUSTER_REGISTERS.items()
}
_GPU_ONLY_SPECIALS = {f"%{name}" for name in GPU_ONLY_SPECIAL_REGISTERS}


@dataclass(slots=True)
class FunctionName:
    """A function where a value is expected. address: what a pointer to it holds."""

    name: str
    address: int


@dataclass(slots=True)
class Refused:
    """A module variable that cannot be had here; reason says why."""

    reason: str


Meaning = ir.Register | ir.Vector | ir.Symbol | Storage | Parameter | FunctionName | Refused


@dataclass(slots=True)
class Scope:
    """ranges: (count, type, vector lanes) by prefix; labels: index of the item they stand before."""

    parent: "Scope | None"
    names: MutableMapping[str, Meaning] = field(default_factory=dict)
    ranges: dict[str, tuple[int, str, int]] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    tables: dict[str, list[str]] = field(default_factory=dict)


class Names:
    """Looks names up from the scope in force; location is for the errors."""

    def __init__(self, routine: Routine, names: MutableMapping[str, Meaning], location: ir.Location | None) -> None:
        self.routine = routine
        self.scope = Scope(Scope(None, names=names))
        self.location = location
        self.pointed: set[str] = set()
        """Functions whose address this one takes."""

    def fail(self, message: str) -> PtxError:
        return PtxError(message, self.location)

    def declare(self, name: str, meaning: Meaning) -> None:
        if name in self.scope.names:
            raise self.fail(f"{name} is declared twice")
        self.scope.names[name] = meaning

    def new_register(self, name: str, type_: str, lanes: int) -> "ir.Register | ir.Vector":
        if lanes == 1:
            return self.routine.register(name, type_)
        return ir.Vector(tuple(self.routine.register(f"{name}.{'xyzwabcd'[lane]}", type_) for lane in range(lanes)))

    def find(self, name: str) -> Meaning | None:
        scope: Scope | None = self.scope
        numbered: re.Match[str] | None = None
        while scope is not None:
            meaning = scope.names.get(name)
            if meaning is not None:
                return meaning
            if scope.ranges:
                numbered = numbered or _NUMBERED.fullmatch(name)
                if numbered:
                    declared = scope.ranges.get(numbered[1])
                    if declared is not None and int(numbered[2]) < declared[0]:
                        meaning = scope.names[name] = self.new_register(name, declared[1], declared[2])
                        return meaning
            scope = scope.parent
        return None

    def look_up(self, name: str) -> "Meaning | ir.Special | ir.Immediate":
        meaning = self.find(name)
        if meaning is not None:
            return meaning
        special = _SPECIALS.get(name)
        if special is not None:
            return special
        if name in _RESERVED_SHARED:
            return _RESERVED_SHARED[name]
        if name in _CLUSTER:
            return _CLUSTER[name]
        if name in _GPU_ONLY_SPECIALS:
            raise NotEmulatedError(name, self.location)
        base, dot, component = name.rpartition(".")
        if dot and component in _COMPONENTS:
            vector = self.find(base)
            if isinstance(vector, ir.Vector) and _COMPONENTS[component] < len(vector.elements):
                element = vector.elements[_COMPONENTS[component]]
                assert isinstance(element, ir.Register)
                return element
        raise self.fail(f"unknown {'register' if name.startswith('%') else 'name'} {name[:80]}")

    def label(self, name: str, scope: "Scope | None") -> int:
        while scope is not None:
            if name in scope.labels:
                return scope.labels[name]
            scope = scope.parent
        raise self.fail(f"branch to {name}, which is not a label in reach")

    def table(self, name: str, scope: "Scope | None") -> list[str]:
        while scope is not None:
            if name in scope.tables:
                return scope.tables[name]
            scope = scope.parent
        raise self.fail(f"brx.idx to {name}, which is not a table of branch targets")
