"""Runtime functions of copies that take bytes without a value along (see carried.py)."""

from judge.backends.cpu.addresses import LOCAL_SLOT, OFFSET_MASK, SLOT_SHIFT
from judge.backends.cpu.lowering.layout import UNSET_COPY, Ctx, EventKind, State, Watch
from judge.backends.cpu.lowering.runtime_watch_access import watch_pointer


def unset_copies() -> str:
    return "\n".join([_unset(), _unset_lane(), _copy_of(), _carry(), _carry_lane()])


def _unset() -> str:
    """The lanes that find nothing written in the (at most 4) bytes they read of one word.

    The common cases take no loop: memory that is not watched for it, and one watched slot for all lanes.
    """
    return f"""
define i32 @judge_unset(ptr %ctx, ptr %st, <32 x i64> %addr, i32 %mask, i64 %bytes) {{
entry:
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %nothing, label %begin
nothing:
  ret i32 0
begin:
  %first = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
  %lead = extractelement <32 x i64> %addr, i32 %first
  %slot = lshr i64 %lead, {SLOT_SHIFT}
  %s0 = insertelement <32 x i64> poison, i64 %slot, i64 0
  %sv = shufflevector <32 x i64> %s0, <32 x i64> poison, <32 x i32> zeroinitializer
  %slots = lshr <32 x i64> %addr, splat (i64 {SLOT_SHIFT})
  %strange = icmp ne <32 x i64> %slots, %sv
  %strangebits = bitcast <32 x i1> %strange to i32
  %others = and i32 %strangebits, %mask
  %mixed = icmp ne i32 %others, 0
  %local = icmp eq i64 %slot, {LOCAL_SLOT}
  %lanewise = or i1 %mixed, %local
  br i1 %lanewise, label %each, label %one_slot
one_slot:
{watch_pointer("%slot")}
  br i1 %watched, label %look, label %nothing
look:
  %init = load ptr, ptr %ws
  %noinit = icmp eq ptr %init, null
  br i1 %noinit, label %nothing, label %gather
gather:
  %ps = getelementptr i8, ptr %ctx, i64 {Ctx.SLOT_SIZES}
  %sizes = load ptr, ptr %ps
  %pz = getelementptr i64, ptr %sizes, i64 %slot
  %size = load i64, ptr %pz
  %z0 = insertelement <32 x i64> poison, i64 %size, i64 0
  %zv = shufflevector <32 x i64> %z0, <32 x i64> poison, <32 x i32> zeroinitializer
  %n0 = insertelement <32 x i64> poison, i64 %bytes, i64 0
  %nv = shufflevector <32 x i64> %n0, <32 x i64> poison, <32 x i32> zeroinitializer
  %offs = and <32 x i64> %addr, splat (i64 {OFFSET_MASK})
  %ends = add <32 x i64> %offs, %nv
  %inside = icmp ule <32 x i64> %ends, %zv
  %mv = bitcast i32 %mask to <32 x i1>
  %good = and <32 x i1> %inside, %mv
  %words = lshr <32 x i64> %offs, splat (i64 2)
  %places = getelementptr i8, ptr %init, <32 x i64> %words
  %marks = call <32 x i32> @llvm.masked.gather.v32i32.v32p0(<32 x ptr> %places, i32 1, <32 x i1> %good,
                                                            <32 x i32> splat (i32 15))
  %sub64 = and <32 x i64> %offs, splat (i64 3)
  %sub = trunc <32 x i64> %sub64 to <32 x i32>
  %ones = shl i64 1, %bytes
  %low = sub i64 %ones, 1
  %low32 = trunc i64 %low to i32
  %l0 = insertelement <32 x i32> poison, i32 %low32, i64 0
  %lv = shufflevector <32 x i32> %l0, <32 x i32> poison, <32 x i32> zeroinitializer
  %wanted0 = shl <32 x i32> %lv, %sub
  %wanted = and <32 x i32> %wanted0, splat (i32 15)
  %got = and <32 x i32> %marks, %wanted
  %empty = icmp eq <32 x i32> %got, zeroinitializer
  %bad = and <32 x i1> %empty, %good
  %bits = bitcast <32 x i1> %bad to i32
  ret i32 %bits
each:
  %addrs = alloca [32 x i64], align 64
  store <32 x i64> %addr, ptr %addrs, align 64
  br label %loop
loop:
  %left = phi i32 [ %mask, %each ], [ %rest, %loop ]
  %found = phi i32 [ 0, %each ], [ %found2, %loop ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %pa = getelementptr i64, ptr %addrs, i32 %lane
  %a = load i64, ptr %pa
  %u = call i1 @judge_unset_lane(ptr %ctx, ptr %st, i32 %lane, i64 %a, i64 %bytes)
  %u32 = zext i1 %u to i32
  %ubit = shl i32 %u32, %lane
  %found2 = or i32 %found, %ubit
  %end = icmp eq i32 %rest, 0
  br i1 %end, label %told, label %loop
told:
  ret i32 %found2
}}
"""


