"""Parts of the service as real processes on real ports."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import httpx

from judge.api.settings import SETTINGS_VARIABLE, ApiSettings
from judge.starting import command

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "practice" / "judge.py"
RIGHT = (ROOT / "problems/splitk-merge/submissions/accepted/plain.cu").read_text()
WRONG = (ROOT / "problems/splitk-merge/submissions/wrong_answer/zeros.cu").read_text()
ENDLESS = (ROOT / "problems/splitk-merge/submissions/time_limit/waits_for_ever.cu").read_text()
START_LIMIT_S = 60


def body(source=RIGHT, **changes):
    return {"problem": "splitk-merge", "source": source, "backend": "cpu", "cases": "sample", **changes}


def until(condition, limit_s=30.0, pause_s=0.02):
    """The first true value of the condition."""
    deadline = time.monotonic() + limit_s
    while not (value := condition()):
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(pause_s)
    return value


def children(pid, module):
    """Process ids of the children that run a module."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
            command = (status.parent / "cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == pid and module.encode() in command and fields[0] != "Z":
            found.append(int(status.parent.name))
    return found


def python_path() -> str:
    """That of this process, with the checkout before it."""
    return os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))


class Running:
    """A process that serves, with a client for it. Whatever it printed is in `log`."""

    def __init__(self, command, folder, environment=None, pass_fds=(), port=None, wait=True):
        self.log = Path(folder) / f"log-{time.monotonic_ns()}"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": python_path(), "XDG_STATE_HOME": str(folder), **(environment or {})},
                pass_fds=pass_fds,
            )
        self.port = port or self._port()
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=70)
        if wait:
            until(self._answers, START_LIMIT_S)

    def _port(self):
        found = until(lambda: re.search(r"http://127\.0\.0\.1:(\d+)", self._alive_log()), START_LIMIT_S)
        return int(found[1])

    def _alive_log(self):
        text = self.log.read_text()
        assert self.process.poll() is None, text
        return text

    def _answers(self):
        self._alive_log()
        try:
            return self.client.get("/livez").status_code == 200
        except httpx.TransportError:
            return False

    def raw(self, data, limit_s=20.0):
        """All that comes back for these bytes until the server closes or says no more for a moment."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=limit_s) as connection:
            connection.sendall(data)
            received = b""
            try:
                while chunk := connection.recv(65536):
                    received += chunk
                    head, mark, rest = received.partition(b"\r\n\r\n")
                    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
                    if mark and length and len(rest) >= int(length[1]):
                        break
            except ConnectionResetError:
                pass
            return received

    def stop(self, how=signal.SIGTERM, limit_s=10.0):
        """End it; gives its exit code and the seconds it took."""
        self.client.close()
        began = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            code = self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        return code, time.monotonic() - began


def start_api(url, folder, **settings):
    """The API's process alone, on a port of its own: nothing judges."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(512)
    listening.setblocking(False)
    with listening:
        chosen = replace(ApiSettings(), database=url, descriptor=listening.fileno(), **settings)
        return Running(
            command("judge.api.main"),
            folder,
            {SETTINGS_VARIABLE: chosen.as_json()},
            (listening.fileno(),),
            listening.getsockname()[1],
        )


def start_serve(folder, *arguments, **environment):
    """`judge serve` with one lane for the CPU, on a free port."""
    words = [sys.executable, str(SCRIPT), "serve", "--port", "0", "--cpu-lanes", "1", *map(str, arguments)]
    return Running(words, folder, environment)


def submit(client, source=RIGHT, **changes):
    answer = client.post("/api/v1/submissions", json=body(source, **changes))
    assert answer.status_code == 202, answer.text
    return answer.json()["id"]


def verdict(client, submission, wait=60):
    found = client.get(f"/api/v1/submissions/{submission}", params={"wait": wait}).json()
    assert found["state"] in {"done", "cancelled"}, found
    return found["verdict"]
