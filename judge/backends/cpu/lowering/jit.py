"""LLVM text to machine code: no pass pipeline, codegen level 1, the host's own features.

Explicit vectors need no optimiser (an O2 pipeline cost ten times the compile for no speed); the
runtime module is compiled once a process, each kernel when it is first launched.
"""

import ctypes
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm

from judge.backends.cpu.lowering import runtime

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
    features = llvm.get_host_cpu_features()
    wide = features.get("avx512f", False) and features.get("avx512bw", False) and features.get("avx512vl", False)
    return HostFeatures(llvm.get_host_cpu_name(), features.flatten(), bool(wide))


@lru_cache(maxsize=1)
def _target_machine() -> Any:
    host = host_features()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=host.cpu, features=host.features, opt=1, jit=True, codemodel="jitdefault")


class Engine:
    """The runtime and the kernels compiled in this process; engines live as long as the process."""

    def __init__(self) -> None:
        module = llvm.parse_assembly(_with_attributes(runtime.text()))
        self._engine = llvm.create_mcjit_compiler(module, _target_machine())
        self._engine.finalize_object()
        self.run = _RUN(self._engine.get_function_address("judge_run"))
        self._count = 0

    def compile(self, text: str) -> int:
        """Address of the warp function of a lowered kernel. Raises RuntimeError when LLVM refuses the text."""
        self._count += 1
        name = f"warp_{self._count}"
        module = llvm.parse_assembly(_with_attributes(text.replace("@warp(", f"@{name}(")))
        module.verify()
        self._engine.add_module(module)
        self._engine.finalize_object()
        return int(self._engine.get_function_address(name))


@lru_cache(maxsize=1)
def engine() -> Engine:
    return Engine()


_ATTRIBUTES = '"min-legal-vector-width"="512" "prefer-vector-width"="512" nounwind {'


def _with_attributes(text: str) -> str:
    """Let the code generator use whole 512-bit registers. A definition's head ends in `) {` or `noinline {`."""
    return re.sub(r"(\)|noinline|strictfp) \{$", rf"\1 {_ATTRIBUTES}", text, flags=re.MULTILINE)
