"""Runtime loads and stores of one element a lane.

The short way serves lanes that are contiguous in one allocation, the middle one (runtime_gather.py)
lanes anywhere in one; else each lane goes by itself through the checks, which is where every fault is
found.
"""

from judge.backends.cpu.addresses import (
    FIRST_BUFFER_SLOT,
    LOCAL_SLOT,
    MAX_SLOTS,
    OFFSET_MASK,
    SLOT_SHIFT,
)
from judge.backends.cpu.lowering import runtime_gather as gather
from judge.backends.cpu.lowering.layout import Ctx
from judge.backends.cpu.lowering.runtime_watch import READS, UNCHANGED, WRITES

LANES64 = "<" + ", ".join(f"i64 {i}" for i in range(32)) + ">"


def _contiguous_test(width: int) -> str:
    """Blocks up to %fast / %slow: whether the active lanes touch one contiguous, aligned, inside range."""
    shift = width.bit_length() - 1
    return f"""
  %first = call i32 @llvm.cttz.i32(i32 %mask, i1 false)
  %first64 = zext i32 %first to i64
  %a0 = extractelement <32 x i64> %addr, i32 %first
  %slot = lshr i64 %a0, {SLOT_SHIFT}
  %known = icmp ult i64 %slot, {MAX_SLOTS}
  %slotc = select i1 %known, i64 %slot, i64 0
  %ps = getelementptr i8, ptr %ctx, i64 {Ctx.SLOT_SIZES}
  %sizes = load ptr, ptr %ps
  %pz = getelementptr i64, ptr %sizes, i64 %slotc
  %size = load i64, ptr %pz
  %off0 = and i64 %a0, {OFFSET_MASK}
  %lz = call i32 @llvm.ctlz.i32(i32 %mask, i1 false)
  %last = sub i32 31, %lz
  %dist = sub i32 %last, %first
  %dist64 = zext i32 %dist to i64
  %span = shl i64 %dist64, {shift}
  %end0 = add i64 %off0, %span
  %end = add i64 %end0, {width}
  %fits = icmp ule i64 %end, %size
  %lowbits = and i64 %off0, {width - 1}
  %aligned = icmp eq i64 %lowbits, 0
  %back = shl i64 %first64, {shift}
  %start = sub i64 %a0, %back
  %s0 = insertelement <32 x i64> poison, i64 %start, i64 0
  %s1 = shufflevector <32 x i64> %s0, <32 x i64> poison, <32 x i32> zeroinitializer
  %steps = shl <32 x i64> {LANES64}, splat (i64 {shift})
  %expected = add <32 x i64> %s1, %steps
  %eq = icmp eq <32 x i64> %addr, %expected
  %eqbits = bitcast <32 x i1> %eq to i32
  %eqm = and i32 %eqbits, %mask
  %cont = icmp eq i32 %eqm, %mask
  %f1 = and i1 %cont, %fits
  %f2 = and i1 %f1, %aligned"""


_FAST_POINTER = f"""
  %pb = getelementptr i8, ptr %ctx, i64 {Ctx.SLOT_BASES}
  %bases = load ptr, ptr %pb
  %pbase = getelementptr ptr, ptr %bases, i64 %slotc
  %base = load ptr, ptr %pbase
  %rel = sub i64 %off0, %back
  %p = getelementptr i8, ptr %base, i64 %rel
  %m = bitcast i32 %mask to <32 x i1>
  %n = call i32 @llvm.ctpop.i32(i32 %mask)
  %n64 = zext i32 %n to i64"""

LOOP_HEAD = """
loop:
  %left = phi i32 [ %mask, %slow ], [ %rest, %next ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %la = getelementptr i64, ptr %addrs, i32 %lane
  %a = load i64, ptr %la"""


