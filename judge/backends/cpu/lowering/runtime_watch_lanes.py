"""Runtime functions about single lanes: thread-local memory without a value, member masks that do not fit."""

from judge.backends.cpu.addresses import OFFSET_MASK
from judge.backends.cpu.lowering.layout import QUIET_SITE, EventKind, State
from judge.backends.cpu.lowering.runtime_watch import WRITES


def local_memory() -> str:
    """Uninitialised reads of local memory, one lane: which bytes were written, four lane masks a word."""
    return f"""
define void @judge_watch_local(ptr %ctx, ptr %st, i32 %lane, i64 %addr, i64 %bytes, i32 %site, i32 %flags) noinline {{
entry:
  %pin = getelementptr i8, ptr %st, i64 {State.LOCAL_INIT}
  %init = load ptr, ptr %pin
  %off = icmp eq ptr %init, null
  br i1 %off, label %out, label %begin
begin:
  %start = and i64 %addr, {OFFSET_MASK}
  %end = add i64 %start, %bytes
  %bit = shl i32 1, %lane
  %iswrite0 = and i32 %flags, {WRITES}
  %iswrite = icmp ne i32 %iswrite0, 0
  br label %word
word:
  %at = phi i64 [ %start, %begin ], [ %stop, %next ]
  %index = lshr i64 %at, 2
  %above = add i64 %index, 1
  %border = shl i64 %above, 2
  %short = icmp ult i64 %end, %border
  %stop = select i1 %short, i64 %end, i64 %border
  br label %byte
byte:
  %b = phi i64 [ %at, %word ], [ %b2, %counted ]
  %any = phi i1 [ false, %word ], [ %any2, %counted ]
  %p = getelementptr i32, ptr %init, i64 %b
  %m = load i32, ptr %p
  br i1 %iswrite, label %set, label %test
set:
  %m2 = or i32 %m, %bit
  store i32 %m2, ptr %p
  br label %counted
test:
  br label %counted
counted:
  %has0 = and i32 %m, %bit
  %has = icmp ne i32 %has0, 0
  %any2 = or i1 %any, %has
  %b2 = add i64 %b, 1
  %more = icmp ult i64 %b2, %stop
  br i1 %more, label %byte, label %judge
judge:
  %quiet0 = and i32 %site, {QUIET_SITE}
  %quiet = icmp ne i32 %quiet0, 0
  %good0 = or i1 %any2, %iswrite
  %good = or i1 %good0, %quiet
  br i1 %good, label %next, label %bad
bad:
  %gap = sub i64 %at, %start
  %here = add i64 %addr, %gap
  %n = sub i64 %stop, %at
  %n32 = trunc i64 %n to i32
  call void @judge_fault(ptr %ctx, ptr %st, i32 {EventKind.UNINITIALIZED}, i32 %site, i32 %bit, i64 %here, i32 %n32,
                         i64 0, i64 0, i64 0)
  br label %next
next:
  %again = icmp ult i64 %stop, %end
  br i1 %again, label %word, label %out
out:
  ret void
}}
"""


def members() -> str:
    """A warp collective whose member mask is not simply "all, and all are here".

    Each lane must be named by its own mask, no named lane may live elsewhere, and a lane may only read
    (source) from one that takes part. together: 0 for a bar.warp.sync, where others may arrive later.
    """
    return f"""
define void @judge_members(ptr %ctx, ptr %st, i32 %active, <32 x i32> %named, <32 x i32> %source, i32 %site,
                           i32 %together) noinline {{
entry:
  %pl = getelementptr i8, ptr %st, i64 {State.LIVE32}
  %live = load i32, ptr %pl
  %own = shl <32 x i32> splat (i32 1), <{", ".join(f"i32 {i}" for i in range(32))}>
  %self = and <32 x i32> %named, %own
  %unnamed = icmp eq <32 x i32> %self, zeroinitializer
  %unnamedbits = bitcast <32 x i1> %unnamed to i32
  %outsiders = and i32 %unnamedbits, %active
  %lane = call i32 @llvm.cttz.i32(i32 %active, i1 false)
  %lane31 = and i32 %lane, 31
  %mask = extractelement <32 x i32> %named, i32 %lane31
  %mask64 = zext i32 %mask to i64
  %active64 = zext i32 %active to i64
  %any_out = icmp ne i32 %outsiders, 0
  br i1 %any_out, label %tell_self, label %others
tell_self:
  %olane = call i32 @llvm.cttz.i32(i32 %outsiders, i1 true)
  %omask = extractelement <32 x i32> %named, i32 %olane
  %omask64 = zext i32 %omask to i64
  call void @judge_fault(ptr %ctx, ptr %st, i32 {EventKind.MASK_SELF}, i32 %site, i32 %outsiders, i64 0, i32 0,
                         i64 %omask64, i64 %active64, i64 0)
  br label %out
others:
  %wanted = icmp ne i32 %together, 0
  br i1 %wanted, label %check, label %out
check:
  %away0 = xor i32 %active, -1
  %away = and i32 %away0, %live
  %av0 = insertelement <32 x i32> poison, i32 %away, i64 0
  %av = shufflevector <32 x i32> %av0, <32 x i32> poison, <32 x i32> zeroinitializer
  %missed = and <32 x i32> %named, %av
  %waits = icmp ne <32 x i32> %missed, zeroinitializer
  %waitbits = bitcast <32 x i1> %waits to i32
  %waiting = and i32 %waitbits, %active
  %cv0 = insertelement <32 x i32> poison, i32 %active, i64 0
  %cv = shufflevector <32 x i32> %cv0, <32 x i32> poison, <32 x i32> zeroinitializer
  %taking = and <32 x i32> %named, %cv
  %source31 = and <32 x i32> %source, splat (i32 31)
  %there = lshr <32 x i32> %taking, %source31
  %bit = and <32 x i32> %there, splat (i32 1)
  %nobody = icmp eq <32 x i32> %bit, zeroinitializer
  %nobodybits = bitcast <32 x i1> %nobody to i32
  %reading = and i32 %nobodybits, %active
  %bad = or i32 %waiting, %reading
  %isbad = icmp ne i32 %bad, 0
  br i1 %isbad, label %tell, label %out
tell:
  %blane = call i32 @llvm.cttz.i32(i32 %bad, i1 true)
  %bmask = extractelement <32 x i32> %named, i32 %blane
  %bmask64 = zext i32 %bmask to i64
  %bsource = extractelement <32 x i32> %source31, i32 %blane
  %bsource64 = zext i32 %bsource to i64
  call void @judge_fault(ptr %ctx, ptr %st, i32 {EventKind.MASK_ABSENT}, i32 %site, i32 %bad, i64 0, i32 0,
                         i64 %bmask64, i64 %active64, i64 %bsource64)
  br label %out
out:
  ret void
}}
"""
