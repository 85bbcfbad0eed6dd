"""The instructions of PTX: what each may look like, and which of them only a GPU runs.

A row gives the operand patterns an opcode accepts, one letter an operand:
  d  destination register, or `_`          D  the same or a vector
  P  destination, or a pair `p|q`          r  value: register, constant, symbol, special register
  v  value or vector                       n  predicate, maybe inverted
  m  memory operand                        i  constant
  l  label                                 t  name of a branch table
then the suffixes it knows besides types, and the least number of types it needs. NVRTC does not
look into inline asm, so this table is what tells a learner that their asm is not PTX.
"""

from dataclasses import dataclass

_ROUND = "rn rz rm rp rna ftz sat"
_COMPARE = "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan"
_SCOPE = "cta cluster gpu sys"
_SPACE = "global local param shared const"
_ORDER = "weak volatile relaxed acquire release acq_rel sc mmio"
_CACHE = (
    "ca cg cs lu cv wb wt nc L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last "
    "L1::no_allocate L2::evict_normal L2::evict_first L2::evict_last L2::cache_hint L2::64B L2::128B L2::256B unified"
)
_PRIORITY = "L2::evict_normal L2::evict_first L2::evict_last L2::evict_unchanged"
_VECTOR = "v2 v4 v8"
_LAYOUT = "row col"
_WMMA_SHAPES = "m16n16k16 m8n32k16 m32n8k16 m8n8k32 m8n8k128 m16n16k8 m8n8k4"
_MMA_SHAPES = "m8n8k4 m16n8k4 m16n8k8 m16n8k16 m16n8k32 m8n8k16 m8n8k32 m8n8k128 m16n8k64 m16n8k128 m16n8k256"

