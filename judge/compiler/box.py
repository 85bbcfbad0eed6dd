"""The process in which NVRTC runs: `python judge/compiler/box.py FD KIND`. Run as a script.

    load NVRTC, compile a trifle -> limits -> seals -> "ready" -> request -> answer -> ... -> end

From "ready" on no path can be opened, so no source can read a file of the host; whatever happens to
the process then is the source's doing. It ends when its supervisor closes the channel: after one source, where that
is a stranger's. Run as a script, not with -m, so that the package's own
imports (which take longer than a compilation) stay out.
"""

import contextlib
import importlib.util
import os
import socket
import sys
import types
from typing import Any

from judge.sandbox.frames import PeerGone, receive_frame, send_frame
from judge.sandbox.inside import close_inherited, confine, die_with_supervisor
from judge.sandbox.limits import ProcessLimits, apply_limits

REQUEST_CAP_BYTES = 256 << 20
LOG_CAP_BYTES = 512 << 10
TRIFLE = 'extern "C" __global__ void trifle(float* x) { x[0] = 1.0f; }'
WARM_UP_OPTIONS = {"ptx": ("--gpu-architecture=compute_90", "-G"), "cubin": ("--gpu-architecture=sm_90",)}

UNUSABLE = 3


def main(descriptor: int, kind: str) -> None:
    die_with_supervisor()
    close_inherited(descriptor)
    os.chdir("/")
    channel = socket.socket(fileno=descriptor)
    channel.setblocking(True)
    nvrtc = _load_nvrtc()
    _compile(nvrtc, TRIFLE, "trifle.cu", WARM_UP_OPTIONS[kind], (), (), (), kind)
    limits, _ = receive_frame(channel, REQUEST_CAP_BYTES)
    apply_limits(ProcessLimits(**limits["limits"]))
    confinement = confine(files=False)
    if not confinement.sealed:
        sys.stderr.write(f"the compiler's process cannot be sealed: {'; '.join(confinement.reasons)}\n")
        sys.stderr.flush()
        os._exit(UNUSABLE)
    send_frame(channel, {"type": "ready", "isolation": confinement.level, "nvrtc": list(nvrtc.getVersion())})
    while True:
        try:
            request, blobs = receive_frame(channel, REQUEST_CAP_BYTES)
        except PeerGone:
            return
        answer, image, log = _compile(
            nvrtc,
            blobs[0].decode(),
            request["source_name"],
            tuple(request["options"]),
            tuple(request["name_expressions"]),
            tuple(name.encode() for name in request["headers"]),
            tuple(blobs[1:]),
            kind,
        )
        send_frame(channel, {"type": "compiled", **answer}, [image, log])


def _load_nvrtc() -> Any:
    """CuPy's binding of NVRTC, without the 0.2 s of importing CuPy itself."""
    try:
        # The binding asks cupy._environment for its log level, and that module depends on no other; an
        # empty package in CuPy's place keeps it from importing NumPy and all of CuPy for it.
        spec = importlib.util.find_spec("cupy")
        if spec is not None and spec.submodule_search_locations is not None:
            package = types.ModuleType("cupy")
            package.__path__ = list(spec.submodule_search_locations)
            sys.modules["cupy"] = package
            importlib.import_module("cupy._environment")
        from cupy_backends.cuda.libs import nvrtc

        nvrtc.getVersion()
    except (ImportError, RuntimeError) as error:
        sys.exit(f"NVRTC cannot be loaded: {error}")
    return nvrtc


def _compile(
    nvrtc: Any,
    source: str,
    name: str,
    options: tuple[str, ...],
    name_expressions: tuple[str, ...],
    header_names: tuple[bytes, ...],
    headers: tuple[bytes, ...],
    kind: str,
) -> tuple[dict[str, Any], bytes, bytes]:
    """(answer, image, log) of one compilation."""
    program = nvrtc.createProgram(source, name, headers, header_names)
    failure = ""
    image: bytes = b""
    lowered: dict[str, str] = {}
    try:
        for expression in name_expressions:
            nvrtc.addNameExpression(program, expression)
        nvrtc.compileProgram(program, options)
        lowered = {expression: nvrtc.getLoweredName(program, expression) for expression in name_expressions}
        # CuPy takes the last byte of both for the end of a text; a cubin's is a part of its last header.
        image = nvrtc.getPTX(program).rstrip(b"\0") if kind == "ptx" else nvrtc.getCUBIN(program) + b"\0"
    except nvrtc.NVRTCError as error:
        failure = str(error)
    log = _log(nvrtc, program)
    nvrtc.destroyProgram(program)
    return {"failure": failure, "lowered": lowered}, image, log


def _log(nvrtc: Any, program: Any) -> bytes:
    try:
        log: bytes = nvrtc.getProgramLog(program).encode()
    except UnicodeDecodeError as error:
        # NVRTC cut a character in two; the bytes are still the log.
        log = bytes(error.object)
    except nvrtc.NVRTCError:
        log = b""
    if len(log) <= LOG_CAP_BYTES:
        return log
    return log[:LOG_CAP_BYTES] + b"\n[log cut]\n"


if __name__ == "__main__":
    with contextlib.suppress(PeerGone):
        main(int(sys.argv[1]), sys.argv[2])
    # Leave without NVRTC's and Python's farewells; nothing is to be saved.
    os._exit(0)
