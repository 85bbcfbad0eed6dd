"""What the operator decides about the API, as `judge serve` hands it to the API's process."""

import ipaddress
import json
from dataclasses import asdict, dataclass

from judge.store.database import DEFAULT_URL

SETTINGS_VARIABLE = "JUDGE_API"


@dataclass(frozen=True)
class ApiSettings:
    """database: its URL. descriptor: the listening socket, metrics_port: 0 for no metrics.

    login: whether a token is asked for. submit_rate and read_rate: requests of a user in a minute, None for no limit.
    hosts: names the API is called by, empty for any. max_waiting and max_waiting_of_user: submissions not judged yet.
    wait_limit_s: the longest that a long poll is held, whatever it asks for. stream_limit_s: the longest life of an
    event stream; its reader goes on in another. waiting_bell and changed_bell: descriptors of what is rung for the
    lanes of this machine and by them, -1 for none.
    """

    database: str = DEFAULT_URL
    descriptor: int = -1
    metrics_host: str = "127.0.0.1"
    metrics_port: int = 0
    login: bool = False
    hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")
    submit_rate: int | None = None
    read_rate: int | None = None
    max_waiting: int = 10_000
    max_waiting_of_user: int = 1_000
    max_streams: int = 2_000
    max_streams_of_user: int = 1_000
    header_limit_s: float = 10.0
    body_limit_s: float = 30.0
    send_limit_s: float = 30.0
    keep_alive_s: float = 15.0
    wait_limit_s: float = 60.0
    stream_limit_s: float = 3600.0
    waiting_bell: int = -1
    changed_bell: int = -1

    def as_json(self) -> str:
        return json.dumps(asdict(self))


def read_settings(text: str) -> ApiSettings:
    values = json.loads(text)
    return ApiSettings(**{**values, "hosts": tuple(values["hosts"])})


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what is bound to the host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
