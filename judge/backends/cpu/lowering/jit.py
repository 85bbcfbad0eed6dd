"""LLVM text to machine code: no pass pipeline, the host's own features.

Explicit vectors need no optimiser (an O2 pipeline cost ten times the compile for no speed). The code generator runs
at level 1 for the runtime, which is made once a machine and where kernels spend their time, and at level 0 for kernels:
those take 2.4 times as long at level 1, which their runs, a sixth faster then, do not bring back. At level 0 every
spilled value has a place of its own, so frames are large, and kernels run on stacks that hold them: level 1, where
values share places, takes 48 s for 200 vector loads and stores of one block, level 0 takes 5. Functions touch each page
of their frame: none jumps over a guard page.
LLVM's fast scheduler puts the instructions of a block in order: the default one's time grows with the third power of
the values that wait at the same time, 95 s for 160 loads at a remainder, which the fast one does in half a second.
Machine code is a function of the text, the level, the processor and LLVM, so what one process made serves the next.
"""

import ctypes
import hashlib
import platform
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from judge.backends.cpu.lowering import runtime
from judge.backends.cpu.refusal import NotEmulatedError

_RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int)


@dataclass(frozen=True)
class HostFeatures:
    """What the host's vector unit can do: decides how masked stores are emitted."""

    cpu: str
    features: str
    masked_stores: bool


@lru_cache(maxsize=1)
def host_features() -> HostFeatures:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.set_option("", _SCHEDULER)
    features = llvm.get_host_cpu_features()
    wide = features.get("avx512f", False) and features.get("avx512bw", False) and features.get("avx512vl", False)
    return HostFeatures(llvm.get_host_cpu_name(), features.flatten(), bool(wide))


_SCHEDULER = "-pre-RA-sched=fast"
RUNTIME_LEVEL = 1
KERNEL_LEVEL = 0
"""Of LLVM's code generator."""

MAX_FRAME_BYTES = 16 << 20
STACK_BYTES = 2 * MAX_FRAME_BYTES
"""Of a thread that runs a kernel; most of it is never touched."""

# mov r11, rsp; sub r11, imm32: the loop that touches the pages of a frame of more than eight.
_PROBED_FRAME = re.compile(rb"\x49\x89\xe3\x49\x81\xeb(....)", re.DOTALL)


@lru_cache(maxsize=2)
def _target_machine(level: int) -> Any:
    host = host_features()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=host.cpu, features=host.features, opt=level, jit=True, codemodel="jitdefault"
    )


class MachineCode:
    """Object files by what they were made from, and those of them that were not known before.

    They travel between processes packed into one string of bytes; one that is damaged or comes from
    another processor or LLVM matches nothing and costs only its time.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, bytes] = {}
        self._used: list[bytes] = []
        self._made = False

    def offer(self, packed: bytes) -> None:
        """Take what pack() gave in another process."""
        self._known.update(_unpacked(packed))

    def pack(self) -> bytes:
        """All that was used since the last call, where some of it was new; else nothing."""
        used, made = self._used, self._made
        self._used, self._made = [], False
        if not made:
            return b""
        return b"".join(key + _SIZE.pack(len(self._known[key])) + self._known[key] for key in dict.fromkeys(used))

    def object_file(self, text: str, level: int = KERNEL_LEVEL) -> bytes:
        """The object file of a module. level: of the code generator. Raises RuntimeError when LLVM refuses the text."""
        key = _fingerprint(text, level)
        if key not in self._known:
            module = llvm.parse_assembly(text)
            module.verify()
            self._known[key] = _target_machine(level).emit_object(module)
            self._made = True
        self._used.append(key)
        return self._known[key]


_SIZE = struct.Struct("<Q")
_KEY_BYTES = hashlib.sha256().digest_size


def _unpacked(packed: bytes) -> Iterator[tuple[bytes, bytes]]:
    position = 0
    while position + _KEY_BYTES + _SIZE.size <= len(packed):
        key = packed[position : position + _KEY_BYTES]
        position += _KEY_BYTES + _SIZE.size
        (size,) = _SIZE.unpack_from(packed, position - _SIZE.size)
        if position + size > len(packed):
            return
        yield key, packed[position : position + size]
        position += size


def frame_bytes(code: bytes) -> int:
    """The largest frame of the functions of an x86-64 object file; 0 where all have at most eight pages."""
    return max((int.from_bytes(found[1], "little") for found in _PROBED_FRAME.finditer(code)), default=0)


def kernel_code(code: MachineCode, text: str) -> bytes:
    """The object file of a kernel. Raises NotEmulatedError for one whose values take too much of a stack."""
    if platform.machine() not in {"x86_64", "AMD64"}:
        return code.object_file(text, RUNTIME_LEVEL)  # whose frames nobody can read here
    made = code.object_file(text, KERNEL_LEVEL)
    if frame_bytes(made) > MAX_FRAME_BYTES:
        raise NotEmulatedError(
            f"a kernel with so many values at the same time, {frame_bytes(made)} bytes of a stack where "
            f"{MAX_FRAME_BYTES} are there"
        )
    return made


def _fingerprint(text: str, level: int) -> bytes:
    host = host_features()
    about = "\0".join([llvmlite.__version__, host.cpu, host.features, _SCHEDULER, str(level), text])
    return hashlib.sha256(about.encode()).digest()


class Engine:
    """The runtime and the kernels compiled in this process; engines live as long as the process.

    prepared: machine code of an earlier process.
    """

    def __init__(self, prepared: bytes = b"") -> None:
        self.code = MachineCode()
        self.code.offer(prepared)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine(RUNTIME_LEVEL))
        self._add(self.code.object_file(_with_attributes(runtime.text()), RUNTIME_LEVEL))
        self.run = _RUN(self._engine.get_function_address("judge_run"))

    def compile(self, text: str) -> int:
        """Address of the warp function of a lowered kernel.

        Raises NotEmulatedError as kernel_code() does, and where LLVM refuses what an instruction became.
        """
        name = f"warp_{hashlib.sha256(text.encode()).hexdigest()[:32]}"
        try:
            self._add(kernel_code(self.code, _with_attributes(text.replace("@warp(", f"@{name}("))))
        except RuntimeError as error:
            raise NotEmulatedError("inline PTX with operands of these types") from error
        return int(self._engine.get_function_address(name))

    def _add(self, code: bytes) -> None:
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()


_engines: list[Engine] = []
"""At most one: what a process compiled stays mapped until it ends."""


def start_engine(prepared: bytes = b"") -> Engine:
    """The engine of this process, made now unless it is there."""
    if not _engines:
        _engines.append(Engine(prepared))
    return _engines[0]


def engine() -> Engine:
    return start_engine()


_ATTRIBUTES = '"min-legal-vector-width"="512" "prefer-vector-width"="512" "probe-stack"="inline-asm" nounwind {'


def _with_attributes(text: str) -> str:
    """Let the code generator use whole 512-bit registers and touch the pages of a frame in turn.

    A definition's head ends in `) {` or `noinline {`.
    """
    return re.sub(r"(\)|noinline|strictfp) \{$", rf"\1 {_ATTRIBUTES}", text, flags=re.MULTILINE)
