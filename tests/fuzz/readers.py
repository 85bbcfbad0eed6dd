"""The readers of what a stranger or their process made, each with what may come of any input at all.

A target takes (random, grown) and tries one input: `grown` holds inputs that led to something new. It gives the input
and a word for what happened; what must not happen raises. The outcome steers: a new word keeps its input.
"""

import contextlib
import io
import json
import re
import socket
import struct
import unicodedata
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pydantic

from judge.backends.cpu.ptx import PtxError, load
from judge.compiler.boxed import ANSWER_CAP_BYTES
from judge.compiler.cache import DiskCache, default_folder
from judge.compiler.disassembly import sass_by_line
from judge.compiler.headers import headers_for
from judge.compiler.log import clean_log
from judge.compiler.resources import device_data_bytes, has_kernel, kernel_resources
from judge.compiler.statics import static_bytes
from judge.errors import SubmissionError
from judge.problem import Role
from judge.records import Report
from judge.reports.json import render_json
from judge.reports.progress import PlainProgress
from judge.reports.style import Style
from judge.reports.text import render_text
from judge.sandbox.frames import FrameError, OutOfTime, PeerGone, receive_frame
from judge.submission.read import read_submission
from judge.submission.unit import build_unit
from judge.verdict import Verdict
from judge.worker.messages import BufferSpec, CaseRequest, LaunchSpec, parse_fault, parse_hello, parse_result
from judge.worker.wire import ChannelClosed, FrameReader, WireError, encode
from tests.fuzz.mangling import ODD_TEXT, mangled_bytes, mangled_text
from tests.unit.reports.samples import make_case, make_report, wrong_report
from tests.unit.submission.example import CONSTANTS, KERNEL, PROBLEM, WHOLE_PROGRAM

ROOT = Path(__file__).resolve().parents[2]
LAUNCH_WORDS = (
    "// @launch ",
    "// @workspace ",
    "/* @launch */",
    "row_norm",
    "<D>",
    "<<<",
    ">>>",
    "(",
    ")",
    "x, rows, out",
    "N",
    "scale",
    "dim3(1, 2)",
    "float w[N]",
    "[",
    "]",
    "template <int D>",
    "__global__ ",
    "#define ",
    "#if ",
    "#endif",
    "namespace a {",
    "int main() {",
    "std::",
    'R"(',
    ')"',
)
LOG_WORDS = (
    "submission.cu(3): error: ",
    "judge-plan-0(1): error: ",
    "judge-plan-7(2): error: no instance of function template",
    "judge-plan(1): error: x",
    "judge-end(1): error: expected",
    "default-launch(1): error: ",
    "ptxas error   : ",
    "nvrtc: error: ",
    "__nv_name_map(1): error: ",
    "\n    ^\n",
    "  x = y;\n",
    "judge_plan_takes=5, judge_plan_given=2] instantiation of judge-plan-0",
    'identifier "k" is undefined',
    "warning #177-D: ",
    "note: ",
    "At end of source: error: ",
    'Input name expression was: " row_norm<64> "',
    "non-__global__",
    'could not open source file "/etc/passwd"',
    "out of memory",
    "catastrophic error: ",
    "at line 3 of submission.cu",
)
PTX_WORDS = (
    ".entry",
    ".func",
    ".reg",
    ".param",
    ".global",
    ".shared",
    ".local",
    ".const",
    ".b8",
    ".f32",
    ".pred",
    ".visible",
    ".loc",
    ".file",
    ".section",
    ".align",
    "ld.global.f32",
    "st.shared.u64",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    "call.uni",
    "bra",
    "brx.idx",
    "@%p1",
    "@!%p1",
    "%r1",
    "%rd1",
    "ret;",
    "setp.lt.s32",
    "wgmma.fence.sync.aligned;",
    "cvt.rn.f16.f32",
    "bar.sync 0;",
    "0f3F800000",
    "0d0",
    "0x",
    "18446744073709551616",
    "[%rd1+4]",
    "{%r1, %r2}",
    "$L1:",
    "generic(",
    ".alias",
    ".pragma",
)

