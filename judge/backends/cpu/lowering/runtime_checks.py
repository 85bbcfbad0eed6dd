"""Runtime functions that decide about one access: faults, address resolution, traffic marks, bounds, alignment."""

from judge.backends.cpu.addresses import FIRST_BUFFER_SLOT, LOCAL_SLOT, MAX_SLOTS, OFFSET_MASK, SLOT_SHIFT
from judge.backends.cpu.lowering.layout import (
    ABORT_FAULTS,
    EVENT_BYTES,
    EVENT_CAPACITY,
    MAX_FAULTS,
    MAX_SITES,
    WARNING,
    Ctx,
    EventKind,
    State,
)
from judge.backends.cpu.lowering.runtime_gather import writable


def faults() -> str:
    return f"""
define void @judge_fault(ptr %ctx, ptr %st, i32 %kind, i32 %site, i32 %lanes, i64 %addr, i32 %size,
                         i64 %d0, i64 %d1, i64 %d2) noinline {{
entry:
  %pc = getelementptr i8, ptr %ctx, i64 {Ctx.SITE_COUNTS}
  %counts = load ptr, ptr %pc
  %place = and i32 %site, {MAX_SITES - 1}
  %site64 = zext i32 %place to i64
  %mild0 = lshr i32 %kind, {WARNING.bit_length() - 1}
  %mild = zext i32 %mild0 to i64
  %two = shl i64 %site64, 1
  %entry_index = or i64 %two, %mild
  %slot = getelementptr i64, ptr %counts, i64 %entry_index
  %old = load i64, ptr %slot
  %n = call i32 @llvm.ctpop.i32(i32 %lanes)
  %n64 = zext i32 %n to i64
  %new = add i64 %old, %n64
  store i64 %new, ptr %slot
  %pf = getelementptr i8, ptr %ctx, i64 {Ctx.FAULTS}
  %faults = load i64, ptr %pf
  %proved = icmp eq i64 %mild, 0
  %more = select i1 %proved, i64 %n64, i64 0
  %sum = add i64 %faults, %more
  store i64 %sum, ptr %pf
  %enough = icmp ugt i64 %sum, {MAX_FAULTS}
  br i1 %enough, label %give_up, label %known
give_up:
  %pa = getelementptr i8, ptr %ctx, i64 {Ctx.ABORT}
  %abort = load ptr, ptr %pa
  %tried = cmpxchg ptr %abort, i32 0, i32 {ABORT_FAULTS} monotonic monotonic
  br label %known
known:
  %seen = icmp ne i64 %old, 0
  br i1 %seen, label %out, label %room
room:
  %pcount = getelementptr i8, ptr %ctx, i64 {Ctx.EVENT_COUNT}
  %count = load i64, ptr %pcount
  %full = icmp uge i64 %count, {EVENT_CAPACITY}
  br i1 %full, label %out, label %write
write:
  %next = add i64 %count, 1
  store i64 %next, ptr %pcount
  %pe = getelementptr i8, ptr %ctx, i64 {Ctx.EVENTS}
  %events = load ptr, ptr %pe
  %at = mul i64 %count, {EVENT_BYTES}
  %e = getelementptr i8, ptr %events, i64 %at
  store i32 %kind, ptr %e
  %e4 = getelementptr i8, ptr %e, i64 4
  store i32 %place, ptr %e4
  %pcta = getelementptr i8, ptr %ctx, i64 {Ctx.CTA}
  %cta = load i64, ptr %pcta
  %e8 = getelementptr i8, ptr %e, i64 8
  store i64 %cta, ptr %e8
  %pw = getelementptr i8, ptr %st, i64 {State.WARP32}
  %w = load i32, ptr %pw
  %e16 = getelementptr i8, ptr %e, i64 16
  store i32 %w, ptr %e16
  %lane = call i32 @llvm.cttz.i32(i32 %lanes, i1 false)
  %e20 = getelementptr i8, ptr %e, i64 20
  store i32 %lane, ptr %e20
  %e24 = getelementptr i8, ptr %e, i64 24
  store i64 %addr, ptr %e24
  %e32 = getelementptr i8, ptr %e, i64 32
  store i32 %size, ptr %e32
  %e40 = getelementptr i8, ptr %e, i64 40
  store i64 %d0, ptr %e40
  %e48 = getelementptr i8, ptr %e, i64 48
  store i64 %d1, ptr %e48
  %e56 = getelementptr i8, ptr %e, i64 56
  store i64 %d2, ptr %e56
  br label %out
out:
  ret void
}}
"""


