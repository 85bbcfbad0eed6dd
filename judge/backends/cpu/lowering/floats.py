"""Floating-point operations: f32, f64, f16, bf16 and the packed pairs of the last two.

Half types are computed in a wider type and rounded once: for + - * and division twice the digits
plus two are enough (Figueroa 1995); fma needs the odd-rounded sum in double (Boldo and Melquiond
2008). No fast-math anywhere.
"""

from collections.abc import Callable, Sequence

from judge.backends.cpu.ir import Instruction, Operand
from judge.backends.cpu.lowering.context import Lowering
from judge.backends.cpu.lowering.values import Value, const_float, const_int, int_elem, vtype

_ELEMS = {"f16": "i16", "bf16": "i16", "f32": "float", "f64": "double"}
_PAIRS = {"f16x2": "f16", "bf16x2": "bf16"}
DIRECTED = {"rz", "rm", "rp"}

# 2^f on [-1/2, 1/2] as 1 + f * p(f); relative error 7.4e-8 with every step rounded to f32.
_EXP2 = [
    float.fromhex("0x1.62e430p-1"),
    float.fromhex("0x1.ebfbe0p-3"),
    float.fromhex("0x1.c6af6cp-5"),
    float.fromhex("0x1.3b2a1cp-7"),
    float.fromhex("0x1.5f0896p-10"),
    float.fromhex("0x1.444004p-13"),
]
_SMALLEST_NORMAL = float.fromhex("0x1p-126")
_SMALLEST_NORMAL_F64 = float.fromhex("0x1p-1022")

Function = Callable[[Sequence[Value]], Value]


def is_float_type(type_: str) -> bool:
    return type_ in _ELEMS or type_ in _PAIRS


def operate(
    lw: Lowering, instruction: Instruction, type_: str, compute: Callable[[str, Sequence[Value]], Value]
) -> None:
    """Apply `compute` (scalar PTX type, values in storage form) to the operands, both halves of a pair."""

    def each(scalar: str, values: Sequence[Value]) -> Value:
        result = compute(scalar, values)
        return flush_half(lw, result) if "ftz" in instruction.modifiers and scalar == "f16" else result

    if type_ not in _PAIRS:
        values = [lw.read(s, _ELEMS[type_]) for s in instruction.sources]
        return lw.write(instruction.destinations[0], each(type_, values))
    low, high = [], []
    for source in instruction.sources:
        first, second = halves(lw, source)
        low.append(first)
        high.append(second)
    results = [each(_PAIRS[type_], part) for part in (low, high)]
    return lw.write(instruction.destinations[0], join(lw, *results))


def halves(lw: Lowering, operand: Operand) -> tuple[Value, Value]:
    """Low and high 16 bits of a 32-bit operand."""
    whole = lw.read(operand, "i32")
    return lw.b.resize(whole, "i16"), lw.b.resize(lw.b.binary("lshr", whole, const_int(16, "i32")), "i16")


def join(lw: Lowering, low: Value, high: Value) -> Value:
    upper = lw.b.binary("shl", lw.b.resize(high, "i32"), const_int(16, "i32"))
    return lw.b.binary("or", lw.b.resize(low, "i32"), upper)


def widen(lw: Lowering, value: Value, type_: str) -> Value:
    """A stored value as float (f32 for the half types) or double."""
    if type_ == "f16":
        return lw.b.cast("fpext", lw.b.bitcast(value, "half"), "float")
    if type_ == "bf16":
        return lw.b.bitcast(lw.b.binary("shl", lw.b.resize(value, "i32"), const_int(16, "i32")), "float")
    return value


def narrow(lw: Lowering, value: Value, type_: str) -> Value:
    """Round a float (or double) to nearest even in the storage form of a type."""
    if type_ in ("f16", "bf16"):
        if value.elem == "double":
            value = to_odd_float(lw, value)
        if type_ == "bf16":
            return _round_bf16(lw, value)
        return lw.b.bitcast(lw.b.cast("fptrunc", value, "half"), "i16")
    if type_ == "f32" and value.elem == "double":
        return lw.b.cast("fptrunc", value, "float")
    return value