def _unset_lane() -> str:
    """One lane's word in whatever slot. Outside of everything is not unset: that was told as out of bounds."""
    return f"""
define i1 @judge_unset_lane(ptr %ctx, ptr %st, i32 %lane, i64 %addr, i64 %bytes) noinline {{
entry:
  %q = call ptr @judge_resolve(ptr %ctx, ptr %st, i32 %lane, i64 %addr, i64 %bytes, i1 false)
  %outside = icmp eq ptr %q, null
  br i1 %outside, label %no, label %inside
inside:
  %slot = lshr i64 %addr, {SLOT_SHIFT}
  %off = and i64 %addr, {OFFSET_MASK}
  %local = icmp eq i64 %slot, {LOCAL_SLOT}
  br i1 %local, label %own, label %other
own:
  %pin = getelementptr i8, ptr %st, i64 {State.LOCAL_INIT}
  %linit = load ptr, ptr %pin
  %lnone = icmp eq ptr %linit, null
  br i1 %lnone, label %no, label %bytes_loop
bytes_loop:
  %k = phi i64 [ 0, %own ], [ %k2, %bytes_loop ]
  %any = phi i32 [ 0, %own ], [ %any2, %bytes_loop ]
  %at = add i64 %off, %k
  %p = getelementptr i32, ptr %linit, i64 %at
  %m = load i32, ptr %p
  %any2 = or i32 %any, %m
  %k2 = add i64 %k, 1
  %more = icmp ult i64 %k2, %bytes
  br i1 %more, label %bytes_loop, label %own_done
own_done:
  %mine0 = lshr i32 %any2, %lane
  %mine = and i32 %mine0, 1
  %lunset = icmp eq i32 %mine, 0
  ret i1 %lunset
other:
{watch_pointer("%slot")}
  br i1 %watched, label %go, label %no
go:
  %init = load ptr, ptr %ws
  %none = icmp eq ptr %init, null
  br i1 %none, label %no, label %test
test:
  %index = lshr i64 %off, 2
  %pi = getelementptr i8, ptr %init, i64 %index
  %i = load i8, ptr %pi
  %sub = and i64 %off, 3
  %ones = shl i64 1, %bytes
  %low = sub i64 %ones, 1
  %wanted = shl i64 %low, %sub
  %w8 = trunc i64 %wanted to i8
  %w4 = and i8 %w8, 15
  %got = and i8 %i, %w4
  %unset = icmp eq i8 %got, 0
  ret i1 %unset
no:
  ret i1 false
}}
"""


def _copy_of() -> str:
    """The cell of the write that left a word without a value, 0 where nobody wrote to it."""
    return f"""
define i64 @judge_copy_of(ptr %ctx, i64 %addr) {{
entry:
  %slot = lshr i64 %addr, {SLOT_SHIFT}
  %off = and i64 %addr, {OFFSET_MASK}
{watch_pointer("%slot")}
  br i1 %watched, label %go, label %no
go:
  %init = load ptr, ptr %ws
  %none = icmp eq ptr %init, null
  br i1 %none, label %no, label %test
test:
  %index = lshr i64 %off, 2
  %pi = getelementptr i8, ptr %init, i64 %index
  %i = load i8, ptr %pi
  %copied0 = and i8 %i, {UNSET_COPY}
  %copied = icmp ne i8 %copied0, 0
  %pcell = getelementptr i64, ptr %writes, i64 %index
  %cell = load i64, ptr %pcell
  %found = select i1 %copied, i64 %cell, i64 0
  ret i64 %found
no:
  ret i64 0
}}
"""