def dedupe(width: int, write: bool) -> str:
    """Count one lane's bytes unless an earlier lane of the same request has the same address."""
    mark = "" if write else f"\n  call void @judge_mark(ptr %ctx, i64 %a, i64 {width})"
    return f"""
  %aslot = lshr i64 %a, {SLOT_SHIFT}
  %buffer = icmp uge i64 %aslot, {FIRST_BUFFER_SLOT}
  br i1 %buffer, label %dedupe, label %counted
dedupe:
  %sa0 = insertelement <32 x i64> poison, i64 %a, i64 0
  %sa = shufflevector <32 x i64> %sa0, <32 x i64> poison, <32 x i32> zeroinitializer
  %same = icmp eq <32 x i64> %addr, %sa
  %samebits = bitcast <32 x i1> %same to i32
  %bit = shl i32 1, %lane
  %before = sub i32 %bit, 1
  %s_m = and i32 %samebits, %mask
  %dup = and i32 %s_m, %before
  %isdup = icmp ne i32 %dup, 0
  br i1 %isdup, label %counted, label %count
count:
  call void @judge_traffic(ptr %ctx, i64 %a, i64 {width}, i64 {int(write)}){mark}
  br label %counted
counted:"""


_READ_ONLY_SLOTS = f"""
{gather.writable("%slotc", "w1")}
  %f3 = and i1 %f2, %w1"""


def load(bits: int) -> str:
    width = bits // 8
    wide = f"<32 x i{bits}>"
    body = _load_lane(bits, "%q", "%oi")
    return f"""
declare {wide} @llvm.masked.load.v32i{bits}.p0(ptr, i32, <32 x i1>, {wide})
define {wide} @judge_load_{bits}(ptr %ctx, ptr %st, <32 x i64> %addr, i32 %mask, i32 %site) {{
entry:
  %addrs = alloca [32 x i64], align 64
  %out = alloca [32 x i{bits}], align 64
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %nothing, label %test
nothing:
  ret {wide} zeroinitializer
test:{_contiguous_test(width)}
  br i1 %f2, label %fast, label %{"gather_test" if bits >= 32 else "slow"}
fast:{_FAST_POINTER}
  call void @judge_watch_load(ptr %ctx, ptr %st, i64 %slot, <32 x i64> %addr, i32 %mask, i32 %site, i64 {width // 4},
                              i64 {width}, i1 true)
  %v = call {wide} @llvm.masked.load.v32i{bits}.p0(ptr %p, i32 1, <32 x i1> %m, {wide} zeroinitializer)
  %bytes = mul i64 %n64, {width}
  call void @judge_traffic(ptr %ctx, i64 %a0, i64 %bytes, i64 0)
  %buffer0 = icmp uge i64 %slot, {FIRST_BUFFER_SLOT}
  br i1 %buffer0, label %marks, label %fast_out
marks:
  %whole_range = add i64 %dist64, 1
  %full = icmp eq i64 %whole_range, %n64
  br i1 %full, label %mark_range, label %mark_lanes
mark_range:
{_mark_range(width)}
mark_lanes:
  br label %mark_loop
mark_loop:
  %mleft = phi i32 [ %mask, %mark_lanes ], [ %mrest, %mark_loop ]
  %mlane = call i32 @llvm.cttz.i32(i32 %mleft, i1 true)
  %mless = sub i32 %mleft, 1
  %mrest = and i32 %mleft, %mless
  %mlane64 = zext i32 %mlane to i64
  %mrel = sub i64 %mlane64, %first64
  %mbytes = mul i64 %mrel, {width}
  %maddr = add i64 %a0, %mbytes
  call void @judge_mark(ptr %ctx, i64 %maddr, i64 {width})
  %mend = icmp eq i32 %mrest, 0
  br i1 %mend, label %fast_out, label %mark_loop
fast_out:
  ret {wide} %v
{_gathered_load(bits) if bits >= 32 else ""}
slow:
  store <32 x i64> %addr, ptr %addrs, align 64
  store {wide} zeroinitializer, ptr %out, align 64
  br label %loop
{LOOP_HEAD}
  %q = call ptr @judge_checked(ptr %ctx, ptr %st, i32 %lane, i64 %a, i64 {width}, i32 %site, i1 false)
  %bad = icmp eq ptr %q, null
  br i1 %bad, label %next, label %good
good:
  call void @judge_watch_any(ptr %ctx, ptr %st, i32 %lane, i64 %a, i64 {width}, i32 %site, i32 {READS})
  %oi = getelementptr i{bits}, ptr %out, i32 %lane
{body}{dedupe(width, False)}
  br label %next
next:
  %end_ = icmp eq i32 %rest, 0
  br i1 %end_, label %done, label %loop
done:
  %r = load {wide}, ptr %out, align 64
  ret {wide} %r
}}
"""


