"""A real PostgreSQL for the tests: its own cluster in a temporary folder, run by an ordinary user."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

CONNECTIONS = 200


def programs() -> Path | None:
    """Where initdb and postgres lie; None where there is no server."""
    found = shutil.which("initdb")
    if found is not None and (Path(found).resolve().parent / "postgres").is_file():
        return Path(found).resolve().parent
    kept = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return kept[-1].parent if kept else None


class PostgreSQL:
    """durable: whether a commit waits for the disk, for figures; the tests kill processes, not machines."""

    def __init__(self, port: int, *, durable: bool = False) -> None:
        found = programs()
        assert found is not None
        self._programs = found
        self.port = port
        self._durable = durable
        self.folder = Path(tempfile.mkdtemp(prefix="judge-postgresql-"))
        self._user = _ordinary_user() if os.geteuid() == 0 else None
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        self.data = self.folder / "data"
        self._run("initdb", "-D", self.data, "-A", "trust", "-U", "judge", "--no-sync", "-E", "UTF8", "--locale=C")
        self._process: subprocess.Popen[bytes] | None = None
        self._made = 0
        self.start()

    def url(self, name: str) -> str:
        return f"postgresql://judge@127.0.0.1:{self.port}/{name}"

    def start(self) -> None:
        settings = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self.folder,
            "fsync": "on" if self._durable else "off",
            "max_connections": CONNECTIONS,
            "shared_buffers": "32MB",
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self.data, *options],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
                user=self._user,
            )
        deadline = time.monotonic() + 30
        while True:
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=2).close()
                return
            except psycopg.OperationalError:
                assert time.monotonic() < deadline, (self.folder / "log").read_text()[-2000:]
                assert self._process.poll() is None, (self.folder / "log").read_text()[-2000:]
                time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT is the fast shutdown, SIGQUIT the crash, as its manual says."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(30)
            self._process = None

    def new_database(self, template: str = "template1") -> str:
        """Make a database; gives its URL."""
        self._made += 1
        name = f"judge_{os.getpid()}_{self._made}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: object) -> None:
        command = [str(self._programs / program), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, user=self._user, check=False)
        assert done.returncode == 0, done.stderr


def _ordinary_user() -> str:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise AssertionError("PostgreSQL refuses to run as root, and there is no other user")
