"""Figures of the service on this machine: POSTs, from a POST to its verdict, verdicts by lanes, and many who watch.

    python -m tests.bench.service_figures [--seconds 10] [--clients 16] [--verdicts 40] [--lanes 1 2 4]
        [--watchers 1000] [--postgresql]

Prints each figure beside its target. Nothing else should run on the machine.
"""

import argparse
import asyncio
import json
import os
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from judge.dispatch.serving import prepare
from judge.store.database import Database
from judge.store.schema import migrate
from tests.service.conftest import free_port
from tests.service.postgresql import PostgreSQL
from tests.service.running import body, start_api, start_serve, until

TARGETS = {"POST/s": 300, "POST p99 ms": 100, "POST to verdict p95 s": 0.5}
EACH = 10
"""Submissions for each lane, where verdicts a second are counted."""


def posts(
    url: str, folder: Path, seconds: float, clients: int, database_s: Callable[[], float] | None = None
) -> dict[str, float]:
    """Accepted submissions a second and their times, over so many connections; nobody judges meanwhile.

    database_s: processor seconds of the database so far, where it is a process of its own.
    """
    running = start_api(url, folder, max_waiting=10**7, max_waiting_of_user=10**7)
    took: list[float] = []
    refused: list[int] = []
    sent = json.dumps(body()).encode()
    head = f"POST /api/v1/submissions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(sent)}\r\n"
    request = head.encode() + b"Content-Type: application/json\r\n\r\n" + sent

    def post() -> None:
        with socket.create_connection(("127.0.0.1", running.port), timeout=30) as connection:
            while time.monotonic() < end:
                began = time.perf_counter()
                connection.sendall(request)
                status = receive(connection)
                took.append(time.perf_counter() - began)
                if status != 202:
                    refused.append(status)

    # The first one of a process loads what all others find loaded.
    running.client.post("/api/v1/submissions", json=body())
    end = time.monotonic() + seconds
    own_s, api_s = time.process_time(), processor_s(running.process.pid)
    base_s = database_s() if database_s is not None else 0.0
    threads = [threading.Thread(target=post) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took_s = {
        "API": processor_s(running.process.pid) - api_s,
        "client": time.process_time() - own_s,
        **({} if database_s is None else {"database": database_s() - base_s}),
    }
    running.stop()
    assert not refused, refused[:5]
    ordered = sorted(took)
    return {
        "POST/s": len(took) / seconds,
        "POST p50 ms": 1000 * statistics.median(took),
        "POST p99 ms": 1000 * ordered[int(0.99 * (len(ordered) - 1))],
        **{f"{part} processor ms a POST": 1000 * used_s / len(took) for part, used_s in took_s.items()},
    }


def receive(connection: socket.socket) -> int:
    """Status of one answer, read to its end, at less cost than any client of comfort has."""
    received = b""
    while True:
        head, mark, rest = received.partition(b"\r\n\r\n")
        if mark and len(rest) >= int(head.lower().partition(b"content-length:")[2].split()[0]):
            return int(head.split()[1])
        more = connection.recv(65536)
        if not more:
            raise ConnectionError("the API closed the connection")
        received += more


def processor_s(pid: int) -> float:
    """Processor seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def postgresql_s(server: PostgreSQL) -> float:
    """Processor seconds of a PostgreSQL server and all its processes so far, those that ended included."""
    assert server._process is not None
    pid = server._process.pid
    total = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
            if int(stat.parent.name) == pid:
                total += sum(map(int, fields[11:15]))
            elif int(fields[1]) == pid:
                total += sum(map(int, fields[11:13]))
    return total / os.sysconf("SC_CLK_TCK")


def throughput(folder: Path, lanes: int, count: int, *arguments: str) -> dict[str, float]:
    """Verdicts a second of so many CPU lanes, all of them busy: splitk-merge with all its cases."""
    running = start_serve(folder, "--cpu-lanes", str(lanes), "--max-waiting", "10000", *arguments)

    def judged(number: int) -> None:
        made = [running.client.post("/api/v1/submissions", json=body(cases="all")).json()["id"] for _ in range(number)]
        for one in made:
            over = running.client.get(f"/api/v1/submissions/{one}", params={"wait": 60}).json()
            assert over["verdict"] == "accepted", over

    def ready() -> bool:
        return sum(one["state"] == "ready" for one in running.client.get("/api/v1/devices").json()) == lanes

    try:
        until(ready, 120)
        judged(lanes)
        began = time.perf_counter()
        judged(count)
        took_s = time.perf_counter() - began
    finally:
        code, _ = running.stop()
    assert code == 0
    return {f"verdicts/s, {lanes} lane{'s' if lanes > 1 else ''}": count / took_s}


def verdicts(folder: Path, count: int, *arguments: str) -> dict[str, float]:
    """From a POST of the plain splitk-merge kernel, all CPU cases, to its verdict, one after another."""
    running = start_serve(folder, *arguments)
    took = []
    try:
        until(lambda: running.client.get("/readyz").json()["parts"]["devices"] == "ok", 120)
        for number in range(count + 3):
            began = time.perf_counter()
            made = running.client.post("/api/v1/submissions", json=body(cases="all")).json()["id"]
            over = running.client.get(f"/api/v1/submissions/{made}", params={"wait": 60}).json()
            assert over["verdict"] == "accepted", over
            if number >= 3:
                took.append(time.perf_counter() - began)
            # The next worker gets the moment to come up that a person gives it.
            time.sleep(0.5)
    finally:
        code, stopped_s = running.stop()
    assert code == 0
    ordered = sorted(took)
    return {
        "POST to verdict p50 s": statistics.median(took),
        "POST to verdict p95 s": ordered[int(0.95 * (len(ordered) - 1))],
        "SIGTERM to exit s": stopped_s,
    }


def watchers(url: str, folder: Path, count: int) -> dict[str, float]:
    """So many event streams over ten submissions that wait; what it costs until all are told of the end of theirs."""
    running = start_api(url, folder, max_waiting=100, max_waiting_of_user=100)
    try:
        ids = [running.client.post("/api/v1/submissions", json=body()).json()["id"] for _ in range(10)]
        before = resident_mb(running.process.pid)
        began = time.perf_counter()
        opened_s, told = asyncio.run(_watch(running.port, ids, count, running.client.post))
        return {
            "watchers": count,
            "connected a second": count / opened_s,
            "told after ms p50": 1000 * statistics.median(told),
            "told after ms p99": 1000 * told[int(0.99 * (len(told) - 1))],
            "all of it s": time.perf_counter() - began,
            "API memory MB a watcher": (resident_mb(running.process.pid) - before) / count,
        }
    finally:
        running.stop()


async def _watch(port: int, ids: list[str], count: int, post: Callable[[str], object]) -> tuple[float, list[float]]:
    """Seconds until all streams gave their first event, and how long after the cancel each gave its last one."""
    began = time.perf_counter()
    first = asyncio.Semaphore(64)
    opened, cancelled = asyncio.Event(), asyncio.Event()
    left = count
    cancelled_at: dict[str, float] = {}

    async def watch(submission: str) -> float:
        nonlocal left
        async with first:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"GET /api/v1/submissions/{submission}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            await reader.readuntil(b"event: queued")
        left -= 1
        if left == 0:
            opened.set()
        await reader.readuntil(b"event: cancelled")
        told_at = time.perf_counter()
        writer.close()
        await cancelled.wait()
        return told_at - cancelled_at[submission]

    watching = [asyncio.create_task(watch(ids[number % len(ids)])) for number in range(count)]
    await opened.wait()
    opened_s = time.perf_counter() - began
    for one in ids:
        cancelled_at[one] = time.perf_counter()
        await asyncio.to_thread(post, f"/api/v1/submissions/{one}/cancel")
    cancelled.set()
    return opened_s, sorted(await asyncio.gather(*watching))


def resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def show(where: str, figures: dict[str, float]) -> None:
    for name, value in figures.items():
        target = f"   target {TARGETS[name]:g}" if name in TARGETS else ""
        print(f"{where:<12} {name:<24} {value:10.3f}{target}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--verdicts", type=int, default=40)
    parser.add_argument("--lanes", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--watchers", type=int, default=1000)
    parser.add_argument("--postgresql", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = f"sqlite:///{folder}/posts.db"
        migrate(Database(url))
        show("SQLite", posts(url, folder, options.seconds, options.clients))
        if options.verdicts:
            show("SQLite", verdicts(folder, options.verdicts))
        for lanes in options.lanes:
            show("SQLite", throughput(folder, lanes, EACH * lanes, "--database", f"sqlite:///{folder}/lanes.db"))
        if options.watchers:
            url = f"sqlite:///{folder}/watched.db"
            migrate(Database(url))
            show("SQLite", watchers(url, folder, options.watchers))
        if options.postgresql:
            server = PostgreSQL(free_port(), durable=True)
            try:
                url = server.new_database()
                prepare(Database(url))
                show(
                    "PostgreSQL",
                    posts(url, folder, options.seconds, options.clients, lambda: postgresql_s(server)),
                )
                if options.watchers:
                    url = server.new_database()
                    prepare(Database(url))
                    show("PostgreSQL", watchers(url, folder, options.watchers))
                if options.verdicts:
                    show("PostgreSQL", verdicts(folder, options.verdicts, "--database", server.new_database()))
                for lanes in options.lanes:
                    database = ("--database", server.new_database())
                    show("PostgreSQL", throughput(folder, lanes, EACH * lanes, *database))
            finally:
                server.remove()


if __name__ == "__main__":
    main()
