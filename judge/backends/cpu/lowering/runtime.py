"""The runtime under generated code, as LLVM text: memory access, faults, barriers, the CTA loop.

It is compiled once a process, before any submission is seen. Vector loads and stores take the
short way when the lanes are contiguous in one allocation, and else go lane by lane, which is where
every fault is found: each lane's address is resolved on its own, so lanes may hit different
buffers and a report is exact.
"""

from judge.backends.cpu.addresses import (
    CONSTANT_SLOT,
    FIRST_BUFFER_SLOT,
    LOCAL_SLOT,
    MAX_SLOTS,
    OFFSET_MASK,
    PARAMETER_SLOT,
    SLOT_SHIFT,
)
from judge.backends.cpu.lowering.layout import (
    EVENT_BYTES,
    EVENT_CAPACITY,
    PC_EXITED,
    PC_PARKED,
    PC_TOGETHER,
    Ctx,
    EventKind,
    State,
    Status,
)

PRINT_RECORD_BYTES = 32 + 256
"""format address, CTA, warp, lane, padding to 32 bytes; then the argument bytes."""

VECTOR_FORMS = [(8, 2), (8, 4), (16, 2), (16, 4), (32, 2), (32, 4), (64, 2), (32, 8), (64, 4)]
WIDTH_BITS = [8, 16, 32, 64]

DECLARATIONS = """
declare i32 @llvm.cttz.i32(i32, i1)
declare i32 @llvm.ctlz.i32(i32, i1)
declare i32 @llvm.ctpop.i32(i32)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare float @log2f(float)
declare float @sinf(float)
declare float @cosf(float)
declare float @tanhf(float)
"""

_LANES64 = "<" + ", ".join(f"i64 {i}" for i in range(32)) + ">"


def interface() -> str:
    """Declarations of the runtime for a kernel's module."""
    lines = []
    for bits in WIDTH_BITS:
        lines.append(f"declare <32 x i{bits}> @judge_load_{bits}(ptr, ptr, <32 x i64>, i32, i32)")
        lines.append(f"declare void @judge_store_{bits}(ptr, ptr, <32 x i64>, <32 x i{bits}>, i32, i32)")
    for bits, count in VECTOR_FORMS:
        lines.append(f"declare void @judge_load_{bits}x{count}(ptr, ptr, <32 x i64>, i32, i32, ptr)")
        lines.append(f"declare void @judge_store_{bits}x{count}(ptr, ptr, <32 x i64>, ptr, i32, i32)")
    lines += [
        "declare i64 @judge_uniform_load(ptr, ptr, i64, i32, i32, i64)",
        "declare void @judge_uniform_store(ptr, ptr, i64, i64, i32, i32, i64)",
        "declare void @judge_uniform_vector(ptr, ptr, i64, i32, i32, i64, i32)",
        "declare ptr @judge_checked(ptr, ptr, i32, i64, i64, i32, i1)",
        "declare void @judge_traffic(ptr, i64, i64, i64)",
        "declare void @judge_fault(ptr, ptr, i32, i32, i32, i64, i32, i64, i64, i64)",
        "declare void @judge_printf(ptr, ptr, <32 x i64>, <32 x i64>, i32)",
        "declare float @judge_lg2_scalar(float)",
        "declare float @judge_sin_scalar(float)",
        "declare float @judge_cos_scalar(float)",
        "declare float @judge_tanh_scalar(float)",
        "declare <32 x float> @judge_lg2(<32 x float>)",
        "declare <32 x float> @judge_sin(<32 x float>)",
        "declare <32 x float> @judge_cos(<32 x float>)",
        "declare <32 x float> @judge_tanh(<32 x float>)",
        "declare <32 x i32> @judge_fp8_decode(<32 x i32>, i32)",
        "declare <32 x i32> @judge_fp8_encode(<32 x i32>, i32)",
    ]
    return "\n".join(lines)


def text() -> str:
    """The whole runtime module."""
    parts = [DECLARATIONS, _faults(), _resolve(), _traffic(), _checked()]
    for bits in WIDTH_BITS:
        parts += [_load(bits), _store(bits)]
    for bits, count in VECTOR_FORMS:
        parts += [_load_vector(bits, count), _store_vector(bits, count)]
    parts += [_uniform_access(), _printf(), _lane_functions(), _fp8(), _release(), _run()]
    return "\n".join(parts)


