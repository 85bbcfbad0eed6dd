"""nvdisasm in its box: what it prints comes back, what it must not do it cannot, and its ends are told.

A program of a few lines stands in for nvdisasm where it is not installed.
"""

import os
import sys

import pytest

from judge.catalogue import load_problem
from judge.compiler import Target, compile_unit, disassembly
from judge.compiler.cache import DiskCache
from judge.compiler.disassembly import DisassemblyError, disassemble, kept_disassembly, sass_by_line
from judge.errors import MachineError
from judge.sandbox.bubblewrap import Absence, bubblewrap
from judge.submission.read import read_submission
from judge.submission.unit import build_unit
from judge.tools import find_tool

REAL = find_tool("nvdisasm")
TEXT = """
\t.section\t.text._Z1av,"ax",@progbits
_Z1av:
.text._Z1av:
\t//## File "/submission.cu", line 4
        /*0000*/                   LDC R1, c[0x0][0x28] ;
\t//## File "/cuda_fp16.hpp", line 900 inlined at "/submission.cu", line 7
\t//## File "/submission.cu", line 7
        /*0010*/              @!P1 BRA `(.L_x_2) ;
        /*0020*/                   IMAD.MOV.U32 R2, RZ, RZ, 0x1 ;
\t//## File "/submission.cu", line 12 inlined at "/submission.cu", line 7
\t//## File "/submission.cu", line 7
        /*0030*/                   FADD R2, R2, R3 ;
.L_x_2:
\t//## File "/judge-plan", line 3
        /*0040*/                   EXIT ;
\t.section\t.text._Z1bv,"ax",@progbits
        /*0000*/                   NOP ;
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Make a program called nvdisasm of lines of Python; gives its path."""

    def made(lines):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        program = folder / "nvdisasm"
        program.write_text(f"#!{sys.executable} -ISE\nimport os, sys\n{lines}\n")
        program.chmod(0o755)
        for one in (tmp_path, *tmp_path.parents):
            # The stand-in is run as another user where the tests run as root.
            if os.access(one, os.W_OK) and one.stat().st_uid == os.geteuid() and one.is_relative_to("/tmp"):
                one.chmod(one.stat().st_mode | 0o711)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return program

    return made


def test_instructions_stand_under_the_line_of_the_submission_that_they_serve():
    assert sass_by_line(TEXT, "_Z1av") == {
        4: ["/*0000*/ LDC R1, c[0x0][0x28] ;"],
        7: ["/*0010*/ @!P1 BRA `(.L_x_2) ;", "/*0020*/ IMAD.MOV.U32 R2, RZ, RZ, 0x1 ;"],
        12: ["/*0030*/ FADD R2, R2, R3 ;"],
        0: [".L_x_2: /*0040*/ EXIT ;"],
    }
    assert sass_by_line(TEXT, "_Z1bv") == {0: ["/*0000*/ NOP ;"]}
    assert sass_by_line(TEXT, "_Z1") == {}


def test_the_text_comes_back_and_is_kept_for_the_same_cubin_and_tool(stand_in, tmp_path):
    program = stand_in("print(sys.argv[1:-1], open(sys.argv[-1], 'rb').read())")
    cache = DiskCache(tmp_path / "cache")
    assert kept_disassembly(b"cubin", cache) is None
    text = disassemble(b"cubin", trusted=True, cache=cache)
    assert text == f"{['--print-code', '--print-line-info-inline']} {b'cubin'}\n"
    assert kept_disassembly(b"cubin", cache) == text
    assert kept_disassembly(b"other", cache) is None
    program.write_text(program.read_text() + "# another version\n")
    assert kept_disassembly(b"cubin", cache) is None


@pytest.mark.skipif(isinstance(bubblewrap(), Absence), reason="there is no bubblewrap that works here")
def test_the_box_holds_what_reads_a_strangers_cubin(stand_in, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("told")
    stand_in(
        f"""
import socket, resource
def tried(what):
    try:
        return f"did: {{what()}}"
    except OSError as error:
        return error.strerror
print("uid", os.geteuid() == 0, "seen", os.path.exists({str(secret)!r}))
file = os.open("/tmp/x", os.O_CREAT | os.O_WRONLY)
print("fork", tried(os.fork), "socket", tried(socket.socket), "write", tried(lambda: os.write(file, b"x")))
print("data", resource.getrlimit(resource.RLIMIT_DATA)[0], "cpu", resource.getrlimit(resource.RLIMIT_CPU)[0])"""
    )
    text = disassemble(b"cubin", trusted=False, cache=DiskCache(None))
    assert text.splitlines() == [
        "uid False seen False",
        "fork Operation not permitted socket Operation not permitted write File too large",
        f"data {1 << 30} cpu 60",
    ]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("sys.exit('it is an invalid file')", "could not read the cubin: it is an invalid file"),
        ("while True: print('x' * 10000)", "more than 1 MiB of text"),
        ("import time; print('begun', flush=True); time.sleep(60)", "did not end within 1.5 s"),
        ("os.abort()", "could not read the cubin"),
        ("x = bytearray(3 << 30)", "could not read the cubin: MemoryError"),
    ],
)
def test_an_end_without_a_text_is_told(stand_in, monkeypatch, lines, told):
    stand_in(lines)
    monkeypatch.setattr(disassembly, "WALL_LIMIT_S", 1.5 if "sleep" in lines else 20.0)
    monkeypatch.setattr(disassembly, "MAX_TEXT_BYTES", 1 << 20)
    with pytest.raises(DisassemblyError, match=told):
        disassemble(b"cubin", trusted=True, cache=DiskCache(None))


def test_without_the_tool_or_a_box_it_is_said_what_to_install(stand_in, monkeypatch):
    stand_in("pass")
    monkeypatch.setattr(disassembly, "bubblewrap", lambda: Absence("there is none", "Install it"))
    with pytest.raises(MachineError, match=r"read in a box only, and there is none: there is none\. Install it"):
        disassemble(b"cubin", trusted=False, cache=DiskCache(None))
    monkeypatch.setattr(disassembly, "find_tool", lambda name: None)
    assert kept_disassembly(b"cubin", DiskCache(None)) is None
    with pytest.raises(MachineError, match="pip install nvidia-cuda-nvdisasm"):
        disassemble(b"cubin", trusted=True, cache=DiskCache(None))


@pytest.mark.skipif(REAL is None, reason="nvdisasm is not installed: pip install nvidia-cuda-nvdisasm")
def test_what_nvdisasm_says_of_our_cubins_is_understood():
    problem = load_problem("splitk-merge")
    source = (problem.folder / "submissions/accepted/shared_weights.cu").read_bytes()
    sets = dict.fromkeys(problem.constants_of(case) for case in problem.cases[:2])
    unit = build_unit(read_submission(source, "mine.cu", problem), problem, tuple(sets))
    found = compile_unit(unit, Target("cubin", "sm_90", "optimized"))
    text = disassemble(found.image, trusted=True, cache=DiskCache(None))
    [symbol] = found.lowered.values()
    at = sass_by_line(text, symbol)
    number = next(n for n, line in enumerate(source.decode().split("\n"), 1) if "__syncthreads" in line)
    assert any("BAR.SYNC" in one for one in at[number])
    assert sum(map(len, at.values())) > 100