# opcode: (patterns, suffixes, least types). The longest opcode that begins a spelling counts.
_TABLE: dict[str, tuple[str, str, int]] = {
    # integer and float arithmetic
    "add": ("drr", _ROUND + " cc", 1),
    "addc": ("drr", "cc", 1),
    "sub": ("drr", _ROUND + " cc", 1),
    "subc": ("drr", "cc", 1),
    "mul": ("drr", _ROUND + " hi lo wide", 1),
    "mul24": ("drr", "hi lo", 1),
    "mad": ("drrr", _ROUND + " hi lo wide cc", 1),
    "madc": ("drrr", "hi lo cc", 1),
    "mad24": ("drrr", "hi lo sat", 1),
    "fma": ("drrr", _ROUND + " relu oob", 1),
    "div": ("drr", _ROUND + " full approx", 1),
    "rem": ("drr", "", 1),
    "abs": ("dr", "ftz", 1),
    "neg": ("dr", "ftz", 1),
    "min": ("drr drrr", "ftz NaN xorsign abs relu", 1),
    "max": ("drr drrr", "ftz NaN xorsign abs relu", 1),
    "sad": ("drrr", "", 1),
    "popc": ("dr", "", 1),
    "clz": ("dr", "", 1),
    "bfind": ("dr", "shiftamt", 1),
    "fns": ("drrr", "", 1),
    "brev": ("dr", "", 1),
    "bfe": ("drrr", "", 1),
    "bfi": ("drrrr", "", 1),
    "bmsk": ("drr", "clamp wrap", 1),
    "szext": ("drr", "clamp wrap", 1),
    "dp4a": ("drrr", "", 2),
    "dp2a": ("drrr", "hi lo", 2),
    "testp": ("dr", "finite infinite number notanumber normal subnormal", 1),
    "copysign": ("drr", "", 1),
    "rcp": ("dr", _ROUND + " approx", 1),
    "sqrt": ("dr", _ROUND + " approx", 1),
    "rsqrt": ("dr", "approx ftz", 1),
    "sin": ("dr", "approx ftz", 1),
    "cos": ("dr", "approx ftz", 1),
    "lg2": ("dr", "approx ftz", 1),
    "ex2": ("dr", "approx ftz", 1),
    "tanh": ("dr", "approx", 1),
    # comparison, selection, logic, shifts
    "set": ("drr drrn", _COMPARE + " and or xor ftz", 2),
    "setp": ("Prr Prrn", _COMPARE + " and or xor ftz", 1),
    "selp": ("drrn", "", 1),
    "slct": ("drrr", "ftz", 2),
    "and": ("drr", "", 1),
    "or": ("drr", "", 1),
    "xor": ("drr", "", 1),
    "not": ("dr", "", 1),
    "cnot": ("dr", "", 1),
    "lop3": ("drrri Prrrin", "and or", 1),
    "shf": ("drrr", "l r clamp wrap", 1),
    "shl": ("drr", "", 1),
    "shr": ("drr", "", 1),
    "prmt": ("drrr", "f4e b4e rc8 ecl ecr rc16", 1),
    # data movement
    "mov": ("Dv", _VECTOR, 1),
    "shfl": ("Prrr Prrrr", "sync up down bfly idx", 1),
    "ld": ("Dm Dmr", f"{_ORDER} {_SCOPE} {_SPACE} {_CACHE} {_VECTOR}", 1),
    "ldu": ("Dm", f"global {_VECTOR}", 1),
    "st": ("mv mvr", f"{_ORDER} {_SCOPE} {_SPACE} {_CACHE} {_VECTOR}", 1),
    "prefetch": ("m", f"global local {_CACHE} L1 L2 L2::evict_last L2::evict_normal const param tensormap", 0),
    "prefetchu": ("m", "L1", 0),
    "applypriority": ("mi", "global L2::evict_normal", 0),
    "createpolicy.fractional": ("d dr", _PRIORITY, 1),
    "createpolicy.range": ("dmrr", f"global {_PRIORITY}", 1),
    "createpolicy.cvt": ("dr", "L2", 1),
    "isspacep": ("dr", _SPACE, 0),
    "cvta": ("dr", f"to {_SPACE}", 1),
    "cvt": ("dr drr drrr", _ROUND + " rni rzi rmi rpi relu satfinite pack", 2),
    "cp.async": ("mmi mmir mmirr", "ca cg shared global L2::cache_hint L2::64B L2::128B L2::256B", 0),
    "cp.async.commit_group": ("-", "", 0),
    "cp.async.wait_group": ("i", "", 0),
    "cp.async.wait_all": ("-", "", 0),
    "ldmatrix": ("Dm", "sync aligned m8n8 x1 x2 x4 trans shared", 1),
    "stmatrix": ("mv", "sync aligned m8n8 x1 x2 x4 trans shared", 1),
    "movmatrix": ("dr", "sync aligned m8n8 trans", 1),
    # control
    "bra": ("l", "uni", 0),
    "brx": ("rt", "idx uni", 0),
    "call": ("-", "uni", 0),
    "ret": ("-", "uni", 0),
    "exit": ("-", "", 0),
    "trap": ("-", "", 0),
    "brkpt": ("-", "", 0),
    "nanosleep": ("r", "", 1),
    "pmevent": ("i", "mask", 0),
    # synchronisation
    "bar": ("r rr", "cta sync arrive", 0),
    "bar.red": ("drn drrn", "popc and or", 1),
    "bar.cta.red": ("drn drrn", "popc and or", 1),
    "bar.warp": ("r", "sync", 0),
    "barrier": ("r rr", "cta sync arrive aligned", 0),
    "barrier.red": ("drn drrn", "popc and or aligned", 1),
    "barrier.cta.red": ("drn drrn", "popc and or aligned", 1),
    "membar": ("-", "cta gl sys", 0),
    "fence": ("-", f"sc acq_rel acquire release {_SCOPE}", 0),
    "atom": (
        "Dmv Dmvv Dmvr Dmvvr",
        f"relaxed acquire release acq_rel {_SCOPE} global shared noftz {_CACHE} {_VECTOR} "
        "and or xor cas exch add inc dec min max",
        1,
    ),
    "red": (
        "mv mvr",
        f"relaxed release {_SCOPE} global shared noftz {_CACHE} {_VECTOR} and or xor add inc dec min max",
        1,
    ),
    "vote": ("dn dnr", "sync all any uni ballot", 1),
    "match": ("Prr", "sync any all", 1),
    "activemask": ("d", "", 1),
    "redux": ("drr", "sync add min max and or xor abs NaN", 1),
    "elect": ("Pr", "sync", 0),
    # matrices
    "wmma.load": ("Dm Dmr", f"a b c sync aligned {_LAYOUT} {_WMMA_SHAPES} global shared", 1),
    "wmma.store": ("mv mvr", f"d sync aligned {_LAYOUT} {_WMMA_SHAPES} global shared", 1),
    "wmma.mma": ("Dvvv", f"sync aligned xor and popc rn rz rm rp satfinite {_LAYOUT} {_WMMA_SHAPES}", 2),
    "mma": ("Dvvv", f"sync aligned satfinite xor and popc {_LAYOUT} {_MMA_SHAPES}", 4),
}