def _faults() -> str:
    return f"""
define void @judge_fault(ptr %ctx, ptr %st, i32 %kind, i32 %site, i32 %lanes, i64 %addr, i32 %size,
                         i64 %d0, i64 %d1, i64 %d2) noinline {{
entry:
  %pc = getelementptr i8, ptr %ctx, i64 {Ctx.SITE_COUNTS}
  %counts = load ptr, ptr %pc
  %site64 = zext i32 %site to i64
  %slot = getelementptr i64, ptr %counts, i64 %site64
  %old = load i64, ptr %slot
  %n = call i32 @llvm.ctpop.i32(i32 %lanes)
  %n64 = zext i32 %n to i64
  %new = add i64 %old, %n64
  store i64 %new, ptr %slot
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
  store i32 %site, ptr %e4
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


def _resolve() -> str:
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
  %is_const = icmp eq i64 %slot, {CONSTANT_SLOT}
  %is_param = icmp eq i64 %slot, {PARAMETER_SLOT}
  %read_only = or i1 %is_const, %is_param
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


def _traffic() -> str:
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


def _checked() -> str:
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
  %ok_kind = add i32 %wz, {EventKind.OUT_OF_BOUNDS_READ}
  call void @judge_fault(ptr %ctx, ptr %st, i32 %ok_kind, i32 %site, i32 %bit, i64 %addr, i32 %w32, i64 0, i64 0, i64 0)
  ret ptr null
ok:
  ret ptr %p
}}
"""


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
  %steps = shl <32 x i64> {_LANES64}, splat (i64 {shift})
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

_LOOP_HEAD = """
loop:
  %left = phi i32 [ %mask, %slow ], [ %rest, %next ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %la = getelementptr i64, ptr %addrs, i32 %lane
  %a = load i64, ptr %la"""


def _dedupe(width: int, write: bool) -> str:
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
  %ro1 = icmp ne i64 %slot, {CONSTANT_SLOT}
  %ro2 = icmp ne i64 %slot, {PARAMETER_SLOT}
  %w1 = and i1 %ro1, %ro2
  %f3 = and i1 %f2, %w1"""


def _load(bits: int) -> str:
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
  br i1 %f2, label %fast, label %slow
fast:{_FAST_POINTER}
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
slow:
  store <32 x i64> %addr, ptr %addrs, align 64
  store {wide} zeroinitializer, ptr %out, align 64
  br label %loop
{_LOOP_HEAD}
  %q = call ptr @judge_checked(ptr %ctx, ptr %st, i32 %lane, i64 %a, i64 {width}, i32 %site, i1 false)
  %bad = icmp eq ptr %q, null
  br i1 %bad, label %next, label %good
good:
  %oi = getelementptr i{bits}, ptr %out, i32 %lane
{body}{_dedupe(width, False)}
  br label %next
next:
  %end_ = icmp eq i32 %rest, 0
  br i1 %end_, label %done, label %loop
done:
  %r = load {wide}, ptr %out, align 64
  ret {wide} %r
}}
"""


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


def _store(bits: int) -> str:
    width = bits // 8
    wide = f"<32 x i{bits}>"
    return f"""
declare void @llvm.masked.store.v32i{bits}.p0({wide}, ptr, i32, <32 x i1>)
define void @judge_store_{bits}(ptr %ctx, ptr %st, <32 x i64> %addr, {wide} %val, i32 %mask, i32 %site) {{
entry:
  %addrs = alloca [32 x i64], align 64
  %vals = alloca [32 x i{bits}], align 64
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %nothing, label %test
nothing:
  ret void
test:{_contiguous_test(width)}{_READ_ONLY_SLOTS}
  br i1 %f3, label %fast, label %slow
fast:{_FAST_POINTER}
  call void @llvm.masked.store.v32i{bits}.p0({wide} %val, ptr %p, i32 1, <32 x i1> %m)
  %bytes = mul i64 %n64, {width}
  call void @judge_traffic(ptr %ctx, i64 %a0, i64 %bytes, i64 1)
  ret void
slow:
  store <32 x i64> %addr, ptr %addrs, align 64
  store {wide} %val, ptr %vals, align 64
  br label %loop
{_LOOP_HEAD}
  %q = call ptr @judge_checked(ptr %ctx, ptr %st, i32 %lane, i64 %a, i64 {width}, i32 %site, i1 true)
  %bad = icmp eq ptr %q, null
  br i1 %bad, label %next, label %good
good:
  %vi = getelementptr i{bits}, ptr %vals, i32 %lane
  %x = load i{bits}, ptr %vi
{_store_lane(bits, "%q")}{_dedupe(width, True)}
  br label %next
next:
  %end_ = icmp eq i32 %rest, 0
  br i1 %end_, label %done, label %loop
done:
  ret void
}}
"""


