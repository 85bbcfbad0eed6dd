"""Compiles a translation unit with NVRTC in a sealed process, or finds it compiled in the cache."""

from judge.compiler.compile import Compilation, compile_unit
from judge.compiler.target import CPU_ARCH, Target
from judge.compiler.warm import WarmBoxes
from judge.records import CompileMessage, KernelResources

__all__ = ["CPU_ARCH", "Compilation", "CompileMessage", "KernelResources", "Target", "WarmBoxes", "compile_unit"]