def _round_bf16(lw: Lowering, value: Value) -> Value:
    b = lw.b
    bits = b.bitcast(value, "i32")
    lowest = b.binary("and", b.binary("lshr", bits, const_int(16, "i32")), const_int(1, "i32"))
    rounded = b.binary("add", b.binary("add", bits, const_int(0x7FFF, "i32")), lowest)
    nan = b.fcmp("uno", value, value)
    chosen = b.select(nan, const_int(0x7FFF0000, "i32"), rounded)
    return b.resize(b.binary("lshr", chosen, const_int(16, "i32")), "i16")


def to_odd_float(lw: Lowering, value: Value) -> Value:
    """A double as float, rounded to odd: rounding again to fewer digits is then exact."""
    b = lw.b
    near = b.cast("fptrunc", value, "float")
    back = b.cast("fpext", near, "double")
    residual = b.binary("fsub", value, back)
    return make_odd(lw, near, residual)


def make_odd(lw: Lowering, near: Value, residual: Value) -> Value:
    """`near` + `residual` rounded to odd, where near is the sum rounded to nearest."""
    b = lw.b
    elem = int_elem(near.bits)
    bits = b.bitcast(near, elem)
    zero = const_float(0.0, residual.elem)
    exact = b.fcmp("oeq", residual, zero)
    even = b.icmp("eq", b.binary("and", bits, const_int(1, elem)), const_int(0, elem))
    away = b.icmp("eq", b.fcmp("ogt", residual, zero), b.icmp("sge", bits, const_int(0, elem)))
    step = b.select(away, const_int(1, elem), const_int(-1, elem))
    moved = b.binary("add", bits, step)
    real = b.fcmp("ord", residual, zero)
    adjust = b.binary("and", b.binary("and", real, even), b.binary("xor", exact, const_int(1, "i1")))
    return b.bitcast(b.select(adjust, moved, bits), near.elem)


def two_sum(lw: Lowering, a: Value, c: Value) -> tuple[Value, Value]:
    """a + c rounded to nearest, and what the rounding lost (Knuth)."""
    b = lw.b
    total = b.binary("fadd", a, c)
    virtual = b.binary("fsub", total, a)
    lost = b.binary(
        "fadd",
        b.binary("fsub", a, b.binary("fsub", total, virtual)),
        b.binary("fsub", c, virtual),
    )
    return total, lost


def flush(lw: Lowering, value: Value) -> Value:
    """.ftz: subnormal f32 (and, for the approximate f64 functions, f64) values become zero of their sign."""
    magnitude = lw.b.intrinsic("fabs", value)
    smallest = _SMALLEST_NORMAL if value.elem == "float" else _SMALLEST_NORMAL_F64
    small = lw.b.fcmp("olt", magnitude, const_float(smallest, value.elem))
    return lw.b.select(small, lw.b.intrinsic("copysign", const_float(0.0, value.elem), value), value)


def saturate(lw: Lowering, value: Value) -> Value:
    """.sat: clamp to [0, 1], NaN to 0."""
    raised = lw.b.intrinsic("maximumnum", value, const_float(0.0, value.elem))
    return lw.b.intrinsic("minimumnum", raised, const_float(1.0, value.elem))


_ROUNDING = {"rz": 0, "rp": 2, "rm": 3}
"""Operand of llvm.set.rounding."""