def _element(bits: int, count: int, element: int) -> tuple[str, str]:
    """Pointer arithmetic of one element of a vector access: in memory (local words apart), in the buffer."""
    width = bits // 8
    offset = element * width
    local_offset = offset // 4 * 128 + offset % 4
    memory = f"""  %s{element} = select i1 %islocal, i64 {local_offset}, i64 {offset}
  %m{element} = getelementptr i8, ptr %q, i64 %s{element}"""
    buffer = f"""  %bi{element} = add i32 %lane, {element * 32}
  %b{element} = getelementptr i{bits}, ptr %buf, i32 %bi{element}"""
    return memory, buffer


def _vector_prologue(bits: int, count: int) -> str:
    return f"""
entry:
  %addrs = alloca [32 x i64], align 64
  store <32 x i64> %addr, ptr %addrs, align 64
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %done, label %slow
slow:
  br label %loop
{_LOOP_HEAD}"""


def _load_vector(bits: int, count: int) -> str:
    total = bits // 8 * count
    copies = []
    for element in range(count):
        memory, buffer = _element(bits, count, element)
        copies.append(memory)
        copies.append(buffer)
        if bits < 64:
            copies.append(f"  %x{element} = load i{bits}, ptr %m{element}, align 1")
        else:
            copies.append(f"""  %l{element} = load i32, ptr %m{element}, align 1
  %mq{element} = getelementptr i8, ptr %m{element}, i64 %step
  %h{element} = load i32, ptr %mq{element}, align 1
  %lz{element} = zext i32 %l{element} to i64
  %hz{element} = zext i32 %h{element} to i64
  %hs{element} = shl i64 %hz{element}, 32
  %x{element} = or i64 %hs{element}, %lz{element}""")
        copies.append(f"  store i{bits} %x{element}, ptr %b{element}")
    body = "\n".join(copies)
    return f"""
define void @judge_load_{bits}x{count}(ptr %ctx, ptr %st, <32 x i64> %addr, i32 %mask, i32 %site, ptr %buf) {{{
        _vector_prologue(bits, count)
    }
  %q = call ptr @judge_checked(ptr %ctx, ptr %st, i32 %lane, i64 %a, i64 {total}, i32 %site, i1 false)
  %bad = icmp eq ptr %q, null
  br i1 %bad, label %next, label %good
good:
  %vslot = lshr i64 %a, {SLOT_SHIFT}
  %islocal = icmp eq i64 %vslot, {LOCAL_SLOT}
  %step = select i1 %islocal, i64 128, i64 4
{body}{_dedupe(total, False)}
  br label %next
next:
  %end_ = icmp eq i32 %rest, 0
  br i1 %end_, label %done, label %loop
done:
  ret void
}}
"""


