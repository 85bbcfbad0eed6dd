"""The assembler inside NVRTC, asked what it thinks of a statement in inline PTX."""

from judge.compiler.boxed import Box
from judge.compiler.cache import DiskCache, default_folder
from judge.compiler.headers import headers_for
from judge.compiler.target import Target

_REGISTERS = ".reg .b64 p, q; .reg .b32 s, t; .reg .f32 f; .reg .f64 d; .reg .pred c;"


def assembles(statements: str) -> bool:
    """Whether a kernel with these statements in its asm compiles for sm_90."""
    text = " ".join(statements.split("\n"))
    source = f'extern "C" __global__ void k() {{ asm volatile("{{ {_REGISTERS} {text} }}"); }}\n'
    target = Target("cubin", "sm_90", "fast")
    with Box(target) as box:
        answer = box.compile(source, "k.cu", (), headers_for(source, DiskCache(default_folder())))
    return bool(answer.image)


def ptx_of(statement: str) -> str:
    """A module with the statement in a kernel of its own."""
    return f".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k() {{ {_REGISTERS} {statement} ret; }}\n"