Grown = list[Any]
Target = Callable[[Random, Grown], tuple[Any, str]]


def _short(error: BaseException) -> str:
    return re.sub(r"\d+|'[^']*'|\"[^\"]*\"|\[.*\]", "#", f"{type(error).__name__}: {error}")[:60]


def _pick(random: Random, seeds: list[Any], grown: Grown) -> Any:
    return random.choice(grown) if grown and random.random() < 0.6 else random.choice(seeds)


def _sources() -> list[str]:
    files = sorted((ROOT / "problems").glob("*/submissions/*/*.cu"))[::9]
    line = "// @launch row_norm<D><<<dim3((N + 127) / 128), 128, 4 * D>>>(x, out, N, scale)\n"
    more = "// @workspace float part[N * D]\n"
    more += "// @launch row_norm<D><<<N, (D < 8 ? 1 : 2), 0>>>(x, part + 1, N, f<1, 2>(scale))\n"
    return [line + KERNEL, more + KERNEL, KERNEL, WHOLE_PROGRAM, *(path.read_text(encoding="utf-8") for path in files)]


_SOURCES = _sources()
_HEADERS = default_folder()


def launch_lines(random: Random, grown: Grown) -> tuple[Any, str]:
    """Short files with launch and workspace lines: read, and built into a unit."""
    return _read(random, _SOURCES[:3], grown)


def sources(random: Random, grown: Grown) -> tuple[Any, str]:
    """Whole programs, host code included."""
    return _read(random, _SOURCES, grown)


def _read(random: Random, seeds: list[str], grown: Grown) -> tuple[str, str]:
    text = mangled_text(random, _pick(random, seeds, grown)[:40_000], random.choice(_SOURCES), LAUNCH_WORDS)
    data = text.encode("utf-8", "surrogatepass")
    try:
        submission = read_submission(data, "a.cu", PROBLEM)
    except SubmissionError as refused:
        error = refused
    else:
        error = None
    if error is not None:
        assert error.line is None or 1 <= error.line <= text.count("\n") + 1, error.line
        assert error.column is None or error.column >= 1
        return text, _short(error)
    assert submission.device_source.count("\n") == submission.source.count("\n"), "host code moved a line"
    unit = build_unit(submission, PROBLEM, (CONSTANTS,))
    assert unit.source.startswith(submission.device_source.rstrip("\n"))
    return text, f"read {len(submission.launches)} {len(submission.set_aside) > 0} {submission.default_launch}"


_INCLUDE_WORDS = (
    "#include ",
    "#include_next <",
    "<cuda_fp16.h>",
    '"common.cuh"',
    "<cuda/std/array>",
    "../",
    "__has_include(",
    "# ",
    "a/",
)


def includes(random: Random, grown: Grown) -> tuple[Any, str]:
    """The judge's own look for the headers a source names, on the host."""
    seed = '#include <cuda_fp16.h>\n#include "common.cuh"\n#if __has_include(<cuda/std/x>)\n#endif\n'
    text = mangled_text(random, _pick(random, [seed], grown)[:20_000], seed, _INCLUDE_WORDS)
    text = text.encode("utf-8", "replace").decode()
    headers = headers_for(text, DiskCache(_HEADERS))
    assert all(isinstance(body, bytes) for body in headers.files.values())
    return text, f"{len(headers.files)}"


_UNIT = build_unit(read_submission(_SOURCES[1].encode(), "a.cu", PROBLEM), PROBLEM, (CONSTANTS,))


