"""PTX front end of the CPU backend: text to judge.backends.cpu.ir.

    text --lexer--> tokens --parser--> syntax --resolve--> routines --inline--> ir.Kernel
                                          '--link--> variables, ir.Module

`load(text)` does it all; PtxError is the one thing it raises.
"""

from judge.backends.cpu.ptx.errors import PtxError
from judge.backends.cpu.ptx.link import link, load
from judge.backends.cpu.ptx.parser import parse

__all__ = ["PtxError", "link", "load", "parse"]
