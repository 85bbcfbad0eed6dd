"""The watch of a whole warp at once: 32 words, one a lane, in a row or anywhere in one slot.

These decide the common case, in which nothing is wrong, with a few vector operations, and record it.
Lanes that may be at fault come back as a mask and go one by one through judge_watch.
"""

from judge.backends.cpu.lowering.layout import MAX_SITES, Cell, Ctx, State, Watch

_LANES = "<" + ", ".join(f"i64 {i}" for i in range(32)) + ">"
_MULTI = Cell.SAME_WARP | Cell.OTHER_WARPS
_CELL = "<32 x i64>"

DECLARATIONS = """
declare <32 x i64> @llvm.masked.gather.v32i64.v32p0(<32 x ptr>, i32, <32 x i1>, <32 x i64>)
declare void @llvm.masked.scatter.v32i64.v32p0(<32 x i64>, <32 x ptr>, i32, <32 x i1>)
declare <32 x i32> @llvm.masked.gather.v32i32.v32p0(<32 x ptr>, i32, <32 x i1>, <32 x i32>)
declare void @llvm.masked.scatter.v32i32.v32p0(<32 x i32>, <32 x ptr>, i32, <32 x i1>)
declare void @llvm.masked.scatter.v32i8.v32p0(<32 x i8>, <32 x ptr>, i32, <32 x i1>)
"""


def rows() -> str:
    parts = []
    for gathered in (False, True):
        access = _Access(gathered)
        parts += [_read(access), _write(access)]
    return "\n".join(parts)


class _Access:
    """How cells are reached: in a row from the word of lane 0, or by a word index a lane."""

    def __init__(self, gathered: bool) -> None:
        self.gathered = gathered
        self.name = "judge_watch_words" if gathered else "judge_watch_row"
        self.place = "<32 x i64> %words" if gathered else "i64 %word"

    def pointers(self, name: str, elem: str, base: str) -> str:
        index = "<32 x i64> %words" if self.gathered else "i64 %word"
        return f"  %{name} = getelementptr {elem}, ptr {base}, {index}"

    def load(self, name: str, elem: str, base: str, mask: str, default: str = "zeroinitializer") -> str:
        """The cells of the lanes in the mask. Bytes are gathered as words: the arrays are padded."""
        bits = int(elem[1:])
        if not self.gathered:
            return f"""{self.pointers(name + "_p", elem, base)}
  %{name} = call <32 x {elem}> @llvm.masked.load.v32{elem}.p0(ptr %{name}_p, i32 {bits // 8}, <32 x i1> {mask}, <32 x {
                elem
            }> {default})"""
        wide = "i32" if bits == 8 else elem
        raw = f"{name}_wide" if bits == 8 else name
        text = f"""{self.pointers(name + "_p", elem, base)}
  %{raw} = call <32 x {wide}> @llvm.masked.gather.v32{wide}.v32p0(<32 x ptr> %{name}_p, i32 {bits // 8}, <32 x i1> {
            mask
        }, <32 x {wide}> {"splat (i32 15)" if bits == 8 else default})"""
        return text + (f"\n  %{name} = trunc <32 x i32> %{raw} to <32 x i8>" if bits == 8 else "")

    def store(self, value: str, elem: str, name: str, mask: str) -> str:
        """To the pointers made by load(name)."""
        bits = int(elem[1:])
        if self.gathered:
            return (
                f"  call void @llvm.masked.scatter.v32{elem}.v32p0(<32 x {elem}> {value}, <32 x ptr> %{name}_p, "
                f"i32 {bits // 8}, <32 x i1> {mask})"
            )
        return (
            f"  call void @llvm.masked.store.v32{elem}.p0(<32 x {elem}> {value}, ptr %{name}_p, "
            f"i32 {bits // 8}, <32 x i1> {mask})"
        )


def _splat(name: str, scalar: str, elem: str = "i64") -> str:
    return f"""  %{name}_0 = insertelement <32 x {elem}> poison, {elem} {scalar}, i64 0
  %{name} = shufflevector <32 x {elem}> %{name}_0, <32 x {elem}> poison, <32 x i32> zeroinitializer"""