def compiler_logs(random: Random, grown: Grown) -> tuple[Any, str]:
    """What a source can make the compiler say."""
    text = "".join(
        random.choice(LOG_WORDS) + random.choice(("", " ", "x\n", *ODD_TEXT)) for _ in range(random.randrange(20))
    )
    text = mangled_text(random, _pick(random, [text], grown) + text, text, LOG_WORDS)[:100_000]
    text = text.encode("utf-8", "replace").decode()
    clean = clean_log(text, _UNIT, failed=True)
    assert len(clean.text.encode()) <= 64 * 1024
    assert all(c.isprintable() or c in "\n\t" for c in clean.text)
    assert all(c.isprintable() or c in "\n\t" for message in clean.messages for c in message.message)
    assert any(message.severity == "error" for message in clean.messages)
    return text, " ".join(sorted({re.sub(r"\W+|\d+", " ", message.message)[:25] for message in clean.messages}))[:100]


def _ptx() -> list[str]:
    folder = ROOT / "tests" / "fuzz" / "seeds"
    return [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.ptx"))]


_PTX = _ptx()


def ptx(random: Random, grown: Grown) -> tuple[Any, str]:
    """PTX, which inline assembly may fill with anything: the parser and the reading of variables' sizes."""
    text = mangled_text(random, _pick(random, _PTX, grown)[:60_000], random.choice(_PTX), PTX_WORDS)
    static_bytes(text.encode("utf-8", "surrogatepass"), "ptx")
    try:
        module = load(text)
    except PtxError as error:
        return text, _short(error)
    return text, f"loaded {len(module.kernels)}"


def _elf() -> bytes:
    names = b"\0.text.k\0.nv.info\0.nv.info.k\0.symtab\0.strtab\0.nv.shared.k\0.nv.global\0"
    info = struct.pack("<BBHII", 4, 0x2F, 8, 1, 40) + struct.pack("<BBHII", 4, 0x11, 8, 1, 16)
    own = struct.pack("<BBHIII", 4, 5, 12, 128, 1, 1)
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0, 0, 1, 0, 0)
    bodies = [b"", b"code", info, own, symbols, b"\0k\0", b"", b"", names]
    offsets, at = [], 64
    for body in bodies:
        offsets.append(at)
        at += len(body)
    places = [
        names.find(name)
        for name in (
            b"\0",
            b".text.k",
            b".nv.info\0",
            b".nv.info.k",
            b".symtab",
            b".strtab",
            b".nv.shared.k",
            b".nv.global",
        )
    ] + [0]
    heads = b"".join(
        struct.pack(
            "<IIQQQQIIQQ", place, 8 if j in (6, 7) else 1, 0, 0, offset, 512 if j in (6, 7) else len(body), 0, 0, 0, 0
        )
        for j, (place, offset, body) in enumerate(zip(places, offsets, bodies, strict=True))
    )
    head = b"\x7fELF\x02\x01" + bytes(34) + struct.pack("<Q", at)[:8]
    head = head[:0x28] + struct.pack("<Q", at) + bytes(10) + struct.pack("<HHH", 64, len(bodies), len(bodies) - 1)
    return head + b"".join(bodies) + heads


_ELF = _elf()


def cubins(random: Random, grown: Grown) -> tuple[Any, str]:
    """The ELF file of a compilation, as a compiler that was taken over might send it."""
    data = mangled_bytes(random, _pick(random, [_ELF], grown))
    kernels = kernel_resources(data, "", {"k": "k"}, "sm_90")
    assert device_data_bytes(data) >= 0
    has_kernel(data, "k")
    told = [(one.registers is None, one.local_bytes is None, one.occupancy is None) for one in kernels]
    return data, f"{told} {[one.shared_bytes for one in kernels]}"