def _store_vector(bits: int, count: int) -> str:
    total = bits // 8 * count
    copies = []
    for element in range(count):
        memory, buffer = _element(bits, count, element)
        copies += [memory, buffer, f"  %x{element} = load i{bits}, ptr %b{element}"]
        if bits < 64:
            copies.append(f"  store i{bits} %x{element}, ptr %m{element}, align 1")
        else:
            copies.append(f"""  %l{element} = trunc i64 %x{element} to i32
  %hs{element} = lshr i64 %x{element}, 32
  %h{element} = trunc i64 %hs{element} to i32
  store i32 %l{element}, ptr %m{element}, align 1
  %mq{element} = getelementptr i8, ptr %m{element}, i64 %step
  store i32 %h{element}, ptr %mq{element}, align 1""")
    body = "\n".join(copies)
    return f"""
define void @judge_store_{bits}x{count}(ptr %ctx, ptr %st, <32 x i64> %addr, ptr %buf, i32 %mask, i32 %site) {{{
        _vector_prologue(bits, count)
    }
  %q = call ptr @judge_checked(ptr %ctx, ptr %st, i32 %lane, i64 %a, i64 {total}, i32 %site, i1 true)
  %bad = icmp eq ptr %q, null
  br i1 %bad, label %next, label %good
good:
  %vslot = lshr i64 %a, {SLOT_SHIFT}
  %islocal = icmp eq i64 %vslot, {LOCAL_SLOT}
  %step = select i1 %islocal, i64 128, i64 4
{body}{_dedupe(total, True)}
  br label %next
next:
  %end_ = icmp eq i32 %rest, 0
  br i1 %end_, label %done, label %loop
done:
  ret void
}}
"""


def _uniform_access() -> str:
    """One access for the whole warp, all active lanes at one address (never a local one)."""
    loads = "\n".join(
        f"""l{w}:
  %v{w} = load i{8 * w}, ptr %p, align 1
  {f"%z{w} = zext i{8 * w} %v{w} to i64" if w < 8 else "%z8 = or i64 %v8, 0"}
  br label %read"""
        for w in (1, 2, 4, 8)
    )
    stores = "\n".join(
        f"""s{w}:
  {f"%t{w} = trunc i64 %bits to i{8 * w}" if w < 8 else "%t8 = or i64 %bits, 0"}
  store i{8 * w} %t{w}, ptr %p, align 1
  br label %wrote"""
        for w in (1, 2, 4, 8)
    )
    cases = "  ".join(f"i64 {w}, label %{{0}}{w}" for w in (1, 2, 4, 8))
    switch = f"switch i64 %width, label %bad [ {cases} ]"
    return f"""
define i64 @judge_uniform_load(ptr %ctx, ptr %st, i64 %addr, i32 %mask, i32 %site, i64 %width) {{
entry:
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %bad, label %go
go:
  %lane = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
  %p = call ptr @judge_checked(ptr %ctx, ptr %st, i32 %lane, i64 %addr, i64 %width, i32 %site, i1 false)
  %null = icmp eq ptr %p, null
  br i1 %null, label %bad, label %some
some:
  {switch.format("l")}
{loads}
read:
  %r = phi i64 [ %z1, %l1 ], [ %z2, %l2 ], [ %z4, %l4 ], [ %z8, %l8 ]
  %slot = lshr i64 %addr, {SLOT_SHIFT}
  call void @judge_traffic(ptr %ctx, i64 %addr, i64 %width, i64 0)
  %buffer = icmp uge i64 %slot, {FIRST_BUFFER_SLOT}
  br i1 %buffer, label %mark, label %out
mark:
  call void @judge_mark(ptr %ctx, i64 %addr, i64 %width)
  br label %out
out:
  ret i64 %r
bad:
  ret i64 0
}}
define void @judge_uniform_vector(ptr %ctx, ptr %st, i64 %addr, i32 %mask, i32 %site, i64 %width, i32 %write) {{
entry:
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %out, label %go
go:
  %low = sub i64 %width, 1
  %rest = and i64 %addr, %low
  %aligned = icmp eq i64 %rest, 0
  br i1 %aligned, label %out, label %misaligned
misaligned:
  %kind = add i32 %write, {EventKind.MISALIGNED_READ}
  %w32 = trunc i64 %width to i32
  call void @judge_fault(ptr %ctx, ptr %st, i32 %kind, i32 %site, i32 %mask, i64 %addr, i32 %w32, i64 0, i64 0, i64 0)
  br label %out
out:
  ret void
}}
define void @judge_uniform_store(ptr %ctx, ptr %st, i64 %addr, i64 %bits, i32 %mask, i32 %site, i64 %width) {{
entry:
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %bad, label %go
go:
  %lane = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
  %p = call ptr @judge_checked(ptr %ctx, ptr %st, i32 %lane, i64 %addr, i64 %width, i32 %site, i1 true)
  %null = icmp eq ptr %p, null
  br i1 %null, label %bad, label %some
some:
  {switch.format("s")}
{stores}
wrote:
  call void @judge_traffic(ptr %ctx, i64 %addr, i64 %width, i64 1)
  ret void
bad:
  ret void
}}
"""


