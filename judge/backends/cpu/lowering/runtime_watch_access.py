"""What loads, stores and atomics call to have an access watched: picks the cheapest form that fits it.

A slot that is not watched (an input, constants, parameters) costs one look at its pointers. Thread-local
memory has no races; its uninitialised reads are found by judge_watch_local.
"""

from judge.backends.cpu.addresses import LOCAL_SLOT, OFFSET_MASK, SLOT_SHIFT
from judge.backends.cpu.lowering.layout import MAX_SITES, Cell, Ctx, State, Watch
from judge.backends.cpu.lowering.runtime_watch import READS, UNCHANGED, WRITES


def watched_access() -> str:
    return "\n".join([_same_value(), _any(), _lanes(), _load(), _store(), _uniform_read(), _uniform_write()])


def watch_pointer(slot: str) -> str:
    """%ws and %watched of a slot number."""
    return f"""  %ptab = getelementptr i8, ptr %ctx, i64 {Ctx.WATCHES}
  %table = load ptr, ptr %ptab
  %toff = mul i64 {slot}, {Watch.SIZE}
  %ws = getelementptr i8, ptr %table, i64 %toff
  %pwrites = getelementptr i8, ptr %ws, i64 {Watch.WRITES}
  %writes = load ptr, ptr %pwrites
  %watched = icmp ne ptr %writes, null"""


def _same_value() -> str:
    """Whether a context last wrote this value to a word of global memory, and note that it does now.

    Less than a word is noted as a word of its own: whoever wrote those bytes last noted the same way.
    """
    return f"""
define i1 @judge_same_value(ptr %ctx, i64 %addr, i64 %bits, i64 %bytes) {{
entry:
  %slot = lshr i64 %addr, {SLOT_SHIFT}
{watch_pointer("%slot")}
  br i1 %watched, label %go, label %out
go:
  %ppv = getelementptr i8, ptr %ws, i64 {Watch.VALUES}
  %values = load ptr, ptr %ppv
  %kept = icmp ne ptr %values, null
  br i1 %kept, label %note, label %out
note:
  %off = and i64 %addr, {OFFSET_MASK}
  %index = lshr i64 %off, 2
  %p = getelementptr i32, ptr %values, i64 %index
  %old = load i32, ptr %p
  %low = trunc i64 %bits to i32
  store i32 %low, ptr %p
  %same = icmp eq i32 %old, %low
  %wide = icmp ugt i64 %bytes, 4
  br i1 %wide, label %second, label %single
second:
  %p2 = getelementptr i32, ptr %p, i64 1
  %old2 = load i32, ptr %p2
  %shifted = lshr i64 %bits, 32
  %high = trunc i64 %shifted to i32
  store i32 %high, ptr %p2
  %same2 = icmp eq i32 %old2, %high
  %both = and i1 %same, %same2
  ret i1 %both
single:
  ret i1 %same
out:
  ret i1 true
}}
"""


def _any() -> str:
    """One lane's access whose address was found good, in whatever slot."""
    return f"""
define void @judge_watch_any(ptr %ctx, ptr %st, i32 %lane, i64 %addr, i64 %bytes, i32 %site, i32 %flags) {{
entry:
  %slot = lshr i64 %addr, {SLOT_SHIFT}
  %local = icmp eq i64 %slot, {LOCAL_SLOT}
  br i1 %local, label %own, label %shared
own:
  call void @judge_watch_local(ptr %ctx, ptr %st, i32 %lane, i64 %addr, i64 %bytes, i32 %site, i32 %flags)
  ret void
shared:
{watch_pointer("%slot")}
  br i1 %watched, label %go, label %out
go:
  call void @judge_watch(ptr %ctx, ptr %st, i32 %lane, i64 %addr, i64 %bytes, i32 %site, i32 %flags)
  br label %out
out:
  ret void
}}
"""


def _lanes() -> str:
    """Lanes of a mask, one after another."""
    return """
define void @judge_watch_lanes(ptr %ctx, ptr %st, <32 x i64> %addr, i32 %mask, i64 %bytes, i32 %site, i32 %flags) {
entry:
  %addrs = alloca [32 x i64], align 64
  store <32 x i64> %addr, ptr %addrs, align 64
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %out, label %loop
loop:
  %left = phi i32 [ %mask, %entry ], [ %rest, %loop ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %pa = getelementptr i64, ptr %addrs, i32 %lane
  %a = load i64, ptr %pa
  call void @judge_watch_any(ptr %ctx, ptr %st, i32 %lane, i64 %a, i64 %bytes, i32 %site, i32 %flags)
  %end = icmp eq i32 %rest, 0
  br i1 %end, label %out, label %loop
out:
  ret void
}
"""


