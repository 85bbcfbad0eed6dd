"""Runtime functions of ldmatrix and stmatrix: rows of 16 bytes at an address of each lane."""

from judge.backends.cpu.addresses import FIRST_BUFFER_SLOT, LOCAL_SLOT, SHARED_SLOT, SLOT_SHIFT, slot_base
from judge.backends.cpu.lowering.layout import Ctx
from judge.backends.cpu.lowering.runtime_watch import READS, WRITES

# Rows that all lie in shared memory, the usual case, are watched as one access of the warp.
_READ_TOGETHER = f"""  br i1 %none, label %done, label %where
where:
  %taking = bitcast i32 %mask to <32 x i1>
  %offs = sub <32 x i64> %addr, splat (i64 {slot_base(SHARED_SLOT)})
  %pb = getelementptr i8, ptr %ctx, i64 {Ctx.SHARED_BYTES}
  %bytes = load i64, ptr %pb
  %bv0 = insertelement <32 x i64> poison, i64 %bytes, i64 0
  %bv = shufflevector <32 x i64> %bv0, <32 x i64> poison, <32 x i32> zeroinitializer
  %ends = add <32 x i64> %offs, splat (i64 16)
  %inside0 = icmp ule <32 x i64> %ends, %bv
  %inside1 = icmp ult <32 x i64> %offs, %bv
  %inside = and <32 x i1> %inside0, %inside1
  %low = and <32 x i64> %offs, splat (i64 15)
  %whole = icmp eq <32 x i64> %low, zeroinitializer
  %fine0 = and <32 x i1> %inside, %whole
  %fine = and <32 x i1> %fine0, %taking
  %finebits = bitcast <32 x i1> %fine to i32
  %shared = icmp eq i32 %finebits, %mask
  br i1 %shared, label %watch_all, label %start
watch_all:
  call void @judge_watch_load(ptr %ctx, ptr %st, i64 {SHARED_SLOT}, <32 x i64> %addr, i32 %mask, i32 %site,
                              i64 4, i64 16, i1 false)
  br label %start
start:
  br label %loop
"""


def matrix_rows() -> str:
    """Lane l's row is bytes 16 l of the buffer. Rows of lanes out of the mask, and of failed reads, are zero."""
    return "\n".join(_rows(write) for write in (False, True))


def _rows(write: bool) -> str:
    name = "judge_rows_write" if write else "judge_rows_read"
    clear = "" if write else "  call void @llvm.memset.p0.i64(ptr align 64 %buf, i8 0, i64 512, i1 false)\n"
    source, target = ("%mine", "%q") if write else ("%q", "%mine")
    mark = "" if write else "  call void @judge_mark(ptr %ctx, i64 %a, i64 16)\n"
    each = "call void @judge_watch_any(ptr %ctx, ptr %st, i32 %lane, i64 %a, i64 16, i32 %site, i32"
    if write:
        before, together, watched = "entry", "  br i1 %none, label %done, label %loop\n", f"  {each} {WRITES})\n"
    else:
        before, together = "start", _READ_TOGETHER
        watched = f"""  br i1 %shared, label %copy, label %watch
watch:
  {each} {READS})
  br label %copy
copy:
"""
    # A thread's local words lie 128 bytes apart, and no row of a matrix may lie there: it counts as outside.
    return f"""
define void @{name}(ptr %ctx, ptr %st, <32 x i64> %addr, i32 %mask, i32 %site, ptr %buf) {{
entry:
  %addrs = alloca [32 x i64], align 64
  store <32 x i64> %addr, ptr %addrs, align 64
{clear}  %none = icmp eq i32 %mask, 0
{together}loop:
  %left = phi i32 [ %mask, %{before} ], [ %rest, %next ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %la = getelementptr i64, ptr %addrs, i32 %lane
  %given = load i64, ptr %la
  %slot = lshr i64 %given, {SLOT_SHIFT}
  %local = icmp eq i64 %slot, {LOCAL_SLOT}
  %a = select i1 %local, i64 0, i64 %given
  %q = call ptr @judge_checked(ptr %ctx, ptr %st, i32 %lane, i64 %a, i64 16, i32 %site, i1 {str(write).lower()})
  %bad = icmp eq ptr %q, null
  br i1 %bad, label %next, label %good
good:
  %at = mul i32 %lane, 16
  %mine = getelementptr i8, ptr %buf, i32 %at
{watched}  %row = load <16 x i8>, ptr {source}, align 16
  store <16 x i8> %row, ptr {target}, align 16
  %buffer = icmp uge i64 %slot, {FIRST_BUFFER_SLOT}
  br i1 %buffer, label %count, label %next
count:
  call void @judge_traffic(ptr %ctx, i64 %a, i64 16, i64 {int(write)})
{mark}  br label %next
next:
  %end = icmp eq i32 %rest, 0
  br i1 %end, label %done, label %loop
done:
  ret void
}}
"""