def directed(lw: Lowering, op: str, mode: str, *operands: Value, elem: str | None = None) -> Value:
    """An operation rounded toward zero (rz), up (rp) or down (rm), by the host's own rounding mode.

    op: fadd, fsub, fmul, fdiv, fma, sqrt, fptrunc, sitofp or uitofp; elem: result type of a conversion.
    """
    vectors = [lw.b.splat(v) for v in operands]
    source, target = vectors[0].elem, elem or vectors[0].elem
    name = f"judge_{mode}_{op}_{source}_{target}"
    result = vtype(target, True)
    if name not in lw.functions:
        suffix = {"float": "f32", "double": "f64", "i32": "i32", "i64": "i64", "i16": "i16", "i8": "i8"}
        kinds = f"v32{suffix[target]}" + (f".v32{suffix[source]}" if elem else "")
        callee = f"llvm.experimental.constrained.{op}.{kinds}"
        types = ", ".join(v.type for v in vectors)
        lw.b.declarations.add(f"declare {result} @{callee}({types}, metadata, metadata)")
        lw.b.declarations.add("declare void @llvm.set.rounding(i32)")
        names = [f"{v.type} %x{k}" for k, v in enumerate(vectors)]
        lw.functions[name] = f"""
define internal {result} @{name}({", ".join(names)}) noinline strictfp {{
  call void @llvm.set.rounding(i32 {_ROUNDING[mode]})
  %r = call {result} @{callee}({", ".join(names)}, metadata !"round.dynamic", metadata !"fpexcept.strict") strictfp
  call void @llvm.set.rounding(i32 1)
  ret {result} %r
}}
"""
    value = Value(lw.b.call(result, name, *(v.typed for v in vectors)), target, True)
    if any(v.vec for v in operands):
        return value
    return lw.b.assign(f"extractelement {value.typed}, i64 0", target)


def flush_half(lw: Lowering, bits: Value) -> Value:
    """.ftz of an f16 in storage form."""
    b = lw.b
    normal = b.icmp("ne", b.binary("and", bits, const_int(0x7C00, "i16")), const_int(0, "i16"))
    return b.select(normal, bits, b.binary("and", bits, const_int(0x8000, "i16")))


def _finish(lw: Lowering, instruction: Instruction, value: Value) -> Value:
    if "ftz" in instruction.modifiers and instruction.types[-1] not in ("f16", "f16x2"):
        value = flush(lw, value)
    if "sat" in instruction.modifiers:
        value = saturate(lw, value)
    if "relu" in instruction.modifiers:
        value = relu(lw, value)
    return value


def relu(lw: Lowering, value: Value) -> Value:
    """Negative to zero; NaN stays NaN."""
    return lw.b.intrinsic("maximum", value, const_float(0.0, value.elem))


def _mode(instruction: Instruction) -> str | None:
    return next((m for m in instruction.modifiers if m in DIRECTED), None)


def _ready(lw: Lowering, instruction: Instruction, values: Sequence[Value], type_: str) -> list[Value]:
    if "ftz" in instruction.modifiers and type_ == "f16":
        values = [flush_half(lw, v) for v in values]
    wide = [widen(lw, v, type_) for v in values]
    if "ftz" in instruction.modifiers and type_ != "f16":
        wide = [flush(lw, v) for v in wide]
    return wide


def float_binary(lw: Lowering, instruction: Instruction) -> None:
    """add, sub, mul, div, min and max of any float type."""

    def each(type_: str, values: Sequence[Value]) -> Value:
        wide = _ready(lw, instruction, values, type_)
        if instruction.opcode in ("min", "max"):
            return narrow(lw, _min_max(lw, instruction, wide), type_)
        a, c = wide
        op = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}[instruction.opcode]
        mode = _mode(instruction)
        result = lw.b.binary(op, a, c) if mode is None else directed(lw, op, mode, *lw.b.unify(a, c))
        return narrow(lw, _finish(lw, instruction, result), type_)

    operate(lw, instruction, instruction.types[-1], each)


