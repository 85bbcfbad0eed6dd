"""Operations across the lanes of a warp: shuffles, votes, matches, reductions.

A value of an inactive lane reads as whatever its register holds, as on a GPU. The lanes of one
group (those at this instruction together) take part; a member mask that names others is legal only
when they arrive, which min-PC scheduling brings about wherever the branches meet again.
"""

from collections.abc import Callable

from judge.backends.cpu.ir import Immediate, Instruction
from judge.backends.cpu.lowering.context import Lowering
from judge.backends.cpu.lowering.layout import State
from judge.backends.cpu.lowering.values import Value, const_int


def shuffle(lw: Lowering, instruction: Instruction) -> None:
    """shfl.sync.{up,down,bfly,idx}: lane, segment and clamp as the PTX manual's pseudo-code has them."""
    b = lw.b
    mode = next(m for m in instruction.modifiers if m in ("up", "down", "bfly", "idx"))
    value = b.splat(lw.read(instruction.sources[0], "i32"))
    distance, control = instruction.sources[1], instruction.sources[2]
    named = lw.read(instruction.sources[3], "i32") if len(instruction.sources) > 3 else const_int(-1, "i32")
    destination = instruction.destinations[0]
    predicate = instruction.destinations[1] if len(instruction.destinations) > 1 else None
    if (
        mode == "bfly"
        and isinstance(distance, Immediate)
        and isinstance(control, Immediate)
        and control.value == 0x1F
        and 0 <= distance.value < 32
    ):
        lanes = ", ".join(f"i32 {lane ^ distance.value}" for lane in range(32))
        check_members(lw, named, Value(f"<{lanes}>", "i32", True))
        result = b.assign(f"shufflevector {value.typed}, <32 x i32> poison, <32 x i32> <{lanes}>", "i32", True)
        lw.write(destination, result)
        if predicate is not None:
            lw.write(predicate, b.splat(const_int(1, "i1")))
        return
    amount = b.binary("and", lw.read(distance, "i32"), const_int(31, "i32"))
    c = lw.read(control, "i32")
    clamp = b.binary("and", c, const_int(31, "i32"))
    segment = b.binary("and", b.binary("lshr", c, const_int(8, "i32")), const_int(31, "i32"))
    lane = lw.lanes("i32")
    inverse = b.binary("xor", segment, const_int(31, "i32"))
    kept = b.binary("and", lane, segment)
    max_lane = b.binary("or", kept, b.binary("and", clamp, inverse))
    if mode == "up":
        source = b.binary("sub", lane, amount)
        inside = b.icmp("sge", source, max_lane)
    elif mode == "down":
        source = b.binary("add", lane, amount)
        inside = b.icmp("sle", source, max_lane)
    elif mode == "bfly":
        source = b.binary("xor", lane, amount)
        inside = b.icmp("sle", source, max_lane)
    else:
        source = b.binary("or", kept, b.binary("and", amount, inverse))
        inside = b.icmp("sle", source, max_lane)
    source = b.splat(b.select(inside, source, lane))
    check_members(lw, named, source)
    lw.write(destination, _permute(lw, value, source))
    if predicate is not None:
        lw.write(predicate, b.splat(inside))


def check_members(lw: Lowering, named: Value, source: Value | None, *, together: bool = True) -> None:
    """Tell of member masks that do not fit the lanes at this instruction.

    source: the lane each one reads from; None for its own. The hot case, all lanes named and here, is one compare.
    """
    if not lw.watch:
        return
    b = lw.b
    _, active = lw.active()
    name = b.fresh()[1:]
    if named.vec:
        b.emit(f"br label %odd_{name}")
    else:
        whole = b.icmp("eq", b.binary("and", named, Value(active, "i32")), const_int(-1, "i32"))
        b.emit(f"br i1 {whole.text}, label %even_{name}, label %odd_{name}")
    b.label(f"odd_{name}")
    lanes = b.splat(source) if source is not None else lw.lanes("i32")
    operands = (f"i32 {active}", b.splat(named).typed, lanes.typed, f"i32 {lw.index}", f"i32 {int(together)}")
    b.call("void", "judge_members", "ptr %ctx", "ptr %st", *operands)
    b.emit(f"br label %even_{name}")
    b.label(f"even_{name}")


