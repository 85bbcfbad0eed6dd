"""The report as JSON: one value, keys as in `judge schema`, figures that JSON has no word for as null.

JSON takes direction marks and C1 controls as they are, and a terminal obeys them: all that is not ASCII
is written as an escape.
"""

import json
import math
from typing import Any

from judge.records import Report


def render_json(report: Report, *, compact: bool = False) -> str:
    """One JSON object, indented, with a final newline. compact: in one line, in a third of the time."""
    indent = None if compact else 2
    return json.dumps(_finite(report.model_dump(mode="json")), indent=indent, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