def _printf() -> str:
    """Record a printf of each active lane: format address, who, and the bytes its arguments may take."""
    return f"""
define void @judge_printf(ptr %ctx, ptr %st, <32 x i64> %fmt, <32 x i64> %args, i32 %mask) {{
entry:
  %fmts = alloca [32 x i64], align 64
  %argp = alloca [32 x i64], align 64
  store <32 x i64> %fmt, ptr %fmts, align 64
  store <32 x i64> %args, ptr %argp, align 64
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %done, label %loop
loop:
  %left = phi i32 [ %mask, %entry ], [ %rest, %next ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %pu = getelementptr i8, ptr %ctx, i64 {Ctx.PRINT_USED}
  %used = load i64, ptr %pu
  %pc = getelementptr i8, ptr %ctx, i64 {Ctx.PRINT_CAPACITY}
  %cap = load i64, ptr %pc
  %after = add i64 %used, {PRINT_RECORD_BYTES}
  %full = icmp ugt i64 %after, %cap
  br i1 %full, label %done, label %record
record:
  store i64 %after, ptr %pu
  %pb = getelementptr i8, ptr %ctx, i64 {Ctx.PRINT_BUFFER}
  %buf = load ptr, ptr %pb
  %r = getelementptr i8, ptr %buf, i64 %used
  %pf = getelementptr i64, ptr %fmts, i32 %lane
  %f = load i64, ptr %pf
  store i64 %f, ptr %r
  %pcta = getelementptr i8, ptr %ctx, i64 {Ctx.CTA}
  %cta = load i64, ptr %pcta
  %r8 = getelementptr i8, ptr %r, i64 8
  store i64 %cta, ptr %r8
  %pw = getelementptr i8, ptr %st, i64 {State.WARP32}
  %w = load i32, ptr %pw
  %r16 = getelementptr i8, ptr %r, i64 16
  store i32 %w, ptr %r16
  %r20 = getelementptr i8, ptr %r, i64 20
  store i32 %lane, ptr %r20
  %pa = getelementptr i64, ptr %argp, i32 %lane
  %a = load i64, ptr %pa
  br label %copy
copy:
  %i = phi i64 [ 0, %record ], [ %i2, %copied ]
  %src = add i64 %a, %i
  %q = call ptr @judge_resolve(ptr %ctx, ptr %st, i32 %lane, i64 %src, i64 1, i1 false)
  %bad = icmp eq ptr %q, null
  br i1 %bad, label %next, label %byte
byte:
  %x = load i8, ptr %q
  %at = add i64 %i, 32
  %t = getelementptr i8, ptr %r, i64 %at
  store i8 %x, ptr %t
  br label %copied
copied:
  %i2 = add i64 %i, 1
  %more = icmp ult i64 %i2, 256
  br i1 %more, label %copy, label %next
next:
  %end = icmp eq i32 %rest, 0
  br i1 %end, label %done, label %loop
done:
  ret void
}}
"""


def _lane_functions() -> str:
    parts = []
    for name, function in (("lg2", "log2f"), ("sin", "sinf"), ("cos", "cosf"), ("tanh", "tanhf")):
        parts.append(f"""
define float @judge_{name}_scalar(float %x) {{
  %r = call float @{function}(float %x)
  ret float %r
}}
define <32 x float> @judge_{name}(<32 x float> %x) {{
entry:
  %buf = alloca [32 x float], align 64
  store <32 x float> %x, ptr %buf, align 64
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i2, %loop ]
  %p = getelementptr float, ptr %buf, i32 %i
  %v = load float, ptr %p
  %r = call float @{function}(float %v)
  store float %r, ptr %p
  %i2 = add i32 %i, 1
  %more = icmp ult i32 %i2, 32
  br i1 %more, label %loop, label %done
done:
  %out = load <32 x float>, ptr %buf, align 64
  ret <32 x float> %out
}}
""")
    return "\n".join(parts)


