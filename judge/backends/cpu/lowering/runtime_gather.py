"""The middle way of a warp's load or store: lanes anywhere in one slot, all of them inside and aligned.

The checks of all lanes are a few vector operations, the access is a gather or scatter. Lanes in
several slots, in thread-local memory or at fault go one by one.
"""

from judge.backends.cpu.addresses import FIRST_BUFFER_SLOT, MAX_SLOTS, OFFSET_MASK, SLOT_SHIFT
from judge.backends.cpu.lowering.layout import Ctx


def slot_test(width: int) -> str:
    """%slot, %slotc, %size, %g_ok: whether every active lane may access `width` bytes of the first one's slot."""
    return f"""
  %g_lane = call i32 @llvm.cttz.i32(i32 %mask, i1 false)
  %g_a0 = extractelement <32 x i64> %addr, i32 %g_lane
  %g_slot = lshr i64 %g_a0, {SLOT_SHIFT}
  %g_known = icmp ult i64 %g_slot, {MAX_SLOTS}
  %g_slotc = select i1 %g_known, i64 %g_slot, i64 0
  %g_ps = getelementptr i8, ptr %ctx, i64 {Ctx.SLOT_SIZES}
  %g_sizes = load ptr, ptr %g_ps
  %g_pz = getelementptr i64, ptr %g_sizes, i64 %g_slotc
  %g_size = load i64, ptr %g_pz
  %g_roomy = icmp uge i64 %g_size, {width}
  %g_top = sub i64 %g_size, {width}
  %g_offs = and <32 x i64> %addr, splat (i64 {OFFSET_MASK})
  %g_slots = lshr <32 x i64> %addr, splat (i64 {SLOT_SHIFT})
  %g_s0 = insertelement <32 x i64> poison, i64 %g_slot, i64 0
  %g_sv = shufflevector <32 x i64> %g_s0, <32 x i64> poison, <32 x i32> zeroinitializer
  %g_t0 = insertelement <32 x i64> poison, i64 %g_top, i64 0
  %g_tv = shufflevector <32 x i64> %g_t0, <32 x i64> poison, <32 x i32> zeroinitializer
  %g_same = icmp eq <32 x i64> %g_slots, %g_sv
  %g_in = icmp ule <32 x i64> %g_offs, %g_tv
  %g_low = and <32 x i64> %addr, splat (i64 {width - 1})
  %g_even = icmp eq <32 x i64> %g_low, zeroinitializer
  %g_1 = and <32 x i1> %g_same, %g_in
  %g_2 = and <32 x i1> %g_1, %g_even
  %g_bits = bitcast <32 x i1> %g_2 to i32
  %g_all = and i32 %g_bits, %mask
  %g_every = icmp eq i32 %g_all, %mask
  %g_fits = and i1 %g_every, %g_roomy
  %g_ok = and i1 %g_fits, %g_known"""


def writable(slot: str, name: str) -> str:
    """%NAME: whether a kernel may write to a known slot."""
    return f"""  %{name}_pw = getelementptr i8, ptr %ctx, i64 {Ctx.WRITABLE}
  %{name}_all = load ptr, ptr %{name}_pw
  %{name}_p = getelementptr i8, ptr %{name}_all, i64 {slot}
  %{name}_b = load i8, ptr %{name}_p
  %{name} = icmp ne i8 %{name}_b, 0"""


def pointers() -> str:
    """%g_ptrs: the lanes' host addresses; %m: the active lanes."""
    return f"""
  %g_pb = getelementptr i8, ptr %ctx, i64 {Ctx.SLOT_BASES}
  %g_bases = load ptr, ptr %g_pb
  %g_pbase = getelementptr ptr, ptr %g_bases, i64 %g_slotc
  %g_base = load ptr, ptr %g_pbase
  %g_ptrs = getelementptr i8, ptr %g_base, <32 x i64> %g_offs
  %g_m = bitcast i32 %mask to <32 x i1>"""


def element(bits: int, number: int, value: str | None) -> str:
    """Gather element `number` of every lane as %g_x<number>, or scatter `value` there."""
    width = bits // 8
    place = f"""  %g_e{number} = getelementptr i8, <32 x ptr> %g_ptrs, i64 {number * width}"""
    if value is None:
        access = f"""  %g_x{number} = call <32 x i{bits}> @llvm.masked.gather.v32i{bits}.v32p0(
      <32 x ptr> %g_e{number}, i32 {width}, <32 x i1> %g_m, <32 x i{bits}> zeroinitializer)"""
    else:
        access = f"""  call void @llvm.masked.scatter.v32i{bits}.v32p0(
      <32 x i{bits}> {value}, <32 x ptr> %g_e{number}, i32 {width}, <32 x i1> %g_m)"""
    return f"{place}\n{access}"


def gather_traffic() -> str:
    """Count the bytes of lanes in one buffer, those at one address once; mark them when they were read."""
    return f"""
define void @judge_gather_traffic(ptr %ctx, i64 %slot, <32 x i64> %addr, i32 %mask, i64 %bytes, i64 %write) {{
entry:
  %addrs = alloca [32 x i64], align 64
  %buffer = icmp uge i64 %slot, {FIRST_BUFFER_SLOT}
  br i1 %buffer, label %go, label %out
go:
  store <32 x i64> %addr, ptr %addrs, align 64
  %reading = icmp eq i64 %write, 0
  br label %loop
loop:
  %left = phi i32 [ %mask, %go ], [ %rest, %next ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %pa = getelementptr i64, ptr %addrs, i32 %lane
  %a = load i64, ptr %pa
  %a0 = insertelement <32 x i64> poison, i64 %a, i64 0
  %av = shufflevector <32 x i64> %a0, <32 x i64> poison, <32 x i32> zeroinitializer
  %same = icmp eq <32 x i64> %addr, %av
  %samebits = bitcast <32 x i1> %same to i32
  %others = xor i32 %samebits, -1
  %rest = and i32 %left, %others
  call void @judge_traffic(ptr %ctx, i64 %a, i64 %bytes, i64 %write)
  br i1 %reading, label %mark, label %next
mark:
  call void @judge_mark(ptr %ctx, i64 %a, i64 %bytes)
  br label %next
next:
  %end = icmp eq i32 %rest, 0
  br i1 %end, label %out, label %loop
out:
  ret void
}}
"""
