"""Runtime functions that find races and uninitialised reads, one lane's access at a time.

Every 4-byte word of a watched slot has a cell for its last write and one for its last read: thread,
site, bytes, clock. (Of threads that share a word but no byte the last is remembered.) The clock ticks
at each barrier, bar.warp.sync, warp collective and fence, so that "was there anything between the two
accesses that orders them" is a comparison of numbers:

    same CTA, other warp     a CTA barrier since; or a fence of the other warp, in a kernel with atomics
    same warp, other lane    a CTA barrier, a bar.warp.sync or such a fence since
    other CTA                a fence wider than a CTA since, in a kernel with atomics, and an atomic or a flag's
                             write of that CTA after it; the fence of that warp, or of another one of its
                             CTA after a barrier (or a fence) that came since

A fence counts for whatever is done after it, by anyone: who takes an atomic as the sign to go on is
not followed. Two strong accesses (atomics, volatile, relaxed) never race; a thread's own strong access
does not hide its plain write before it from the others. Lanes that only a shuffle or vote lies between,
and writes that change nothing, are warnings. The vector forms are in runtime_watch_rows.py.
"""

from judge.backends.cpu.addresses import OFFSET_MASK, SLOT_SHIFT
from judge.backends.cpu.lowering.layout import (
    MAX_SITES,
    QUIET_SITE,
    UNSET_COPY,
    WARNING,
    Cell,
    Ctx,
    EventKind,
    State,
    Watch,
)

READS, WRITES, UNCHANGED, PENDING, COMPARES = 1, 2, 4, 8, 16
"""Flags of judge_watch. UNCHANGED: the write leaves the bytes as they were. PENDING: it may happen from now on.
COMPARES: a compare-and-swap."""

_MULTI = Cell.SAME_WARP | Cell.OTHER_WARPS