_REQUEST = CaseRequest(
    "one",
    "",
    "plan",
    (LaunchSpec("k", "k", 1),),
    (),
    (BufferSpec("out", "f32", "float", (2,), Role.OUTPUT, 4),),
    {},
    time_limit_s=1.0,
)
_BODY: dict[str, Any] = {
    "verdict": None,
    "message": "",
    "diagnoses": [{"kind": "race", "message": "m", "line": 3, "index": [1, 2]}],
    "counters": None,
    "launches": [{"grid": [1, 1, 1], "block": [32, 1, 1], "shared_bytes": 0}],
    "outputs": ["out"],
    "seconds": 0.5,
    "printed": "p",
    "launch_counters": [],
    "timing": None,
    "last": None,
    "kept": [],
    "pairs": [],
    "fatal": False,
}
_HELLO = {
    "isolation": "isolated",
    "reasons": [],
    "kind": "cpu",
    "name": "n",
    "arch": "a",
    "warp_size": 32,
    "max_threads_per_block": 1024,
    "max_block": [1, 1, 1],
    "max_grid": [1, 1, 1],
    "max_shared_bytes": 1,
    "memory_bytes": 1,
    "address": "",
}
_FRAMES = [
    b"".join(encode({"type": "result", "body": _BODY}, [bytes(8)])),
    b"".join(encode({"type": "hello", "body": _HELLO})),
    b"".join(encode({"type": "fault", "body": {"verdict": "time_limit", "message": "m", "diagnoses": []}})),
    b"".join(encode({"type": "stage", "name": "running"})),
]


def wire(random: Random, grown: Grown) -> tuple[Any, str]:
    """What a worker that was taken over might send, in pieces; every frame read as each of its kinds."""
    data = mangled_bytes(random, _pick(random, _FRAMES, grown))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.sendall(data[:100_000])
        theirs.shutdown(socket.SHUT_WR)
        reader = FrameReader(ours, 1 << 16)
        words = []
        try:
            while (frame := reader.advance()) is not None:
                for parse in (parse_hello, parse_fault, lambda frame: parse_result(frame, _REQUEST)):
                    try:
                        parse(frame)
                        words.append("parsed")
                    except WireError as error:
                        words.append(_short(error))
        except (WireError, ChannelClosed) as error:
            words.append(_short(error))
    return data, " ".join(words)[:200]


def compiler_frames(random: Random, grown: Grown) -> tuple[Any, str]:
    """What a compiler that was taken over might send."""
    text = json.dumps({"type": "compiled", "failure": "", "lowered": {"k": "k"}, "sizes": [2, 3]}).encode()
    text = mangled_bytes(random, text) if random.random() < 0.8 else text
    data = (
        mangled_bytes(random, struct.pack("<I", len(text)) + text + b"abcde")
        if random.random() < 0.5
        else (struct.pack("<I", len(text)) + text + b"abcde")
    )
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.sendall(data[:100_000])
        theirs.shutdown(socket.SHUT_WR)
        try:
            receive_frame(ours, min(ANSWER_CAP_BYTES, 1 << 20), None)
        except (FrameError, PeerGone, OutOfTime, BlockingIOError) as error:
            return data, _short(error)
    return data, "received"


def _hostile_text(random: Random) -> str:
    parts = [random.choice(("accepted", "k<<<1>>>", " ", *ODD_TEXT)) for _ in range(random.randrange(1, 6))]
    return "".join(parts)


