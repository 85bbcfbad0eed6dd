#!/usr/bin/env python3
"""Carries out docker/Dockerfile without a container engine, as far as that goes: `python scripts/try_image.py`.

Each stage gets an empty folder that stands at the stage's place in a mount namespace, with this machine's programs
around it. COPY takes what git knows of the checkout, RUN runs, and what needs a machine of its own (base images,
packages of the system, users) is listed as not run. In the end the image's command is started as an ordinary user, the
health check of compose.yaml is asked, and it is ended with SIGTERM.

Needs bubblewrap, npm, PyYAML and the network that pip and npm need. Exit code 1 when a step fails.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent
HOME = "/opt/judge"
USER_ID = 10001
START_LIMIT_S = 60.0
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
NOT_HERE = ("apt-get", "useradd")


@dataclass
class Stage:
    name: str
    folder: Path
    workdir: str = "/"
    user: str = "root"
    entry: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)

    def box(self, *command: str, user: int | None = None) -> list[str]:
        """A command line that runs here, with the stage's folder at its place."""
        # Root stays root: a namespace of a user's own would not know the user that the service runs as.
        line = ["bwrap", "--bind", "/", "/", "--tmpfs", "/opt", "--bind", str(self.folder), HOME, "--dev", "/dev"]
        line += ["--tmpfs", "/home", "--dir", "/home/judge", "--chdir", self.workdir]
        # The system's own programs: an interpreter in somebody's home is for nobody else.
        line += [
            "--perms",
            "0755",
            "--dir",
            "/opt/bin",
            "--symlink",
            "/usr/bin/python3",
            "/opt/bin/python",
            "--setenv",
            "PATH",
            f"/opt/bin:{SYSTEM_PATH}",
        ]
        if user is not None and os.geteuid() == 0:
            line += ["--chmod", "0777", "/home/judge", "--cap-add", "ALL", "--setenv", "HOME", "/home/judge"]
            command = ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *command)
        return [*line, *command]


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n", " ", (ROOT / "docker/Dockerfile").read_text())
    lines = (line.strip() for line in text.splitlines())
    return [tuple(line.split(None, 1)) for line in lines if line and not line.startswith("#")]  # type: ignore[misc]


def inside(stage: Stage, path: str) -> Path:
    """Where a path of the image lies outside."""
    whole = Path(stage.workdir, path)
    return stage.folder / whole.relative_to(HOME)


def copy(stage: Stage, arguments: str, stages: dict[str, Stage]) -> None:
    *words, target = arguments.split()
    if words[0].startswith("--from="):
        source = stages[words.pop(0).removeprefix("--from=")]
        shutil.copytree(inside(source, words[0]), inside(stage, target), dirs_exist_ok=True)
        return
    for word in words:
        listed = subprocess.run(["git", "ls-files", "-z", word], cwd=ROOT, capture_output=True, text=True, check=True)
        names = list(filter(None, listed.stdout.split("\0")))
        if not names:
            raise SystemExit(f"COPY {word}: git knows no such file")
        for name in names:
            below = Path(name).relative_to(word) if (ROOT / word).is_dir() else Path(name).name
            many = target.endswith("/")
            place = inside(stage, target) / below if many or (ROOT / word).is_dir() else inside(stage, target)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, place)
            shutil.copymode(ROOT / name, place)


def built(folder: Path, left_out: list[str]) -> Stage:
    """The last stage, after all steps."""
    stages: dict[str, Stage] = {}
    stage = Stage("", folder)
    for word, arguments in instructions():
        began = time.monotonic()
        if word == "FROM":
            image, _, name = arguments.partition(" AS ")
            stage = Stage(name or "image", folder / (name or "image"))
            stage.folder.mkdir()
            stage.folder.chmod(0o755)
            stages[stage.name] = stage
            left_out.append(f"FROM {image}: this machine's programs are in its place")
            continue
        if word == "RUN":
            if arguments.split()[0] in NOT_HERE:
                left_out.append(f"RUN {arguments[:60]}")
                continue
            subprocess.run(stage.box("sh", "-ec", arguments), check=True)
        elif word == "COPY":
            copy(stage, arguments, stages)
        elif word == "WORKDIR":
            stage.workdir = arguments
        elif word == "USER":
            stage.user = arguments
        elif word == "ENTRYPOINT":
            stage.entry = json.loads(arguments)
        elif word == "CMD":
            stage.command = json.loads(arguments)
        print(f"ok  {time.monotonic() - began:6.1f} s  {word} {arguments[:90]}", flush=True)
    return stage


def started(stage: Stage) -> None:
    """Start the image's command, ask compose.yaml's health check until it is content, and end it."""
    compose = yaml.safe_load((ROOT / "docker/compose.yaml").read_text())
    kind, *check = compose["services"]["api"]["healthcheck"]["test"]
    assert kind == "CMD"
    command = [*stage.entry, *stage.command, "--no-login", "--cpu-lanes", "1"]
    print(f"    as user {USER_ID}: {shlex.join(command)}", flush=True)
    began = time.monotonic()
    process = subprocess.Popen(stage.box(*command, user=USER_ID))
    try:
        while subprocess.run(stage.box(*check), stderr=subprocess.DEVNULL, check=False).returncode != 0:
            if process.poll() is not None:
                raise SystemExit(f"the service ended with {process.returncode}")
            if time.monotonic() - began > START_LIMIT_S:
                raise SystemExit("the health check was never content")
            time.sleep(0.2)
        print(f"ok  {time.monotonic() - began:6.1f} s  healthy", flush=True)
        page = subprocess.run(["curl", "-sf", "http://127.0.0.1:8000/"], capture_output=True, text=True, check=True)
        if "/static/" not in page.stdout or ".js" not in page.stdout:
            raise SystemExit("the first page names no script: the bundle is missing")
        print("ok            the first page and its scripts", flush=True)
    finally:
        if process.poll() is None:
            below = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            for child in map(int, below):
                os.kill(child, signal.SIGTERM)
            process.wait(20)


def main() -> int:
    left_out: list[str] = []
    with tempfile.TemporaryDirectory(prefix="try-image-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        try:
            started(built(folder, left_out))
        except subprocess.CalledProcessError as error:
            print(f"FAILED with {error.returncode}: {shlex.join(error.cmd)[-200:]}")
            return 1
    print("not run here:", *left_out, sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
