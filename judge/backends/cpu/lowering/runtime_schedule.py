"""The loops around generated code: which warps a barrier wakes, and the run of a range of CTAs."""

from judge.backends.cpu.addresses import SHARED_SLOT
from judge.backends.cpu.lowering.layout import (
    PC_EXITED,
    PC_PARKED,
    PC_TOGETHER,
    WARNING,
    Ctx,
    EventKind,
    State,
    Status,
    Watch,
)


def release() -> str:
    """Open a barrier that everybody it waits for has reached; 1 when one was opened.

    A lane that exited counts as arrived. Barriers with a thread count wait for that many, whole
    warps and the threads of bar.arrive counted; their warps may come from different places, the lanes of one
    warp may not. Without a count all lanes must come from one place. Whoever does not is reported.
    """
    return f"""
define i32 @judge_release(ptr %ctx) {{
entry:
  %pw = getelementptr i8, ptr %ctx, i64 {Ctx.WARPS32}
  %warps = load i32, ptr %pw
  %pst = getelementptr i8, ptr %ctx, i64 {Ctx.STATES}
  %states = load ptr, ptr %pst
  %psb = getelementptr i8, ptr %ctx, i64 {Ctx.STATE_BYTES}
  %stride = load i64, ptr %psb
  br label %ids
ids:
  %id = phi i32 [ 0, %entry ], [ %id2, %ids_next ]
  %id8 = trunc i32 %id to i8
  %iv0 = insertelement <32 x i8> poison, i8 %id8, i64 0
  %iv = shufflevector <32 x i8> %iv0, <32 x i8> poison, <32 x i32> zeroinitializer
  br label %count
count:
  %w = phi i32 [ 0, %ids ], [ %w2, %count ]
  %arrived = phi i32 [ 0, %ids ], [ %arrived2, %count ]
  %live = phi i32 [ 0, %ids ], [ %live2, %count ]
  %here = phi i32 [ 0, %ids ], [ %here2, %count ]
  %expected = phi i32 [ 0, %ids ], [ %expected2, %count ]
  %popc = phi i32 [ 0, %ids ], [ %popc2, %count ]
  %w64 = zext i32 %w to i64
  %soff = mul i64 %w64, %stride
  %st = getelementptr i8, ptr %states, i64 %soff
  %pcs = load <32 x i32>, ptr %st, align 64
  %flag = and <32 x i32> %pcs, splat (i32 {PC_PARKED})
  %has = icmp ne <32 x i32> %flag, zeroinitializer
  %notexit = icmp ne <32 x i32> %pcs, splat (i32 {PC_EXITED})
  %parked = and <32 x i1> %has, %notexit
  %pid = getelementptr i8, ptr %st, i64 {State.BARRIER_IDS}
  %idv = load <32 x i8>, ptr %pid, align 32
  %sameid = icmp eq <32 x i8> %idv, %iv
  %at = and <32 x i1> %parked, %sameid
  %atbits = bitcast <32 x i1> %at to i32
  %n = call i32 @llvm.ctpop.i32(i32 %atbits)
  %arrived2 = add i32 %arrived, %n
  %any = icmp ne i32 %atbits, 0
  %anyz = zext i1 %any to i32
  %here2 = add i32 %here, %anyz
  %pl = getelementptr i8, ptr %st, i64 {State.LIVE32}
  %lm = load i32, ptr %pl
  %ln = call i32 @llvm.ctpop.i32(i32 %lm)
  %live2 = add i32 %live, %ln
  %pe = getelementptr i8, ptr %st, i64 {State.BARRIER_COUNT32}
  %ec = load i32, ptr %pe
  %expected2 = select i1 %any, i32 %ec, i32 %expected
  %pp = getelementptr i8, ptr %st, i64 {State.BARRIER_PRED32}
  %pred = load i32, ptr %pp
  %predat = and i32 %pred, %atbits
  %pn = call i32 @llvm.ctpop.i32(i32 %predat)
  %popc2 = add i32 %popc, %pn
  %w2 = add i32 %w, 1
  %more = icmp ult i32 %w2, %warps
  br i1 %more, label %count, label %decide
decide:
  %some = icmp ne i32 %arrived2, 0
  %counted = icmp ne i32 %expected2, 0
  %waiting = mul i32 %here2, 32
  %parr = getelementptr i8, ptr %ctx, i64 {Ctx.ARRIVALS}
  %pown = getelementptr i32, ptr %parr, i32 %id
  %passing = load i32, ptr %pown
  %threads = add i32 %waiting, %passing
  %reached = add i32 %arrived2, %passing
  %enough = icmp uge i32 %threads, %expected2
  %allhere = icmp uge i32 %reached, %live2
  %opens0 = select i1 %counted, i1 %enough, i1 %allhere
  %opens = and i1 %some, %opens0
  br i1 %opens, label %open, label %ids_next
ids_next:
  %id2 = add i32 %id, 1
  %last = icmp eq i32 %id2, 16
  br i1 %last, label %closed, label %ids
closed:
  ret i32 0
open:
  store i32 0, ptr %pown
  br label %wake
wake:
  %v = phi i32 [ 0, %open ], [ %v2, %woken ]
  %ref = phi i32 [ -1, %open ], [ %ref3, %woken ]
  %ref_thread = phi i32 [ 0, %open ], [ %ref_thread3, %woken ]
  %v64 = zext i32 %v to i64
  %voff = mul i64 %v64, %stride
  %vst = getelementptr i8, ptr %states, i64 %voff
  %vpcs = load <32 x i32>, ptr %vst, align 64
  %vflag = and <32 x i32> %vpcs, splat (i32 {PC_PARKED})
  %vhas = icmp ne <32 x i32> %vflag, zeroinitializer
  %vnotexit = icmp ne <32 x i32> %vpcs, splat (i32 {PC_EXITED})
  %vparked = and <32 x i1> %vhas, %vnotexit
  %vpid = getelementptr i8, ptr %vst, i64 {State.BARRIER_IDS}
  %vidv = load <32 x i8>, ptr %vpid, align 32
  %vsame = icmp eq <32 x i8> %vidv, %iv
  %vat = and <32 x i1> %vparked, %vsame
  %vbits = bitcast <32 x i1> %vat to i32
  %vany = icmp ne i32 %vbits, 0
  br i1 %vany, label %clear, label %woken
clear:
  %pvl = getelementptr i8, ptr %vst, i64 {State.LIVE32}
  %vlive = load i32, ptr %pvl
  %pth = getelementptr i8, ptr %ctx, i64 {Ctx.THREADS32}
  %threads_all = load i32, ptr %pth
  %vfirst = shl i32 %v, 5
  %vleft = sub i32 %threads_all, %vfirst
  %vfull = icmp uge i32 %vleft, 32
  %vshift = and i32 %vleft, 31
  %vones = shl i32 1, %vshift
  %vpart = sub i32 %vones, 1
  %vthere = select i1 %vfull, i32 -1, i32 %vpart
  %vstay = xor i32 %vlive, -1
  %vgone = and i32 %vstay, %vthere
  %left_early = icmp ne i32 %vgone, 0
  br i1 %left_early, label %tell_left, label %wake_lanes
tell_left:
  %lane9 = call i32 @llvm.cttz.i32(i32 %vbits, i1 true)
  %pc9 = extractelement <32 x i32> %vpcs, i32 %lane9
  %place9 = and i32 %pc9, {~(PC_PARKED | PC_TOGETHER) & 0x7FFFFFFF}
  %place64 = zext i32 %place9 to i64
  call void @judge_fault(ptr %ctx, ptr %vst, i32 {EventKind.LEFT_BEFORE_BARRIER | WARNING}, i32 0, i32 %vgone,
                         i64 0, i32 0, i64 %place64, i64 0, i64 0)
  br label %wake_lanes
wake_lanes:
  %cleared = and <32 x i32> %vpcs, splat (i32 {~PC_PARKED & 0x7FFFFFFF})
  %newpcs = select <32 x i1> %vat, <32 x i32> %cleared, <32 x i32> %vpcs
  store <32 x i32> %newpcs, ptr %vst, align 64
  %vps = getelementptr i8, ptr %vst, i64 {State.STATUS32}
  store i32 {Status.YIELD}, ptr %vps
  %vpo = getelementptr i8, ptr %vst, i64 {State.BARRIER_POPC32}
  store i32 %popc2, ptr %vpo
  %vto = getelementptr i8, ptr %vst, i64 {State.BARRIER_TOTAL32}
  store i32 %arrived2, ptr %vto
  %lane0 = call i32 @llvm.cttz.i32(i32 %vbits, i1 true)
  %places = and <32 x i32> %newpcs, splat (i32 {~PC_TOGETHER & 0x7FFFFFFF})
  %pc0 = extractelement <32 x i32> %places, i32 %lane0
  %first = icmp eq i32 %ref, -1
  %ref2 = select i1 %first, i32 %pc0, i32 %ref
  %thread0 = or i32 %vfirst, %lane0
  %ref_thread2 = select i1 %first, i32 %thread0, i32 %ref_thread
  %place0 = select i1 %counted, i32 %pc0, i32 %ref2
  %who0 = select i1 %counted, i32 %thread0, i32 %ref_thread2
  %r0 = insertelement <32 x i32> poison, i32 %place0, i64 0
  %rv = shufflevector <32 x i32> %r0, <32 x i32> poison, <32 x i32> zeroinitializer
  %ne = icmp ne <32 x i32> %places, %rv
  %bad = and <32 x i1> %ne, %vat
  %badbits = bitcast <32 x i1> %bad to i32
  %isbad = icmp ne i32 %badbits, 0
  br i1 %isbad, label %divergent, label %woken
divergent:
  %badlane = call i32 @llvm.cttz.i32(i32 %badbits, i1 true)
  %badpc = extractelement <32 x i32> %places, i32 %badlane
  %ref64 = zext i32 %place0 to i64
  %bad64 = zext i32 %badpc to i64
  %ref_thread64 = zext i32 %who0 to i64
  call void @judge_fault(ptr %ctx, ptr %vst, i32 {EventKind.DIVERGENT_BARRIER}, i32 0, i32 %badbits, i64 0, i32 0,
                         i64 %ref64, i64 %bad64, i64 %ref_thread64)
  br label %woken
woken:
  %ref3 = phi i32 [ %ref, %wake ], [ %ref2, %wake_lanes ], [ %ref2, %divergent ]
  %ref_thread3 = phi i32 [ %ref_thread, %wake ], [ %ref_thread2, %wake_lanes ], [ %ref_thread2, %divergent ]
  %v2 = add i32 %v, 1
  %vmore = icmp ult i32 %v2, %warps
  br i1 %vmore, label %wake, label %opened
opened:
  %limit = call i64 @judge_tick(ptr %ctx)
  %plimit = getelementptr i8, ptr %ctx, i64 {Ctx.LIMIT}
  store i64 %limit, ptr %plimit
  ret i32 1
}}
"""