def _fp8() -> str:
    """e4m3 (kind 0) and e5m2 (kind 1): a byte to f16 bits, and f32 bits to a byte, saturating to finite.

    Decoding e5m2 is a shift; e4m3 goes through f16 arithmetic: its bits placed as exponent and
    fraction, scaled by 2^8 (the difference of the biases). Encoding scales so that the target's
    subnormals are f32's own rounding boundary and rounds to nearest even on the bit pattern.
    """
    return """
define <32 x i32> @judge_fp8_decode(<32 x i32> %x, i32 %kind) {
entry:
  %e5 = icmp eq i32 %kind, 1
  br i1 %e5, label %e5m2, label %e4m3
e5m2:
  %r5 = shl <32 x i32> %x, splat (i32 8)
  ret <32 x i32> %r5
e4m3:
  %sign = and <32 x i32> %x, splat (i32 128)
  %sign16 = shl <32 x i32> %sign, splat (i32 8)
  %mag = and <32 x i32> %x, splat (i32 127)
  %mag16 = shl <32 x i32> %mag, splat (i32 7)
  %t = trunc <32 x i32> %mag16 to <32 x i16>
  %h = bitcast <32 x i16> %t to <32 x half>
  %f = fpext <32 x half> %h to <32 x float>
  %s = fmul <32 x float> %f, splat (float 256.0)
  %hh = fptrunc <32 x float> %s to <32 x half>
  %hb = bitcast <32 x half> %hh to <32 x i16>
  %hz = zext <32 x i16> %hb to <32 x i32>
  %nan = icmp eq <32 x i32> %mag, splat (i32 127)
  %sel = select <32 x i1> %nan, <32 x i32> splat (i32 32767), <32 x i32> %hz
  %r4 = or <32 x i32> %sel, %sign16
  ret <32 x i32> %r4
}
define <32 x i32> @judge_fp8_encode(<32 x i32> %x, i32 %kind) {
entry:
  %e5 = icmp eq i32 %kind, 1
  %mbits = select i1 %e5, i32 2, i32 3
  %bias = select i1 %e5, i32 15, i32 7
  %max = select i1 %e5, i32 123, i32 126
  %in = alloca [32 x i32], align 64
  store <32 x i32> %x, ptr %in, align 64
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i2, %next ]
  %p = getelementptr i32, ptr %in, i32 %i
  %b = load i32, ptr %p
  %sgn0 = lshr i32 %b, 24
  %sgn = and i32 %sgn0, 128
  %mag = and i32 %b, 2147483647
  %nan = icmp ugt i32 %mag, 2139095040
  br i1 %nan, label %isnan, label %number
isnan:
  br label %next
number:
  %exp = lshr i32 %mag, 23
  %frac0 = and i32 %mag, 8388607
  %frac = or i32 %frac0, 8388608
  %e0 = sub i32 %exp, 127
  %e = add i32 %e0, %bias
  %normal = icmp sge i32 %e, 1
  %under = sub i32 1, %e
  %extra = select i1 %normal, i32 0, i32 %under
  %base = sub i32 23, %mbits
  %sh0 = add i32 %base, %extra
  %big = icmp ugt i32 %sh0, 25
  %sh = select i1 %big, i32 25, i32 %sh0
  %q = lshr i32 %frac, %sh
  %one = shl i32 1, %sh
  %low = sub i32 %one, 1
  %rem = and i32 %frac, %low
  %shm = sub i32 %sh, 1
  %half = shl i32 1, %shm
  %gt = icmp ugt i32 %rem, %half
  %eq = icmp eq i32 %rem, %half
  %odd0 = and i32 %q, 1
  %odd = icmp ne i32 %odd0, 0
  %tie = and i1 %eq, %odd
  %up = or i1 %gt, %tie
  %upz = zext i1 %up to i32
  %qr = add i32 %q, %upz
  %em = sub i32 %e, 1
  %eb = select i1 %normal, i32 %em, i32 0
  %ebs = shl i32 %eb, %mbits
  %code = add i32 %ebs, %qr
  %over = icmp sgt i32 %code, %max
  %toobig = icmp sgt i32 %e, 40
  %sat = or i1 %over, %toobig
  %fin = select i1 %sat, i32 %max, i32 %code
  %res = or i32 %fin, %sgn
  br label %next
next:
  %out = phi i32 [ 127, %isnan ], [ %res, %number ]
  store i32 %out, ptr %p
  %i2 = add i32 %i, 1
  %more = icmp ult i32 %i2, 32
  br i1 %more, label %loop, label %done
done:
  %r = load <32 x i32>, ptr %in, align 64
  ret <32 x i32> %r
}
"""