def _load() -> str:
    """Lanes that read in one slot, `words` words each (0: less than one), in a row when `row`."""
    return f"""
define void @judge_watch_load(ptr %ctx, ptr %st, i64 %slot, <32 x i64> %addr, i32 %mask, i32 %site, i64 %words,
                              i64 %bytes, i1 %row) {{
entry:
{watch_pointer("%slot")}
  br i1 %watched, label %go, label %out
go:
  %offs = and <32 x i64> %addr, splat (i64 {OFFSET_MASK})
  %firsts = lshr <32 x i64> %offs, splat (i64 2)
  %part = icmp eq i64 %words, 0
  br i1 %part, label %one_by_one, label %whole
one_by_one:
  call void @judge_watch_lanes(ptr %ctx, ptr %st, <32 x i64> %addr, i32 %mask, i64 %bytes, i32 %site, i32 {READS})
  ret void
whole:
  %single = icmp eq i64 %words, 1
  %in_row = and i1 %single, %row
  br i1 %in_row, label %row_form, label %word
row_form:
  %lane = call i32 @llvm.cttz.i32(i32 %mask, i1 false)
  %index = extractelement <32 x i64> %firsts, i32 %lane
  %lane64 = zext i32 %lane to i64
  %word0 = sub i64 %index, %lane64
  %doubt1 = call i32 @judge_watch_row_read(ptr %ctx, ptr %st, ptr %ws, i64 %word0, i32 %mask, i32 %site)
  %bad1 = icmp ne i32 %doubt1, 0
  br i1 %bad1, label %tell_row, label %out
tell_row:
  call void @judge_watch_lanes(ptr %ctx, ptr %st, <32 x i64> %addr, i32 %doubt1, i64 4, i32 %site, i32 {READS})
  ret void
word:
  %k = phi i64 [ 0, %whole ], [ %k2, %told ]
  %k0 = insertelement <32 x i64> poison, i64 %k, i64 0
  %kv = shufflevector <32 x i64> %k0, <32 x i64> poison, <32 x i32> zeroinitializer
  %at = add <32 x i64> %firsts, %kv
  %doubt = call i32 @judge_watch_words_read(ptr %ctx, ptr %st, ptr %ws, <32 x i64> %at, i32 %mask, i32 %site)
  %bad = icmp ne i32 %doubt, 0
  br i1 %bad, label %tell, label %told
tell:
  %kb = shl <32 x i64> %kv, splat (i64 2)
  %places = add <32 x i64> %addr, %kb
  call void @judge_watch_lanes(ptr %ctx, ptr %st, <32 x i64> %places, i32 %doubt, i64 4, i32 %site, i32 {READS})
  br label %told
told:
  %k2 = add i64 %k, 1
  %more = icmp ult i64 %k2, %words
  br i1 %more, label %word, label %out
out:
  ret void
}}
"""


