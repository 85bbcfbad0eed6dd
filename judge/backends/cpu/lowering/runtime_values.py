"""Runtime functions on values: records of printf, math without an instruction, fp8 and half conversion."""

from judge.backends.cpu.lowering.layout import Ctx, State

PRINT_RECORD_BYTES = 32 + 256
"""format address, CTA, warp, lane, padding to 32 bytes; then the argument bytes."""


def printf() -> str:
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


def lane_functions() -> str:
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


def quotients() -> str:
    """64-bit quotients of all lanes, for which no processor has a vector instruction; no divisor is 0."""
    return "\n".join(
        f"""
define <32 x i64> @judge_{op}64(<32 x i64> %a, <32 x i64> %d) {{
entry:
  %dividends = alloca [32 x i64], align 64
  %divisors = alloca [32 x i64], align 64
  store <32 x i64> %a, ptr %dividends, align 64
  store <32 x i64> %d, ptr %divisors, align 64
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i2, %loop ]
  %p = getelementptr i64, ptr %dividends, i32 %i
  %q = getelementptr i64, ptr %divisors, i32 %i
  %x = load i64, ptr %p
  %y = load i64, ptr %q
  %r = {op} i64 %x, %y
  store i64 %r, ptr %p
  %i2 = add i32 %i, 1
  %more = icmp ult i32 %i2, 32
  br i1 %more, label %loop, label %done
done:
  %out = load <32 x i64>, ptr %dividends, align 64
  ret <32 x i64> %out
}}
"""
        for op in ("sdiv", "udiv")
    )


def upper_halves() -> str:
    """The upper 64 bits of unsigned products, from those of the halves of their factors."""
    return """
define <32 x i64> @judge_umulhi64(<32 x i64> %a, <32 x i64> %b) {
  %al = and <32 x i64> %a, splat (i64 4294967295)
  %bl = and <32 x i64> %b, splat (i64 4294967295)
  %ah = lshr <32 x i64> %a, splat (i64 32)
  %bh = lshr <32 x i64> %b, splat (i64 32)
  %ll = mul <32 x i64> %al, %bl
  %lh = mul <32 x i64> %al, %bh
  %hl = mul <32 x i64> %ah, %bl
  %hh = mul <32 x i64> %ah, %bh
  %carried = lshr <32 x i64> %ll, splat (i64 32)
  %lhl = and <32 x i64> %lh, splat (i64 4294967295)
  %hll = and <32 x i64> %hl, splat (i64 4294967295)
  %one = add <32 x i64> %carried, %lhl
  %middle = add <32 x i64> %one, %hll
  %lhh = lshr <32 x i64> %lh, splat (i64 32)
  %hlh = lshr <32 x i64> %hl, splat (i64 32)
  %over = lshr <32 x i64> %middle, splat (i64 32)
  %two = add <32 x i64> %hh, %lhh
  %three = add <32 x i64> %two, %hlh
  %out = add <32 x i64> %three, %over
  ret <32 x i64> %out
}
"""


def fp8() -> str:
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


def half() -> str:
    """Half conversions under the names that code for processors without F16C calls (x86-64-v2).

    To float: the bits under float's exponent, times 2^112, the difference of the biases. To half: round to
    nearest even on the bit pattern; below 2^-14 the addition of 0.5 rounds, whose last place is half's
    smallest step. A double first becomes a float rounded to odd, so that the second rounding sees the first.
    """
    return """
define float @__extendhfsf2(half %h) {
  %b16 = bitcast half %h to i16
  %b = zext i16 %b16 to i32
  %mag = and i32 %b, 32767
  %up = shl i32 %mag, 13
  %f = bitcast i32 %up to float
  %scaled = fmul float %f, 0x46F0000000000000
  %bits = bitcast float %scaled to i32
  %special = icmp uge i32 %mag, 31744
  %infinite = or i32 %up, 2139095040
  %m = select i1 %special, i32 %infinite, i32 %bits
  %s0 = and i32 %b, 32768
  %s = shl i32 %s0, 16
  %r = or i32 %m, %s
  %x = bitcast i32 %r to float
  ret float %x
}
define half @__truncsfhf2(float %x) {
  %b = bitcast float %x to i32
  %a = and i32 %b, 2147483647
  %s0 = lshr i32 %b, 16
  %s = and i32 %s0, 32768
  %isnan = icmp ugt i32 %a, 2139095040
  %payload0 = lshr i32 %a, 13
  %payload1 = and i32 %payload0, 1023
  %nan = or i32 %payload1, 32256
  %over = icmp uge i32 %a, 1199566848
  %normal = icmp uge i32 %a, 947912704
  %rebiased = sub i32 %a, 939524096
  %odd0 = lshr i32 %rebiased, 13
  %odd = and i32 %odd0, 1
  %r1 = add i32 %rebiased, 4095
  %r2 = add i32 %r1, %odd
  %n = lshr i32 %r2, 13
  %f = bitcast i32 %a to float
  %sum = fadd float %f, 5.000000e-01
  %sumbits = bitcast float %sum to i32
  %small = sub i32 %sumbits, 1056964608
  %finite = select i1 %normal, i32 %n, i32 %small
  %big = select i1 %over, i32 31744, i32 %finite
  %m = select i1 %isnan, i32 %nan, i32 %big
  %r = or i32 %m, %s
  %t = trunc i32 %r to i16
  %h = bitcast i16 %t to half
  ret half %h
}
define half @__truncdfhf2(double %d) {
  %f = fptrunc double %d to float
  %back = fpext float %f to double
  %exact = fcmp ueq double %back, %d
  %b = bitcast float %f to i32
  %bd = bitcast double %back to i64
  %dd = bitcast double %d to i64
  %am = and i64 %bd, 9223372036854775807
  %dm = and i64 %dd, 9223372036854775807
  %above = icmp ugt i64 %am, %dm
  %az = zext i1 %above to i32
  %down = sub i32 %b, %az
  %odd = or i32 %down, 1
  %bits = select i1 %exact, i32 %b, i32 %odd
  %g = bitcast i32 %bits to float
  %h = call half @__truncsfhf2(float %g)
  ret half %h
}
"""