def _head() -> str:
    """Who accesses, when, and the arrays of the slot."""
    return f"""
  %init = load ptr, ptr %ws
  %ppw = getelementptr i8, ptr %ws, i64 {Watch.WRITES}
  %writes = load ptr, ptr %ppw
  %ppr = getelementptr i8, ptr %ws, i64 {Watch.READS}
  %reads = load ptr, ptr %ppr
  %ppwc = getelementptr i8, ptr %ws, i64 {Watch.WRITE_CTAS}
  %wctas = load ptr, ptr %ppwc
  %pprc = getelementptr i8, ptr %ws, i64 {Watch.READ_CTAS}
  %rctas = load ptr, ptr %pprc
  %global = icmp ne ptr %wctas, null
  %pw = getelementptr i8, ptr %st, i64 {State.WARP32}
  %w = load i32, ptr %pw
  %w64 = zext i32 %w to i64
  %first = shl i64 %w64, 5
{_splat("firsts", "%first")}
  %me = or {_CELL} %firsts, {_LANES}
  %site64 = zext i32 %site to i64
  %place0 = and i64 %site64, {MAX_SITES - 1}
  %place = shl i64 %place0, {Cell.SITE_SHIFT}
  %strong0 = lshr i64 %site64, 30
  %strong1 = and i64 %strong0, 1
  %strong = mul i64 %strong1, {int(Cell.STRONG)}
  %pcl = getelementptr i8, ptr %ctx, i64 {Ctx.CLOCK}
  %clock = load i64, ptr %pcl
  %when = shl i64 %clock, {Cell.CLOCK_SHIFT}
  %c1 = or i64 %place, %when
  %c2 = or i64 %c1, %strong
  %c3 = or i64 %c2, {15 << Cell.BYTES_SHIFT}
{_splat("common", "%c3")}
  %cells = or {_CELL} %common, %me
  %plim = getelementptr i8, ptr %ctx, i64 {Ctx.LIMIT}
  %limit0 = load i64, ptr %plim
  %limit1 = shl i64 %limit0, {Cell.CLOCK_SHIFT}
{_splat("limit", "%limit1")}
  %pcta = getelementptr i8, ptr %ctx, i64 {Ctx.CTA}
  %cta1 = load i32, ptr %pcta
{_splat("cta", "%cta1", "i32")}
  %m = bitcast i32 %mask to <32 x i1>"""


def _foreign(access: _Access, name: str, cell: str, array: str, mask: str) -> str:
    """%NAME_far: lanes whose cell is of another CTA. One block more, from and to which the caller jumps."""
    return f"""  br i1 %global, label %{name}_global, label %{name}_shared
{name}_global:
{access.load(name + "_cta", "i32", array, mask)}
  %{name}_ne = icmp ne <32 x i32> %{name}_cta, %cta
  %{name}_used = icmp ne {_CELL} {cell}, zeroinitializer
  %{name}_far1 = and <32 x i1> %{name}_ne, %{name}_used
  br label %{name}_known
{name}_shared:
  br label %{name}_known
{name}_known:
  %{name}_far = phi <32 x i1> [ %{name}_far1, %{name}_global ], [ zeroinitializer, %{name}_shared ]"""


