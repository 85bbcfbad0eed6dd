"""Runtime functions that decide whether anything lay between two accesses that orders them: the clock and its ticks."""

from judge.backends.cpu.lowering.layout import FENCE_ROW, MAX_CLOCK, Cell, Ctx, State


def tick() -> str:
    """Advance the clock; the new limit, which no cell reaches any more once the clock is used up."""
    return f"""
define i64 @judge_tick(ptr %ctx) {{
  %pc = getelementptr i8, ptr %ctx, i64 {Ctx.CLOCK}
  %old = load i64, ptr %pc
  %next = add i64 %old, 1
  %over = icmp uge i64 %next, {MAX_CLOCK}
  %clock = select i1 %over, i64 {MAX_CLOCK}, i64 %next
  %limit = select i1 %over, i64 {MAX_CLOCK + 1}, i64 %next
  store i64 %clock, ptr %pc
  ret i64 %limit
}}
define void @judge_tick_warp(ptr %ctx, ptr %st, i64 %field) {{
  %limit = call i64 @judge_tick(ptr %ctx)
  %limit32 = trunc i64 %limit to i32
  %p = getelementptr i8, ptr %st, i64 %field
  store i32 %limit32, ptr %p
  ret void
}}
define i32 @judge_warp_limit(ptr %st) {{
  %ps = getelementptr i8, ptr %st, i64 {State.SYNC32}
  %s = load i32, ptr %ps
  %pf = getelementptr i8, ptr %st, i64 {State.FENCE32}
  %f = load i32, ptr %pf
  %later = icmp ugt i32 %f, %s
  %r = select i1 %later, i32 %f, i32 %s
  ret i32 %r
}}
define void @judge_fence(ptr %ctx, ptr %st, i32 %wide) {{
entry:
  %pt = getelementptr i8, ptr %ctx, i64 {Ctx.TALKS32}
  %t = load i32, ptr %pt
  %talks = icmp ne i32 %t, 0
  br i1 %talks, label %go, label %out
go:
  call void @judge_tick_warp(ptr %ctx, ptr %st, i64 {State.FENCE32})
  %far = icmp ne i32 %wide, 0
  br i1 %far, label %publish, label %out
publish:
  %row = call ptr @judge_fence_row(ptr %ctx, i64 -1)
  %plim = getelementptr i8, ptr %ctx, i64 {Ctx.LIMIT}
  %lim = load i64, ptr %plim
  %lim32 = trunc i64 %lim to i32
  store i32 %lim32, ptr %row
  %pwarps = getelementptr i8, ptr %ctx, i64 {Ctx.WARPS32}
  %warps32 = load i32, ptr %pwarps
  %warps = zext i32 %warps32 to i64
  %pst = getelementptr i8, ptr %ctx, i64 {Ctx.STATES}
  %states = load ptr, ptr %pst
  %psb = getelementptr i8, ptr %ctx, i64 {Ctx.STATE_BYTES}
  %stride = load i64, ptr %psb
  br label %each
each:
  %v = phi i64 [ 0, %publish ], [ %v2, %each ]
  %voff = mul i64 %v, %stride
  %vst = getelementptr i8, ptr %states, i64 %voff
  %pvf = getelementptr i8, ptr %vst, i64 {State.FENCE32}
  %vf = load i32, ptr %pvf
  %v2 = add i64 %v, 1
  %pv = getelementptr i32, ptr %row, i64 %v2
  store i32 %vf, ptr %pv
  %more = icmp ult i64 %v2, %warps
  br i1 %more, label %each, label %out
out:
  ret void
}}
define ptr @judge_fence_row(ptr %ctx, i64 %cta) {{
  %pa = getelementptr i8, ptr %ctx, i64 {Ctx.CTA_FENCES}
  %all = load ptr, ptr %pa
  %next = add i64 %cta, 1
  %at = mul i64 %next, {FENCE_ROW}
  %row = getelementptr i32, ptr %all, i64 %at
  ret ptr %row
}}
define void @judge_publish(ptr %ctx) {{
entry:
  %pt = getelementptr i8, ptr %ctx, i64 {Ctx.TALKS32}
  %t = load i32, ptr %pt
  %talks = icmp ne i32 %t, 0
  br i1 %talks, label %go, label %out
go:
  %pcta = getelementptr i8, ptr %ctx, i64 {Ctx.CTA}
  %cta = load i64, ptr %pcta
  %staged = call ptr @judge_fence_row(ptr %ctx, i64 -1)
  %row = call ptr @judge_fence_row(ptr %ctx, i64 %cta)
  call void @llvm.memcpy.p0.p0.i64(ptr %row, ptr %staged, i64 {4 * FENCE_ROW}, i1 false)
  br label %out
out:
  ret void
}}
"""


