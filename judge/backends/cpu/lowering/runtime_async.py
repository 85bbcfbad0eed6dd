"""Runtime functions of cp.async: a queue of copies each warp has asked for and not waited for.

A record is one instruction of a warp: the lanes still due, the group number of each, where each
copy goes and its bytes, read when it was asked for. A wait carries out the records that are due and
moves the others up. When a queue is full its oldest record is carried out early, as hardware may.

The watch is told of a write twice: when it is asked for, since it may happen from then on, and when
it is carried out, which is what gives the destination a value.

Block of a warp: number of records; at 64 the groups each lane has closed; then the records.
Record: mask of lanes, bytes of a copy, site; at 64 groups, at 192 host addresses, at 448 the bytes.
"""

from judge.backends.cpu.addresses import FIRST_BUFFER_SLOT, SHARED_SLOT, SLOT_SHIFT, slot_base
from judge.backends.cpu.lowering.layout import Ctx, State
from judge.backends.cpu.lowering.runtime_watch import PENDING, READS, WRITES

_HEADER_BYTES = 192
_RECORD_BYTES = 960
CAPACITY = 128
"""Instructions of a warp that may wait."""
WARP_BYTES = _HEADER_BYTES + CAPACITY * _RECORD_BYTES


def asynchronous_copies() -> str:
    return "\n".join([_reset(), _block(), _deliver(), _copy(), _commit(), _wait()])


def _reset() -> str:
    """At the start of a CTA its warps wait for nothing."""
    return f"""
define void @judge_async_reset(ptr %ctx, i32 %warp) {{
entry:
  %pa = getelementptr i8, ptr %ctx, i64 {Ctx.ASYNC}
  %base = load ptr, ptr %pa
  %none = icmp eq ptr %base, null
  br i1 %none, label %out, label %clear
clear:
  %w = zext i32 %warp to i64
  %at = mul i64 %w, {WARP_BYTES}
  %block = getelementptr i8, ptr %base, i64 %at
  call void @llvm.memset.p0.i64(ptr align 64 %block, i8 0, i64 {_HEADER_BYTES}, i1 false)
  br label %out
out:
  ret void
}}
"""


def _block() -> str:
    return f"""
define ptr @judge_async_block(ptr %ctx, ptr %st) {{
entry:
  %pa = getelementptr i8, ptr %ctx, i64 {Ctx.ASYNC}
  %base = load ptr, ptr %pa
  %pw = getelementptr i8, ptr %st, i64 {State.WARP32}
  %warp = load i32, ptr %pw
  %w = zext i32 %warp to i64
  %at = mul i64 %w, {WARP_BYTES}
  %block = getelementptr i8, ptr %base, i64 %at
  ret ptr %block
}}
"""


def _deliver() -> str:
    """Write the bytes of some lanes of a record to where they belong."""
    sizes = "\n".join(
        f"""copy{n}:
  %v{n} = load <{n} x i8>, ptr %from, align 16
  store <{n} x i8> %v{n}, ptr %to, align {n}
  br label %next"""
        for n in (4, 8, 16)
    )
    return f"""
define void @judge_async_deliver(ptr %ctx, ptr %st, ptr %record, i32 %lanes) {{
entry:
  %ps = getelementptr i8, ptr %record, i64 4
  %size = load i32, ptr %ps
  %size64 = zext i32 %size to i64
  %pn = getelementptr i8, ptr %record, i64 8
  %site = load i32, ptr %pn
  %psh = getelementptr i8, ptr %ctx, i64 {Ctx.SHARED}
  %shared = load ptr, ptr %psh
  %start = ptrtoint ptr %shared to i64
  %none = icmp eq i32 %lanes, 0
  br i1 %none, label %done, label %loop
loop:
  %left = phi i32 [ %lanes, %entry ], [ %rest, %next ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %targets = getelementptr i8, ptr %record, i64 192
  %pt = getelementptr ptr, ptr %targets, i32 %lane
  %to = load ptr, ptr %pt
  %host = ptrtoint ptr %to to i64
  %offset = sub i64 %host, %start
  %where = add i64 %offset, {slot_base(SHARED_SLOT)}
  call void @judge_watch_any(ptr %ctx, ptr %st, i32 %lane, i64 %where, i64 %size64, i32 %site, i32 {WRITES})
  %data = getelementptr i8, ptr %record, i64 448
  %at = mul i32 %lane, 16
  %from = getelementptr i8, ptr %data, i32 %at
  switch i32 %size, label %next [ i32 4, label %copy4 i32 8, label %copy8 i32 16, label %copy16 ]
{sizes}
next:
  %end = icmp eq i32 %rest, 0
  br i1 %end, label %done, label %loop
done:
  ret void
}}
"""


