"""One case in a plain process, for NVIDIA's tools to be started around: `python -m judge.worker.alone FILE [TIMES]`.

FILE holds the two frames a worker would be sent, load and case. There is no box: the tools need what a box
forbids, and what is run is the user's own kernel. The last line on stdout is JSON with the verdict and message.
"""

import json
import socket
import sys
import threading
from pathlib import Path

from judge.backends.base import DeviceFault
from judge.backends.cuda.device import CudaDevice
from judge.errors import MachineError
from judge.worker.execution import run_case
from judge.worker.messages import parse_case, parse_load
from judge.worker.wire import Frame, FrameReader, receive

UNLIMITED_BLOBS = 1 << 50


def frames_of(path: Path) -> tuple[Frame, Frame]:
    """The load frame and the case frame in a file."""
    ours, theirs = socket.socketpair()
    with ours, theirs:

        def feed() -> None:
            with path.open("rb") as file:
                theirs.sendfile(file)

        thread = threading.Thread(target=feed, daemon=True)
        thread.start()
        reader = FrameReader(ours, UNLIMITED_BLOBS)
        load, case = receive(reader), receive(reader)
        thread.join()
        return load, case


def main(arguments: list[str]) -> int:
    load, case = frames_of(Path(arguments[0]))
    times = int(arguments[1]) if len(arguments) > 1 else 1
    try:
        device = CudaDevice(0, capture=False)
    except MachineError as error:
        sys.stderr.write(f"{error}\n")
        return MachineError.exit_code
    module, _ = parse_load(load)
    verdict: str | None = None
    message = ""
    try:
        device.load(module.image, module.source)
        for _ in range(times):
            result = run_case(device, parse_case(case))
            verdict, message = result.verdict, result.message
            if result.fatal:
                break
    except DeviceFault as fault:
        verdict, message = fault.verdict, str(fault)
    sys.stdout.write("\n" + json.dumps({"verdict": verdict, "message": message}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
