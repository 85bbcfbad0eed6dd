"""Runtime counters of access patterns: 32-byte sectors of global requests, wavefronts of shared ones.

A row has ROW_WORDS counters of 64 bits. A slot's row: requests, parts and fewest parts of reads, then of
writes. An instruction's row: the same of its global requests, then of its shared ones, then the slot that
its last global request went to. A part is a sector
in global memory, a wavefront in shared memory; the fewest is what the same bytes could be had with.
"""

from judge.backends.cpu.addresses import MAX_SLOTS, MODULE_SLOT, SHARED_SLOT, SLOT_SHIFT
from judge.backends.cpu.lowering.layout import Ctx

ROW_WORDS = 8
SLOT_WORD = 6
SECTOR_BYTES = 32
_HALF = 24
"""Bytes from the counters of reads to those of writes, and from global to shared ones."""


def patterns() -> str:
    return f"{_add_row()}{_global()}{_shared()}{_entry()}"


def _entry() -> str:
    """judge_pattern: one access of the active lanes, which may lie in both spaces (generic addresses)."""
    return f"""
define void @judge_pattern(ptr %ctx, <32 x i64> %addr, i32 %mask, i64 %width, i32 %site, i32 %what) {{
entry:
  %slots = lshr <32 x i64> %addr, splat (i64 {SLOT_SHIFT})
  %is_shared = icmp eq <32 x i64> %slots, splat (i64 {SHARED_SLOT})
  %low = icmp uge <32 x i64> %slots, splat (i64 {MODULE_SLOT})
  %high = icmp ult <32 x i64> %slots, splat (i64 {MAX_SLOTS})
  %is_global = and <32 x i1> %low, %high
  %sbits = bitcast <32 x i1> %is_shared to i32
  %gbits = bitcast <32 x i1> %is_global to i32
  %smask = and i32 %sbits, %mask
  %gmask = and i32 %gbits, %mask
  %some_global = icmp ne i32 %gmask, 0
  br i1 %some_global, label %global, label %next
global:
  call void @judge_pattern_global(ptr %ctx, <32 x i64> %addr, i32 %gmask, i64 %width, i32 %site, i32 %what)
  br label %next
next:
  %some_shared = icmp ne i32 %smask, 0
  %plain = icmp ne i32 %what, 2
  %go = and i1 %some_shared, %plain
  br i1 %go, label %shared, label %out
shared:
  call void @judge_pattern_shared(ptr %ctx, <32 x i64> %addr, i32 %smask, i64 %width, i32 %site, i32 %what)
  br label %out
out:
  ret void
}}
"""


def _global() -> str:
    """Distinct sectors of a request, and the fewest that hold as many bytes. Lanes at one address count once."""
    return f"""
define void @judge_pattern_global(ptr %ctx, <32 x i64> %addr, i32 %mask, i64 %width, i32 %site, i32 %what) {{
entry:
  %addrs = alloca [32 x i64], align 64
  store <32 x i64> %addr, ptr %addrs, align 64
  %sectors = lshr <32 x i64> %addr, splat (i64 {SECTOR_BYTES.bit_length() - 1})
  %pp = getelementptr i8, ptr %ctx, i64 {Ctx.PATTERNS}
  %rows = load ptr, ptr %pp
  %writes = icmp ne i32 %what, 0
  %half = select i1 %writes, i64 {_HALF}, i64 0
  %one = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
  %home = extractelement <32 x i64> %addr, i32 %one
  br label %loop
loop:
  %left = phi i32 [ %mask, %entry ], [ %rest, %next ]
  %places = phi i64 [ 0, %entry ], [ %places2, %next ]
  %touched = phi i64 [ 0, %entry ], [ %touched2, %next ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %pa = getelementptr i64, ptr %addrs, i32 %lane
  %a = load i64, ptr %pa
  %a0 = insertelement <32 x i64> poison, i64 %a, i64 0
  %av = shufflevector <32 x i64> %a0, <32 x i64> poison, <32 x i32> zeroinitializer
  %same = icmp eq <32 x i64> %addr, %av
  %samebits = bitcast <32 x i1> %same to i32
  %others = xor i32 %samebits, -1
  %rest = and i32 %left, %others
  %places2 = add i64 %places, 1
  %sv = lshr <32 x i64> %av, splat (i64 {SECTOR_BYTES.bit_length() - 1})
  %near = icmp eq <32 x i64> %sectors, %sv
  %nearbits = bitcast <32 x i1> %near to i32
  %company = and i32 %nearbits, %mask
  %leader = call i32 @llvm.cttz.i32(i32 %company, i1 true)
  %new = icmp eq i32 %leader, %lane
  br i1 %new, label %sector, label %next
sector:
  %slot = lshr i64 %a, {SLOT_SHIFT}
  %at = mul i64 %slot, {8 * ROW_WORDS}
  %row = getelementptr i8, ptr %rows, i64 %at
  %side = getelementptr i8, ptr %row, i64 %half
  %pc = getelementptr i8, ptr %side, i64 8
  %c = load i64, ptr %pc
  %c2 = add i64 %c, 1
  store i64 %c2, ptr %pc
  br label %next
next:
  %touched1 = phi i64 [ 0, %loop ], [ 1, %sector ]
  %touched2 = add i64 %touched, %touched1
  %end = icmp eq i32 %rest, 0
  br i1 %end, label %done, label %loop
done:
  %bytes = mul i64 %places2, %width
  %up = add i64 %bytes, {SECTOR_BYTES - 1}
  %fewest = lshr i64 %up, {SECTOR_BYTES.bit_length() - 1}
  %home_slot = lshr i64 %home, {SLOT_SHIFT}
  call void @judge_pattern_row(ptr %ctx, i64 %home_slot, i64 %half, i64 0, i64 %fewest)
  %place = zext i32 %site to i64
  %number = add i64 %place, {MAX_SLOTS}
  call void @judge_pattern_row(ptr %ctx, i64 %number, i64 0, i64 %touched2, i64 %fewest)
  %own = mul i64 %number, {8 * ROW_WORDS}
  %own_row = getelementptr i8, ptr %rows, i64 %own
  %last = getelementptr i8, ptr %own_row, i64 {8 * SLOT_WORD}
  store i64 %home_slot, ptr %last
  ret void
}}
"""