def _permute(lw: Lowering, value: Value, source: Value) -> Value:
    """value[source[lane]] through 128 bytes of scratch."""
    name = lw.b.call("<32 x i32>", "judge_permute", value.typed, source.typed)
    lw.functions.setdefault("judge_permute", _PERMUTE)
    return Value(name, "i32", True)


_PERMUTE = """
define internal <32 x i32> @judge_permute(<32 x i32> %value, <32 x i32> %source) noinline {
entry:
  %from = alloca [32 x i32], align 64
  %index = alloca [32 x i32], align 64
  %to = alloca [32 x i32], align 64
  store <32 x i32> %value, ptr %from, align 64
  %masked = and <32 x i32> %source, splat (i32 31)
  store <32 x i32> %masked, ptr %index, align 64
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i2, %loop ]
  %pi = getelementptr i32, ptr %index, i32 %i
  %s = load i32, ptr %pi
  %pf = getelementptr i32, ptr %from, i32 %s
  %x = load i32, ptr %pf
  %pt = getelementptr i32, ptr %to, i32 %i
  store i32 %x, ptr %pt
  %i2 = add i32 %i, 1
  %more = icmp ult i32 %i2, 32
  br i1 %more, label %loop, label %done
done:
  %r = load <32 x i32>, ptr %to, align 64
  ret <32 x i32> %r
}
"""


def _members(lw: Lowering, operand_index: int, instruction: Instruction) -> Value:
    """Lanes that take part: those active that the member mask names."""
    _, active = lw.active()
    named = lw.read(instruction.sources[operand_index], "i32")
    check_members(lw, named, None)
    return lw.b.binary("and", Value(active, "i32"), named)


def _bits(lw: Lowering, predicate: Value) -> Value:
    vector = lw.b.splat(predicate)
    return lw.b.assign(f"bitcast <32 x i1> {vector.text} to i32", "i32")


def vote(lw: Lowering, instruction: Instruction) -> None:
    b = lw.b
    predicate = lw.read(instruction.sources[0], "i1")
    members = _members(lw, 1, instruction) if len(instruction.sources) > 1 else Value(lw.active()[1], "i32")
    true = b.binary("and", _bits(lw, predicate), members)
    zero = const_int(0, "i32")
    if "ballot" in instruction.modifiers:
        return lw.write(instruction.destinations[0], true)
    if "any" in instruction.modifiers:
        return lw.write(instruction.destinations[0], b.icmp("ne", true, zero))
    every = b.icmp("eq", true, members)
    if "uni" in instruction.modifiers:
        every = b.binary("or", every, b.icmp("eq", true, zero))
    return lw.write(instruction.destinations[0], every)


def active_mask(lw: Lowering, instruction: Instruction) -> None:
    lw.write(instruction.destinations[0], Value(lw.active()[1], "i32"))


def elect(lw: Lowering, instruction: Instruction) -> None:
    """elect.sync d|p: the lowest member lane is the leader."""
    b = lw.b
    members = b.splat(_members(lw, 0, instruction))
    leader = b.intrinsic("cttz", members, tail="i1 false")
    lw.write(instruction.destinations[0], leader)
    if len(instruction.destinations) > 1:
        lw.write(instruction.destinations[1], b.icmp("eq", leader, lw.lanes("i32")))


def _lane_loop(lw: Lowering, name: str, body: str, value: Value, members: Value) -> Value:
    lw.functions.setdefault(name, body)
    wide = lw.b.splat(lw.b.resize(value, "i64"))
    vector = lw.b.splat(members)
    return Value(lw.b.call("<32 x i64>", name, wide.typed, vector.typed), "i64", True)


def match(lw: Lowering, instruction: Instruction) -> None:
    """match.any: lanes with the same value; match.all: all members or 0, and a predicate."""
    b = lw.b
    elem = "i64" if instruction.types[-1].endswith("64") else "i32"
    value = lw.read(instruction.sources[0], elem)
    members = _members(lw, 1, instruction)
    same = b.resize(_lane_loop(lw, "judge_match", _MATCH, value, members), "i32")
    if "any" in instruction.modifiers:
        return lw.write(instruction.destinations[0], same)
    everyone = b.icmp("eq", same, members)
    lw.write(instruction.destinations[0], b.select(everyone, members, const_int(0, "i32")))
    if len(instruction.destinations) > 1:
        lw.write(instruction.destinations[1], everyone)
    return None