def _min_max(lw: Lowering, instruction: Instruction, values: Sequence[Value]) -> Value:
    suffix = "imum" if "NaN" in instruction.modifiers else "imumnum"
    name = instruction.opcode + suffix
    if "xorsign" in instruction.modifiers:
        magnitudes = [lw.b.intrinsic("fabs", v) for v in values]
        elem = int_elem(values[0].bits)
        sign = lw.b.binary("xor", *(lw.b.bitcast(v, elem) for v in values))
        return lw.b.intrinsic("copysign", lw.b.intrinsic(name, *magnitudes), lw.b.bitcast(sign, values[0].elem))
    result = lw.b.intrinsic(name, values[0], values[1])
    for extra in values[2:]:
        result = lw.b.intrinsic(name, result, extra)
    return result


def float_mad(lw: Lowering, instruction: Instruction) -> None:
    """fma and mad: one rounding."""

    def each(type_: str, values: Sequence[Value]) -> Value:
        wide = _ready(lw, instruction, values, type_)
        mode = _mode(instruction)
        if type_ in ("f16", "bf16"):
            return narrow(lw, _finish(lw, instruction, _odd_fma(lw, wide)), type_)
        result = lw.b.intrinsic("fma", *wide) if mode is None else directed(lw, "fma", mode, *lw.b.unify(*wide))
        return _finish(lw, instruction, result)

    operate(lw, instruction, instruction.types[-1], each)


def _odd_fma(lw: Lowering, values: Sequence[Value]) -> Value:
    """a * b + c of float operands as a double rounded to odd (the product is exact in double)."""
    a, c, d = lw.b.unify(*(lw.b.cast("fpext", v, "double") for v in values))
    total, lost = two_sum(lw, lw.b.binary("fmul", a, c), d)
    return make_odd(lw, total, lost)


def float_unary(lw: Lowering, instruction: Instruction) -> None:
    """abs and neg: bit operations, so that a NaN keeps its payload."""
    type_ = instruction.types[-1]

    def each(scalar: str, values: Sequence[Value]) -> Value:
        value = values[0]
        if "ftz" in instruction.modifiers and scalar == "f16":
            value = flush_half(lw, value)
        if "ftz" in instruction.modifiers and scalar == "f32":
            value = flush(lw, value)
        elem = int_elem(value.bits)
        top = 1 << (value.bits - 1)
        bits = lw.b.bitcast(value, elem)
        if instruction.opcode == "abs":
            changed = lw.b.binary("and", bits, const_int(top - 1, elem))
        else:
            changed = lw.b.binary("xor", bits, const_int(top, elem))
        return lw.b.bitcast(changed, value.elem)

    operate(lw, instruction, type_, each)


def exp2(lw: Lowering, x: Value) -> Value:
    """2^x of a float, within 2 ulp; subnormal results and infinities included."""
    b = lw.b
    x = b.select(b.fcmp("olt", x, const_float(-200.0)), const_float(-200.0), x)
    x = b.select(b.fcmp("ogt", x, const_float(200.0)), const_float(200.0), x)
    whole = b.intrinsic("rint", x)
    part = b.binary("fsub", x, whole)
    polynomial = const_float(_EXP2[-1])
    for coefficient in reversed(_EXP2[:-1]):
        polynomial = b.intrinsic("fma", *b.unify(polynomial, part, const_float(coefficient)))
    mantissa = b.intrinsic("fma", *b.unify(polynomial, part, const_float(1.0)))
    exponent = b.intrinsic("fptosi.sat.i32" if not x.vec else "fptosi.sat.v32i32", whole, elem="i32")
    first = b.binary("ashr", exponent, const_int(1, "i32"))
    second = b.binary("sub", exponent, first)
    for half in (first, second):
        biased = b.binary("shl", b.binary("add", half, const_int(127, "i32")), const_int(23, "i32"))
        mantissa = b.binary("fmul", mantissa, b.bitcast(biased, "float"))
    return mantissa


def transcendental(lw: Lowering, instruction: Instruction) -> None:
    """ex2, lg2, sin, cos, tanh, rcp, sqrt, rsqrt."""

    def each(type_: str, values: Sequence[Value]) -> Value:
        (x,) = _ready(lw, instruction, values, type_)
        return narrow(lw, _finish(lw, instruction, _function(lw, instruction, x)), type_)

    operate(lw, instruction, instruction.types[-1], each)


