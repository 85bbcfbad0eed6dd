"""Runtime loads and stores of several elements a lane (float4 and its like), and of one address for a whole warp."""

from judge.backends.cpu.addresses import FIRST_BUFFER_SLOT, LOCAL_SLOT, SLOT_SHIFT
from judge.backends.cpu.lowering import runtime_gather as gather
from judge.backends.cpu.lowering.layout import EventKind
from judge.backends.cpu.lowering.runtime_access import LOOP_HEAD, dedupe, split_words
from judge.backends.cpu.lowering.runtime_watch import READS, WRITES


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


def _vector_prologue(together: str) -> str:
    """together: code from label %test on that serves all lanes at once, or goes to %slow."""
    return f"""
entry:
  %addrs = alloca [32 x i64], align 64
  %words = alloca [512 x i32], align 64
  store <32 x i64> %addr, ptr %addrs, align 64
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %done, label %{"test" if together else "slow"}
{together}
slow:
  br label %loop
{LOOP_HEAD}"""


def _gathered(bits: int, count: int) -> str:
    if bits < 32:
        return ""
    width = bits // 8
    parts = []
    for element in range(count):
        parts.append(gather.element(bits, element, None))
        parts.append(f"""  %g_b{element} = getelementptr i8, ptr %buf, i64 {element * 32 * width}
  store <32 x i{bits}> %g_x{element}, ptr %g_b{element}, align 4""")
    body = "\n".join(parts)
    return f"""test:{gather.slot_test(width * count)}
  br i1 %g_ok, label %gather, label %slow
gather:{gather.pointers()}
  call void @judge_watch_load(ptr %ctx, ptr %st, i64 %g_slot, <32 x i64> %addr, i32 %mask, i32 %site,
                              i64 {width * count // 4}, i64 {width * count}, i1 false)
{body}
  call void @judge_gather_traffic(ptr %ctx, i64 %g_slot, <32 x i64> %addr, i32 %mask, i64 {width * count}, i64 0)
  ret void"""


def _scattered(bits: int, count: int) -> str:
    if bits < 32:
        return ""
    width = bits // 8
    loads, words, stores = [], [], []
    for element in range(count):
        loads.append(f"""  %g_b{element} = getelementptr i8, ptr %buf, i64 {element * 32 * width}
  %g_v{element} = load <32 x i{bits}>, ptr %g_b{element}, align 4""")
        words.append(f"""  %g_r{element} = getelementptr i8, ptr %words, i64 {element * 32 * width}
{split_words(bits, f"%g_v{element}", f"%g_r{element}", f"g_w{element}")}""")
        stores.append(gather.element(bits, element, f"%g_v{element}"))
    body = "\n".join([*loads, *words])
    return f"""test:{gather.slot_test(width * count)}
{gather.writable("%g_slotc", "g_writable")}
  %g_go = and i1 %g_ok, %g_writable
  br i1 %g_go, label %scatter, label %slow
scatter:{gather.pointers()}
{body}
  call void @judge_watch_store(ptr %ctx, ptr %st, i64 %g_slot, <32 x i64> %addr, i32 %mask, i32 %site,
                               i64 {width * count // 4}, ptr %words, i1 false)
{chr(10).join(stores)}
  call void @judge_gather_traffic(ptr %ctx, i64 %g_slot, <32 x i64> %addr, i32 %mask, i64 {width * count}, i64 1)
  ret void"""


def load_vector(bits: int, count: int) -> str:
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
        _vector_prologue(_gathered(bits, count))
    }
  %q = call ptr @judge_checked(ptr %ctx, ptr %st, i32 %lane, i64 %a, i64 {total}, i32 %site, i1 false)
  %bad = icmp eq ptr %q, null
  br i1 %bad, label %next, label %good
good:
  call void @judge_watch_any(ptr %ctx, ptr %st, i32 %lane, i64 %a, i64 {total}, i32 %site, i32 {READS})
  %vslot = lshr i64 %a, {SLOT_SHIFT}
  %islocal = icmp eq i64 %vslot, {LOCAL_SLOT}
  %step = select i1 %islocal, i64 128, i64 4
{body}{dedupe(total, False)}
  br label %next
next:
  %end_ = icmp eq i32 %rest, 0
  br i1 %end_, label %done, label %loop
done:
  ret void
}}
"""


def store_vector(bits: int, count: int) -> str:
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
        _vector_prologue(_scattered(bits, count))
    }
  %q = call ptr @judge_checked(ptr %ctx, ptr %st, i32 %lane, i64 %a, i64 {total}, i32 %site, i1 true)
  %bad = icmp eq ptr %q, null
  br i1 %bad, label %next, label %good
good:
  call void @judge_watch_any(ptr %ctx, ptr %st, i32 %lane, i64 %a, i64 {total}, i32 %site, i32 {WRITES})
  %vslot = lshr i64 %a, {SLOT_SHIFT}
  %islocal = icmp eq i64 %vslot, {LOCAL_SLOT}
  %step = select i1 %islocal, i64 128, i64 4
{body}{dedupe(total, True)}
  br label %next
next:
  %end_ = icmp eq i32 %rest, 0
  br i1 %end_, label %done, label %loop
done:
  ret void
}}
"""


def uniform_access() -> str:
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
  %o{w} = load i{8 * w}, ptr %p, align 1
  %e{w} = icmp eq i{8 * w} %o{w}, %t{w}
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
  call void @judge_watch_uniform_read(ptr %ctx, ptr %st, i64 %addr, i64 %width, i32 %mask, i32 %site)
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
  %there = phi i1 [ %e1, %s1 ], [ %e2, %s2 ], [ %e4, %s4 ], [ %e8, %s8 ]
  %repeats = call i1 @judge_same_value(ptr %ctx, i64 %addr, i64 %bits, i64 %width)
  %unchanged = and i1 %there, %repeats
  call void @judge_watch_uniform_write(ptr %ctx, ptr %st, i64 %addr, i64 %width, i32 %mask, i32 %site, i1 %unchanged)
  call void @judge_traffic(ptr %ctx, i64 %addr, i64 %width, i64 1)
  ret void
bad:
  ret void
}}
"""