def resolve() -> str:
    """Host address of one lane's access, null when it lies outside its block."""
    return f"""
define ptr @judge_resolve(ptr %ctx, ptr %st, i32 %lane, i64 %addr, i64 %width, i1 %write) {{
entry:
  %slot = lshr i64 %addr, {SLOT_SHIFT}
  %off = and i64 %addr, {OFFSET_MASK}
  %local = icmp eq i64 %slot, {LOCAL_SLOT}
  br i1 %local, label %in_local, label %other
in_local:
  %plb = getelementptr i8, ptr %ctx, i64 {Ctx.LOCAL_BYTES}
  %lb = load i64, ptr %plb
  %lend = add i64 %off, %width
  %lok = icmp ule i64 %lend, %lb
  br i1 %lok, label %local_ok, label %bad
local_ok:
  %pl = getelementptr i8, ptr %st, i64 {State.LOCAL}
  %l = load ptr, ptr %pl
  %word = lshr i64 %off, 2
  %row = mul i64 %word, 128
  %lane64 = zext i32 %lane to i64
  %col = mul i64 %lane64, 4
  %byte = and i64 %off, 3
  %s1 = add i64 %row, %col
  %s2 = add i64 %s1, %byte
  %lp = getelementptr i8, ptr %l, i64 %s2
  ret ptr %lp
other:
  %known = icmp ult i64 %slot, {MAX_SLOTS}
  br i1 %known, label %lookup, label %bad
lookup:
{writable("%slot", "may")}
  %read_only = xor i1 %may, true
  %forbidden = and i1 %read_only, %write
  br i1 %forbidden, label %bad, label %sized
sized:
  %ps = getelementptr i8, ptr %ctx, i64 {Ctx.SLOT_SIZES}
  %sizes = load ptr, ptr %ps
  %pz = getelementptr i64, ptr %sizes, i64 %slot
  %size = load i64, ptr %pz
  %end = add i64 %off, %width
  %ok = icmp ule i64 %end, %size
  br i1 %ok, label %good, label %bad
good:
  %pb = getelementptr i8, ptr %ctx, i64 {Ctx.SLOT_BASES}
  %bases = load ptr, ptr %pb
  %pbase = getelementptr ptr, ptr %bases, i64 %slot
  %base = load ptr, ptr %pbase
  %p = getelementptr i8, ptr %base, i64 %off
  ret ptr %p
bad:
  ret ptr null
}}
"""


def traffic() -> str:
    """Count bytes read (or written, write != 0) of a slot, and mark what was read."""
    return f"""
define void @judge_traffic(ptr %ctx, i64 %addr, i64 %bytes, i64 %write) {{
entry:
  %slot = lshr i64 %addr, {SLOT_SHIFT}
  %pt = getelementptr i8, ptr %ctx, i64 {Ctx.TRAFFIC}
  %t = load ptr, ptr %pt
  %two = mul i64 %slot, 2
  %which = add i64 %two, %write
  %p = getelementptr i64, ptr %t, i64 %which
  %old = load i64, ptr %p
  %new = add i64 %old, %bytes
  store i64 %new, ptr %p
  ret void
}}
define void @judge_mark(ptr %ctx, i64 %addr, i64 %bytes) {{
entry:
  %slot = lshr i64 %addr, {SLOT_SHIFT}
  %off = and i64 %addr, {OFFSET_MASK}
  %ps = getelementptr i8, ptr %ctx, i64 {Ctx.SHADOWS}
  %shadows = load ptr, ptr %ps
  %pp = getelementptr ptr, ptr %shadows, i64 %slot
  %shadow = load ptr, ptr %pp
  %none = icmp eq ptr %shadow, null
  br i1 %none, label %out, label %go
go:
  %word = lshr i64 %off, 2
  %sub = and i64 %off, 3
  %small = icmp ult i64 %bytes, 4
  %odd = icmp ne i64 %sub, 0
  %partial = or i1 %small, %odd
  %p = getelementptr i8, ptr %shadow, i64 %word
  br i1 %partial, label %part, label %whole
part:
  %sh0 = shl i64 1, %bytes
  %m0 = sub i64 %sh0, 1
  %m1 = shl i64 %m0, %sub
  %m = trunc i64 %m1 to i8
  %oldb = load i8, ptr %p
  %newb = or i8 %oldb, %m
  store i8 %newb, ptr %p
  br label %out
whole:
  %n = lshr i64 %bytes, 2
  call void @llvm.memset.p0.i64(ptr %p, i8 15, i64 %n, i1 false)
  br label %out
out:
  ret void
}}
"""


def checked() -> str:
    """One lane's access with its checks: reports and gives null when it is misaligned or outside."""
    return f"""
define ptr @judge_checked(ptr %ctx, ptr %st, i32 %lane, i64 %addr, i64 %width, i32 %site, i1 %write) {{
entry:
  %low = sub i64 %width, 1
  %rest = and i64 %addr, %low
  %aligned = icmp eq i64 %rest, 0
  %bit = shl i32 1, %lane
  %w32 = trunc i64 %width to i32
  %wz = zext i1 %write to i32
  br i1 %aligned, label %bounds, label %misaligned
misaligned:
  %mk = add i32 %wz, {EventKind.MISALIGNED_READ}
  call void @judge_fault(ptr %ctx, ptr %st, i32 %mk, i32 %site, i32 %bit, i64 %addr, i32 %w32, i64 0, i64 0, i64 0)
  ret ptr null
bounds:
  %p = call ptr @judge_resolve(ptr %ctx, ptr %st, i32 %lane, i64 %addr, i64 %width, i1 %write)
  %bad = icmp eq ptr %p, null
  br i1 %bad, label %outside, label %ok
outside:
  %there = call ptr @judge_resolve(ptr %ctx, ptr %st, i32 %lane, i64 %addr, i64 %width, i1 false)
  %readable = icmp ne ptr %there, null
  %slot = lshr i64 %addr, {SLOT_SHIFT}
  %buffer = icmp uge i64 %slot, {FIRST_BUFFER_SLOT}
  %read_only0 = and i1 %readable, %buffer
  %read_only = and i1 %read_only0, %write
  %bounds_kind = add i32 %wz, {EventKind.OUT_OF_BOUNDS_READ}
  %ok_kind = select i1 %read_only, i32 {EventKind.INPUT_WRITE}, i32 %bounds_kind
  call void @judge_fault(ptr %ctx, ptr %st, i32 %ok_kind, i32 %site, i32 %bit, i64 %addr, i32 %w32, i64 0, i64 0, i64 0)
  ret ptr null
ok:
  ret ptr %p
}}
"""
