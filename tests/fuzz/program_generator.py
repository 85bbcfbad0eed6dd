"""Writes random programs: statements that are legal where they stand.

`u` registers are the same in the whole block and are written only where the whole block runs, so
that conditions on them may guard barriers; `v` registers hold anything, often a uniform value.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tests.fuzz.programs import (
    ATOMIC_OPERATIONS,
    FLOATS,
    INPUT_WORDS,
    INTEGERS,
    LOCAL_WORDS,
    PREDICATES,
    UNIFORMS,
    WIDE,
    Body,
    Compound,
    Leaf,
    Node,
    Program,
    store_and_end,
)


@dataclass
class _Place:
    """What may be written at a point of the program.

    block_uniform: the whole block is here. warp_uniform: whole warps are. loop: labels to break and continue to.
    repeats: inside some loop, where a thread that ends would be missing from the next round's exchanges.
    """

    block_uniform: bool = True
    warp_uniform: bool = True
    loop: tuple[str, str] | None = None
    repeats: bool = False
    depth: int = 0


@dataclass
class _Generator:
    rng: random.Random
    whole_warps: bool
    may_exit: bool
    _numbers: dict[str, int] = field(default_factory=dict)
    exited: bool = False

    def number(self, kind: str) -> int:
        self._numbers[kind] = self._numbers.get(kind, -1) + 1
        return self._numbers[kind]

    def label(self) -> str:
        return f"$L{self.number('label')}"

    def body(self, place: _Place, length: int) -> Body:
        return Body(tuple(self.statement(place) for _ in range(length)))

    def statement(self, place: _Place) -> Node:
        rng = self.rng
        choices: list[tuple[int, Callable[[_Place], Node]]] = [
            (10, self.arithmetic),
            (3, self.guarded),
            (3, self.memory),
        ]
        choices.append((2, self.predicate))
        choices.append((1, self.call))
        choices.append((2, self.mixed_spaces))
        choices.append((2, self.thread_quotient))
        choices.append((1, self.atomic))
        if place.depth < 4 and self._numbers.get("counter", -1) < 36:
            choices += [(5, self.branch), (4, self.loop), (1, self.switch)]
        if place.loop is not None:
            choices.append((3, self.leave_loop))
        if place.block_uniform:
            choices += [(4, self.uniform), (2, self.exchange)]
        if place.warp_uniform and not self.exited:
            choices.append((4, self.warp_exchange))
        if self.may_exit and place.depth and not place.repeats and rng.random() < 0.3:
            choices.append((2, self.leave))
        return rng.choices([c for _, c in choices], [w for w, _ in choices])[0](place)

    # Operands

    def any_word(self) -> str:
        rng = self.rng
        kind = rng.randrange(10)
        if kind < 5:
            return f"%v{rng.randrange(INTEGERS)}"
        if kind < 7:
            return f"%u{rng.randrange(UNIFORMS)}"
        if kind == 7:
            return rng.choice(("%lane", "%thread"))
        return str(rng.randrange(-9, 10))

    def uniform_word(self) -> str:
        return f"%u{self.rng.randrange(UNIFORMS)}" if self.rng.random() < 0.7 else str(self.rng.randrange(-5, 6))

    def target(self) -> str:
        return f"%v{self.rng.randrange(INTEGERS)}"

    # Statements

    def _word_operation(self, target: str, operand: Callable[[], str]) -> str:
        a, b, c = operand(), operand(), operand()
        return self.rng.choice(
            (
                f"add.s32 {target}, {a}, {b};",
                f"sub.s32 {target}, {a}, {b};",
                f"mul.lo.s32 {target}, {a}, {b};",
                f"mad.lo.s32 {target}, {a}, {b}, {c};",
                f"xor.b32 {target}, {a}, {b};",
                f"and.b32 {target}, {a}, {b};",
                f"min.s32 {target}, {a}, {b};",
                f"max.u32 {target}, {a}, {b};",
                f"shl.b32 {target}, {a}, 3;",
                f"shr.s32 {target}, {a}, {self.rng.randrange(34)};",
                f"mov.b32 {target}, {a};",
                f"div.u32 {target}, {a}, 7;",
                f"rem.s32 {target}, {a}, 5;",
                f"lop3.b32 {target}, {a}, {b}, {c}, 0x96;",
            )
        )

    def arithmetic(self, place: _Place) -> Node:
        rng = self.rng
        kind = rng.randrange(10)
        p = rng.randrange(PREDICATES)
        f = [rng.randrange(FLOATS) for _ in range(4)]
        d = [rng.randrange(WIDE) for _ in range(3)]
        if kind < 6:
            return Leaf((self._word_operation(self.target(), self.any_word),))
        if kind == 6:
            return Leaf((f"selp.b32 {self.target()}, {self.any_word()}, {self.any_word()}, %p{p};",))
        if kind == 7:
            return Leaf(
                (
                    rng.choice(
                        (
                            f"add.rn.f32 %f{f[0]}, %f{f[1]}, %f{f[2]};",
                            f"mul.rn.f32 %f{f[0]}, %f{f[1]}, 0f3F400000;",
                            f"fma.rn.f32 %f{f[0]}, %f{f[1]}, %f{f[2]}, %f{f[3]};",
                            f"max.f32 %f{f[0]}, %f{f[1]}, %f{f[2]};",
                            f"cvt.rn.f32.s32 %f{f[0]}, {self.register()};",
                            f"cvt.rzi.s32.f32 {self.target()}, %f{f[1]};",
                        )
                    ),
                )
            )
        if kind == 8:
            return Leaf(
                (
                    rng.choice(
                        (
                            f"add.s64 %d{d[0]}, %d{d[1]}, %d{d[2]};",
                            f"mad.wide.s32 %d{d[0]}, {self.register()}, {self.register()}, %d{d[1]};",
                            f"cvt.s64.s32 %d{d[0]}, {self.register()};",
                            f"cvt.u32.u64 {self.target()}, %d{d[0]};",
                            f"shr.u64 %d{d[0]}, %d{d[1]}, 5;",
                            f"mov.b64 %d{d[0]}, {{{self.register()}, {self.register()}}};",
                        )
                    ),
                )
            )
        return Leaf((f"mov.b32 {self.target()}, {rng.randrange(-100, 100)};",))

    def register(self) -> str:
        return f"%v{self.rng.randrange(INTEGERS)}" if self.rng.random() < 0.7 else f"%u{self.rng.randrange(UNIFORMS)}"

    def guarded(self, place: _Place) -> Node:
        sign = self.rng.choice(("", "!"))
        p = self.rng.randrange(PREDICATES)
        return Leaf((f"@{sign}%p{p} {self._word_operation(self.target(), self.any_word)}",))

    def predicate(self, place: _Place) -> Node:
        rng = self.rng
        p, q = rng.randrange(PREDICATES), rng.randrange(PREDICATES)
        relation = rng.choice(("eq", "ne", "lt", "ge", "gt", "le"))
        if rng.random() < 0.3:
            return Leaf((f"{rng.choice(('and', 'or', 'xor'))}.pred %p{p}, %p{q}, %p{rng.randrange(PREDICATES)};",))
        return Leaf((f"setp.{relation}.s32 %p{p}, {self.register()}, {self.any_word()};",))

    def uniform(self, place: _Place) -> Node:
        target = f"%u{self.rng.randrange(UNIFORMS)}"
        if self.rng.random() < 0.2:
            return Leaf((f"ld.global.b32 {target}, [%in+{4 * self.rng.randrange(INPUT_WORDS)}];",))
        return Leaf((self._word_operation(target, self.uniform_word),))

    def memory(self, place: _Place) -> Node:
        rng = self.rng
        word = self.register()
        if rng.random() < 0.5:
            return Leaf(
                (
                    f"and.b32 %t0, {word}, {INPUT_WORDS - 1};",
                    "mul.wide.u32 %ad, %t0, 4;",
                    "add.s64 %ad, %in, %ad;",
                    f"ld.global.b32 {self.target()}, [%ad];",
                )
            )
        address = (
            f"and.b32 %t0, {word}, {LOCAL_WORDS - 1};",
            "mul.wide.u32 %ad, %t0, 4;",
            "add.s64 %ad, %local, %ad;",
        )
        if rng.random() < 0.5:
            return Leaf((*address, f"st.local.b32 [%ad], {self.register()};"))
        return Leaf((*address, f"ld.local.b32 {self.target()}, [%ad];"))

    def mixed_spaces(self, place: _Place) -> Node:
        """One generic load whose lanes go to global, shared and local memory."""
        p, q = self.rng.randrange(PREDICATES), self.rng.randrange(PREDICATES)
        lines = [
            f"and.b32 %t0, {self.register()}, {LOCAL_WORDS - 1};",
            "mul.wide.u32 %ad, %t0, 4;",
            "cvta.local.u64 %gen, %local;",
            "add.s64 %gen, %gen, %ad;",
            "add.s64 %ad, %in, %ad;",
            f"selp.b64 %gen, %gen, %ad, %p{p};",
            "mul.wide.u32 %ad, %thread, 4;",
            "add.s64 %ad, %sh, %ad;",
        ]
        if self.rng.random() < 0.5:
            lines.append(f"selp.b64 %gen, %ad, %gen, %p{q};")
        else:
            lines.append(f"@%p{q} mov.b64 %gen, %ad;")
        return Leaf((*lines, f"ld.b32 {self.target()}, [%gen];"))

    def thread_quotient(self, place: _Place) -> Node:
        """Warp numbers and lane numbers as kernels compute them, from the thread index."""
        target = self.target()
        line = self.rng.choice(
            (
                f"shr.u32 {target}, %t0, 5;",
                f"shr.s32 {target}, %t0, 6;",
                f"div.u32 {target}, %t0, 32;",
                f"div.s32 {target}, %t0, 64;",
                f"and.b32 {target}, %t0, 31;",
                f"rem.u32 {target}, %t0, 32;",
                f"div.u32 {target}, %t0, 16;",
                f"and.b32 {target}, %t0, -32;",
            )
        )
        return Leaf((f"mov.u32 %t0, %tid.{self.rng.choice('xxxy')};", line))

    def atomic(self, place: _Place) -> Node:
        cell = self.rng.randrange(len(ATOMIC_OPERATIONS))
        return Leaf((f"red.global.{ATOMIC_OPERATIONS[cell]} [%cells+{4 * cell}], {self.register()};",))

    def call(self, place: _Place) -> Node:
        return Leaf(
            (
                "{",
                ".param .b32 pa;",
                ".param .b32 pb;",
                ".param .b32 pr;",
                f"st.param.b32 [pa], {self.register()};",
                f"st.param.b32 [pb], {self.register()};",
                "call.uni (pr), mix, (pa, pb);",
                f"ld.param.b32 {self.target()}, [pr];",
                "}",
            )
        )

    def exchange(self, place: _Place) -> Node:
        """Write to shared memory, meet, read another thread's word, meet again."""
        distance = self.rng.choice(("1", "7", f"%u{self.rng.randrange(UNIFORMS)}", self.register()))
        generic = self.rng.random() < 0.5
        lines = [
            "mul.wide.u32 %ad, %thread, 4;",
            "add.s64 %ad, %sh, %ad;",
            f"st.b32 [%ad], {self.register()};",
            "bar.sync 0;",
            f"add.u32 %t0, %thread, {distance};",
            "and.b32 %t0, %t0, 31;",
        ]
        if generic:
            lines += ["mul.wide.u32 %ad, %t0, 4;", "add.s64 %ad, %sh, %ad;", f"ld.b32 {self.target()}, [%ad];"]
        else:
            lines += [
                "shl.b32 %t0, %t0, 2;",
                "mov.u32 %t1, exchange;",
                "add.u32 %t0, %t0, %t1;",
                f"ld.shared.b32 {self.target()}, [%t0];",
            ]
        return Leaf((*lines, "bar.sync 0;"))

    def warp_exchange(self, place: _Place) -> Node:
        rng = self.rng
        kinds = ["ballot", "any", "all", "match"]
        if self.whole_warps:
            kinds += ["shfl", "shfl", "shfl", "redux"]
        match rng.choice(kinds):
            case "ballot":
                return Leaf((f"vote.sync.ballot.b32 {self.target()}, %p{rng.randrange(PREDICATES)}, 0xffffffff;",))
            case "match":
                return Leaf(
                    (f"and.b32 %t0, {self.register()}, 3;", f"match.any.sync.b32 {self.target()}, %t0, 0xffffffff;")
                )
            case "redux":
                return Leaf((f"redux.sync.add.s32 {self.target()}, {self.register()}, 0xffffffff;",))
            case "shfl":
                mode = rng.choice(("up", "down", "bfly", "idx"))
                amount = rng.choice(("1", "16", str(rng.randrange(32)), self.register()))
                bound = "0" if mode == "up" else "31"
                return Leaf(
                    (f"shfl.sync.{mode}.b32 {self.target()}, {self.register()}, {amount}, {bound}, 0xffffffff;",)
                )
            case mode:
                p, q = rng.randrange(PREDICATES), rng.randrange(PREDICATES)
                return Leaf((f"vote.sync.{mode}.pred %p{p}, %p{q}, 0xffffffff;",))

    def _condition(self, place: _Place, q: str) -> tuple[tuple[str, ...], _Place]:
        """(lines that set q, what may stand behind a branch on it)."""
        rng = self.rng
        relation = rng.choice(("eq", "ne", "lt", "ge"))
        inner = replace(place, depth=place.depth + 1)
        if place.block_uniform and rng.random() < 0.35:
            return (f"setp.{relation}.s32 {q}, {self.uniform_word_register()}, {self.uniform_word()};",), inner
        if place.warp_uniform and not self.exited and self.whole_warps and rng.random() < 0.2:
            # The same in each warp, by a vote.
            line = f"vote.sync.any.pred {q}, %p{rng.randrange(PREDICATES)}, 0xffffffff;"
            return (line,), replace(inner, block_uniform=False)
        lines = rng.choice(
            (
                (f"setp.{relation}.s32 {q}, {self.register()}, {self.any_word()};",),
                (f"and.b32 %t0, {self.register()}, 3;", f"setp.{relation}.s32 {q}, %t0, 1;"),
                (f"and.b32 %t0, %lane, {rng.choice((1, 4, 16))};", f"setp.{relation}.s32 {q}, %t0, 0;"),
                (f"xor.pred {q}, %p{rng.randrange(PREDICATES)}, %p{rng.randrange(PREDICATES)};",),
            )
        )
        return lines, replace(inner, block_uniform=False, warp_uniform=False)

    def uniform_word_register(self) -> str:
        return f"%u{self.rng.randrange(UNIFORMS)}"

    def branch(self, place: _Place) -> Node:
        rng = self.rng
        q = f"%q{self.number('counter')}"
        lines, inner = self._condition(place, q)
        sign = rng.choice(("", "!"))
        other, end = self.label(), self.label()
        then = self.body(inner, rng.randrange(1, 4))
        if rng.random() < 0.4:
            return Compound(((*lines, f"@{sign}{q} bra {end};"), then, (f"{end}:",)))
        if (
            not inner.warp_uniform
            and place.warp_uniform
            and self.whole_warps
            and not self.exited
            and rng.random() < 0.4
        ):
            return self._pairwise(inner)
        otherwise = self.body(inner, rng.randrange(1, 4))
        return Compound(
            ((*lines, f"@{sign}{q} bra {other};"), then, (f"bra {end};", f"{other}:"), otherwise, (f"{end}:",))
        )

    def _pairwise(self, inner: _Place) -> Node:
        """Lanes part in groups of four; in each arm they shuffle among the lanes of their own ballot."""
        q = f"%q{self.number('counter')}"
        mask = f"%c{self.number('mask') % 3 + 37}"
        other, end = self.label(), self.label()
        head = (
            "shr.u32 %t0, %lane, 2;",
            f"and.b32 %t0, %t0, {self.rng.choice((1, 2, 3))};",
            f"setp.eq.u32 {q}, %t0, {self.rng.choice((0, 1, 2))};",
            f"vote.sync.ballot.b32 {mask}, {q}, 0xffffffff;",
            f"@!{q} bra {other};",
        )
        shuffle = f"shfl.sync.bfly.b32 {self.target()}, {self.register()}, {self.rng.choice((1, 2, 3))}, 31, {mask};"
        then = Body((Leaf((shuffle,)), *self.body(inner, 1).nodes))
        reverse = f"shfl.sync.bfly.b32 {self.target()}, {self.register()}, {self.rng.choice((1, 2, 3))}, 31, {mask};"
        otherwise = Body((Leaf((f"not.b32 {mask}, {mask};", reverse)), *self.body(inner, 1).nodes))
        return Compound((head, then, (f"bra {end};", f"{other}:"), otherwise, (f"{end}:",)))

    def loop(self, place: _Place) -> Node:
        rng = self.rng
        number = self.number("counter")
        counter, q = f"%c{number}", f"%q{number}"
        head, update, end = self.label(), self.label(), self.label()
        inner = replace(place, depth=place.depth + 1, repeats=True)
        if rng.random() < 0.5:
            start: tuple[str, ...] = (f"mov.b32 {counter}, {rng.randrange(1, 4)};",)
        else:
            start = (f"and.b32 {counter}, {self.register()}, 3;",)
            inner = replace(inner, block_uniform=False, warp_uniform=False)
        # A break or continue under a varying condition makes the rest of the body divergent.
        breaks = rng.random() < 0.5
        if breaks:
            inner = replace(inner, block_uniform=False, warp_uniform=False, loop=(end, update))
        else:
            inner = replace(inner, loop=None)
        test = (f"setp.le.s32 {q}, {counter}, 0;", f"@{q} bra {end};")
        step = (f"{update}:", f"add.s32 {counter}, {counter}, -1;")
        content = self.body(inner, rng.randrange(1, 4))
        if rng.random() < 0.5:
            return Compound(((*start, f"{head}:", *test), content, (*step, f"bra.uni {head};", f"{end}:")))
        again = (f"setp.gt.s32 {q}, {counter}, 0;", f"@{q} bra {head};")
        return Compound(((*start, f"{head}:"), content, (*step, *again, f"{end}:")))

    def leave_loop(self, place: _Place) -> Node:
        assert place.loop is not None
        label = self.rng.choice(place.loop)
        sign = self.rng.choice(("", "!"))
        return Leaf((f"@{sign}%p{self.rng.randrange(PREDICATES)} bra {label};",))

    def leave(self, place: _Place) -> Node:
        """End the thread here: its variables are stored first."""
        self.exited = True
        q = f"%q{self.number('counter')}"
        after = self.label()
        word = f"and.b32 %t0, {self.register()}, 7;"
        marker = 2 + self.number("leave")
        ending = self.rng.choice(("ret;", "exit;"))
        return Leaf(
            (word, f"setp.ne.s32 {q}, %t0, 1;", f"@{q} bra {after};", *store_and_end(marker), ending, f"{after}:")
        )

    def switch(self, place: _Place) -> Node:
        number = self.number("switch")
        labels = [self.label() for _ in range(3)]
        end = self.label()
        inner = replace(place, depth=place.depth + 1, block_uniform=False, warp_uniform=False)
        parts: list[tuple[str, ...] | Body] = [
            (
                f"rem.u32 %t0, {self.register()}, 3;",
                f"$T{number}: .branchtargets {', '.join(labels)};",
                f"brx.idx %t0, $T{number};",
            )
        ]
        for label in labels:
            parts += [(f"{label}:",), self.body(inner, self.rng.randrange(1, 3))]
            if self.rng.random() < 0.7:
                parts.append((f"bra {end};",))
        return Compound((*parts, (f"{end}:",)))


_BLOCKS = ((32, 1, 1), (64, 1, 1), (96, 1, 1), (40, 1, 1), (8, 5, 1), (16, 4, 1), (70, 1, 1))


def make_program(seed: int, length: int = 12) -> Program:
    rng = random.Random(seed)
    block = rng.choice(_BLOCKS)
    threads = block[0] * block[1] * block[2]
    generator = _Generator(rng, whole_warps=threads % 32 == 0, may_exit=rng.random() < 0.3)
    body = generator.body(_Place(), length)
    return Program(seed, body, rng.choice(((1, 1, 1), (2, 1, 1), (2, 2, 1))), block)