def _store() -> str:
    """Lanes that write whole words in one slot, before the store. values: 32 lanes a word.

    What the lanes already found there decides whether a second writer changes anything; in global memory also what
    this context last wrote there, since blocks of another may have written in between.
    """
    return f"""
define void @judge_watch_store(ptr %ctx, ptr %st, i64 %slot, <32 x i64> %addr, i32 %mask, i32 %site, i64 %words,
                               ptr %values, i1 %row) {{
entry:
{watch_pointer("%slot")}
  br i1 %watched, label %go, label %out
go:
  %offs = and <32 x i64> %addr, splat (i64 {OFFSET_MASK})
  %firsts = lshr <32 x i64> %offs, splat (i64 2)
  br label %word
word:
  %k = phi i64 [ 0, %go ], [ %k2, %told ]
  %k0 = insertelement <32 x i64> poison, i64 %k, i64 0
  %kv = shufflevector <32 x i64> %k0, <32 x i64> poison, <32 x i32> zeroinitializer
  %at = add <32 x i64> %firsts, %kv
  %vo = mul i64 %k, 128
  %pv = getelementptr i8, ptr %values, i64 %vo
  %value = load <32 x i32>, ptr %pv, align 4
  %single = icmp eq i64 %words, 1
  %in_row = and i1 %single, %row
  br i1 %in_row, label %row_form, label %words_form
row_form:
  %lane = call i32 @llvm.cttz.i32(i32 %mask, i1 false)
  %index = extractelement <32 x i64> %firsts, i32 %lane
  %lane64 = zext i32 %lane to i64
  %word0 = sub i64 %index, %lane64
  %d1 = call i32 @judge_watch_row_write(ptr %ctx, ptr %st, ptr %ws, i64 %word0, i32 %mask, i32 %site, <32 x i32> %value)
  br label %decided
words_form:
  %d2 = call i32 @judge_watch_words_write(ptr %ctx, ptr %st, ptr %ws, <32 x i64> %at, i32 %mask, i32 %site,
                                          <32 x i32> %value)
  br label %decided
decided:
  %doubt = phi i32 [ %d1, %row_form ], [ %d2, %words_form ]
  %bad = icmp ne i32 %doubt, 0
  br i1 %bad, label %compare, label %told
compare:
  %pb = getelementptr i8, ptr %ctx, i64 {Ctx.SLOT_BASES}
  %bases = load ptr, ptr %pb
  %pbase = getelementptr ptr, ptr %bases, i64 %slot
  %base = load ptr, ptr %pbase
  %memory = getelementptr i32, ptr %base, <32 x i64> %at
  %dm = bitcast i32 %doubt to <32 x i1>
  %kb = shl <32 x i64> %kv, splat (i64 2)
  %places = add <32 x i64> %addr, %kb
  %sure = xor i32 %doubt, %mask
  %sm = bitcast i32 %sure to <32 x i1>
  call void @llvm.masked.scatter.v32i32.v32p0(<32 x i32> %value, <32 x ptr> %memory, i32 4, <32 x i1> %sm)
  %then = call <32 x i32> @llvm.masked.gather.v32i32.v32p0(<32 x ptr> %memory, i32 4, <32 x i1> %dm, <32 x i32> %value)
  %there = icmp eq <32 x i32> %then, %value
  %ppv = getelementptr i8, ptr %ws, i64 {Watch.VALUES}
  %last = load ptr, ptr %ppv
  %kept = icmp ne ptr %last, null
  br i1 %kept, label %by_value, label %compared
by_value:
  %plast = getelementptr i32, ptr %last, <32 x i64> %at
  %before = call <32 x i32> @llvm.masked.gather.v32i32.v32p0(<32 x ptr> %plast, i32 4, <32 x i1> %dm, <32 x i32> %value)
  %repeats = icmp eq <32 x i32> %before, %value
  %both = and <32 x i1> %there, %repeats
  call void @llvm.masked.scatter.v32i32.v32p0(<32 x i32> %value, <32 x ptr> %plast, i32 4, <32 x i1> %dm)
  br label %compared
compared:
  %equal = phi <32 x i1> [ %there, %compare ], [ %both, %by_value ]
  %equalbits = bitcast <32 x i1> %equal to i32
  %same = and i32 %equalbits, %doubt
  %changed0 = xor i32 %equalbits, -1
  %changed = and i32 %changed0, %doubt
  call void @judge_watch_lanes(ptr %ctx, ptr %st, <32 x i64> %places, i32 %same, i64 4, i32 %site,
                               i32 {WRITES | UNCHANGED})
  call void @judge_watch_lanes(ptr %ctx, ptr %st, <32 x i64> %places, i32 %changed, i64 4, i32 %site, i32 {WRITES})
  br label %told
told:
  %k2 = add i64 %k, 1
  %more = icmp ult i64 %k2, %words
  br i1 %more, label %word, label %out
out:
  ret void
}}
"""


