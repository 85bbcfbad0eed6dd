"""What clusters and mbarriers mean in a cluster of one block, written in instructions the backend has.

A kernel launched without a cluster is one of its own: the block has rank 0, every shared address is its own, and
the barrier of the cluster is the block's. An mbarrier is a 64-bit word in shared memory; here it holds, from the
lowest bit, the arrivals that are missing (20 bits), those a phase needs (20 bits) and the number of the phase. An
arrival fences first: what came before it is visible to whoever finds the phase over. Transactions (TMA) are not
emulated.
"""

from collections.abc import Callable

from judge.backends.cpu import ir
from judge.backends.cpu.ptx import syntax
from judge.backends.cpu.ptx.operands import Operands
from judge.backends.cpu.ptx.routine import Draft, Operand, PlaceAddress

_FIELD, _PHASE = 20, 40
_COUNT = (1 << _FIELD) - 1
_WORDS = frozenset({"shared", "b64", "release", "acquire", "relaxed", "cta", "cluster", "parity", "noinc"})


class OneCta(Operands):
    """Expands these instructions while a routine is read."""

    def expand(self, statement: syntax.Instruction) -> bool:
        """Append what an instruction stands for; False where it is refused."""
        opcode, words = statement.spelling.opcode, statement.spelling.modifiers
        found = self._expansion(opcode, words)
        if found is None:
            return False
        skip = None
        if statement.guard is not None:
            register = self.look_up(statement.guard.name)
            if not isinstance(register, ir.Register) or register.type != "pred":
                raise self.fail(f"malformed PTX: guard {statement.guard.name} is not a predicate register")
            skip = len(self.routine.items)
            self._emit("bra", (), (), (ir.Target(0),), ir.Guard(register, not statement.guard.negated))
        make, least = found
        if len(statement.operands) < least:
            raise self.fail(f"malformed operand of {statement.spelling.text}")
        make(statement.spelling.text, words, statement.operands)
        if skip is not None:
            branch = self.routine.items[skip]
            assert isinstance(branch, Draft)
            branch.sources = (ir.Target(len(self.routine.items)),)
        return True

    def _expansion(
        self, opcode: str, words: tuple[str, ...]
    ) -> tuple[Callable[[str, tuple[str, ...], list[syntax.Operand]], None], int] | None:
        """(what appends it, how many operands it needs)."""
        first = words[0] if words else ""
        if opcode == "mbarrier" and set(words[1:]) <= _WORDS:
            made = {
                "init": (self._init, 2),
                "inval": (self._nothing, 1),
                "arrive": (self._arrive, 1),
                "test_wait": (self._wait, 3),
                "try_wait": (self._wait, 3),
            }
            return made.get(first)
        if opcode == "cp" and words[:3] == ("async", "mbarrier", "arrive") and set(words[3:]) <= _WORDS:
            return (self._copies_arrive, 1)
        if opcode == "barrier" and first == "cluster":
            return (self._cluster_barrier, 0) if {"arrive", "wait"} & set(words) else None
        if opcode == "fence" and first == "mbarrier_init":
            return (self._fence, 0)
        return (self._own, 2) if opcode in ("mapa", "getctarank") else None

    def _emit(
        self,
        opcode: str,
        modifiers: tuple[str, ...],
        destinations: tuple[Operand | None, ...],
        sources: tuple[Operand, ...],
        guard: ir.Guard | None = None,
    ) -> None:
        self.routine.items.append(Draft(opcode, modifiers, destinations, sources, guard, self.location))

    def _step(self, form: str, *sources: Operand, type_: str = "b64") -> ir.Register:
        """An instruction with a result of its own."""
        opcode, *modifiers = form.split(".")
        result = self.routine.register("%mbarrier", type_)
        self._emit(opcode, tuple(modifiers), (result,), sources)
        return result

    def _space(self, words: tuple[str, ...]) -> tuple[str, ...]:
        return ("shared",) if any(word.startswith("shared") for word in words) else ()

    def _place(self, operand: syntax.Operand, text: str) -> ir.Address | PlaceAddress:
        found = self.memory(operand, text)
        assert isinstance(found, ir.Address | PlaceAddress)
        return found

    def _count(self, operands: list[syntax.Operand], at: int, text: str) -> Operand:
        """A count of arrivals in 64 bits; 1 where none is given."""
        if len(operands) <= at:
            return ir.Immediate(1)
        count = self.value(operands[at], text)
        return count if isinstance(count, ir.Immediate) else self._step("cvt.u64.u32", count)

    def _init(self, text: str, words: tuple[str, ...], operands: list[syntax.Operand]) -> None:
        both = ir.Immediate((1 << _FIELD) + 1)
        word = self._step("mul.lo.u64", self._count(operands, 1, text), both)
        self._emit("st", (*self._space(words), "b64"), (), (self._place(operands[0], text), word))

    def _nothing(self, text: str, words: tuple[str, ...], operands: list[syntax.Operand]) -> None:
        self._place(operands[0], text)

    def _fence(self, text: str, words: tuple[str, ...], operands: list[syntax.Operand]) -> None:
        self._emit("membar", ("cta",), (), ())

    def _arrive(self, text: str, words: tuple[str, ...], operands: list[syntax.Operand]) -> None:
        """(result,) address (, count): one missing arrival less; the last one opens the next phase."""
        at = 0 if isinstance(operands[0], syntax.Memory) else 1
        if at >= len(operands):
            raise self.fail(f"malformed operand of {text}")
        place, space = self._place(operands[at], text), self._space(words)
        count = self._count(operands, at + 1, text)
        self._fence(text, words, operands)
        again = len(self.routine.items)
        old = self._step(".".join(("ld", "volatile", *space, "b64")), place)
        missing = self._step("and.b64", old, ir.Immediate(_COUNT))
        fewer = self._step("sub.u64", old, count)
        needed0 = self._step("shr.u64", old, ir.Immediate(_FIELD))
        needed = self._step("and.b64", needed0, ir.Immediate(_COUNT))
        filled = self._step("add.u64", fewer, needed)
        opened = self._step("add.u64", filled, ir.Immediate(1 << _PHASE))
        last = self._step("setp.eq.u64", missing, count, type_="pred")
        new = self._step("selp.b64", opened, fewer, last)
        seen = self._step(".".join(("atom", *space, "cas", "b64")), place, old, new)
        lost = self._step("setp.ne.u64", seen, old, type_="pred")
        self._emit("bra", (), (), (ir.Target(again),), ir.Guard(lost, False))
        if at:
            result = self.destination(operands[0], text)
            if isinstance(result, ir.Register):
                self._emit("mov", ("b64",), (result,), (old,))

    def _wait(self, text: str, words: tuple[str, ...], operands: list[syntax.Operand]) -> None:
        """Whether the phase of a state, or the phase of a parity, is over."""
        result = self.destination(operands[0], text)
        now = self._step(".".join(("ld", "volatile", *self._space(words), "b64")), self._place(operands[1], text))
        phase = self._step("shr.u64", now, ir.Immediate(_PHASE))
        token = self.value(operands[2], text)
        if "parity" in words:
            phase = self._step("and.b64", phase, ir.Immediate(1))
            wanted: Operand = token if isinstance(token, ir.Immediate) else self._step("cvt.u64.u32", token)
        else:
            wanted = self._step("shr.u64", token, ir.Immediate(_PHASE))
        self._emit("setp", ("ne", "u64"), (result,), (phase, wanted))

    def _copies_arrive(self, text: str, words: tuple[str, ...], operands: list[syntax.Operand]) -> None:
        """The thread's copies land at once. Without noinc the arrival is one the phase does not count."""
        self._emit("cp", ("async", "wait_all"), (), ())
        if "noinc" in words:
            self._arrive(text, words, operands)
        else:
            self._fence(text, words, operands)

    def _cluster_barrier(self, text: str, words: tuple[str, ...], operands: list[syntax.Operand]) -> None:
        if "arrive" in words:
            self._fence(text, words, operands)
        else:
            self._emit("bar", ("sync",), (), (ir.Immediate(0),))

    def _own(self, text: str, words: tuple[str, ...], operands: list[syntax.Operand]) -> None:
        """mapa gives the address back, getctarank rank 0."""
        result = self.destination(operands[0], text)
        if not isinstance(result, ir.Register):
            raise self.fail(f"malformed operand of {text}: its result needs a register")
        source = ir.Immediate(0) if text.startswith("getctarank") else self.value(operands[1], text)
        self._emit("mov", (f"b{result.bits}",), (result,), (source,))