def _gathered_load(bits: int) -> str:
    width = bits // 8
    return f"""
gather_test:{gather.slot_test(width)}
  br i1 %g_ok, label %gather, label %slow
gather:{gather.pointers()}
  call void @judge_watch_load(ptr %ctx, ptr %st, i64 %g_slot, <32 x i64> %addr, i32 %mask, i32 %site, i64 {width // 4},
                              i64 {width}, i1 false)
{gather.element(bits, 0, None)}
  call void @judge_gather_traffic(ptr %ctx, i64 %g_slot, <32 x i64> %addr, i32 %mask, i64 {width}, i64 0)
  ret <32 x i{bits}> %g_x0"""


def _scattered_store(bits: int) -> str:
    width = bits // 8
    return f"""
gather_test:{gather.slot_test(width)}
{gather.writable("%g_slotc", "g_writable")}
  %g_go = and i1 %g_ok, %g_writable
  br i1 %g_go, label %scatter, label %slow
scatter:{gather.pointers()}
{split_words(bits, "%val", "%words", "g_w")}
  call void @judge_watch_store(ptr %ctx, ptr %st, i64 %g_slot, <32 x i64> %addr, i32 %mask, i32 %site, i64 {width // 4},
                               ptr %words, i1 false)
{gather.element(bits, 0, "%val")}
  call void @judge_gather_traffic(ptr %ctx, i64 %g_slot, <32 x i64> %addr, i32 %mask, i64 {width}, i64 1)
  ret void"""


def split_words(bits: int, value: str, target: str, name: str) -> str:
    """Store 32 lanes as rows of 4-byte words."""
    if bits == 32:
        return f"  store <32 x i32> {value}, ptr {target}, align 4"
    return f"""  %{name}_lo = trunc <32 x i64> {value} to <32 x i32>
  %{name}_up = lshr <32 x i64> {value}, splat (i64 32)
  %{name}_hi = trunc <32 x i64> %{name}_up to <32 x i32>
  store <32 x i32> %{name}_lo, ptr {target}, align 4
  %{name}_p = getelementptr i8, ptr {target}, i64 128
  store <32 x i32> %{name}_hi, ptr %{name}_p, align 4"""


def _watch_row_store(bits: int) -> str:
    width = bits // 8
    if bits < 32:
        return f"""  call void @judge_watch_lanes(ptr %ctx, ptr %st, <32 x i64> %addr, i32 %mask, i64 {width},
                               i32 %site, i32 {WRITES})"""
    return f"""{split_words(bits, "%val", "%words", "f_w")}
  call void @judge_watch_store(ptr %ctx, ptr %st, i64 %slot, <32 x i64> %addr, i32 %mask, i32 %site, i64 {width // 4},
                               ptr %words, i1 true)"""


def _unchanged(bits: int, target: str) -> str:
    """%wflags of a lane's store: whether the bytes are there already (a local double, in two words, counts as new)."""
    if bits == 64:
        return f"""  %repeats = call i1 @judge_same_value(ptr %ctx, i64 %a, i64 %x, i64 8)
  %wflags = add i32 0, {WRITES}"""
    return f"""  %there = load i{bits}, ptr {target}, align 1
  %is_there = icmp eq i{bits} %there, %x
  %x64 = zext i{bits} %x to i64
  %repeats = call i1 @judge_same_value(ptr %ctx, i64 %a, i64 %x64, i64 {bits // 8})
  %equal = and i1 %is_there, %repeats
  %wflags = select i1 %equal, i32 {WRITES | UNCHANGED}, i32 {WRITES}"""