_MATCH = """
define internal <32 x i64> @judge_match(<32 x i64> %value, <32 x i32> %members) noinline {
entry:
  %vals = alloca [32 x i64], align 64
  %mems = alloca [32 x i32], align 64
  %out = alloca [32 x i64], align 64
  store <32 x i64> %value, ptr %vals, align 64
  store <32 x i32> %members, ptr %mems, align 64
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i2, %loop ]
  %pv = getelementptr i64, ptr %vals, i32 %i
  %x = load i64, ptr %pv
  %x0 = insertelement <32 x i64> poison, i64 %x, i64 0
  %xv = shufflevector <32 x i64> %x0, <32 x i64> poison, <32 x i32> zeroinitializer
  %eq = icmp eq <32 x i64> %value, %xv
  %bits = bitcast <32 x i1> %eq to i32
  %pm = getelementptr i32, ptr %mems, i32 %i
  %m = load i32, ptr %pm
  %both = and i32 %bits, %m
  %wide = zext i32 %both to i64
  %po = getelementptr i64, ptr %out, i32 %i
  store i64 %wide, ptr %po
  %i2 = add i32 %i, 1
  %more = icmp ult i32 %i2, 32
  br i1 %more, label %loop, label %done
done:
  %r = load <32 x i64>, ptr %out, align 64
  ret <32 x i64> %r
}
"""


def reduce(lw: Lowering, instruction: Instruction) -> None:
    """redux.sync over the members: integers add, min, max, and, or, xor."""
    b = lw.b
    type_ = instruction.types[-1]
    if type_ not in ("u32", "s32", "b32"):
        raise lw.refuse(instruction)
    operation = next(m for m in instruction.modifiers if m in ("add", "min", "max", "and", "or", "xor"))
    signed = type_ == "s32"
    identity = {
        "add": 0,
        "or": 0,
        "xor": 0,
        "and": -1,
        "min": 0x7FFFFFFF if signed else -1,
        "max": -0x80000000 if signed else 0,
    }[operation]
    value = b.splat(lw.read(instruction.sources[0], "i32"))
    members = _members(lw, 1, instruction)
    name = operation if operation not in ("min", "max") else ("s" if signed else "u") + operation
    function = f"llvm.vector.reduce.{name}.v32i32"
    b.declarations.add(f"declare i32 @{function}(<32 x i32>)")
    if members.vec:
        return lw.write(instruction.destinations[0], _reduce_groups(lw, function, identity, value, members))
    taking = b.assign(f"bitcast i32 {members.text} to <32 x i1>", "i1", True)
    filled = b.select(taking, value, b.splat(const_int(identity, "i32")))
    return lw.write(instruction.destinations[0], b.assign(f"call i32 @{function}({filled.typed})", "i32"))


def _reduce_groups(lw: Lowering, function: str, identity: int, value: Value, members: Value) -> Value:
    """Every lane's reduction over its own members: groups of one warp reduce apart."""
    name = f"judge_groups_{function.rsplit('.', 2)[-2]}_{identity & 0xFFFFFFFF}"
    if name not in lw.functions:
        lw.functions[name] = f"""
define internal <32 x i32> @{name}(<32 x i32> %value, <32 x i32> %members) noinline {{
entry:
  %mems = alloca [32 x i32], align 64
  %out = alloca [32 x i32], align 64
  store <32 x i32> %members, ptr %mems, align 64
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i2, %loop ]
  %pm = getelementptr i32, ptr %mems, i32 %i
  %m = load i32, ptr %pm
  %mv = bitcast i32 %m to <32 x i1>
  %filled = select <32 x i1> %mv, <32 x i32> %value, <32 x i32> splat (i32 {identity & 0xFFFFFFFF})
  %r = call i32 @{function}(<32 x i32> %filled)
  %po = getelementptr i32, ptr %out, i32 %i
  store i32 %r, ptr %po
  %i2 = add i32 %i, 1
  %more = icmp ult i32 %i2, 32
  br i1 %more, label %loop, label %done
done:
  %all = load <32 x i32>, ptr %out, align 64
  ret <32 x i32> %all
}}
"""
    return Value(lw.b.call("<32 x i32>", name, value.typed, members.typed), "i32", True)