def _poisoned(random: Random, value: Any) -> Any:
    """The same record with submission's strings in it."""
    if isinstance(value, dict):
        return {name: _poisoned(random, one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_poisoned(random, one) for one in value]
    if isinstance(value, str) and random.random() < 0.5:
        return _hostile_text(random)
    return value


_HOSTILE_FIELDS = (
    "message",
    "hint",
    "name",
    "log",
    "text",
    "kernel",
    "source",
    "buffer",
    "printed",
    "replay",
    "pattern",
    "notes",
    "set_aside",
)


def _with_hostile_strings(random: Random, value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _with_hostile_strings(random, one, key) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_with_hostile_strings(random, one, name) for one in value]
    if name in _HOSTILE_FIELDS and isinstance(value, str | None) and random.random() < 0.6:
        return _hostile_text(random)
    return value


def reports(random: Random, grown: Grown) -> tuple[Any, str]:
    """Every string of a report that a submission can have a hand in, in every rendering."""
    seed = random.choice((make_report(), wrong_report(), make_report(cases=(make_case(Verdict.RUNTIME_ERROR),))))
    body = seed.model_dump(mode="json")
    body["verdict"] = random.choice(list(Verdict))
    body["compile"] = {
        "ok": random.random() < 0.5,
        "log": "l",
        "errors": [
            {"line": random.choice((None, 1, 3, 10**9)), "column": random.choice((None, 1, 90)), "message": "m"}
        ],
        "kernels": [{"name": "k", "registers": 3}],
    }
    for case in body["cases"]:
        case["verdict"] = random.choice(list(Verdict))
        case["printed"] = "p"
        case["launches"] = [{"text": "t", "kernel": "k", "grid": [1, 1, 1], "block": [1, 1, 1], "shared_bytes": 0}]
        case["diagnoses"] = [
            {"kind": "trap", "message": "m", "source": "s", "line": 2, "kernel": "k", "buffer": "b", "hint": "h"}
        ]
    body["submission"] |= {"notes": ["n"], "set_aside": ["s"]}
    body = _with_hostile_strings(random, body)
    for case in body["cases"]:
        case["name"] = "book"  # the problem's, never a submission's
    body["problem"] = {"id": "p", "version": "v"}
    try:
        report = Report.model_validate(body)
    except pydantic.ValidationError as error:
        return body, _short(error)
    examine_renderings(report, _hostile_text(random) * 3)
    return body, f"{report.verdict} {len(report.cases)}"


def examine_renderings(report: Report, source: str) -> None:
    """Raises AssertionError where a rendering lets through what a terminal obeys, or a forged line."""
    told = io.StringIO()
    progress = PlainProgress(told, Style())
    for case in report.cases:
        progress.case_finished(case, 1, 1)
    progress.note(report.message)
    for verbose in (False, True):
        shown = render_text(report, Style(), source=source, verbose=verbose)
        heads = [line for line in shown.splitlines() if line and not line.startswith("  ")]
        known = ("case ", "kernel ", report.verdict.label)
        assert all(line.startswith(known) for line in heads), heads
        for text in (shown, told.getvalue()):
            bad = [c for c in text if c not in "\n\t" and unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]
            assert not bad, [hex(ord(c)) for c in bad]
    data = render_json(report)
    data.encode("ascii")
    assert json.loads(data)["verdict"] == report.verdict
    with contextlib.suppress(UnicodeEncodeError):
        report.message.encode()


_SASS = """
\t.section\t.text._Z1av,"ax",@progbits
\t//## File "/submission.cu", line 4 inlined at "/submission.cu", line 7
\t//## File "/submission.cu", line 7
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_2:
        /*0010*/              @!P1 BRA `(.L_x_2) ;
\t.section\t.text._Z1bv,"ax",@progbits
"""
_SASS_WORDS = (
    "\t.section\t.text._Z1av,",
    '//## File "/submission.cu", line ',
    "9" * 5000,
    ".L_x_",
    ":\n",
    "/*0020*/ ",
    ";",
)


def disassemblies(random: Random, grown: Grown) -> tuple[Any, str]:
    """What a cubin can make nvdisasm print."""
    text = mangled_text(random, _pick(random, [_SASS], grown) + _SASS, _SASS, _SASS_WORDS)[:100_000]
    at = sass_by_line(text, "_Z1av")
    shown = [one for line in at.values() for one in line]
    assert sum(map(len, shown)) <= 2 * len(text) + 20
    assert all(line >= 0 and not set("\r\n\t") & set("".join(found)) for line, found in at.items())
    return text, f"{sorted(at)[:6]} {len(shown)}"


TARGETS: dict[str, Target] = {
    "launch_lines": launch_lines,
    "sources": sources,
    "includes": includes,
    "compiler_logs": compiler_logs,
    "ptx": ptx,
    "cubins": cubins,
    "disassemblies": disassemblies,
    "wire": wire,
    "compiler_frames": compiler_frames,
    "reports": reports,
}