_INT = "u16 u32 u64 s16 s32 s64"
_BITS = "b16 b32 b64"
_BYTES = "b8 u8 s8"
_FLOAT = "f32 f64"
_HALF = "f16 f16x2 bf16 bf16x2"
_PAIRS = "u16x2 s16x2"
_MATRIX = "u4 s4 b1 u8 s8 b8 b16 b32 f16 bf16 tf32 f32 f64 s32 e4m3 e5m2"
_CONVERTED = f"{_INT} {_BYTES} {_BITS} {_FLOAT} f16 bf16 tf32 f16x2 bf16x2 e4m3x2 e5m2x2 ue8m0x2 e2m1x2 e2m3x2 e3m2x2"

# What the type suffixes of each opcode may be; opcodes not named take none.
_TYPE_ROWS = {
    "add sub fma min max": f"{_INT} {_FLOAT} {_HALF} {_PAIRS}",
    "abs neg": f"s16 s32 s64 {_FLOAT} {_HALF}",
    "mul mad": f"{_INT} {_FLOAT} {_HALF}",
    "div": f"{_INT} {_FLOAT}",
    "rem sad": _INT,
    "addc subc madc": "u32 u64 s32 s64",
    "mul24 mad24 bmsk szext dp4a dp2a": "u32 s32 b32",
    "popc clz brev bfi": "b32 b64",
    "bfind bfe": "u32 u64 s32 s64",
    "fns lop3 shf prmt shfl activemask": "b32",
    "testp copysign rcp sqrt rsqrt": _FLOAT,
    "sin cos lg2": "f32",
    "ex2 tanh": f"f32 {_HALF}",
    "set setp": f"{_INT} {_BITS} {_FLOAT} {_HALF}",
    "selp slct": f"{_INT} {_BITS} {_FLOAT}",
    "and or xor not": f"pred {_BITS}",
    "cnot shl": _BITS,
    "shr": f"{_INT} {_BITS}",
    "mov": f"pred {_INT} {_BITS} {_FLOAT} b128",
    "ld st ldu": f"{_INT} {_BYTES} {_BITS} {_FLOAT} b128",
    "cvta": "u32 u64",
    "createpolicy.fractional createpolicy.range createpolicy.cvt": "b64",
    "cvt": _CONVERTED,
    "nanosleep": "u32",
    "bar.red bar.cta.red barrier.red barrier.cta.red": "u32 pred",
    "atom red": f"u32 u64 s32 s64 {_BITS} b128 {_FLOAT} {_HALF}",
    "vote": "pred b32",
    "match": "b32 b64",
    "redux": "u32 s32 b32 f32",
    "ldmatrix stmatrix movmatrix": "b16 b8",
    "wmma.load wmma.store wmma.mma mma": _MATRIX,
}

# Real PTX which is refused by name when a kernel reaches it.
_GPU_ONLY = """
alloca barrier.cluster clusterlaunchcontrol cp.async.bulk cp.async.mbarrier cp.reduce discard fence.mbarrier_init
fence.proxy getctarank griddepcontrol istypep mapa mbarrier mma.sp mma.sp::ordered_metadata multimem red.async
setmaxnreg st.async st.bulk stackrestore stacksave suld suq sured sust tcgen05 tensormap tex tld4 txq vabsdiff
vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vset vset2 vset4 vshl vshr
vsub vsub2 vsub4 wgmma
"""

# Of these, the forms that mean something in a cluster of one block are written out (one_cta.py).
IN_ONE_CTA = ("mbarrier.", "mapa.", "getctarank.", "cp.async.mbarrier.", "barrier.cluster.", "fence.mbarrier_init.")

# The one window of shared memory (a block is a cluster of its own) and the parameters have several names in PTX.
_SYNONYMS = {"shared::cta": "shared", "shared::cluster": "shared", "param::entry": "param", "param::func": "param"}

