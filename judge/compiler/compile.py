"""From a translation unit to a compilation.

    headers -> key -> cache, or box -> clean log -> resources -> cache

Only sound answers of the compiler are kept, failures included; a limit that was hit is not, because it
depends on the machine's load.
"""

import hashlib
import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from judge.compiler.boxed import Answer, Box
from judge.compiler.cache import DiskCache, default_folder
from judge.compiler.headers import HeaderSet, headers_for
from judge.compiler.log import clean_log, limit_message
from judge.compiler.printing import printed_log
from judge.compiler.resources import has_kernel, kernel_resources
from judge.compiler.statics import MAX_STATIC_BYTES, shared_arrays, static_bytes
from judge.compiler.target import Target
from judge.compiler.versions import toolkit_version
from judge.records import CompileMessage, KernelResources
from judge.submission.unit import Plan, TranslationUnit
from judge.worker.plan import MAX_STATIC_SHARED_BYTES

_FORMAT = "module 2"


class Compiler(Protocol):
    """What compiles one source: a box, or a turn in one."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def compile(
        self, source: str, source_name: str, name_expressions: Sequence[str], headers: HeaderSet, target: Target
    ) -> Answer: ...


@dataclass(frozen=True)
class Compilation:
    """image: PTX text or cubin, empty unless ok. lowered: symbol of each name expression.

    log: what the compiler said, in the submission's lines, at most 64 KiB, safe to print. messages:
    the same as records. seconds: wall time, the cache included. timed_out: ended at the time limit.
    """

    ok: bool
    image: bytes
    lowered: dict[str, str]
    log: str
    messages: tuple[CompileMessage, ...]
    seconds: float
    cached: bool
    kernels: tuple[KernelResources, ...]
    timed_out: bool = False


def compile_unit(
    unit: TranslationUnit,
    target: Target,
    cache: DiskCache | None = None,
    box: Callable[[Target], Compiler] = Box,
) -> Compilation:
    """Compile a unit. box: where the process comes from that compiles what is not in the cache.

    A source that does not compile, or takes more than a compiler may, is an answer (ok False), not an
    exception. Raises MachineError when the compiler itself cannot run here.
    """
    started = time.monotonic()
    disk = cache if cache is not None else DiskCache(default_folder())
    headers = headers_for(unit.source, disk)
    key = _key(unit, target, headers)
    answer = _stored(disk.read(key)) if key is not None else None
    cached = answer is not None
    if answer is None:
        with box(target) as compiler:
            answer = compiler.compile(unit.source, unit.source_name, unit.name_expressions, headers, target)
        if key is not None and answer.limit is None:
            disk.write(key, _storable(answer))
    return _compilation(unit, target, answer, time.monotonic() - started, cached=cached)


def kept_compilation(unit: TranslationUnit, target: Target, cache: DiskCache | None = None) -> Compilation | None:
    """What compile_unit() would find in its cache; None where it would have to compile."""
    started = time.monotonic()
    disk = cache if cache is not None else DiskCache(default_folder())
    key = _key(unit, target, headers_for(unit.source, disk))
    answer = _stored(disk.read(key)) if key is not None else None
    return None if answer is None else _compilation(unit, target, answer, time.monotonic() - started, cached=True)


def _compilation(unit: TranslationUnit, target: Target, answer: Answer, seconds: float, *, cached: bool) -> Compilation:
    if answer.limit is not None:
        message = CompileMessage(message=limit_message(answer.limit, target.wall_limit_s))
        log = f"{unit.submission.name}: error: {message.message}\n"
        return Compilation(False, b"", {}, log, (message,), seconds, cached, (), timed_out=answer.limit == "time")
    failed = bool(answer.failure)
    clean = clean_log(answer.log, unit, failed=failed)
    if failed:
        return Compilation(False, b"", {}, clean.text, clean.messages, seconds, cached, ())
    refused = (
        _not_kernels(unit, target, answer)
        or _too_much_static_memory(target, answer)
        or _too_much_shared_memory(unit, target, answer)
    )
    if refused:
        log = printed_log(refused, [()] * len(refused), unit.submission.name, unit.submission.source, more=False)
        return Compilation(False, b"", {}, log, refused, seconds, cached, ())
    kernels: tuple[KernelResources, ...] = ()
    if target.kind == "cubin":
        kernels = kernel_resources(answer.image, answer.log, answer.lowered, target.arch)
    return Compilation(True, answer.image, answer.lowered, clean.text, clean.messages, seconds, cached, kernels)


def _not_kernels(unit: TranslationUnit, target: Target, answer: Answer) -> tuple[CompileMessage, ...]:
    """Launched names that are no kernels of the image."""
    wanted = {**answer.lowered, **{name: name for plan in unit.plans for name in _planners(plan, unit)}}
    if target.kind == "ptx":
        entries = set(re.findall(rb"\.entry\s+([\w$]+)", answer.image))
        absent = {name for name, symbol in wanted.items() if symbol.encode() not in entries}
    else:
        absent = {name for name, symbol in wanted.items() if not has_kernel(answer.image, symbol)}
    if absent - set(answer.lowered):
        return (CompileMessage(message="this file redefines names of the judge's own, which begin with judge_plan"),)
    messages = {}
    for plan in unit.plans:
        for line, kernel in zip(unit.submission.launches, plan.kernels, strict=True):
            if kernel in absent:
                text = f"{line.kernel_name} is not a kernel. Mark it __global__ to launch it"
                messages[line.line, text] = CompileMessage(line=line.line, column=line.kernel.column, message=text)
    return tuple(messages.values())


def _planners(plan: Plan, unit: TranslationUnit) -> tuple[str, ...]:
    return (plan.launch_kernel, *([plan.workspace_kernel] if unit.submission.workspaces else []))


def _too_much_static_memory(target: Target, answer: Answer) -> tuple[CompileMessage, ...]:
    size = static_bytes(answer.image, target.kind)
    if size <= MAX_STATIC_BYTES:
        return ()
    return (
        CompileMessage(
            message=f"the __device__ and __constant__ variables of this file take {size} bytes, at most "
            f"{MAX_STATIC_BYTES} are allowed. Use a @workspace for large arrays"
        ),
    )


def _too_much_shared_memory(unit: TranslationUnit, target: Target, answer: Answer) -> tuple[CompileMessage, ...]:
    """Kernels whose `__shared__` arrays no device takes; ptxas says the same of a cubin."""
    if target.kind != "ptx":
        return ()
    messages = []
    for name, symbol in answer.lowered.items():
        size = shared_arrays(answer.image, symbol)
        if size <= MAX_STATIC_SHARED_BYTES:
            continue
        definition = unit.submission.definition(name.partition("<")[0].strip())
        messages.append(
            CompileMessage(
                line=definition.line if definition else None,
                message=f"the __shared__ arrays of {name} take {size} bytes, at most {MAX_STATIC_SHARED_BYTES} are "
                "allowed. Make them smaller, or use extern __shared__ and the launch's shared bytes for more",
            )
        )
    return tuple(messages)


def _key(unit: TranslationUnit, target: Target, headers: HeaderSet) -> str | None:
    """The name of a compilation in the cache; None when the compiler's version is unknown."""
    version = toolkit_version()
    if version is None:
        return None
    parts = [
        _FORMAT,
        version,
        target.kind,
        *target.options,
        headers.digest,
        unit.source_name,
        *unit.name_expressions,
        unit.source,
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _storable(answer: Answer) -> bytes:
    head = json.dumps({"failure": answer.failure, "log": answer.log, "lowered": answer.lowered}).encode()
    return len(head).to_bytes(4, "little") + head + answer.image


def _stored(data: bytes | None) -> Answer | None:
    """None for bytes that are no answer of ours."""
    if data is None or len(data) < 4:
        return None
    size = int.from_bytes(data[:4], "little")
    try:
        head = json.loads(data[4 : 4 + size])
        return Answer(str(head["failure"]), data[4 + size :], str(head["log"]), dict(head["lowered"]))
    except (ValueError, KeyError, TypeError):
        return None
