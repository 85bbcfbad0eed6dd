"""What `judge serve` does: checks what the operator asked for, prepares the store, and keeps the parts running."""

import os
import socket
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import structlog

from judge.api.settings import SETTINGS_VARIABLE, ApiSettings, is_loopback
from judge.dispatch.bell import Bell
from judge.dispatch.children import Child
from judge.dispatch.house import House, lane_child, lanes_of_machine, only_one
from judge.dispatch.lane import LaneSettings
from judge.dispatch.logs import configure_logs
from judge.errors import MachineError, UsageError
from judge.store.database import Database, StoreUnavailable, shown_url
from judge.store.schema import migrate

BACKLOG = 512
RATE_WITH_LOGIN = 60
READS_FOR_EACH = 20
"""A user may read so many times as often as submit."""

WAITING_OF_USER_WITH_LOGIN = 200

_log = structlog.get_logger()


@dataclass(frozen=True)
class ServeOptions:
    """As the options of `judge serve`."""

    host: str = "127.0.0.1"
    port: int = 8000
    database: str = "sqlite:///judge.db"
    cpu_lanes: int | None = None
    warm: int = 1
    metrics_port: int = 0
    no_login: bool = False
    login: bool = False
    hosts: tuple[str, ...] = ()
    rate: int | None = None
    max_waiting: int = 10_000


def serve_machine(options: ServeOptions) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises UsageError for what cannot be done as asked, MachineError when the database or the port is not to be had.
    """
    configure_logs(sys.stderr)
    database = Database(options.database)
    lock = only_one(database)
    listening = _listen(options.host, options.port)
    try:
        prepare(database)
        port = listening.getsockname()[1]
        settings = replace(api_settings(options), descriptor=listening.fileno())
        lanes = lanes_of_machine(options.database, options.cpu_lanes, warm=options.warm)
        changed = Bell().descriptor
        waiting = -1
        passed = [listening.fileno(), changed]
        if database.sqlite:
            # All who write to it are children of this process; on PostgreSQL a job wakes lanes wherever they are.
            waiting = Bell().descriptor
            passed.append(waiting)
        settings = replace(settings, waiting_bell=waiting, changed_bell=changed)
        lanes = [replace(lane, waiting_bell=waiting, changed_bell=changed) for lane in lanes]
        api = Child("api", "judge.api.main", {SETTINGS_VARIABLE: settings.as_json()}, passed)
        if not settings.login and not is_loopback(options.host):
            _log.warning("anybody who reaches this address may submit; --no-login was given")
        _log.info(
            "serving",
            url=f"http://{_in_url(options.host)}:{port}",
            database=shown_url(options.database),
            login=settings.login,
            lanes=[lane.worker for lane in lanes],
        )
        House(database, [api, *map(lane_child, lanes)], alone=database.sqlite).run()
    finally:
        listening.close()
        database.close()
        if lock is not None:
            lock.close()


@dataclass(frozen=True)
class WorkerOptions:
    """As the options of `judge worker`. queues: empty for all that this machine can serve."""

    database: str
    queues: tuple[str, ...] = ()
    cpu_lanes: int | None = None
    warm: int = 1


def work_for_service(options: WorkerOptions) -> None:
    """Judge from a PostgreSQL until SIGTERM or SIGINT.

    Raises UsageError for SQLite and for queues that no device here serves, MachineError for a database out of reach.
    """
    configure_logs(sys.stderr)
    database = Database(options.database)
    try:
        if database.sqlite:
            raise UsageError("SQLite is for one machine, where `judge serve` has its own workers. Use PostgreSQL.")
        prepare(database)
        host = f"{socket.gethostname()}.{os.getpid()}"
        lanes = chosen_lanes(
            lanes_of_machine(options.database, options.cpu_lanes, warm=options.warm, host=host), options.queues
        )
        _log.info("working", database=shown_url(options.database), lanes=[lane.worker for lane in lanes])
        House(database, [lane_child(lane) for lane in lanes], alone=False).run()
    finally:
        database.close()


def chosen_lanes(lanes: Sequence[LaneSettings], queues: Sequence[str]) -> list[LaneSettings]:
    """The lanes that serve any of the queues, each with only those. Raises UsageError for a queue that none serves."""
    if not queues:
        return list(lanes)
    served = sorted({queue for lane in lanes for queue in lane.queues})
    for queue in queues:
        if queue not in served:
            raise UsageError(f"No device of this machine serves the queue {queue[:40]!r}; served: {', '.join(served)}.")
    narrowed = [replace(lane, queues=tuple(q for q in lane.queues if q in queues)) for lane in lanes]
    return [lane for lane in narrowed if lane.queues]


def prepare(database: Database) -> None:
    """Bring the tables up to date. Raises MachineError when the database cannot be used."""
    try:
        migrate(database)
        if not database.sqlite:
            from judge.dispatch.cluster import prepare_queue

            prepare_queue(database)
    except StoreUnavailable as error:
        raise MachineError(f"{error} It is {database.url.render_as_string(hide_password=True)}.") from error


def api_settings(options: ServeOptions) -> ApiSettings:
    """What the API is to do. Raises UsageError for options that exclude each other."""
    if options.login and options.no_login:
        raise UsageError("--login and --no-login exclude each other.")
    local = is_loopback(options.host)
    login = options.login or (not local and not options.no_login)
    rate = options.rate if options.rate is not None else RATE_WITH_LOGIN if login else None
    hosts = options.hosts
    if local:
        # A foreign page whose name was made to lead here would else be served as this machine's user.
        hosts = ("localhost", "127.0.0.1", "[::1]", *options.hosts)
    return ApiSettings(
        database=options.database,
        metrics_port=options.metrics_port,
        metrics_host="127.0.0.1" if local else options.host,
        login=login,
        hosts=tuple(host.lower() for host in hosts),
        submit_rate=rate,
        read_rate=None if rate is None else READS_FOR_EACH * rate,
        max_waiting=options.max_waiting,
        max_waiting_of_user=WAITING_OF_USER_WITH_LOGIN if login else options.max_waiting,
    )


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host.strip("[]"), port))
        listening.listen(BACKLOG)
        # The API's process takes it over as it is; a descriptor that blocks would hold its loop.
        listening.setblocking(False)
    except OSError as error:
        with closing(listening):
            raise UsageError(
                f"{_in_url(host)}:{port} cannot be listened on: {error.strerror or error}. Choose another --port."
            ) from None
    return listening


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
