"""Probes of the compile box: sources that reach for the machine, compiled as any submission's.

They go through the real box and past the cache, so what holds here holds for a stranger's source.
"""

import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from judge.compiler.boxed import Answer, Box
from judge.compiler.cache import DiskCache
from judge.compiler.headers import headers_for
from judge.compiler.statics import MAX_STATIC_BYTES, static_bytes
from judge.compiler.target import Target
from judge.sandbox.probing import Probe

ANSWER_LIMIT_S = 5.0
_KERNEL = "#ifndef VALUE\n#define VALUE 1.0f\n#endif\n"
_KERNEL += 'extern "C" __global__ void probe(float* x) { x[0] = VALUE; }\n'


@dataclass(frozen=True)
class _Trap:
    """What lies outside: a file with a secret, and a named pipe nobody writes to."""

    secret: str
    file: Path
    pipe: Path


def probe_compiler() -> list[Probe]:
    """Try to read a file, to hang on a named pipe, and to take memory by one declaration.

    Raises MachineError when the compiler cannot run here.
    """
    with _trap() as trap:
        return [
            _probe("include of a file", f'#include "{trap.file}"\n', lambda answer: _unread(answer, trap.secret)),
            _probe("include of a named pipe", f'#include "{trap.pipe}"\n', lambda answer: _unread(answer, trap.secret)),
            _probe(
                "question for a file",
                f'#if __has_include("{trap.file}")\n#error it is there\n#endif\n',
                lambda answer: "it was seen" if "it is there" in answer.log else "",
            ),
            _probe("array without end", "__device__ char hoard[1L << 40];\n#define VALUE hoard[(long)x]\n", _unbounded),
        ]


def _probe(name: str, head: str, surprise: Callable[[Answer], str]) -> Probe:
    target = Target("ptx", "compute_90", "debug")
    headers = headers_for("", DiskCache(None))
    with Box(target) as box:
        box.wait_until_sealed()
        began = time.monotonic()
        answer = box.compile(head + _KERNEL, "probe.cu", (), headers)
        seconds = time.monotonic() - began
    text = f"no answer within {ANSWER_LIMIT_S:g} s" if seconds > ANSWER_LIMIT_S else surprise(answer)
    return Probe(name, "sealed", not text, text)


def _unread(answer: Answer, secret: str) -> str:
    if secret in answer.log or secret.encode() in answer.image:
        return "its text is in the answer"
    return "" if answer.failure else "it was taken"


def _unbounded(answer: Answer) -> str:
    """The compiler may take it, for it costs nothing there; the judge must see its size."""
    if answer.failure or answer.limit or static_bytes(answer.image, "ptx") > MAX_STATIC_BYTES:
        return ""
    return "its size was not seen"


@contextmanager
def _trap() -> Iterator[_Trap]:
    with tempfile.TemporaryDirectory(prefix="judge-probe-") as folder:
        secret = f"s{secrets.token_hex(12)}"
        trap = _Trap(secret, Path(folder) / "secret.h", Path(folder) / "pipe.h")
        trap.file.write_text(f"int {secret};\n", encoding="ascii")
        # The box's user is another one; what keeps it out must be the box.
        trap.file.chmod(0o644)
        Path(folder).chmod(0o755)
        os.mkfifo(trap.pipe, 0o644)
        yield trap