def _read(access: _Access) -> str:
    """Begins with lanes that read the word before, since whatever last ordered them: nothing is new to them.

    Had another thread written in between, that write would have been told.
    """
    return f"""
define i32 @{access.name}_read(ptr %ctx, ptr %st, ptr %ws, {access.place}, i32 %mask, i32 %site) {{
entry:{_head()}
{access.load("rd", "i64", "%reads", "%m")}
{_foreign(access, "r", "%rd", "%rctas", "%m")}
  %rrecent0 = icmp uge {_CELL} %rd, %limit
  %rnear = xor <32 x i1> %r_far, splat (i1 true)
  %rrecent = and <32 x i1> %rrecent0, %rnear
  %rthread = and {_CELL} %rd, splat (i64 {Cell.THREAD_MASK})
  %rother = icmp ne {_CELL} %rthread, %me
  %sync32 = call i32 @judge_warp_limit(ptr %st)
  %sync64 = zext i32 %sync32 to i64
  %sync1 = shl i64 %sync64, {Cell.CLOCK_SHIFT}
{_splat("sync", "%sync1")}
  %after = icmp uge {_CELL} %rd, %sync
  %rwarp = and {_CELL} %rd, splat (i64 {Cell.THREAD_MASK & ~31})
  %mate = icmp eq {_CELL} %rwarp, %firsts
  %oldsame = and {_CELL} %rd, splat (i64 {int(Cell.SAME_WARP)})
  %pcol = getelementptr i8, ptr %st, i64 {State.COLLECTIVE32}
  %col32 = load i32, ptr %pcol
  %col64 = zext i32 %col32 to i64
  %col1 = shl i64 %col64, {Cell.CLOCK_SHIFT}
{_splat("col", "%col1")}
  %aftercol = icmp uge {_CELL} %rd, %col
  %wasstrong = and {_CELL} %rd, splat (i64 {int(Cell.STRONG)})
  %wasplain = icmp eq {_CELL} %wasstrong, zeroinitializer
  %hassame = icmp ne {_CELL} %oldsame, zeroinitializer
  %matesread = and <32 x i1> %mate, %hassame
  %mine = xor <32 x i1> %rother, splat (i1 true)
  %done1 = or <32 x i1> %matesread, %mine
  %done2 = and <32 x i1> %done1, %rrecent
  %done3 = and <32 x i1> %done2, %after
  %done4 = and <32 x i1> %done3, %aftercol
  %done5 = and <32 x i1> %done4, %wasplain
  %dbytes = and {_CELL} %rd, splat (i64 {15 << Cell.BYTES_SHIFT})
  %dwhole = icmp eq {_CELL} %dbytes, splat (i64 {15 << Cell.BYTES_SHIFT})
  %done6 = and <32 x i1> %done5, %dwhole
  %donebits = bitcast <32 x i1> %done6 to i32
  %undone0 = xor i32 %donebits, -1
  %undone = and i32 %undone0, %mask
  %nothing_new = icmp eq i32 %undone, 0
  br i1 %nothing_new, label %settled, label %look
settled:
  ret i32 0
look:
{access.load("wr", "i64", "%writes", "%m")}
  %recent = icmp uge {_CELL} %wr, %limit
  %wthread = and {_CELL} %wr, splat (i64 {Cell.THREAD_MASK})
  %stranger = icmp ne {_CELL} %wthread, %me
  %risky = and <32 x i1> %recent, %stranger
{_foreign(access, "w", "%wr", "%wctas", "%m")}
  %hasinit = icmp ne ptr %init, null
  br i1 %hasinit, label %check_init, label %checked
check_init:
{access.load("in", "i8", "%init", "%m", "splat (i8 15)")}
  %nibble = and <32 x i8> %in, splat (i8 15)
  %empty = icmp eq <32 x i8> %nibble, zeroinitializer
  br label %checked
checked:
  %unset = phi <32 x i1> [ %empty, %check_init ], [ zeroinitializer, %w_known ]
  %d1 = or <32 x i1> %risky, %w_far
  %d2 = or <32 x i1> %d1, %unset
  %dbits = bitcast <32 x i1> %d2 to i32
  %doubt = and i32 %dbits, %mask
  %sure = xor i32 %doubt, %mask
  %g = bitcast i32 %sure to <32 x i1>
  %rmarks = and {_CELL} %rd, splat (i64 {_MULTI})
  %rmarked = icmp ne {_CELL} %rmarks, zeroinitializer
  %rany0 = or <32 x i1> %rother, %rmarked
  %rany = and <32 x i1> %rany0, %rrecent
  %ranybits = bitcast <32 x i1> %rany to i32
  %shared_read = icmp ne i32 %ranybits, 0
  br i1 %shared_read, label %merge, label %record
merge:
  %ptk = getelementptr i8, ptr %ctx, i64 {Ctx.TALKS32}
  %tk = load i32, ptr %ptk
  %talks = icmp ne i32 %tk, 0
  %gain = select i1 %talks, i64 0, i64 {int(Cell.OTHER_WARPS)}
{_splat("foreign", "%gain")}
  %oldother = and {_CELL} %rd, splat (i64 {int(Cell.OTHER_WARPS)})
  %addsame = select <32 x i1> %rother, {_CELL} splat (i64 {int(Cell.SAME_WARP)}), {_CELL} zeroinitializer
  %same1 = or {_CELL} %oldsame, %addsame
  %same2 = select <32 x i1> %after, {_CELL} %same1, {_CELL} zeroinitializer
  %gained = select <32 x i1> %mate, {_CELL} %same2, {_CELL} %foreign
  %carried0 = or {_CELL} %oldother, %gained
  %rkept = and <32 x i1> %rrecent, %dwhole
  %carried = select <32 x i1> %rkept, {_CELL} %carried0, {_CELL} zeroinitializer
  %unstrong = xor {_CELL} %rd, splat (i64 {int(Cell.STRONG)})
  %plainbit = and {_CELL} %unstrong, splat (i64 {int(Cell.STRONG)})
  %plain = select <32 x i1> %rrecent, {_CELL} %plainbit, {_CELL} zeroinitializer
  %drop = xor {_CELL} %plain, splat (i64 -1)
  %weak = and {_CELL} %cells, %drop
  %merged = or {_CELL} %weak, %carried
  br label %record
record:
  %new = phi {_CELL} [ %cells, %checked ], [ %merged, %merge ]
{access.store("%new", "i64", "rd", "%g")}
  br i1 %global, label %record_cta, label %out
record_cta:
{access.pointers("rc_p", "i32", "%rctas")}
{access.store("%cta", "i32", "rc", "%g")}
  br label %out
out:
  ret i32 %doubt
}}
"""


