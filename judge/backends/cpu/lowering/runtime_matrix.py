"""Runtime functions of ldmatrix and stmatrix: rows of 16 bytes at an address of each lane."""

from judge.backends.cpu.addresses import FIRST_BUFFER_SLOT, LOCAL_SLOT, SLOT_SHIFT
from judge.backends.cpu.lowering.runtime_watch import READS, WRITES


def matrix_rows() -> str:
    """Lane l's row is bytes 16 l of the buffer. Rows of lanes out of the mask, and of failed reads, are zero."""
    return "\n".join(_rows(write) for write in (False, True))


def _rows(write: bool) -> str:
    name = "judge_rows_write" if write else "judge_rows_read"
    clear = "" if write else "  call void @llvm.memset.p0.i64(ptr align 64 %buf, i8 0, i64 512, i1 false)\n"
    source, target = ("%mine", "%q") if write else ("%q", "%mine")
    mark = "" if write else "  call void @judge_mark(ptr %ctx, i64 %a, i64 16)\n"
    flags = WRITES if write else READS
    # A thread's local words lie 128 bytes apart, and no row of a matrix may lie there: it counts as outside.
    return f"""
define void @{name}(ptr %ctx, ptr %st, <32 x i64> %addr, i32 %mask, i32 %site, ptr %buf) {{
entry:
  %addrs = alloca [32 x i64], align 64
  store <32 x i64> %addr, ptr %addrs, align 64
{clear}  %none = icmp eq i32 %mask, 0
  br i1 %none, label %done, label %loop
loop:
  %left = phi i32 [ %mask, %entry ], [ %rest, %next ]
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
  call void @judge_watch_any(ptr %ctx, ptr %st, i32 %lane, i64 %a, i64 16, i32 %site, i32 {flags})
  %row = load <16 x i8>, ptr {source}, align 16
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