def _carry() -> str:
    """After a store of one word a lane: the lanes whose value was none. site, from: of the load."""
    return """
define void @judge_carry_unset(ptr %ctx, ptr %st, <32 x i64> %addr, i32 %mask, i64 %bytes, i32 %site,
                               <32 x i64> %from) noinline {
entry:
  %addrs = alloca [32 x i64], align 64
  store <32 x i64> %addr, ptr %addrs, align 64
  %froms = alloca [32 x i64], align 64
  store <32 x i64> %from, ptr %froms, align 64
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %out, label %loop
loop:
  %left = phi i32 [ %mask, %entry ], [ %rest, %loop ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %pa = getelementptr i64, ptr %addrs, i32 %lane
  %a = load i64, ptr %pa
  %pf = getelementptr i64, ptr %froms, i32 %lane
  %f = load i64, ptr %pf
  call void @judge_carry_lane(ptr %ctx, ptr %st, i32 %lane, i64 %a, i64 %bytes, i32 %site, i64 %f)
  %end = icmp eq i32 %rest, 0
  br i1 %end, label %out, label %loop
out:
  ret void
}
"""


def _carry_lane() -> str:
    return f"""
define void @judge_carry_lane(ptr %ctx, ptr %st, i32 %lane, i64 %addr, i64 %bytes, i32 %site, i64 %from) noinline {{
entry:
  %bit = shl i32 1, %lane
  %q = call ptr @judge_resolve(ptr %ctx, ptr %st, i32 %lane, i64 %addr, i64 %bytes, i1 true)
  %outside = icmp eq ptr %q, null
  br i1 %outside, label %out, label %inside
inside:
  %slot = lshr i64 %addr, {SLOT_SHIFT}
  %off = and i64 %addr, {OFFSET_MASK}
  %local = icmp eq i64 %slot, {LOCAL_SLOT}
  br i1 %local, label %own, label %other
own:
  %pin = getelementptr i8, ptr %st, i64 {State.LOCAL_INIT}
  %linit = load ptr, ptr %pin
  %lnone = icmp eq ptr %linit, null
  br i1 %lnone, label %out, label %bytes_loop
bytes_loop:
  %k = phi i64 [ 0, %own ], [ %k2, %bytes_loop ]
  %at = add i64 %off, %k
  %p = getelementptr i32, ptr %linit, i64 %at
  %m = load i32, ptr %p
  %notme = xor i32 %bit, -1
  %m2 = and i32 %m, %notme
  store i32 %m2, ptr %p
  %k2 = add i64 %k, 1
  %more = icmp ult i64 %k2, %bytes
  br i1 %more, label %bytes_loop, label %out
other:
{watch_pointer("%slot")}
  br i1 %watched, label %go, label %out
go:
  %init = load ptr, ptr %ws
  %none = icmp eq ptr %init, null
  br i1 %none, label %out, label %kept
kept:
  %ph = getelementptr i8, ptr %ws, i64 {Watch.SCRATCH}
  %scratch = load i64, ptr %ph
  %result = icmp eq i64 %scratch, 0
  br i1 %result, label %tell, label %clear
tell:
  %n32 = trunc i64 %bytes to i32
  %copy = call i64 @judge_copy_of(ptr %ctx, i64 %from)
  call void @judge_fault(ptr %ctx, ptr %st, i32 {EventKind.UNINITIALIZED}, i32 %site, i32 %bit, i64 %from, i32 %n32,
                         i64 %copy, i64 0, i64 0)
  ret void
clear:
  %index = lshr i64 %off, 2
  %pi = getelementptr i8, ptr %init, i64 %index
  %sub = and i64 %off, 3
  %ones = shl i64 1, %bytes
  %low = sub i64 %ones, 1
  %gone = shl i64 %low, %sub
  %g8 = trunc i64 %gone to i8
  %keep = xor i8 %g8, -1
  %was = atomicrmw and ptr %pi, i8 %keep monotonic
  %was2 = atomicrmw or ptr %pi, i8 {UNSET_COPY} monotonic
  br label %out
out:
  ret void
}}
"""
