"""Runtime functions for lanes that part and meet: where each one stands, and who has which value.

They run where a warp diverges or comes together again, which is seldom; every block needs them, so
that as calls they halve what the code generator has to do.
"""

from judge.backends.cpu.lowering.layout import PC_EXITED, Ctx, State
from judge.backends.cpu.lowering.values import BITS

_SIZES = (1, 2, 4, 8, 16)
"""Bytes of a register that is no predicate."""

_PREDICATE = 0
"""In place of a size: a bit a lane in 32 bits, and one byte where it is uniform."""

INTERFACE = """
declare void @judge_stand(ptr, i32, i32)
declare void @judge_leave(ptr, i32)
declare void @judge_count(ptr, i64, i32)
declare i1 @judge_meet(ptr, ptr, i32)
declare void @judge_spread(ptr, ptr, i32)
"""


def table_entry(vector_offset: int, scalar_offset: int, elem: str) -> int:
    """A register as judge_meet and judge_spread read it: its places in a warp's state, and its size."""
    size = _PREDICATE if elem == "i1" else BITS[elem] // 8
    return vector_offset << 32 | scalar_offset << 8 | size


def lanes() -> str:
    """judge_stand and judge_leave move lanes, judge_count counts a block, judge_meet and judge_spread copy values."""
    return "\n".join([_stand(), _leave(), _count(), _meet(), _spread()])


def _stand() -> str:
    return """
define void @judge_stand(ptr %st, i32 %lanes, i32 %pc) {
  %chosen = bitcast i32 %lanes to <32 x i1>
  %p0 = insertelement <32 x i32> poison, i32 %pc, i64 0
  %p = shufflevector <32 x i32> %p0, <32 x i32> poison, <32 x i32> zeroinitializer
  %old = load <32 x i32>, ptr %st, align 64
  %new = select <32 x i1> %chosen, <32 x i32> %p, <32 x i32> %old
  store <32 x i32> %new, ptr %st, align 64
  ret void
}
"""


def _leave() -> str:
    return f"""
define void @judge_leave(ptr %st, i32 %lanes) {{
  call void @judge_stand(ptr %st, i32 %lanes, i32 {PC_EXITED})
  %p = getelementptr i8, ptr %st, i64 {State.LIVE32}
  %live = load i32, ptr %p
  %rest = xor i32 %lanes, -1
  %left = and i32 %live, %rest
  store i32 %left, ptr %p
  ret void
}}
"""


def _count() -> str:
    """One warp, and its lanes, in the two counters of a block."""
    return f"""
define void @judge_count(ptr %ctx, i64 %offset, i32 %mask) {{
  %pc = getelementptr i8, ptr %ctx, i64 {Ctx.COUNTERS}
  %counters = load ptr, ptr %pc
  %warps = getelementptr i8, ptr %counters, i64 %offset
  %w = load i64, ptr %warps
  %w1 = add i64 %w, 1
  store i64 %w1, ptr %warps
  %lanes = getelementptr i8, ptr %warps, i64 8
  %l = load i64, ptr %lanes
  %n = call i32 @llvm.ctpop.i32(i32 %mask)
  %n64 = zext i32 %n to i64
  %l1 = add i64 %l, %n64
  store i64 %l1, ptr %lanes
  ret void
}}
"""


def _row(i: str, prefix: str) -> str:
    """Read entry i of the table: %PREFIXvector and %PREFIXscalar point to the register, %PREFIXsize is its size."""
    p = f"%{prefix}"
    return f"""  {p}row = getelementptr i64, ptr %table, i32 {i}
  {p}word = load i64, ptr {p}row
  {p}voff = lshr i64 {p}word, 32
  {p}vector = getelementptr i8, ptr %st, i64 {p}voff
  {p}sword = lshr i64 {p}word, 8
  {p}soff = and i64 {p}sword, 16777215
  {p}scalar = getelementptr i8, ptr %st, i64 {p}soff
  {p}size = and i64 {p}word, 255
"""


