"""The worker process: `python -m judge.worker.main --device cpu --channel FD`. Judges one submission, once.

    close inherited descriptors -> limits -> warm up the device -> seal -> hello -> load -> cases -> end

A CPU worker executes what was made from a stranger's source, so it is sealed once it is warm: no
path, no new socket. A CUDA worker runs only our own code on the host; the driver needs its files.

Nothing is caught here that is not a verdict: any other exception ends the process with a traceback
on standard error, which the supervisor keeps as an incident.
"""

import argparse
import ctypes
import os
import resource
import signal
import socket
import sys
from typing import Any

from judge.backends.base import Device, DeviceFault
from judge.errors import MachineError
from judge.sandbox.seccomp import SealError, seal_network, seal_paths
from judge.worker.execution import run_case
from judge.worker.messages import Isolation, fault_header, hello_frame, parse_case, parse_load, result_frame
from judge.worker.wire import ChannelClosed, Frame, FrameReader, WireError, encode, receive, send_all

UNLIMITED_BLOBS = 1 << 50
"""The worker trusts its supervisor; what it is sent was made by the judge."""

MAX_OPEN_FILES = 64
_PR_SET_PDEATHSIG = 1


def close_inherited(keep: int) -> None:
    """Close every descriptor but the standard ones and the channel."""
    os.closerange(3, keep)
    os.closerange(keep + 1, 4096)


def set_limits() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_OPEN_FILES, MAX_OPEN_FILES))


def die_with_supervisor() -> None:
    """Ask the kernel for SIGKILL when the thread that started this process ends."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def open_device(kind: str, ordinal: int) -> Device:
    """The device, warm. Raises MachineError when the machine does not have it."""
    if kind == "cpu":
        from judge.backends.cpu.device import CpuDevice

        cpu: Device = CpuDevice()
        return cpu
    from judge.backends.cuda.device import CudaDevice

    gpu = CudaDevice(ordinal)
    gpu.warm_up()
    return gpu


def seal(kind: str) -> Isolation:
    """Seal the process as far as its device allows; what was reached."""
    if kind != "cpu":
        return "none"
    try:
        seal_network()
        seal_paths()
    except SealError as error:
        sys.stderr.write(f"not sealed: {error}\n")
        return "none"
    return "restricted"


def serve(device: Device, channel: socket.socket, isolation: Isolation) -> None:
    """Answer frames until the supervisor closes the channel or a fault makes the device useless."""
    reader = FrameReader(channel, UNLIMITED_BLOBS)
    send_all(channel, encode(hello_frame(device.properties, isolation)))
    while True:
        try:
            frame = receive(reader)
        except ChannelClosed:
            return
        if not _answer(device, channel, frame):
            return


def _answer(device: Device, channel: socket.socket, frame: Frame) -> bool:
    """Answer one frame; False when the device can do nothing more."""
    kind = frame.header["type"]
    if kind == "load":
        send_all(channel, encode(_load(device, frame)))
        return True
    if kind == "case":

        def stage(name: str) -> None:
            send_all(channel, encode({"type": "stage", "name": name}))

        result = run_case(device, parse_case(frame), stage)
        send_all(channel, encode(*result_frame(result)))
        return not result.fatal
    raise WireError(f"no message is called {kind!r}")


def _load(device: Device, frame: Frame) -> dict[str, Any]:
    module = parse_load(frame)
    try:
        device.load(module.image, module.source)
    except DeviceFault as fault:
        return fault_header(fault.verdict, str(fault), fault.diagnoses)
    return {"type": "loaded"}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="judge.worker")
    parser.add_argument("--device", choices=("cpu", "cuda"), required=True)
    parser.add_argument("--ordinal", type=int, default=0)
    parser.add_argument("--channel", type=int, required=True)
    options = parser.parse_args(arguments)
    die_with_supervisor()
    close_inherited(options.channel)
    set_limits()
    channel = socket.socket(fileno=options.channel)
    channel.setblocking(True)
    os.set_inheritable(channel.fileno(), False)
    try:
        device = open_device(options.device, options.ordinal)
    except MachineError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    serve(device, channel, seal(options.device))
    # A context with a kernel that never ends would block an orderly exit; there is nothing to save.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
