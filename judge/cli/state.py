"""What the judge remembers of its user: accepted problems and hints shown.

One JSON file under $XDG_STATE_HOME, replaced in one step. It is a convenience: when it cannot be
read or written the judge works on and says so.
"""

import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from judge.cli.output import remark


@dataclass
class State:
    """accepted: problem id to {"sha256", "version"} of the accepted source. hints: problem id to hints shown."""

    accepted: dict[str, dict[str, str]] = field(default_factory=dict)
    hints: dict[str, int] = field(default_factory=dict)


def state_folder() -> Path:
    root = os.environ.get("XDG_STATE_HOME")
    base = Path(root) if root and Path(root).is_absolute() else Path.home() / ".local" / "state"
    return base / "kernel-judge"


def load_state() -> State:
    path = state_folder() / "state.json"
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return State()
    except (OSError, ValueError) as error:
        remark(f"Cannot read {path} ({error}); going on without what was remembered.")
        return State()
    return State(accepted=_accepted(stored), hints=_hints(stored))


def save_state(state: State) -> None:
    folder = state_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".json", delete=False, encoding="utf-8") as file:
            json.dump({"accepted": state.accepted, "hints": state.hints}, file, indent=2)
        os.replace(file.name, folder / "state.json")
    except OSError as error:
        remark(f"Cannot remember this in {folder}: {error.strerror or error}.")


def _accepted(stored: Any) -> dict[str, dict[str, str]]:
    entries = stored.get("accepted") if isinstance(stored, dict) else None
    if not isinstance(entries, dict):
        return {}
    return {str(k): {str(n): str(x) for n, x in v.items()} for k, v in entries.items() if isinstance(v, dict)}


def _hints(stored: Any) -> dict[str, int]:
    entries = stored.get("hints") if isinstance(stored, dict) else None
    return {str(k): v for k, v in entries.items() if isinstance(v, int)} if isinstance(entries, dict) else {}