def _function(lw: Lowering, instruction: Instruction, x: Value) -> Value:
    opcode, mode = instruction.opcode, _mode(instruction)
    one = const_float(1.0, x.elem)
    if opcode == "ex2":
        return exp2(lw, x)
    if opcode == "sqrt":
        return lw.b.intrinsic("sqrt", x) if mode is None else directed(lw, "sqrt", mode, x)
    if opcode == "rcp":
        return lw.b.binary("fdiv", one, x) if mode is None else directed(lw, "fdiv", mode, *lw.b.unify(one, x))
    if opcode == "rsqrt":
        if x.elem == "double":
            return lw.b.binary("fdiv", one, lw.b.intrinsic("sqrt", x))
        wide = lw.b.intrinsic("sqrt", lw.b.cast("fpext", x, "double"))
        return lw.b.cast("fptrunc", lw.b.binary("fdiv", const_float(1.0, "double"), wide), "float")
    return _library(lw, opcode, x)


def _library(lw: Lowering, opcode: str, x: Value) -> Value:
    """lg2, sin, cos and tanh of a float through the C library, a lane at a time."""
    if not x.vec:
        return Value(lw.b.call("float", f"judge_{opcode}_scalar", x.typed), "float")
    return Value(lw.b.call("<32 x float>", f"judge_{opcode}", x.typed), "float", True)


def copy_sign(lw: Lowering, instruction: Instruction) -> None:
    """copysign d, a, b: the magnitude of b with the sign of a."""
    elem = _ELEMS[instruction.types[-1]]
    sign, magnitude = (lw.read(s, elem) for s in instruction.sources)
    lw.write(instruction.destinations[0], lw.b.intrinsic("copysign", magnitude, sign))


def test_property(lw: Lowering, instruction: Instruction) -> None:
    """testp: finite, infinite, number, notanumber, normal, subnormal."""
    b = lw.b
    x = lw.read(instruction.sources[0], _ELEMS[instruction.types[-1]])
    magnitude = b.intrinsic("fabs", x)
    smallest = _SMALLEST_NORMAL if x.elem == "float" else _SMALLEST_NORMAL_F64
    infinity = b.bitcast(const_int(0x7F800000 if x.elem == "float" else 0x7FF << 52, int_elem(x.bits)), x.elem)
    tests: dict[str, Callable[[], Value]] = {
        "finite": lambda: b.fcmp("olt", magnitude, infinity),
        "infinite": lambda: b.fcmp("oeq", magnitude, infinity),
        "number": lambda: b.fcmp("ord", x, x),
        "notanumber": lambda: b.fcmp("uno", x, x),
        # The manual counts zeros as normal numbers.
        "normal": lambda: b.binary(
            "or",
            b.fcmp("oeq", magnitude, const_float(0.0, x.elem)),
            b.binary(
                "and", b.fcmp("olt", magnitude, infinity), b.fcmp("oge", magnitude, const_float(smallest, x.elem))
            ),
        ),
        "subnormal": lambda: b.fcmp("olt", magnitude, const_float(smallest, x.elem)),
    }
    name = next(m for m in instruction.modifiers if m in tests)
    result = tests[name]()
    if name == "subnormal":
        result = b.binary("and", result, b.fcmp("one", magnitude, const_float(0.0, x.elem)))
    lw.write(instruction.destinations[0], result)


OPERATIONS: dict[str, Callable[[Lowering, Instruction], None]] = {
    "ex2": transcendental,
    "lg2": transcendental,
    "sin": transcendental,
    "cos": transcendental,
    "tanh": transcendental,
    "rcp": transcendental,
    "sqrt": transcendental,
    "rsqrt": transcendental,
    "copysign": copy_sign,
    "testp": test_property,
}