def _uniform_read() -> str:
    """All lanes of a mask read one place: the last of them stands for all."""
    return f"""
define void @judge_watch_uniform_read(ptr %ctx, ptr %st, i64 %addr, i64 %bytes, i32 %mask, i32 %site) {{
entry:
  %slot = lshr i64 %addr, {SLOT_SHIFT}
{watch_pointer("%slot")}
  br i1 %watched, label %go, label %out
go:
  %zeros = call i32 @llvm.ctlz.i32(i32 %mask, i1 false)
  %lane = sub i32 31, %zeros
  %lanes = call i32 @llvm.ctpop.i32(i32 %mask)
  %alone = icmp ule i32 %lanes, 1
  %off = and i64 %addr, {OFFSET_MASK}
  %index = lshr i64 %off, 2
  %plim = getelementptr i8, ptr %ctx, i64 {Ctx.LIMIT}
  %lim = load i64, ptr %plim
  %limit = shl i64 %lim, {Cell.CLOCK_SHIFT}
  %pcw = getelementptr i64, ptr %writes, i64 %index
  %cw = load i64, ptr %pcw
  %recent = icmp uge i64 %cw, %limit
  %ppwc = getelementptr i8, ptr %ws, i64 {Watch.WRITE_CTAS}
  %wctas = load ptr, ptr %ppwc
  %global = icmp ne ptr %wctas, null
  %init = load ptr, ptr %ws
  %noinit = icmp eq ptr %init, null
  %wide = icmp ne i64 %bytes, 4
  %q1 = or i1 %recent, %global
  %q2 = or i1 %q1, %noinit
  %q3 = or i1 %q2, %wide
  %q4 = or i1 %q3, %alone
  br i1 %q4, label %each, label %check
check:
  %pi = getelementptr i8, ptr %init, i64 %index
  %i = load i8, ptr %pi
  %nibble = and i8 %i, 15
  %set = icmp ne i8 %nibble, 0
  br i1 %set, label %record, label %each
each:
  %a0 = insertelement <32 x i64> poison, i64 %addr, i64 0
  %av = shufflevector <32 x i64> %a0, <32 x i64> poison, <32 x i32> zeroinitializer
  call void @judge_watch_lanes(ptr %ctx, ptr %st, <32 x i64> %av, i32 %mask, i64 %bytes, i32 %site, i32 {READS})
  ret void
record:
  %ppr = getelementptr i8, ptr %ws, i64 {Watch.READS}
  %reads = load ptr, ptr %ppr
  %pcr = getelementptr i64, ptr %reads, i64 %index
  %cr = load i64, ptr %pcr
  %pw = getelementptr i8, ptr %st, i64 {State.WARP32}
  %w = load i32, ptr %pw
  %wb = shl i32 %w, 5
  %me32 = or i32 %wb, %lane
  %me = zext i32 %me32 to i64
  %site64 = zext i32 %site to i64
  %place0 = and i64 %site64, {MAX_SITES - 1}
  %place = shl i64 %place0, {Cell.SITE_SHIFT}
  %strong0 = lshr i64 %site64, 30
  %strong1 = and i64 %strong0, 1
  %strong = mul i64 %strong1, {int(Cell.STRONG)}
  %pcl = getelementptr i8, ptr %ctx, i64 {Ctx.CLOCK}
  %clock = load i64, ptr %pcl
  %when = shl i64 %clock, {Cell.CLOCK_SHIFT}
  %b1 = or i64 %me, %place
  %b2 = or i64 %b1, %when
  %b3 = or i64 %b2, %strong
  %base = or i64 %b3, {(15 << Cell.BYTES_SHIFT) | Cell.SAME_WARP}
  %rrecent = icmp uge i64 %cr, %limit
  br i1 %rrecent, label %merge, label %keep
merge:
  %rbytes = and i64 %cr, {15 << Cell.BYTES_SHIFT}
  %rwhole = icmp eq i64 %rbytes, {15 << Cell.BYTES_SHIFT}
  %other0 = and i64 %cr, {int(Cell.OTHER_WARPS)}
  %other = select i1 %rwhole, i64 %other0, i64 0
  %thread = and i64 %cr, {Cell.THREAD_MASK}
  %rwarp = lshr i64 %thread, 5
  %w64 = zext i32 %w to i64
  %mate = icmp eq i64 %rwarp, %w64
  %ptk = getelementptr i8, ptr %ctx, i64 {Ctx.TALKS32}
  %tk = load i32, ptr %ptk
  %talks = icmp ne i32 %tk, 0
  %quiet = or i1 %mate, %talks
  %gain = select i1 %quiet, i64 0, i64 {int(Cell.OTHER_WARPS)}
  %m1 = or i64 %base, %other
  %m2 = or i64 %m1, %gain
  %oldstrong0 = and i64 %cr, {int(Cell.STRONG)}
  %oldplain = icmp eq i64 %oldstrong0, 0
  %weak = and i64 %m2, {~int(Cell.STRONG)}
  %m3 = select i1 %oldplain, i64 %weak, i64 %m2
  br label %keep
keep:
  %new = phi i64 [ %base, %record ], [ %m3, %merge ]
  store i64 %new, ptr %pcr
  br label %out
out:
  ret void
}}
"""


def _uniform_write() -> str:
    """All lanes of a mask write one value to one place: two of them are told, the second changes nothing."""
    return f"""
define void @judge_watch_uniform_write(ptr %ctx, ptr %st, i64 %addr, i64 %bytes, i32 %mask, i32 %site, i1 %unchanged) {{
entry:
  %slot = lshr i64 %addr, {SLOT_SHIFT}
{watch_pointer("%slot")}
  br i1 %watched, label %go, label %out
go:
  %lane = call i32 @llvm.cttz.i32(i32 %mask, i1 false)
  %uz = zext i1 %unchanged to i32
  %flag = mul i32 %uz, {UNCHANGED}
  %flags = or i32 %flag, {WRITES}
  call void @judge_watch(ptr %ctx, ptr %st, i32 %lane, i64 %addr, i64 %bytes, i32 %site, i32 %flags)
  %less = sub i32 %mask, 1
  %rest = and i32 %mask, %less
  %alone = icmp eq i32 %rest, 0
  br i1 %alone, label %out, label %second
second:
  %lane2 = call i32 @llvm.cttz.i32(i32 %rest, i1 true)
  call void @judge_watch(ptr %ctx, ptr %st, i32 %lane2, i64 %addr, i64 %bytes, i32 %site, i32 {WRITES | UNCHANGED})
  br label %out
out:
  ret void
}}
"""
