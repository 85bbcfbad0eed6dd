"""The machine code of a submission's kernels beside the source lines it came from.

    judged on a GPU    the optimized cubin of that GPU, from the compiler's cache
    else               compiled for sm_90 when somebody asks for it, never by judging

Looking costs a look: compiling and disassembling are asked for with a form, done by the desk, and kept in the
compiler's cache.
"""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, replace

from judge.api.settings import ApiSettings, is_loopback
from judge.compiler import Compilation, Target, compile_unit
from judge.compiler.compile import kept_compilation
from judge.compiler.disassembly import TOOL, disassemble, kept_disassembly, sass_by_line
from judge.errors import JudgeError
from judge.pipeline import RESOURCES_ARCH
from judge.records import KernelResources, Report
from judge.sandbox.limits import ProcessLimits
from judge.submission.unit import TranslationUnit
from judge.tools import find_tool
from judge.web.listing import KernelCode, lay_out

MOST_LISTED = 16
"""Listings kept in memory: making one takes a pass over all the text of a cubin."""

_listed: OrderedDict[tuple[str, str], KernelCode] = OrderedDict()


class HurriedTarget(Target):
    """What whoever looks may ask of the compiler: much less than a judge gives it."""

    @property
    def wall_limit_s(self) -> float:
        return 20.0

    @property
    def limits(self) -> ProcessLimits:
        return replace(super().limits, cpu_s=40)


@dataclass(frozen=True)
class Sass:
    """What is known. compiled: there is a cubin. tool: whether nvdisasm is installed. resources: of the shown kernel.

    failure: why it does not compile. code: None until somebody asked for it.
    """

    arch: str
    compiled: bool
    tool: bool
    kernels: tuple[KernelResources, ...] = ()
    code: KernelCode | None = None
    failure: str = ""

    @property
    def resources(self) -> KernelResources | None:
        return next((one for one in self.kernels if self.code and one.name == self.code.name), None)


def sass_target(report: Report) -> Target:
    """What the GPU ran that judged it; what a GPU with sm_90 would run where none did."""
    judged = next((backend.arch for backend in report.backends if backend.kind == "cuda"), None)
    return Target("cubin", judged or RESOURCES_ARCH, "optimized")


def kept_sass(unit: TranslationUnit, target: Target, wanted: str) -> Sass:
    """What the cache has, of the kernel called wanted or of the first."""
    tool = find_tool(TOOL) is not None
    found = kept_compilation(unit, target)
    if found is None:
        return Sass(target.arch, False, tool)
    if not found.ok or not found.lowered:
        return Sass(target.arch, False, tool, failure=_why_not(found, target))
    names = list(found.lowered)
    name = wanted if wanted in names else names[0]
    return Sass(target.arch, True, tool, found.kernels, _listing(unit, found, names, name))


def _listing(unit: TranslationUnit, found: Compilation, names: list[str], name: str) -> KernelCode | None:
    """None where nobody asked for it yet."""
    key = hashlib.sha256(found.image).hexdigest(), f"{unit.submission.sha256} {name}"
    if key not in _listed:
        text = kept_disassembly(found.image)
        if text is None:
            return None
        _listed[key] = lay_out(name, names, unit.submission.source, sass_by_line(text, found.lowered[name]))
        while len(_listed) > MOST_LISTED:
            _listed.popitem(last=False)
    return _listed[key]


def make_sass(unit: TranslationUnit, target: Target, *, trusted: bool) -> None:
    """Put into the cache what kept_sass() shows. Raises JudgeError with what is in the way."""
    found = compile_unit(unit, HurriedTarget(target.kind, target.arch, target.mode))
    if not found.ok:
        raise JudgeError(_why_not(found, target))
    if find_tool(TOOL) is not None and kept_disassembly(found.image) is None:
        disassemble(found.image, trusted=trusted)


def is_own(settings: ApiSettings) -> bool:
    """Whether everybody who may submit sits at this machine."""
    hosts = settings.hosts
    return not settings.login and bool(hosts) and all(map(is_loopback, hosts))


def _why_not(found: Compilation, target: Target) -> str:
    first = next((one.message for one in found.messages if one.severity == "error"), "the compiler gave no reason")
    return f"It does not compile for {target.arch}: {first}"