def _meet() -> str:
    """Whether all live lanes have the same value in every register of the table; then it is the uniform one too."""
    sizes = " ".join(f"i64 {size}, label %size_{size}" for size in _SIZES)
    compared = "\n".join(_compare(size) for size in _SIZES)
    phis = ", ".join(f"[ %eq_{size}, %size_{size} ]" for size in _SIZES)
    return f"""
define i1 @judge_meet(ptr %st, ptr %table, i32 %n) {{
entry:
  %plive = getelementptr i8, ptr %st, i64 {State.LIVE32}
  %live = load i32, ptr %plive
  %first = call i32 @llvm.cttz.i32(i32 %live, i1 true)
  br label %next
next:
  %i = phi i32 [ 0, %entry ], [ %i1, %same ]
  %done = icmp eq i32 %i, %n
  br i1 %done, label %agreed, label %one
one:
{_row("%i", "")}  switch i64 %size, label %bits [ {sizes} ]
bits:
  %b = load i32, ptr %vector
  %set = and i32 %b, %live
  %none = icmp eq i32 %set, 0
  %all = icmp eq i32 %set, %live
  %either = or i1 %none, %all
  br i1 %either, label %same, label %apart
{compared}
compared:
  %eq = phi i32 {phis}
  %agree = and i32 %eq, %live
  %equal = icmp eq i32 %agree, %live
  br i1 %equal, label %same, label %apart
same:
  %i1 = add i32 %i, 1
  br label %next
apart:
  ret i1 false
agreed:
  %j = phi i32 [ 0, %next ], [ %j1, %stored ]
  %over = icmp eq i32 %j, %n
  br i1 %over, label %together, label %store
store:
{_row("%j", "s_")}  %is_bits = icmp eq i64 %s_size, {_PREDICATE}
  br i1 %is_bits, label %store_bit, label %store_value
store_bit:
  %mask = load i32, ptr %s_vector
  %has0 = and i32 %mask, %live
  %has = icmp ne i32 %has0, 0
  %byte = zext i1 %has to i8
  store i8 %byte, ptr %s_scalar
  br label %stored
store_value:
  %first64 = zext i32 %first to i64
  %lane_off = mul i64 %s_size, %first64
  %lane = getelementptr i8, ptr %s_vector, i64 %lane_off
  call void @llvm.memcpy.p0.p0.i64(ptr %s_scalar, ptr %lane, i64 %s_size, i1 false)
  br label %stored
stored:
  %j1 = add i32 %j, 1
  br label %agreed
together:
  ret i1 true
}}
"""


def _compare(size: int) -> str:
    elem = f"i{8 * size}"
    return f"""size_{size}:
  %at_{size} = getelementptr {elem}, ptr %vector, i32 %first
  %lane_{size} = load {elem}, ptr %at_{size}
  %all_{size} = load <32 x {elem}>, ptr %vector, align 64
  %v0_{size} = insertelement <32 x {elem}> poison, {elem} %lane_{size}, i64 0
  %v_{size} = shufflevector <32 x {elem}> %v0_{size}, <32 x {elem}> poison, <32 x i32> zeroinitializer
  %e_{size} = icmp eq <32 x {elem}> %all_{size}, %v_{size}
  %eq_{size} = bitcast <32 x i1> %e_{size} to i32
  br label %compared"""


def _spread() -> str:
    """Give every lane its own copy of the uniform values in the table."""
    sizes = " ".join(f"i64 {size}, label %size_{size}" for size in _SIZES)
    copied = "\n".join(_copy(size) for size in _SIZES)
    return f"""
define void @judge_spread(ptr %st, ptr %table, i32 %n) {{
entry:
  br label %next
next:
  %i = phi i32 [ 0, %entry ], [ %i1, %copied ]
  %done = icmp eq i32 %i, %n
  br i1 %done, label %end, label %one
one:
{_row("%i", "")}  switch i64 %size, label %bits [ {sizes} ]
bits:
  %byte = load i8, ptr %scalar
  %set = icmp ne i8 %byte, 0
  %mask = sext i1 %set to i32
  store i32 %mask, ptr %vector
  br label %copied
{copied}
copied:
  %i1 = add i32 %i, 1
  br label %next
end:
  ret void
}}
"""


def _copy(size: int) -> str:
    elem = f"i{8 * size}"
    return f"""size_{size}:
  %one_{size} = load {elem}, ptr %scalar
  %v0_{size} = insertelement <32 x {elem}> poison, {elem} %one_{size}, i64 0
  %v_{size} = shufflevector <32 x {elem}> %v0_{size}, <32 x {elem}> poison, <32 x i32> zeroinitializer
  store <32 x {elem}> %v_{size}, ptr %vector, align 64
  br label %copied"""