def run() -> str:
    """Run CTAs [lo, hi) of the order: each warp up to its next barrier, round and round."""
    return f"""
define i32 @judge_run(ptr %ctx, i64 %lo, i64 %hi, ptr %warp, i32 %start) {{
entry:
  %pw = getelementptr i8, ptr %ctx, i64 {Ctx.WARPS32}
  %warps = load i32, ptr %pw
  %pth = getelementptr i8, ptr %ctx, i64 {Ctx.THREADS32}
  %threads = load i32, ptr %pth
  %pst = getelementptr i8, ptr %ctx, i64 {Ctx.STATES}
  %states = load ptr, ptr %pst
  %psb = getelementptr i8, ptr %ctx, i64 {Ctx.STATE_BYTES}
  %stride = load i64, ptr %psb
  %pgx = getelementptr i8, ptr %ctx, i64 {Ctx.NCTAID_X32}
  %gx32 = load i32, ptr %pgx
  %gx = zext i32 %gx32 to i64
  %pgy = getelementptr i8, ptr %ctx, i64 {Ctx.NCTAID_Y32}
  %gy32 = load i32, ptr %pgy
  %gy = zext i32 %gy32 to i64
  %psh = getelementptr i8, ptr %ctx, i64 {Ctx.SHARED}
  %shared = load ptr, ptr %psh
  %pshb = getelementptr i8, ptr %ctx, i64 {Ctx.SHARED_BYTES}
  %shared_bytes = load i64, ptr %pshb
  %plo = getelementptr i8, ptr %ctx, i64 {Ctx.LOCAL}
  %local = load ptr, ptr %plo
  %plw = getelementptr i8, ptr %ctx, i64 {Ctx.LOCAL_WARP_BYTES}
  %local_bytes = load i64, ptr %plw
  %pab = getelementptr i8, ptr %ctx, i64 {Ctx.ABORT}
  %abort = load ptr, ptr %pab
  %pcta = getelementptr i8, ptr %ctx, i64 {Ctx.CTA}
  %pfuel = getelementptr i8, ptr %ctx, i64 {Ctx.FUEL}
  %fuel = load i64, ptr %pfuel
  %empty = icmp uge i64 %lo, %hi
  br i1 %empty, label %finished, label %cta
cta:
  %turn = phi i64 [ %lo, %entry ], [ %c2, %cta_done ]
  %pord = getelementptr i8, ptr %ctx, i64 {Ctx.CTA_ORDER}
  %order = load ptr, ptr %pord
  %ordered = icmp ne ptr %order, null
  br i1 %ordered, label %look_up, label %begin_cta
look_up:
  %po = getelementptr i64, ptr %order, i64 %turn
  %chosen_cta = load i64, ptr %po
  br label %begin_cta
begin_cta:
  %c = phi i64 [ %turn, %cta ], [ %chosen_cta, %look_up ]
  store i64 %c, ptr %pcta
  %limit = call i64 @judge_tick(ptr %ctx)
  %plimit = getelementptr i8, ptr %ctx, i64 {Ctx.LIMIT}
  store i64 %limit, ptr %plimit
  %cx = urem i64 %c, %gx
  %cyz = udiv i64 %c, %gx
  %cy = urem i64 %cyz, %gy
  %cz = udiv i64 %cyz, %gy
  %cx32 = trunc i64 %cx to i32
  %cy32 = trunc i64 %cy to i32
  %cz32 = trunc i64 %cz to i32
  call void @llvm.memset.p0.i64(ptr %shared, i8 -1, i64 %shared_bytes, i1 false)
  %parr = getelementptr i8, ptr %ctx, i64 {Ctx.ARRIVALS}
  call void @llvm.memset.p0.i64(ptr %parr, i8 0, i64 64, i1 false)
  %ptab = getelementptr i8, ptr %ctx, i64 {Ctx.WATCHES}
  %table = load ptr, ptr %ptab
  %pinit = getelementptr i8, ptr %table, i64 {SHARED_SLOT * Watch.SIZE}
  %shared_init = load ptr, ptr %pinit
  %unwatched = icmp eq ptr %shared_init, null
  br i1 %unwatched, label %before_init, label %forget
forget:
  %shared_up = add i64 %shared_bytes, 3
  %shared_words = lshr i64 %shared_up, 2
  call void @llvm.memset.p0.i64(ptr %shared_init, i8 0, i64 %shared_words, i1 false)
  br label %before_init
before_init:
  %plw2 = getelementptr i8, ptr %ctx, i64 {Ctx.LOCAL_WORDS}
  %local_init = load ptr, ptr %plw2
  %local_watched = icmp ne ptr %local_init, null
  br label %init
init:
  %iw = phi i32 [ 0, %before_init ], [ %iw2, %initialized ]
  %iw64 = zext i32 %iw to i64
  %ioff = mul i64 %iw64, %stride
  %ist = getelementptr i8, ptr %states, i64 %ioff
  call void @llvm.memset.p0.i64(ptr align 64 %ist, i8 0, i64 %stride, i1 false)
  %first = shl i32 %iw, 5
  %left = sub i32 %threads, %first
  %lv0 = insertelement <32 x i32> poison, i32 %left, i64 0
  %lv = shufflevector <32 x i32> %lv0, <32 x i32> poison, <32 x i32> zeroinitializer
  %exists = icmp slt <32 x i32> <{", ".join(f"i32 {i}" for i in range(32))}>, %lv
  %sv0 = insertelement <32 x i32> poison, i32 %start, i64 0
  %sv = shufflevector <32 x i32> %sv0, <32 x i32> poison, <32 x i32> zeroinitializer
  %pcs = select <32 x i1> %exists, <32 x i32> %sv, <32 x i32> splat (i32 {PC_EXITED})
  store <32 x i32> %pcs, ptr %ist, align 64
  %lb = bitcast <32 x i1> %exists to i32
  %il = getelementptr i8, ptr %ist, i64 {State.LIVE32}
  store i32 %lb, ptr %il
  %ix = getelementptr i8, ptr %ist, i64 {State.CTAID_X32}
  store i32 %cx32, ptr %ix
  %iy = getelementptr i8, ptr %ist, i64 {State.CTAID_Y32}
  store i32 %cy32, ptr %iy
  %iz = getelementptr i8, ptr %ist, i64 {State.CTAID_Z32}
  store i32 %cz32, ptr %iz
  %iwp = getelementptr i8, ptr %ist, i64 {State.WARP32}
  store i32 %iw, ptr %iwp
  %is = getelementptr i8, ptr %ist, i64 {State.STATUS32}
  store i32 {Status.YIELD}, ptr %is
  %ir = getelementptr i8, ptr %ist, i64 {State.ROTATE32}
  store i32 -1, ptr %ir
  %lo64 = mul i64 %iw64, %local_bytes
  %lp = getelementptr i8, ptr %local, i64 %lo64
  call void @llvm.memset.p0.i64(ptr %lp, i8 -1, i64 %local_bytes, i1 false)
  %ilp = getelementptr i8, ptr %ist, i64 {State.LOCAL}
  store ptr %lp, ptr %ilp
  br i1 %local_watched, label %init_local, label %initialized
init_local:
  %li_bytes = lshr i64 %local_bytes, 3
  %li_off = mul i64 %iw64, %li_bytes
  %li = getelementptr i8, ptr %local_init, i64 %li_off
  call void @llvm.memset.p0.i64(ptr %li, i8 0, i64 %li_bytes, i1 false)
  %pli = getelementptr i8, ptr %ist, i64 {State.LOCAL_INIT}
  store ptr %li, ptr %pli
  br label %initialized
initialized:
  call void @judge_async_reset(ptr %ctx, i32 %iw)
  %iw2 = add i32 %iw, 1
  %imore = icmp ult i32 %iw2, %warps
  br i1 %imore, label %init, label %pass
pass:
  br label %each
each:
  %wturn = phi i32 [ 0, %pass ], [ %w2, %skip ]
  %ran = phi i32 [ 0, %pass ], [ %ran2, %skip ]
  %alive = phi i32 [ 0, %pass ], [ %alive2, %skip ]
  %pwo = getelementptr i8, ptr %ctx, i64 {Ctx.WARP_ORDER}
  %worder = load ptr, ptr %pwo
  %wturn64 = zext i32 %wturn to i64
  %pwt = getelementptr i32, ptr %worder, i64 %wturn64
  %w = load i32, ptr %pwt
  %w64 = zext i32 %w to i64
  %woff = mul i64 %w64, %stride
  %st = getelementptr i8, ptr %states, i64 %woff
  %pstatus = getelementptr i8, ptr %st, i64 {State.STATUS32}
  %status = load i32, ptr %pstatus
  %runnable = icmp eq i32 %status, {Status.YIELD}
  br i1 %runnable, label %step, label %skip
step:
  %wf = getelementptr i8, ptr %st, i64 {State.FUEL}
  store i64 %fuel, ptr %wf
  %result = call i32 %warp(ptr %ctx, ptr %st)
  store i32 %result, ptr %pstatus
  %failed = icmp ugt i32 %result, {Status.YIELD}
  br i1 %failed, label %stop, label %skip
skip:
  %now = phi i32 [ %status, %each ], [ %result, %step ]
  %did = phi i32 [ 0, %each ], [ 1, %step ]
  %ran2 = or i32 %ran, %did
  %notdone = icmp ne i32 %now, {Status.DONE}
  %nz = zext i1 %notdone to i32
  %alive2 = or i32 %alive, %nz
  %w2 = add i32 %wturn, 1
  %more = icmp ult i32 %w2, %warps
  br i1 %more, label %each, label %passed
passed:
  %over = icmp eq i32 %alive2, 0
  br i1 %over, label %cta_done, label %check
check:
  %a = load volatile i32, ptr %abort
  %aborted = icmp ne i32 %a, 0
  br i1 %aborted, label %give_up, label %barriers
barriers:
  %opened = call i32 @judge_release(ptr %ctx)
  %progress = or i32 %opened, %ran2
  %stuck = icmp eq i32 %progress, 0
  br i1 %stuck, label %deadlock, label %pass
cta_done:
  %c2 = add i64 %turn, 1
  %pd = getelementptr i8, ptr %ctx, i64 {Ctx.DONE_CTAS}
  %d = load i64, ptr %pd
  %d2 = add i64 %d, 1
  store i64 %d2, ptr %pd
  %again = icmp ult i64 %c2, %hi
  br i1 %again, label %cta, label %finished
finished:
  ret i32 {Status.DONE}
stop:
  ret i32 %result
deadlock:
  ret i32 {Status.DEADLOCK}
give_up:
  ret i32 {Status.ABORTED}
}}
"""