def nth_set_bit(lw: Lowering, instruction: Instruction) -> None:
    """fns: the offset-th set bit of the mask from a base on, upward or (negative offset) downward."""
    operands = [lw.read(s, "i32") for s in instruction.sources]
    lw.functions.setdefault("judge_fns", _NTH_SET_BIT)
    found = Value(lw.b.call("<32 x i32>", "judge_fns", *(lw.b.splat(o).typed for o in operands)), "i32", True)
    if not any(o.vec for o in operands):
        found = lw.b.assign(f"extractelement {found.typed}, i64 0", "i32")
    lw.write(instruction.destinations[0], found)


_NTH_SET_BIT = """
define internal <32 x i32> @judge_fns(<32 x i32> %mask, <32 x i32> %base, <32 x i32> %offset) noinline {
entry:
  %masks = alloca [32 x i32], align 64
  %bases = alloca [32 x i32], align 64
  %offsets = alloca [32 x i32], align 64
  store <32 x i32> %mask, ptr %masks, align 64
  store <32 x i32> %base, ptr %bases, align 64
  store <32 x i32> %offset, ptr %offsets, align 64
  br label %lane
lane:
  %i = phi i32 [ 0, %entry ], [ %i2, %next ]
  %pm = getelementptr i32, ptr %masks, i32 %i
  %m = load i32, ptr %pm
  %pb = getelementptr i32, ptr %bases, i32 %i
  %b = load i32, ptr %pb
  %po = getelementptr i32, ptr %offsets, i32 %i
  %o = load i32, ptr %po
  %down = icmp slt i32 %o, 0
  %step = select i1 %down, i32 -1, i32 1
  %minus = sub i32 0, %o
  %size = select i1 %down, i32 %minus, i32 %o
  %here = icmp eq i32 %o, 0
  %wanted = select i1 %here, i32 1, i32 %size
  %high = icmp ugt i32 %b, 31
  %top = and i1 %down, %high
  %start = select i1 %top, i32 31, i32 %b
  br label %bit
bit:
  %p = phi i32 [ %start, %lane ], [ %p2, %on ]
  %left = phi i32 [ %wanted, %lane ], [ %left2, %on ]
  %inside = icmp ult i32 %p, 32
  br i1 %inside, label %look, label %next
look:
  %shifted = lshr i32 %m, %p
  %one = and i32 %shifted, 1
  %left2 = sub i32 %left, %one
  %found = icmp eq i32 %left2, 0
  br i1 %found, label %next, label %stay
stay:
  br i1 %here, label %next, label %on
on:
  %p2 = add i32 %p, %step
  br label %bit
next:
  %r = phi i32 [ -1, %bit ], [ %p, %look ], [ -1, %stay ]
  store i32 %r, ptr %pm
  %i2 = add i32 %i, 1
  %more = icmp ult i32 %i2, 32
  br i1 %more, label %lane, label %done
done:
  %all = load <32 x i32>, ptr %masks, align 64
  ret <32 x i32> %all
}
"""


def _collective(
    operation: Callable[[Lowering, Instruction], None],
) -> Callable[[Lowering, Instruction], None]:
    """Lanes that took part in one met there, though it orders no memory: the watch tells the two apart."""

    def emit(lw: Lowering, instruction: Instruction) -> None:
        if lw.watch:
            lw.b.call("void", "judge_tick_warp", "ptr %ctx", "ptr %st", f"i64 {int(State.COLLECTIVE32)}")
        operation(lw, instruction)

    return emit


OPERATIONS: dict[str, Callable[[Lowering, Instruction], None]] = {
    "shfl": _collective(shuffle),
    "vote": _collective(vote),
    "activemask": active_mask,
    "elect": _collective(elect),
    "match": _collective(match),
    "redux": _collective(reduce),
    "fns": nth_set_bit,
}