def _copy() -> str:
    """Check both sides of every lane's copy and queue it. wanted: bytes to read; the rest becomes zero."""
    sizes = "\n".join(
        f"""read{n}:
  %v{n} = load <{n} x i8>, ptr %p, align {n}
  store <{n} x i8> %v{n}, ptr %to, align 16
  br label %counted"""
        for n in (4, 8, 16)
    )
    return f"""
define void @judge_async_copy(ptr %ctx, ptr %st, <32 x i64> %dst, <32 x i64> %src, <32 x i32> %wanted, i32 %size,
                              i32 %mask, i32 %site) {{
entry:
  %dsts = alloca [32 x i64], align 64
  %srcs = alloca [32 x i64], align 64
  %lens = alloca [32 x i32], align 64
  store <32 x i64> %dst, ptr %dsts, align 64
  store <32 x i64> %src, ptr %srcs, align 64
  store <32 x i32> %wanted, ptr %lens, align 64
  %size64 = zext i32 %size to i64
  %block = call ptr @judge_async_block(ptr %ctx, ptr %st)
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %out, label %room
room:
  %count = load i32, ptr %block
  %full = icmp uge i32 %count, {CAPACITY}
  br i1 %full, label %evict, label %take
evict:
  %oldest = getelementptr i8, ptr %block, i64 {_HEADER_BYTES}
  %due = load i32, ptr %oldest
  call void @judge_async_deliver(ptr %ctx, ptr %st, ptr %oldest, i32 %due)
  %second = getelementptr i8, ptr %oldest, i64 {_RECORD_BYTES}
  call void @llvm.memmove.p0.p0.i64(ptr %oldest, ptr %second, i64 {(CAPACITY - 1) * _RECORD_BYTES}, i1 false)
  br label %take
take:
  %n = phi i32 [ %count, %room ], [ {CAPACITY - 1}, %evict ]
  %n64 = zext i32 %n to i64
  %roff = mul i64 %n64, {_RECORD_BYTES}
  %rec0 = getelementptr i8, ptr %block, i64 {_HEADER_BYTES}
  %record = getelementptr i8, ptr %rec0, i64 %roff
  %ps = getelementptr i8, ptr %record, i64 4
  store i32 %size, ptr %ps
  %pn = getelementptr i8, ptr %record, i64 8
  store i32 %site, ptr %pn
  %pc = getelementptr i8, ptr %block, i64 64
  %groups = load <32 x i32>, ptr %pc, align 64
  %pg = getelementptr i8, ptr %record, i64 64
  store <32 x i32> %groups, ptr %pg, align 64
  %data = getelementptr i8, ptr %record, i64 448
  call void @llvm.memset.p0.i64(ptr align 64 %data, i8 0, i64 512, i1 false)
  %targets = getelementptr i8, ptr %record, i64 192
  br label %loop
loop:
  %left = phi i32 [ %mask, %take ], [ %rest, %next ]
  %kept = phi i32 [ 0, %take ], [ %kept3, %next ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %pd = getelementptr i64, ptr %dsts, i32 %lane
  %d = load i64, ptr %pd
  %psr = getelementptr i64, ptr %srcs, i32 %lane
  %s = load i64, ptr %psr
  %pl = getelementptr i32, ptr %lens, i32 %lane
  %len = load i32, ptr %pl
  %at = mul i32 %lane, 16
  %to = getelementptr i8, ptr %data, i32 %at
  %whole = icmp eq i32 %len, %size
  br i1 %whole, label %full_read, label %partial
full_read:
  %p = call ptr @judge_checked(ptr %ctx, ptr %st, i32 %lane, i64 %s, i64 %size64, i32 %site, i1 false)
  %bad = icmp eq ptr %p, null
  br i1 %bad, label %write, label %sized
sized:
  switch i32 %size, label %write [ i32 4, label %read4 i32 8, label %read8 i32 16, label %read16 ]
{sizes}
counted:
  call void @judge_watch_any(ptr %ctx, ptr %st, i32 %lane, i64 %s, i64 %size64, i32 %site, i32 {READS})
  %slot = lshr i64 %s, {SLOT_SHIFT}
  %buffer = icmp uge i64 %slot, {FIRST_BUFFER_SLOT}
  br i1 %buffer, label %count_it, label %write
count_it:
  call void @judge_traffic(ptr %ctx, i64 %s, i64 %size64, i64 0)
  call void @judge_mark(ptr %ctx, i64 %s, i64 %size64)
  br label %write
partial:
  %i = phi i32 [ 0, %loop ], [ %i2, %byte_done ]
  %some = icmp ult i32 %i, %len
  br i1 %some, label %byte, label %write
byte:
  %i64 = zext i32 %i to i64
  %sb = add i64 %s, %i64
  %pb = call ptr @judge_checked(ptr %ctx, ptr %st, i32 %lane, i64 %sb, i64 1, i32 %site, i1 false)
  %badb = icmp eq ptr %pb, null
  br i1 %badb, label %byte_done, label %byte_ok
byte_ok:
  call void @judge_watch_any(ptr %ctx, ptr %st, i32 %lane, i64 %sb, i64 1, i32 %site, i32 {READS})
  %x = load i8, ptr %pb
  %tb = getelementptr i8, ptr %to, i32 %i
  store i8 %x, ptr %tb
  %bslot = lshr i64 %sb, {SLOT_SHIFT}
  %bbuffer = icmp uge i64 %bslot, {FIRST_BUFFER_SLOT}
  br i1 %bbuffer, label %byte_count, label %byte_done
byte_count:
  call void @judge_traffic(ptr %ctx, i64 %sb, i64 1, i64 0)
  call void @judge_mark(ptr %ctx, i64 %sb, i64 1)
  br label %byte_done
byte_done:
  %i2 = add i32 %i, 1
  br label %partial
write:
  %q = call ptr @judge_checked(ptr %ctx, ptr %st, i32 %lane, i64 %d, i64 %size64, i32 %site, i1 true)
  %pt = getelementptr ptr, ptr %targets, i32 %lane
  store ptr %q, ptr %pt
  %outside = icmp eq ptr %q, null
  br i1 %outside, label %taken, label %announce
announce:
  call void @judge_watch_any(ptr %ctx, ptr %st, i32 %lane, i64 %d, i64 %size64, i32 %site, i32 {WRITES | PENDING})
  br label %taken
taken:
  %bit = shl i32 1, %lane
  %kept2 = or i32 %kept, %bit
  %kept3 = select i1 %outside, i32 %kept, i32 %kept2
  br label %next
next:
  %end = icmp eq i32 %rest, 0
  br i1 %end, label %queue, label %loop
queue:
  store i32 %kept3, ptr %record
  %n1 = add i32 %n, 1
  store i32 %n1, ptr %block
  br label %out
out:
  ret void
}}
"""