_NO_OPERANDS = "-"


@dataclass(frozen=True, slots=True)
class Form:
    """How an opcode may be used; patterns: operand letters of each accepted operand count."""

    patterns: dict[int, str]
    suffixes: frozenset[str]
    least_types: int
    types: frozenset[str]


@dataclass(frozen=True, slots=True)
class Spelling:
    """One full spelling: opcode and suffixes as the IR wants them, and its form.

    form None: real PTX that is not emulated. fault: why it is not PTX at all, "" when it is.
    """

    text: str
    opcode: str
    modifiers: tuple[str, ...]
    form: Form | None
    fault: str = ""


def _build(row: tuple[str, str, int], types: frozenset[str]) -> Form:
    patterns, suffixes, least_types = row
    by_count = {0 if letters == _NO_OPERANDS else len(letters): letters for letters in patterns.split()}
    if _NO_OPERANDS in by_count.values():
        by_count[0] = ""
    return Form(by_count, frozenset(suffixes.split()), least_types, types)


_TYPES = {opcode: frozenset(types.split()) for group, types in _TYPE_ROWS.items() for opcode in group.split()}
FORMS: dict[str, Form] = {opcode: _build(row, _TYPES.get(opcode, frozenset())) for opcode, row in _TABLE.items()}
GPU_ONLY = frozenset(_GPU_ONLY.split())


def spell(text: str) -> Spelling:
    """Look up the full spelling of an instruction, such as "ld.global.v4.f32"."""
    parts = text.split(".")
    opcode, modifiers = parts[0], tuple(_SYNONYMS.get(part, part) for part in parts[1:])
    for length in (3, 2, 1):
        key = ".".join(parts[:length])
        if key in GPU_ONLY:
            return Spelling(text, opcode, modifiers, None)
        if key in FORMS:
            return _check(text, opcode, modifiers, FORMS[key], key)
    return Spelling(text, opcode, modifiers, None, f"not a PTX instruction: {text}")


def _check(text: str, opcode: str, modifiers: tuple[str, ...], form: Form, key: str) -> Spelling:
    """A spelling whose opcode is known: are its suffixes?"""
    own = key.count(".")
    types = 0
    for suffix in modifiers[own:]:
        if suffix in form.types:
            types += 1
        elif suffix.startswith("kind::"):
            return Spelling(text, opcode, modifiers, None)
        elif suffix not in form.suffixes:
            return Spelling(text, opcode, modifiers, None, f"not a PTX instruction: {text} ({key} has no .{suffix})")
    if types < form.least_types:
        return Spelling(text, opcode, modifiers, None, f"not a PTX instruction: {text} ({key} needs a type suffix)")
    return Spelling(text, opcode, modifiers, form)


_AXES = ("x", "y", "z", "w")
_PLAIN_SPECIALS = """
laneid warpid nwarpid smid nsmid gridid clock clock_hi clock64 globaltimer globaltimer_lo globaltimer_hi
total_smem_size dynamic_smem_size aggr_smem_size
"""
RESERVED_SHARED_REGISTERS = frozenset(f"reserved_smem_offset_{name}" for name in ("begin", "end", "cap", "0", "1"))
SPECIAL_REGISTERS = frozenset(
    [f"{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in _AXES]
    + [f"lanemask_{relation}" for relation in ("eq", "le", "lt", "ge", "gt")]
    + [f"envreg{index}" for index in range(32)]
    + _PLAIN_SPECIALS.split()
)

# A block that was launched without a cluster is one of its own.
CLUSTER_REGISTERS: dict[str, int | str] = {
    **{f"clusterid.{axis}": f"ctaid.{axis}" for axis in _AXES},
    **{f"nclusterid.{axis}": f"nctaid.{axis}" for axis in _AXES},
    **{f"cluster_ctaid.{axis}": 0 for axis in _AXES},
    **{f"cluster_nctaid.{axis}": 1 for axis in _AXES},
    "is_explicit_cluster": 0,
    "cluster_ctarank": 0,
    "cluster_nctarank": 1,
}

GPU_ONLY_SPECIAL_REGISTERS = frozenset(
    [f"pm{index}" for index in range(8)] + [f"pm{index}_64" for index in range(8)] + ["current_graph_exec"]
)