def _shared() -> str:
    """Wavefronts of a shared request: 32 banks of 4 bytes.

    8-byte accesses go a half warp at a time, 16-byte ones a quarter; in each share a bank serves one word a
    wavefront, and lanes at one word are served together.
    """
    return f"""
declare i32 @llvm.vector.reduce.umax.v32i32(<32 x i32>)
define void @judge_pattern_shared(ptr %ctx, <32 x i64> %addr, i32 %mask, i64 %width, i32 %site, i32 %what) {{
entry:
  %words = alloca [32 x i64], align 64
  %counts = alloca [32 x i32], align 64
  %wordv = lshr <32 x i64> %addr, splat (i64 2)
  store <32 x i64> %wordv, ptr %words, align 64
  %narrow = icmp ult i64 %width, 4
  %quads = lshr i64 %width, 2
  %span = select i1 %narrow, i64 1, i64 %quads
  %span32 = trunc i64 %span to i32
  %lanes = udiv i32 32, %span32
  %gap = sub i32 32, %lanes
  %group0 = lshr i32 -1, %gap
  br label %share
share:
  %number = phi i32 [ 0, %entry ], [ %number2, %shared ]
  %waves = phi i64 [ 0, %entry ], [ %waves2, %shared ]
  %fewest = phi i64 [ 0, %entry ], [ %fewest2, %shared ]
  %shift = mul i32 %number, %lanes
  %group = shl i32 %group0, %shift
  %here = and i32 %mask, %group
  %none = icmp eq i32 %here, 0
  store <32 x i32> zeroinitializer, ptr %counts, align 64
  br i1 %none, label %shared, label %loop
loop:
  %left = phi i32 [ %here, %share ], [ %rest, %counted ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %pw = getelementptr i64, ptr %words, i32 %lane
  %w = load i64, ptr %pw
  %w0 = insertelement <32 x i64> poison, i64 %w, i64 0
  %wv = shufflevector <32 x i64> %w0, <32 x i64> poison, <32 x i32> zeroinitializer
  %same = icmp eq <32 x i64> %wordv, %wv
  %samebits = bitcast <32 x i1> %same to i32
  %others = xor i32 %samebits, -1
  %rest = and i32 %left, %others
  br label %word
word:
  %k = phi i64 [ 0, %loop ], [ %k2, %word ]
  %wk = add i64 %w, %k
  %bank = and i64 %wk, 31
  %pc = getelementptr i32, ptr %counts, i64 %bank
  %c = load i32, ptr %pc
  %c2 = add i32 %c, 1
  store i32 %c2, ptr %pc
  %k2 = add i64 %k, 1
  %more = icmp ult i64 %k2, %span
  br i1 %more, label %word, label %counted
counted:
  %end = icmp eq i32 %rest, 0
  br i1 %end, label %tally, label %loop
tally:
  br label %shared
shared:
  %used = phi i64 [ 0, %share ], [ 1, %tally ]
  %all = load <32 x i32>, ptr %counts, align 64
  %most = call i32 @llvm.vector.reduce.umax.v32i32(<32 x i32> %all)
  %most64 = zext i32 %most to i64
  %waves2 = add i64 %waves, %most64
  %fewest2 = add i64 %fewest, %used
  %number2 = add i32 %number, 1
  %again = icmp ult i32 %number2, %span32
  br i1 %again, label %share, label %done
done:
  %writes = icmp ne i32 %what, 0
  %half = select i1 %writes, i64 {_HALF}, i64 0
  call void @judge_pattern_row(ptr %ctx, i64 {SHARED_SLOT}, i64 %half, i64 %waves2, i64 %fewest2)
  %place = zext i32 %site to i64
  %at = add i64 %place, {MAX_SLOTS}
  call void @judge_pattern_row(ptr %ctx, i64 %at, i64 {_HALF}, i64 %waves2, i64 %fewest2)
  ret void
}}
"""


def _add_row() -> str:
    """Add one request with its parts and fewest parts to a row."""
    return f"""
define void @judge_pattern_row(ptr %ctx, i64 %number, i64 %half, i64 %parts, i64 %fewest) {{
  %pp = getelementptr i8, ptr %ctx, i64 {Ctx.PATTERNS}
  %rows = load ptr, ptr %pp
  %at = mul i64 %number, {8 * ROW_WORDS}
  %row = getelementptr i8, ptr %rows, i64 %at
  %side = getelementptr i8, ptr %row, i64 %half
  %r = load i64, ptr %side
  %r2 = add i64 %r, 1
  store i64 %r2, ptr %side
  %pq = getelementptr i8, ptr %side, i64 8
  %q = load i64, ptr %pq
  %q2 = add i64 %q, %parts
  store i64 %q2, ptr %pq
  %pf = getelementptr i8, ptr %side, i64 16
  %f = load i64, ptr %pf
  %f2 = add i64 %f, %fewest
  store i64 %f2, ptr %pf
  ret void
}}
"""
