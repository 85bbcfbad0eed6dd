"""The API's process: uvicorn on a socket that `judge serve` holds open, ended within 2 s with streams open."""

import logging
import os
import socket
import sys
from types import FrameType

import uvicorn

from judge.api.app import create_app
from judge.api.guard import MAX_HEAD_BYTES
from judge.api.protocol import PatientProtocol
from judge.api.service import Service
from judge.api.settings import SETTINGS_VARIABLE, ApiSettings, read_settings
from judge.dispatch.bell import bell_of
from judge.dispatch.children import die_with_parent
from judge.dispatch.logs import configure_logs
from judge.starting import imported
from judge.store.database import Database
from judge.store.submissions import Stored
from judge.web import pages

GRACE_S = 1
SWITCH_S = 0.0005


class _Server(uvicorn.Server):
    """Ends the event streams the moment it is told to end; else it would wait for their watchers."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._service.hub.close()
        super().handle_exit(sig, frame)


def build_service(settings: ApiSettings) -> Service:
    database = Database(settings.database, must_exist=True)
    waiting = bell_of(settings.waiting_bell)
    if waiting is not None:
        database.after_write = waiting.ring
    stored: Stored | None = None
    if not database.sqlite:
        from judge.dispatch.cluster import Deferrer

        stored = Deferrer(database)
    service = Service(settings, database, stored=stored)
    service.load_problems()
    return service


def main() -> None:
    imported()
    die_with_parent()
    settings = read_settings(os.environ.pop(SETTINGS_VARIABLE))
    configure_logs(sys.stderr)
    # Its own words are not structured, and the guard tells every request.
    for name in ("uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    service = build_service(settings)
    limits = {"header_limit_s": settings.header_limit_s, "send_limit_s": settings.send_limit_s}
    protocol = type("Protocol", (PatientProtocol,), limits)
    # The thread that stores waits for its turn after each statement; the usual 5 ms would be most of its time.
    sys.setswitchinterval(SWITCH_S)
    config = uvicorn.Config(
        create_app(service, pages()),
        http=protocol,
        log_config=None,
        access_log=False,
        timeout_keep_alive=int(settings.keep_alive_s),
        timeout_graceful_shutdown=GRACE_S,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        server_header=False,
        lifespan="on",
        backlog=512,
    )
    with socket.socket(fileno=settings.descriptor) as listening:
        _Server(config, service).run(sockets=[listening])


if __name__ == "__main__":
    main()