def watch() -> str:
    """Check and record one lane's access of any size, word by word. Called before the access."""
    return f"""
define void @judge_watch(ptr %ctx, ptr %st, i32 %lane, i64 %addr, i64 %bytes, i32 %site, i32 %flags) noinline {{
entry:
  %slot = lshr i64 %addr, {SLOT_SHIFT}
  %start = and i64 %addr, {OFFSET_MASK}
  %ptab = getelementptr i8, ptr %ctx, i64 {Ctx.WATCHES}
  %table = load ptr, ptr %ptab
  %toff = mul i64 %slot, {Watch.SIZE}
  %ws = getelementptr i8, ptr %table, i64 %toff
  %ppw = getelementptr i8, ptr %ws, i64 {Watch.WRITES}
  %writes = load ptr, ptr %ppw
  %unwatched = icmp eq ptr %writes, null
  br i1 %unwatched, label %out, label %begin
begin:
  %init = load ptr, ptr %ws
  %ppr = getelementptr i8, ptr %ws, i64 {Watch.READS}
  %reads = load ptr, ptr %ppr
  %ppwc = getelementptr i8, ptr %ws, i64 {Watch.WRITE_CTAS}
  %wctas = load ptr, ptr %ppwc
  %pprc = getelementptr i8, ptr %ws, i64 {Watch.READ_CTAS}
  %rctas = load ptr, ptr %pprc
  %global = icmp ne ptr %wctas, null
  %pw = getelementptr i8, ptr %st, i64 {State.WARP32}
  %w = load i32, ptr %pw
  %wbase = shl i32 %w, 5
  %me = or i32 %wbase, %lane
  %me64 = zext i32 %me to i64
  %bit = shl i32 1, %lane
  %strong0 = lshr i32 %site, 30
  %strong = and i32 %strong0, 1
  %strong64 = zext i32 %strong to i64
  %strongbit = mul i64 %strong64, {int(Cell.STRONG)}
  %place0 = and i32 %site, {MAX_SITES - 1}
  %place64 = zext i32 %place0 to i64
  %place = shl i64 %place64, {Cell.SITE_SHIFT}
  %pcl = getelementptr i8, ptr %ctx, i64 {Ctx.CLOCK}
  %clock = load i64, ptr %pcl
  %when = shl i64 %clock, {Cell.CLOCK_SHIFT}
  %b1 = or i64 %me64, %place
  %b2 = or i64 %b1, %when
  %b3 = or i64 %b2, %strongbit
  %cas0 = and i32 %flags, {COMPARES}
  %iscas = icmp ne i32 %cas0, 0
  %casbit = select i1 %iscas, i64 {int(Cell.COMPARED)}, i64 0
  %base = or i64 %b3, %casbit
  %casflag = select i1 %iscas, i32 2, i32 0
  %kindofme = or i32 %strong, %casflag
  %plim = getelementptr i8, ptr %ctx, i64 {Ctx.LIMIT}
  %limit0 = load i64, ptr %plim
  %limit = shl i64 %limit0, {Cell.CLOCK_SHIFT}
  %pcta = getelementptr i8, ptr %ctx, i64 {Ctx.CTA}
  %cta = load i32, ptr %pcta
  %sync32 = call i32 @judge_warp_limit(ptr %st)
  %ptk = getelementptr i8, ptr %ctx, i64 {Ctx.TALKS32}
  %tk = load i32, ptr %ptk
  %talks = icmp ne i32 %tk, 0
  %foreign = select i1 %talks, i64 0, i64 {int(Cell.OTHER_WARPS)}
  %sync64 = zext i32 %sync32 to i64
  %sync = shl i64 %sync64, {Cell.CLOCK_SHIFT}
  %isread0 = and i32 %flags, {READS}
  %isread = icmp ne i32 %isread0, 0
  %iswrite0 = and i32 %flags, {WRITES}
  %iswrite = icmp ne i32 %iswrite0, 0
  %same0 = and i32 %flags, {UNCHANGED}
  %unchanged = icmp ne i32 %same0, 0
  %pending0 = and i32 %flags, {PENDING}
  %pending = icmp ne i32 %pending0, 0
  %end = add i64 %start, %bytes
  br label %word
word:
  %at = phi i64 [ %start, %begin ], [ %stop, %next ]
  %index = lshr i64 %at, 2
  %above = add i64 %index, 1
  %border = shl i64 %above, 2
  %inside = icmp ult i64 %end, %border
  %stop = select i1 %inside, i64 %end, i64 %border
  %sub = and i64 %at, 3
  %n = sub i64 %stop, %at
  %ones = shl i64 1, %n
  %low = sub i64 %ones, 1
  %bytemask = shl i64 %low, %sub
  %cellbytes = shl i64 %bytemask, {Cell.BYTES_SHIFT}
  %gap = sub i64 %at, %start
  %here = add i64 %addr, %gap
  %n32 = trunc i64 %n to i32
  %pi = getelementptr i8, ptr %init, i64 %index
  %hasinit = icmp ne ptr %init, null
  br i1 %hasinit, label %initialized, label %written
initialized:
  %m8 = trunc i64 %bytemask to i8
  br i1 %isread, label %check_init, label %may_set
check_init:
  %i = load i8, ptr %pi
  %got = and i8 %i, %m8
  %none = icmp eq i8 %got, 0
  %quiet0 = and i32 %site, {QUIET_SITE}
  %loud = icmp eq i32 %quiet0, 0
  %missing = and i1 %none, %loud
  br i1 %missing, label %uninitialized, label %after_check
uninitialized:
  %copied0 = and i8 %i, {UNSET_COPY}
  %copied = icmp ne i8 %copied0, 0
  %pcopy = getelementptr i64, ptr %writes, i64 %index
  %copy0 = load i64, ptr %pcopy
  %copy = select i1 %copied, i64 %copy0, i64 0
  call void @judge_fault(ptr %ctx, ptr %st, i32 {EventKind.UNINITIALIZED}, i32 %site, i32 %bit, i64 %here, i32 %n32,
                         i64 %copy, i64 0, i64 0)
  br label %after_check
after_check:
  br i1 %iswrite, label %may_set, label %written
may_set:
  br i1 %pending, label %written, label %set_init
set_init:
  %whole = icmp eq i8 %m8, 15
  br i1 %whole, label %set_whole, label %set_part
set_whole:
  store i8 15, ptr %pi
  br label %written
set_part:
  %was = atomicrmw or ptr %pi, i8 %m8 monotonic
  br label %written
written:
  %pcw = getelementptr i64, ptr %writes, i64 %index
  %cw = load i64, ptr %pcw
  %cwb = and i64 %cw, %cellbytes
  %overlap = icmp ne i64 %cwb, 0
  %pwcta = getelementptr i32, ptr %wctas, i64 %index
  br i1 %global, label %wglobal, label %wshared
wglobal:
  %wcta0 = load i32, ptr %pwcta
  br label %wshared
wshared:
  %wcta = phi i32 [ -1, %written ], [ %wcta0, %wglobal ]
  br i1 %overlap, label %meets_write, label %meet_reads
meets_write:
  %role = select i1 %iswrite, i32 2, i32 1
  %x = call i32 @judge_conflict(ptr %ctx, ptr %st, i64 %cw, i32 %wcta, i32 %lane, i32 %strong, i32 %role)
  %clash = icmp ne i32 %x, 0
  br i1 %clash, label %tell_write, label %meet_reads
tell_write:
  %kind0 = select i1 %iswrite, i32 {EventKind.RACE_WRITE}, i32 {EventKind.RACE_READ}
  %letter = icmp eq i32 %x, 2
  %mild0 = and i1 %iswrite, %unchanged
  %cwstrong0 = and i64 %cw, {int(Cell.STRONG)}
  %cwplain = icmp eq i64 %cwstrong0, 0
  %mild1 = and i1 %mild0, %cwplain
  %mild = or i1 %letter, %mild1
  %mildkind = or i32 %kind0, {WARNING}
  %kind = select i1 %mild, i32 %mildkind, i32 %kind0
  %why = select i1 %letter, i64 2, i64 1
  %why0 = select i1 %mild, i64 %why, i64 0
  %wcta64 = sext i32 %wcta to i64
  call void @judge_fault(ptr %ctx, ptr %st, i32 %kind, i32 %site, i32 %bit, i64 %here, i32 %n32,
                         i64 %cw, i64 %wcta64, i64 %why0)
  br label %meet_reads
meet_reads:
  %pcr = getelementptr i64, ptr %reads, i64 %index
  %cr = load i64, ptr %pcr
  %prcta = getelementptr i32, ptr %rctas, i64 %index
  br i1 %global, label %rglobal, label %rshared
rglobal:
  %rcta0 = load i32, ptr %prcta
  br label %rshared
rshared:
  %rcta = phi i32 [ -1, %meet_reads ], [ %rcta0, %rglobal ]
  br i1 %iswrite, label %overwrites, label %record_read
overwrites:
  %crb = and i64 %cr, %cellbytes
  %roverlap = icmp ne i64 %crb, 0
  br i1 %roverlap, label %meets_read, label %record_write
meets_read:
  %y = call i32 @judge_conflict(ptr %ctx, ptr %st, i64 %cr, i32 %rcta, i32 %lane, i32 %kindofme, i32 0)
  %rclash = icmp ne i32 %y, 0
  br i1 %rclash, label %tell_read, label %record_write
tell_read:
  %rletter = icmp eq i32 %y, 2
  %rmild = or i1 %rletter, %unchanged
  %rkind = select i1 %rmild, i32 {EventKind.RACE_OVERWRITE | WARNING}, i32 {EventKind.RACE_OVERWRITE}
  %rwhy = select i1 %rletter, i64 2, i64 1
  %rwhy0 = select i1 %rmild, i64 %rwhy, i64 0
  %rcta64 = sext i32 %rcta to i64
  call void @judge_fault(ptr %ctx, ptr %st, i32 %rkind, i32 %site, i32 %bit, i64 %here, i32 %n32,
                         i64 %cr, i64 %rcta64, i64 %rwhy0)
  br label %record_write
record_write:
  %recentw = icmp uge i64 %cw, %limit
  %wthread = and i64 %cw, {Cell.THREAD_MASK}
  %wmine = icmp eq i64 %wthread, %me64
  %kept0 = and i1 %recentw, %wmine
  %oldbytes0 = and i64 %cw, {15 << Cell.BYTES_SHIFT}
  %oldbytes = select i1 %kept0, i64 %oldbytes0, i64 0
  %notmine = xor i1 %wmine, true
  %shared_value0 = and i1 %unchanged, %notmine
  %shared_value = and i1 %shared_value0, %recentw
  %wwarp = lshr i64 %wthread, 5
  %w64 = zext i32 %w to i64
  %matewrite = icmp eq i64 %wwarp, %w64
  %mark0 = select i1 %matewrite, i64 {int(Cell.SAME_WARP)}, i64 {int(Cell.OTHER_WARPS)}
  %oldmarks = and i64 %cw, {_MULTI}
  %mark1 = or i64 %mark0, %oldmarks
  %marks = select i1 %shared_value, i64 %mark1, i64 0
  %nw0 = or i64 %base, %cellbytes
  %nw1 = or i64 %nw0, %oldbytes
  %nw2 = or i64 %nw1, %marks
  %isstrong = icmp ne i32 %strong, 0
  %oldstrong0 = and i64 %cw, {int(Cell.STRONG)}
  %oldplain = icmp eq i64 %oldstrong0, 0
  %open = icmp uge i64 %cw, %sync
  %covered0 = and i64 %oldbytes0, %cellbytes
  %covered = icmp eq i64 %covered0, %cellbytes
  %h1 = and i1 %isstrong, %oldplain
  %h2 = and i1 %kept0, %open
  %h3 = and i1 %h1, %covered
  %hides = and i1 %h2, %h3
  %nw = select i1 %hides, i64 %cw, i64 %nw2
  store i64 %nw, ptr %pcw
  br i1 %global, label %record_wcta, label %next
record_wcta:
  store i32 %cta, ptr %pwcta
  br label %next
record_read:
  %recentr0 = icmp uge i64 %cr, %limit
  %nearr0 = icmp eq i32 %rcta, %cta
  %shared = xor i1 %global, true
  %nearr = or i1 %nearr0, %shared
  %recentr = and i1 %recentr0, %nearr
  %rthread = and i64 %cr, {Cell.THREAD_MASK}
  %rmine = icmp eq i64 %rthread, %me64
  %rwarp = lshr i64 %rthread, 5
  %rw64 = zext i32 %w to i64
  %mate = icmp eq i64 %rwarp, %rw64
  %after = icmp uge i64 %cr, %sync
  %othermark = and i64 %cr, {int(Cell.OTHER_WARPS)}
  %samemark0 = and i64 %cr, {int(Cell.SAME_WARP)}
  %samemark = select i1 %after, i64 %samemark0, i64 0
  %addmate = select i1 %rmine, i64 0, i64 {int(Cell.SAME_WARP)}
  %addmate2 = select i1 %after, i64 %addmate, i64 0
  %inmate = or i64 %samemark, %addmate2
  %gained = select i1 %mate, i64 %inmate, i64 %foreign
  %rbytes = and i64 %cr, {15 << Cell.BYTES_SHIFT}
  %samebytes = icmp eq i64 %rbytes, %cellbytes
  %keepmarks = and i1 %recentr, %samebytes
  %r1 = or i64 %othermark, %gained
  %marksr = select i1 %keepmarks, i64 %r1, i64 0
  %ownr = and i1 %recentr, %rmine
  %bytesr = select i1 %ownr, i64 %rbytes, i64 0
  %carried = or i64 %marksr, %bytesr
  %plain0 = and i64 %cr, {int(Cell.STRONG)}
  %plain1 = icmp eq i64 %plain0, 0
  %plain = and i1 %plain1, %recentr
  %weak = and i64 %base, {~int(Cell.STRONG)}
  %nbase = select i1 %plain, i64 %weak, i64 %base
  %nr0 = or i64 %nbase, %cellbytes
  %nr = or i64 %nr0, %carried
  store i64 %nr, ptr %pcr
  br i1 %global, label %record_rcta, label %next
record_rcta:
  store i32 %cta, ptr %prcta
  br label %next
next:
  %more = icmp ult i64 %stop, %end
  br i1 %more, label %word, label %out
out:
  ret void
}}
"""