def _write(access: _Access) -> str:
    """Also finds two lanes of the access itself at one word: after the scatter only one of them is in the cell."""
    twice = f"""  %seen = call {_CELL} @llvm.masked.gather.v32i64.v32p0(
      <32 x ptr> %wr_p, i32 8, <32 x i1> %g, {_CELL} %cells)
  %lost = icmp ne {_CELL} %seen, %cells
  %lostbits = bitcast <32 x i1> %lost to i32
  %again = and i32 %lostbits, %sure"""
    return f"""
define i32 @{access.name}_write(ptr %ctx, ptr %st, ptr %ws, {access.place}, i32 %mask, i32 %site, <32 x i32> %value) {{
entry:{_head()}
{access.load("wr", "i64", "%writes", "%m")}
{access.load("rd", "i64", "%reads", "%m")}
  %recent = icmp uge {_CELL} %wr, %limit
  %wthread = and {_CELL} %wr, splat (i64 {Cell.THREAD_MASK})
  %stranger = icmp ne {_CELL} %wthread, %me
  %risky = and <32 x i1> %recent, %stranger
{_foreign(access, "w", "%wr", "%wctas", "%m")}
  %rrecent = icmp uge {_CELL} %rd, %limit
  %rthread = and {_CELL} %rd, splat (i64 {Cell.THREAD_MASK})
  %rother = icmp ne {_CELL} %rthread, %me
  %rmarks = and {_CELL} %rd, splat (i64 {_MULTI})
  %rmarked = icmp ne {_CELL} %rmarks, zeroinitializer
  %rany = or <32 x i1> %rother, %rmarked
  %rrisky = and <32 x i1> %rany, %rrecent
{_foreign(access, "r", "%rd", "%rctas", "%m")}
  %d1 = or <32 x i1> %risky, %w_far
  %d2 = or <32 x i1> %rrisky, %r_far
  %d3 = or <32 x i1> %d1, %d2
  %dbits = bitcast <32 x i1> %d3 to i32
  %doubt = and i32 %dbits, %mask
  %sure = xor i32 %doubt, %mask
  %g = bitcast i32 %sure to <32 x i1>
{access.store("%cells", "i64", "wr", "%g")}
{twice if access.gathered else "  %again = add i32 0, 0"}
  %hasinit = icmp ne ptr %init, null
  br i1 %hasinit, label %set_init, label %recorded
set_init:
{access.pointers("in_p", "i8", "%init")}
{access.store("splat (i8 15)", "i8", "in", "%g")}
  br label %recorded
recorded:
  br i1 %global, label %record_cta, label %out
record_cta:
{access.pointers("wc_p", "i32", "%wctas")}
{access.store("%cta", "i32", "wc", "%g")}
  %ppv = getelementptr i8, ptr %ws, i64 {Watch.VALUES}
  %values = load ptr, ptr %ppv
{access.pointers("v_p", "i32", "%values")}
{access.store("%value", "i32", "v", "%g")}
  br label %out
out:
  %all = or i32 %doubt, %again
  ret i32 %all
}}
"""