def conflict() -> str:
    """Whether an access races with the one in a cell: 0 no, 1 yes, 2 only by the letter.

    role: 0 a write meets a read, 1 a read meets a write, 2 a write meets a write. other: the CTA of
    the cell, -1 in shared memory. strong: bit 0 for a strong access, bit 1 for a compare-and-swap, which may
    meet a plain read: the loop around it begins with one.
    """
    return f"""
define i32 @judge_conflict(ptr %ctx, ptr %st, i64 %cell, i32 %other, i32 %lane, i32 %strong, i32 %role) {{
entry:
  %s0 = and i64 %cell, {Cell.STRONG}
  %cs = icmp ne i64 %s0, 0
  %ms = icmp ne i32 %strong, 0
  %both = and i1 %cs, %ms
  br i1 %both, label %no, label %swaps
swaps:
  %reading = icmp eq i32 %role, 1
  %cc0 = and i64 %cell, {int(Cell.COMPARED)}
  %cc = icmp ne i64 %cc0, 0
  %met_swap = and i1 %reading, %cc
  %overwriting = icmp eq i32 %role, 0
  %mc0 = and i32 %strong, 2
  %mc = icmp ne i32 %mc0, 0
  %does_swap = and i1 %overwriting, %mc
  %guess = or i1 %met_swap, %does_swap
  br i1 %guess, label %no, label %place
place:
  %clock = lshr i64 %cell, {Cell.CLOCK_SHIFT}
  %clock32 = trunc i64 %clock to i32
  %pt = getelementptr i8, ptr %ctx, i64 {Ctx.TALKS32}
  %t = load i32, ptr %pt
  %talks = icmp ne i32 %t, 0
  %pcta = getelementptr i8, ptr %ctx, i64 {Ctx.CTA}
  %cta = load i32, ptr %pcta
  %global = icmp sge i32 %other, 0
  %elsewhere = icmp ne i32 %other, %cta
  %far = and i1 %global, %elsewhere
  br i1 %far, label %other_cta, label %near
other_cta:
  br i1 %talks, label %published, label %yes
published:
  %o64 = zext i32 %other to i64
  %row = call ptr @judge_fence_row(ptr %ctx, i64 %o64)
  %public = load i32, ptr %row
  %before_fence = icmp ult i32 %clock32, %public
  br i1 %before_fence, label %no, label %itself
itself:
  %fcell = trunc i64 %cell to i32
  %fthread = and i32 %fcell, {Cell.THREAD_MASK}
  %fwarp = lshr i32 %fthread, 5
  %fplace = add i32 %fwarp, 1
  %fplace64 = zext i32 %fplace to i64
  %pof = getelementptr i32, ptr %row, i64 %fplace64
  %of = load i32, ptr %pof
  %fenced = icmp ugt i32 %of, %clock32
  br i1 %fenced, label %no, label %yes
near:
  %plim = getelementptr i8, ptr %ctx, i64 {Ctx.LIMIT}
  %lim = load i64, ptr %plim
  %old = icmp ult i64 %clock, %lim
  br i1 %old, label %no, label %who
who:
  %c32 = trunc i64 %cell to i32
  %thread = and i32 %c32, {Cell.THREAD_MASK}
  %v = lshr i32 %thread, 5
  %pw = getelementptr i8, ptr %st, i64 {State.WARP32}
  %w = load i32, ptr %pw
  %base = shl i32 %w, 5
  %me = or i32 %base, %lane
  %many0 = and i32 %c32, {int(Cell.OTHER_WARPS)}
  %many = icmp ne i32 %many0, 0
  %lanes0 = and i32 %c32, {int(Cell.SAME_WARP)}
  %lanes = icmp ne i32 %lanes0, 0
  %reads = icmp eq i32 %role, 1
  %harmless = and i1 %reads, %many
  br i1 %harmless, label %no, label %compare
compare:
  %samewarp = icmp eq i32 %v, %w
  br i1 %samewarp, label %inside, label %outside
outside:
  br i1 %talks, label %fence_of, label %yes
fence_of:
  %pst = getelementptr i8, ptr %ctx, i64 {Ctx.STATES}
  %states = load ptr, ptr %pst
  %psb = getelementptr i8, ptr %ctx, i64 {Ctx.STATE_BYTES}
  %stride = load i64, ptr %psb
  %v64 = zext i32 %v to i64
  %voff = mul i64 %v64, %stride
  %vst = getelementptr i8, ptr %states, i64 %voff
  %pvf = getelementptr i8, ptr %vst, i64 {State.FENCE32}
  %vf = load i32, ptr %pvf
  %vfenced = icmp ugt i32 %vf, %clock32
  br i1 %vfenced, label %no, label %yes
inside:
  %sync = call i32 @judge_warp_limit(ptr %st)
  %synced = icmp ult i32 %clock32, %sync
  %writes_over_read = icmp eq i32 %role, 0
  %others = and i1 %writes_over_read, %many
  br i1 %others, label %yes, label %mates
mates:
  br i1 %synced, label %no, label %unsynced
unsynced:
  %mine = icmp eq i32 %thread, %me
  %covered = and i1 %reads, %lanes
  %alone0 = xor i1 %lanes, true
  %notread = xor i1 %writes_over_read, true
  %alone = or i1 %alone0, %notread
  %own = and i1 %mine, %alone
  %fine = or i1 %own, %covered
  br i1 %fine, label %no, label %collective
collective:
  %pcol = getelementptr i8, ptr %st, i64 {State.COLLECTIVE32}
  %col = load i32, ptr %pcol
  %between = icmp ult i32 %clock32, %col
  br i1 %between, label %soft, label %yes
no:
  ret i32 0
yes:
  ret i32 1
soft:
  ret i32 2
}}
"""
