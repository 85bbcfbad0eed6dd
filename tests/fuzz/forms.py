"""The instruction forms the fuzzer draws from, as PTX spellings.

A line gives a spelling with alternatives in braces, then the destinations, then the sources:

    add{,.sat}.s32 | s32 | s32 s32

A destination is a PTX type. A source is a PTX type or a domain of values.py with the type it is
stored in ("amount:u32"). T stands for the spelling's last type, W for its double width, "!" after
a source forbids an immediate there.
"""

import itertools
import re
from dataclasses import dataclass
from functools import cache

from judge.backends.cpu.ir import WIDTHS

_INT = "{u16,s16,u32,s32,u64,s64}"
_INT32 = "{u32,s32,u64,s64}"
_ROUND = "{,.rn,.rz,.rm,.rp}"
_ROUNDED = "{.rn,.rz,.rm,.rp}"
_FTZ = "{,.ftz}"
_INT_CMP = "{eq,ne,lt,le,gt,ge}"
_UNSIGNED_CMP = "{lo,ls,hi,hs}"
_FLOAT_CMP = "{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}"
_BOOL = "{and,or,xor}"

_TABLE = f"""
add.{_INT} | T | T T
add.sat.s32 | T | T T
sub.{_INT} | T | T T
sub.sat.s32 | T | T T
mul.{{lo,hi}}.{_INT} | T | T T
mul.wide.{{u16,s16,u32,s32}} | W | T T
mad.{{lo,hi}}.{_INT} | T | T T T
mad.hi.sat.s32 | T | T T T
mad.wide.{{u16,s16,u32,s32}} | W | T T W
mul24.{{lo,hi}}.{{u32,s32}} | T | T T
mad24.{{lo,hi}}.{{u32,s32}} | T | T T T
mad24.hi.sat.s32 | T | T T T
div.{_INT} | T | T T
rem.{_INT} | T | T T
abs.{{s16,s32,s64}} | T | T!
neg.{{s16,s32,s64}} | T | T!
min.{_INT} | T | T T
max.{_INT} | T | T T
{{min,max}}.{{u16x2,s16x2}} | T | T! T!
{{min,max}}.relu.{{s32,s16x2}} | T | T! T!
sad.{_INT} | T | T T T
dp4a.{{u32,s32}}.u32 | u32? | u32 u32 u32
dp4a.{{u32,s32}}.s32 | s32 | u32 u32 s32
dp2a.{{lo,hi}}.{{u32,s32}}.s32 | s32 | u32 u32 s32
slct.{{b16,b32,u32,s64,f32,f64}}.s32 | F | F! F! s32!
slct{_FTZ}.{{b32,f32,u64}}.f32 | F | F! F! f32!
and.{{b16,b32,b64}} | T | T T
or.{{b16,b32,b64}} | T | T T
xor.{{b16,b32,b64}} | T | T T
and.pred | T | T! T!
or.pred | T | T! T!
xor.pred | T | T! T!
not.pred | T | T!
not.{{b16,b32,b64}} | T | T!
cnot.{{b16,b32,b64}} | T | T!
shl.{{b16,b32,b64}} | T | T amount:u32
shr.{{b16,b32,b64,u16,u32,u64,s16,s32,s64}} | T | T amount:u32
shf.{{l,r}}.{{wrap,clamp}}.b32 | T | T T amount:u32
popc.{{b32,b64}} | u32 | T!
clz.{{b32,b64}} | u32 | T!
brev.{{b32,b64}} | T | T!
bfind{{,.shiftamt}}.{{u32,s32,u64,s64}} | u32 | T!
fns.b32 | T | T small:u32 near:s32
bfe.{{u32,s32,u64,s64}} | T | T place:u32 place:u32
bfi.{{b32,b64}} | T | T T place:u32 place:u32
bmsk.{{clamp,wrap}}.b32 | T | amount:u32 amount:u32
szext.{{clamp,wrap}}.{{u32,s32}} | T | T amount:u32
prmt.b32 | T | T T T
prmt.b32.{{f4e,b4e,rc8,ecl,ecr,rc16}} | b32 | b32 b32 b32
lop3.b32 | T | T T T table
selp.{{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}} | T | T T pred!
add{_ROUND}{_FTZ}{{,.sat}}.f32 | T | T T
sub{_ROUND}{_FTZ}{{,.sat}}.f32 | T | T T
mul{_ROUND}{_FTZ}{{,.sat}}.f32 | T | T T
fma{_ROUNDED}{_FTZ}{{,.sat}}.f32 | T | T T T
mad{_ROUNDED}{_FTZ}.f32 | T | T T T
div{_ROUNDED}{_FTZ}.f32 | T | T T
div.{{approx,full}}{_FTZ}.f32 | T | tame:f32! tame:f32!
rcp{_ROUNDED}{_FTZ}.f32 | T | T!
sqrt{_ROUNDED}{_FTZ}.f32 | T | T!
add{_ROUND}.f64 | T | T T
sub{_ROUND}.f64 | T | T T
mul{_ROUND}.f64 | T | T T
fma{_ROUNDED}.f64 | T | T T T
div{_ROUNDED}.f64 | T | T T
rcp{_ROUNDED}.f64 | T | T!
sqrt{_ROUNDED}.f64 | T | T!
{{rcp,sqrt,rsqrt}}.approx{_FTZ}.f32 | T | T!
{{rcp,rsqrt}}.approx.ftz.f64 | T | T!
rsqrt.approx.f64 | T | T!
lg2.approx{_FTZ}.f32 | T | T!
ex2.approx{_FTZ}.f32 | T | exponent:f32!
{{sin,cos}}.approx{_FTZ}.f32 | T | pi:f32!
tanh.approx.f32 | T | T!
tanh.approx.{{f16,f16x2,bf16,bf16x2}} | T | T!
ex2.approx.{{f16,f16x2}} | T | T!
ex2.approx.ftz.{{bf16,bf16x2}} | T | T!
{{abs,neg}}{_FTZ}.f32 | T | T!
{{abs,neg}}.f64 | T | T!
{{abs,neg}}{_FTZ}.{{f16,f16x2}} | T | T!
{{abs,neg}}.{{bf16,bf16x2}} | T | T!
{{min,max}}{_FTZ}{{,.NaN}}{{,.xorsign.abs}}.f32 | T | T T
{{min,max}}.f64 | T | T T
{{min,max}}{_FTZ}{{,.NaN}}{{,.xorsign.abs}}.{{f16,f16x2}} | T | T! T!
{{min,max}}{{,.NaN}}{{,.xorsign.abs}}.{{bf16,bf16x2}} | T | T! T!
{{add,sub,mul}}{{,.rn}}{_FTZ}{{,.sat}}.{{f16,f16x2}} | T | T! T!
{{add,sub,mul}}{{,.rn}}.{{bf16,bf16x2}} | T | T! T!
fma.rn{_FTZ}{{,.sat,.relu}}.{{f16,f16x2}} | T | T! T! T!
fma.rn{{,.relu}}.{{bf16,bf16x2}} | T | T! T! T!
copysign.{{f32,f64}} | T | T T
testp.{{finite,infinite,number,notanumber,normal,subnormal}}.{{f32,f64}} | pred | T!
setp.{_INT_CMP}.{_INT} | pred | T T
setp.{{eq,ne}}.{{b16,b32,b64}} | pred | T T
setp.{_UNSIGNED_CMP}.{{u16,u32,u64}} | pred | T T
setp.{_INT_CMP}.{{u32,s32,s64}} | pred pred | T T
setp.{_INT_CMP}.{_BOOL}.{{s32,u64}} | pred | T T pred!
setp.{_INT_CMP}.{_BOOL}.{{s32,u64}} | pred pred | T T pred!
setp.{_FLOAT_CMP}{_FTZ}.f32 | pred | T T
setp.{_FLOAT_CMP}.f64 | pred | T T
setp.{_FLOAT_CMP}{_FTZ}.f16 | pred | T! T!
setp.{_FLOAT_CMP}.bf16 | pred | T! T!
setp.{_FLOAT_CMP}{_FTZ}.f16x2 | pred pred | T! T!
setp.{_FLOAT_CMP}.bf16x2 | pred pred | T! T!
setp.{_FLOAT_CMP}.{_BOOL}{_FTZ}.f32 | pred pred | T T pred!
set.{_INT_CMP}.{{u32,s32,f32}}.{{u32,s32,u16,s64}} | F | T T
set.{_FLOAT_CMP}{_FTZ}.{{u32,s32,f32}}.f32 | F | T T
set.{_FLOAT_CMP}.{{u32,f32}}.f64 | F | T T
set.{_FLOAT_CMP}.{_BOOL}.{{u32,f32}}.f32 | F | T T pred!
set.{_FLOAT_CMP}{_FTZ}.{{u16,u32,f16}}.f16 | F | T! T!
set.{_FLOAT_CMP}{_FTZ}.{{u32,f16x2}}.f16x2 | F | T! T!
set.{_FLOAT_CMP}.{{u32,bf16x2}}.bf16x2 | F | T! T!
cvt.{{u8,s8,u16,s16,u32,s32,u64,s64}}.{{u8,s8,u16,s16,u32,s32,u64,s64}} | F | T!
cvt.sat.{{u8,s8}}.{{u16,s16,u32,s32,u64,s64}} | F | T!
cvt.sat.{{u16,s16}}.{{u32,s32,u64,s64}} | F | T!
cvt.sat.{{u32,s32}}.{{u64,s64}} | F | T!
cvt.sat.{{u8.s8,s8.u8,u16.s8,u16.s16,s16.u16,u32.s8,u32.s16,u32.s32,s32.u32,u64.s8,u64.s32,u64.s64,s64.u64}} | F | T!
cvt{_ROUNDED}.{{f32,f64}}.{{u8,s8,u16,s16,u32,s32,u64,s64}} | F | T!
cvt{_ROUNDED}.sat.f32.{{u32,s32,u64,s64}} | F | T!
cvt{_ROUNDED}.f16.{{u8,s8,u16,s16,u32,s32,u64,s64}} | F | T!
cvt.rn.bf16.{{u16,s16,u32,s32,u64,s64}} | F | T!
cvt.{{rni,rzi,rmi,rpi}}{_FTZ}.{{u8,s8,u16,s16,u32,s32,u64,s64}}.f32 | F | T!
cvt.{{rni,rzi,rmi,rpi}}.{{u8,s8,u16,s16,u32,s32,u64,s64}}.{{f16,f64}} | F | T!
cvt.{{rni,rzi,rmi,rpi}}.{{u16,s16,u32,s32,u64,s64}}.bf16 | F | T!
cvt.{{rni,rzi,rmi,rpi}}{_FTZ}{{,.sat}}.f32.f32 | F | T!
cvt.{{rni,rzi,rmi,rpi}}.{{f64.f64,f16.f16}} | F | T!
cvt.ftz.f32.f32 | F | T!
cvt.sat.f32.f32 | F | T!
cvt{{,.sat}}.f32.f16 | F | T!
cvt.ftz.f32.f16 | F | T!
cvt.f32.bf16 | F | T!
cvt{_FTZ}.f64.f32 | F | T!
cvt.f64.f16 | F | T!
cvt{_ROUNDED}{_FTZ}{{,.sat}}.f32.f64 | F | T!
cvt{_ROUNDED}.f16.{{f32,f64}} | F | T!
cvt.rn.ftz.f16.f32 | F | T!
cvt.{{rn,rz}}{{,.relu}}.{{f16,bf16}}.f32 | F | T!
cvt.{{rn,rz}}{{,.relu}}.{{f16x2,bf16x2}}.f32 | F | T! T!
cvt.rna.tf32.f32 | F | f32!
cvt.{{rn,rz}}{{,.relu}}.tf32.f32 | F | f32!
cvt.rn.satfinite{{,.relu}}.{{e4m3x2,e5m2x2}}.f32 | F | T! T!
cvt.rn.satfinite{{,.relu}}.{{e4m3x2,e5m2x2}}.f16x2 | F | T!
cvt.rn{{,.relu}}.f16x2.{{e4m3x2,e5m2x2}} | F | T!
cvt.pack.sat.{{u16,s16}}.s32 | b32 | s32! s32!
cvt.pack.sat.{{u8,s8}}.s32.b32 | b32 | s32! s32! b32!
mov.{{b16,b32,b64,u32,s64,f32,f64}} | T | T
isspacep.{{global,shared,local}} | pred | b64!
cvta.global.u64 | u64 | u64!
cvta.to.global.u64 | u64 | u64!
vote.sync.{{all,any,uni}}.pred | pred | pred! full
vote.sync.ballot.b32 | b32 | pred! full
match.any.sync.{{b32,b64}} | b32 | few:F! full
match.all.sync.{{b32,b64}} | b32 pred | few:F! full
redux.sync.{{add,min,max}}.{{u32,s32}} | T | T! full
redux.sync.{{and,or,xor}}.b32 | T | T! full
elect.sync | b32 pred | full
shfl.sync.{{up,down,bfly,idx}}.b32 | b32 pred | b32! amount:u32 clampmask:u32 full
"""

