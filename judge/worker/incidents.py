"""Incidents: what went wrong inside the judge, kept in a file under a short id.

A report shows only the id; tracebacks and logs of the machine stay on the machine.
"""

import os
import secrets
import time
from pathlib import Path


def incident_folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "kernel-judge" / "incidents"


def record_incident(what: str, details: str) -> str:
    """Store the details and give the incident's id. A full or read-only disk loses them, not the id."""
    incident = secrets.token_hex(5)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    try:
        folder = incident_folder()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{incident}.txt").write_text(f"{stamp} {what}\n\n{details}\n", encoding="utf-8")
    except OSError:
        pass
    return incident