def _commit() -> str:
    return """
define void @judge_async_commit(ptr %ctx, ptr %st, i32 %mask) {
entry:
  %block = call ptr @judge_async_block(ptr %ctx, ptr %st)
  %pc = getelementptr i8, ptr %block, i64 64
  %groups = load <32 x i32>, ptr %pc, align 64
  %m = bitcast i32 %mask to <32 x i1>
  %one = zext <32 x i1> %m to <32 x i32>
  %more = add <32 x i32> %groups, %one
  store <32 x i32> %more, ptr %pc, align 64
  ret void
}
"""


def _wait() -> str:
    """Carry out what the lanes of a mask are due: all groups but the newest `keep`, or everything if it is -1."""
    return f"""
define void @judge_async_wait(ptr %ctx, ptr %st, i32 %keep, i32 %mask) {{
entry:
  %block = call ptr @judge_async_block(ptr %ctx, ptr %st)
  %count = load i32, ptr %block
  %pc = getelementptr i8, ptr %block, i64 64
  %groups = load <32 x i32>, ptr %pc, align 64
  %k0 = insertelement <32 x i32> poison, i32 %keep, i64 0
  %kv = shufflevector <32 x i32> %k0, <32 x i32> poison, <32 x i32> zeroinitializer
  %limits0 = sub <32 x i32> %groups, %kv
  %all = icmp eq i32 %keep, -1
  %limits = select i1 %all, <32 x i32> splat (i32 2147483647), <32 x i32> %limits0
  %rec0 = getelementptr i8, ptr %block, i64 {_HEADER_BYTES}
  %none = icmp eq i32 %count, 0
  br i1 %none, label %done, label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i2, %next ]
  %kept = phi i32 [ 0, %entry ], [ %kept2, %next ]
  %i64 = zext i32 %i to i64
  %off = mul i64 %i64, {_RECORD_BYTES}
  %record = getelementptr i8, ptr %rec0, i64 %off
  %lanes = load i32, ptr %record
  %pg = getelementptr i8, ptr %record, i64 64
  %own = load <32 x i32>, ptr %pg, align 64
  %old = icmp slt <32 x i32> %own, %limits
  %oldbits = bitcast <32 x i1> %old to i32
  %mine = and i32 %lanes, %mask
  %due = and i32 %mine, %oldbits
  call void @judge_async_deliver(ptr %ctx, ptr %st, ptr %record, i32 %due)
  %left = xor i32 %lanes, %due
  store i32 %left, ptr %record
  %empty = icmp eq i32 %left, 0
  br i1 %empty, label %next, label %keep_it
keep_it:
  %k64 = zext i32 %kept to i64
  %koff = mul i64 %k64, {_RECORD_BYTES}
  %to = getelementptr i8, ptr %rec0, i64 %koff
  %same = icmp eq i32 %kept, %i
  br i1 %same, label %kept_it, label %move
move:
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %record, i64 {_RECORD_BYTES}, i1 false)
  br label %kept_it
kept_it:
  %kept1 = add i32 %kept, 1
  br label %next
next:
  %kept2 = phi i32 [ %kept, %loop ], [ %kept1, %kept_it ]
  %i2 = add i32 %i, 1
  %more = icmp ult i32 %i2, %count
  br i1 %more, label %loop, label %store
store:
  store i32 %kept2, ptr %block
  br label %done
done:
  ret void
}}
"""