def _release() -> str:
    """Open a barrier that everybody it waits for has reached; 1 when one was opened.

    A lane that exited counts as arrived. Barriers with a thread count wait for that many, whole
    warps counted. Lanes released from different places are reported once.
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
  %threads = mul i32 %here2, 32
  %enough = icmp uge i32 %threads, %expected2
  %allhere = icmp eq i32 %arrived2, %live2
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
  br label %wake
wake:
  %v = phi i32 [ 0, %open ], [ %v2, %woken ]
  %ref = phi i32 [ -1, %open ], [ %ref3, %woken ]
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
  %r0 = insertelement <32 x i32> poison, i32 %ref2, i64 0
  %rv = shufflevector <32 x i32> %r0, <32 x i32> poison, <32 x i32> zeroinitializer
  %ne = icmp ne <32 x i32> %places, %rv
  %bad = and <32 x i1> %ne, %vat
  %badbits = bitcast <32 x i1> %bad to i32
  %isbad = icmp ne i32 %badbits, 0
  br i1 %isbad, label %divergent, label %woken
divergent:
  %badlane = call i32 @llvm.cttz.i32(i32 %badbits, i1 true)
  %badpc = extractelement <32 x i32> %places, i32 %badlane
  %ref64 = zext i32 %ref2 to i64
  %bad64 = zext i32 %badpc to i64
  call void @judge_fault(ptr %ctx, ptr %vst, i32 {EventKind.DIVERGENT_BARRIER}, i32 0, i32 %badbits, i64 0, i32 0,
                         i64 %ref64, i64 %bad64, i64 0)
  br label %woken
woken:
  %ref3 = phi i32 [ %ref, %wake ], [ %ref2, %clear ], [ %ref2, %divergent ]
  %v2 = add i32 %v, 1
  %vmore = icmp ult i32 %v2, %warps
  br i1 %vmore, label %wake, label %opened
opened:
  ret i32 1
}}
"""


def _run() -> str:
    """Run CTAs [lo, hi): each warp up to its next barrier, round and round."""
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
  %c = phi i64 [ %lo, %entry ], [ %c2, %cta_done ]
  store i64 %c, ptr %pcta
  %cx = urem i64 %c, %gx
  %cyz = udiv i64 %c, %gx
  %cy = urem i64 %cyz, %gy
  %cz = udiv i64 %cyz, %gy
  %cx32 = trunc i64 %cx to i32
  %cy32 = trunc i64 %cy to i32
  %cz32 = trunc i64 %cz to i32
  call void @llvm.memset.p0.i64(ptr %shared, i8 -1, i64 %shared_bytes, i1 false)
  br label %init
init:
  %iw = phi i32 [ 0, %cta ], [ %iw2, %init ]
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
  %iw2 = add i32 %iw, 1
  %imore = icmp ult i32 %iw2, %warps
  br i1 %imore, label %init, label %pass
pass:
  br label %each
each:
  %w = phi i32 [ 0, %pass ], [ %w2, %skip ]
  %ran = phi i32 [ 0, %pass ], [ %ran2, %skip ]
  %alive = phi i32 [ 0, %pass ], [ %alive2, %skip ]
  %waits = phi i32 [ 0, %pass ], [ %waits2, %skip ]
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
  %notready = icmp ne i32 %now, {Status.DONE}
  %wz = zext i1 %notready to i32
  %waits2 = or i32 %waits, %wz
  %w2 = add i32 %w, 1
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
  %c2 = add i64 %c, 1
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
