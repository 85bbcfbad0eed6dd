"""The worker process: `python -m judge.worker.main --device cpu --channel FD`. Judges one submission, once.

    close inherited descriptors -> limits -> warm up the device -> confine -> hello -> load -> cases -> end

A CPU worker executes what was made from a stranger's source, so it is sealed once it is warm: no
path, no new socket, no new process. A CUDA worker runs only our own code on the host; the driver needs
its files, so there the box alone hides them.

Nothing is caught here that is not a verdict: any other exception ends the process with a traceback
on standard error, which the supervisor keeps as an incident.
"""

import argparse
import os
import socket
import sys
from typing import Any

from judge.backends.base import Device, DeviceFault
from judge.errors import MachineError
from judge.sandbox.inside import Confinement, boxed, close_inherited, confine, die_with_supervisor
from judge.sandbox.limits import ProcessLimits, apply_limits
from judge.sandbox.privileges import PrivilegeError, drop_root
from judge.starting import imported
from judge.worker.execution import run_case
from judge.worker.messages import fault_header, hello_frame, parse_case, parse_load, result_frame
from judge.worker.wire import ChannelClosed, Frame, FrameReader, WireError, encode, receive, send_all

UNLIMITED_BLOBS = 1 << 50
"""The worker trusts its supervisor; what it is sent was made by the judge."""

MAX_OPEN_FILES = 64


def set_limits(kind: str = "cpu") -> None:
    # NVIDIA's driver keeps files in memory, of sizes that are its own affair.
    apply_limits(ProcessLimits(file_bytes=None if kind == "cuda" else 0, open_files=MAX_OPEN_FILES))


def open_device(kind: str, ordinal: int, prepared: bytes = b"") -> Device:
    """The device, warm. Raises MachineError when the machine does not have it.

    prepared: code that the CPU device made in an earlier process.
    """
    if kind == "cpu":
        from judge.backends.cpu.device import CpuDevice

        cpu: Device = CpuDevice(prepared=prepared)
        return cpu
    from judge.backends.cuda.device import CudaDevice

    gpu = CudaDevice(ordinal)
    gpu.warm_up()
    return gpu


def seal(kind: str) -> Confinement:
    """Seal the process as far as its device allows; what was reached."""
    confinement = confine(files=kind != "cpu")
    for reason in confinement.reasons:
        sys.stderr.write(f"not isolated: {reason}\n")
    return confinement


def serve(device: Device, channel: socket.socket, confinement: Confinement) -> None:
    """Answer frames until the supervisor closes the channel or a fault makes the device useless."""
    reader = FrameReader(channel, UNLIMITED_BLOBS)
    send_all(channel, encode(hello_frame(device.properties, confinement), _made(device)))
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
        send_all(channel, encode(*_load(device, frame)))
        return True
    if kind == "case":

        def stage(name: str) -> None:
            send_all(channel, encode({"type": "stage", "name": name}))

        result = run_case(device, parse_case(frame), stage)
        send_all(channel, encode(*result_frame(result)))
        return not result.fatal
    raise WireError(f"no message is called {kind!r}")


def _load(device: Device, frame: Frame) -> tuple[dict[str, Any], list[bytes]]:
    module, prepared = parse_load(frame)
    try:
        device.load(module.image, module.source, prepared)
    except DeviceFault as fault:
        return fault_header(fault.verdict, str(fault), fault.diagnoses), []
    return {"type": "loaded"}, _made(device)


def _made(device: Device) -> list[bytes]:
    """The code of a device as the blobs of a frame; made before any of it has run, and so as trusted as its source."""
    code = device.made_code()
    return [code] if code else []


def _read_all(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        file.seek(0)
        return file.read()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="judge.worker")
    parser.add_argument("--device", choices=("cpu", "cuda"), required=True)
    parser.add_argument("--ordinal", type=int, default=0)
    parser.add_argument("--channel", type=int, required=True)
    parser.add_argument("--prepared", type=int, help="descriptor of a file with code the CPU device made before")
    options = parser.parse_args(arguments)
    imported()
    die_with_supervisor()
    prepared = b"" if options.prepared is None else _read_all(options.prepared)
    close_inherited(options.channel)
    set_limits(options.device)
    channel = socket.socket(fileno=options.channel)
    channel.setblocking(True)
    os.set_inheritable(channel.fileno(), False)
    try:
        if options.device == "cuda" and boxed():
            # Before the driver is asked for anything: it ties what it gives out to the user who asked.
            drop_root(keep_proc=True)
            die_with_supervisor()
        device = open_device(options.device, options.ordinal, prepared)
    except (MachineError, PrivilegeError) as error:
        sys.stderr.write(f"{error}\n")
        return MachineError.exit_code
    serve(device, channel, seal(options.device))
    # A context with a kernel that never ends would block an orderly exit; there is nothing to save.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