def _mark_range(width: int) -> str:
    """Mark n contiguous lanes: whole words at once, narrower types a lane at a time."""
    if width >= 4:
        return f"""  %rb = mul i64 %n64, {width}
  call void @judge_mark(ptr %ctx, i64 %a0, i64 %rb)
  br label %fast_out"""
    return "  br label %mark_lanes"


def _load_lane(bits: int, source: str, target: str) -> str:
    """Copy one value; a 64-bit local value lies in two words 128 bytes apart."""
    if bits < 64:
        return f"""  %x = load i{bits}, ptr {source}, align 1
  store i{bits} %x, ptr {target}"""
    return f"""  %xslot = lshr i64 %a, {SLOT_SHIFT}
  %xlocal = icmp eq i64 %xslot, {LOCAL_SLOT}
  %xstep = select i1 %xlocal, i64 128, i64 4
  %xlo = load i32, ptr {source}, align 1
  %xq = getelementptr i8, ptr {source}, i64 %xstep
  %xhi = load i32, ptr %xq, align 1
  %xlo64 = zext i32 %xlo to i64
  %xhi64 = zext i32 %xhi to i64
  %xup = shl i64 %xhi64, 32
  %x = or i64 %xup, %xlo64
  store i64 %x, ptr {target}"""


def _store_lane(bits: int, target: str) -> str:
    if bits < 64:
        return f"  store i{bits} %x, ptr {target}, align 1"
    return f"""  %xslot = lshr i64 %a, {SLOT_SHIFT}
  %xlocal = icmp eq i64 %xslot, {LOCAL_SLOT}
  %xstep = select i1 %xlocal, i64 128, i64 4
  %xlo = trunc i64 %x to i32
  %xup = lshr i64 %x, 32
  %xhi = trunc i64 %xup to i32
  store i32 %xlo, ptr {target}, align 1
  %xq = getelementptr i8, ptr {target}, i64 %xstep
  store i32 %xhi, ptr %xq, align 1"""


def store(bits: int) -> str:
    width = bits // 8
    wide = f"<32 x i{bits}>"
    return f"""
declare void @llvm.masked.store.v32i{bits}.p0({wide}, ptr, i32, <32 x i1>)
define void @judge_store_{bits}(ptr %ctx, ptr %st, <32 x i64> %addr, {wide} %val, i32 %mask, i32 %site) {{
entry:
  %addrs = alloca [32 x i64], align 64
  %vals = alloca [32 x i{bits}], align 64
  %words = alloca [64 x i32], align 64
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %nothing, label %test
nothing:
  ret void
test:{_contiguous_test(width)}{_READ_ONLY_SLOTS}
  br i1 %f3, label %fast, label %{"gather_test" if bits >= 32 else "slow"}
fast:{_FAST_POINTER}
{_watch_row_store(bits)}
  call void @llvm.masked.store.v32i{bits}.p0({wide} %val, ptr %p, i32 1, <32 x i1> %m)
  %bytes = mul i64 %n64, {width}
  call void @judge_traffic(ptr %ctx, i64 %a0, i64 %bytes, i64 1)
  ret void
{_scattered_store(bits) if bits >= 32 else ""}
slow:
  store <32 x i64> %addr, ptr %addrs, align 64
  store {wide} %val, ptr %vals, align 64
  br label %loop
{LOOP_HEAD}
  %q = call ptr @judge_checked(ptr %ctx, ptr %st, i32 %lane, i64 %a, i64 {width}, i32 %site, i1 true)
  %bad = icmp eq ptr %q, null
  br i1 %bad, label %next, label %good
good:
  %vi = getelementptr i{bits}, ptr %vals, i32 %lane
  %x = load i{bits}, ptr %vi
{_unchanged(bits, "%q")}
  call void @judge_watch_any(ptr %ctx, ptr %st, i32 %lane, i64 %a, i64 {width}, i32 %site, i32 %wflags)
{_store_lane(bits, "%q")}{dedupe(width, True)}
  br label %next
next:
  %end_ = icmp eq i32 %rest, 0
  br i1 %end_, label %done, label %loop
done:
  ret void
}}
"""