WARP_OPCODES = ("vote", "match", "redux", "shfl", "activemask", "elect")


@dataclass(frozen=True)
class Source:
    """domain: what values.py draws. type: the PTX type it is stored and read as."""

    domain: str
    type: str
    immediate: bool


@dataclass(frozen=True)
class Form:
    spelling: str
    destinations: tuple[str, ...]
    sources: tuple[Source, ...]

    @property
    def opcode(self) -> str:
        return self.spelling.partition(".")[0]

    @property
    def whole_warp(self) -> bool:
        """Lanes exchange values, so all of them must execute it."""
        return self.opcode in WARP_OPCODES


def _expand(pattern: str) -> list[str]:
    pieces = re.split(r"(\{[^{}]*\})", pattern)
    choices = [p[1:-1].split(",") if p.startswith("{") else [p] for p in pieces]
    return ["".join(parts) for parts in itertools.product(*choices)]


def _types(spelling: str) -> list[str]:
    return [m for m in spelling.split(".")[1:] if m in WIDTHS]


def _named(name: str, types: list[str]) -> str:
    if name == "T":
        return types[-1]
    if name == "F":
        return types[0]
    if name == "W":
        return f"{types[-1][0]}{2 * WIDTHS[types[-1]]}"
    return name


def _destination(name: str, types: list[str]) -> str:
    if name.endswith("?"):
        # dp4a is signed as soon as one of its operands is.
        return "s32" if "s32" in types else "u32"
    return _named(name, types)


def _source(name: str, types: list[str]) -> Source:
    immediate = not name.endswith("!")
    domain, _, type_ = name.rstrip("!").partition(":")
    domain = _named(domain, types)
    type_ = _named(type_, types) if type_ else domain
    type_ = "u32" if domain in ("byte", "small") else type_
    if domain == "table":
        return Source("byte", "u32", True)
    if domain == "full":
        return Source("full", "u32", True)
    return Source(domain, type_, immediate)


@cache
def all_forms() -> tuple[Form, ...]:
    """Every spelling of the table."""
    forms = []
    for line in _TABLE.strip().splitlines():
        pattern, destinations, sources = (part.strip() for part in line.split("|"))
        for spelling in _expand(pattern):
            types = _types(spelling)
            forms.append(
                Form(
                    spelling,
                    tuple(_destination(d, types) for d in destinations.split()),
                    tuple(_source(s, types) for s in sources.split()),
                )
            )
    return tuple(forms)
