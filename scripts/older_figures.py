"""Which figures were taken before the L2 was swept with ordinary loads, and how the pages mark them.

Until then lines that the judge had written stayed in the L2 and were written back on the kernel's time. What memory
bounds had to wait for that; what multiplies did not.
"""

from collections.abc import Mapping
from typing import Any

SWEPT_SINCE = "2026-11-30T22:13:49+00:00"
MARK = "†"
MEANING = "taken before the L2 was swept with ordinary loads: some microseconds longer than it would be now"
NOTE = f"{MARK} {MEANING}."


def older(row: Mapping[str, Any]) -> bool:
    """Whether a row was taken before that. date: ISO 8601 in UTC; a row without one is not known to be older."""
    return bool(row.get("date")) and str(row["date"]) < SWEPT_SINCE


def marked(row: Mapping[str, Any]) -> bool:
    """Whether a timed row is to be marked: an older one that arithmetic does not bound."""
    return older(row) and row.get("bound") != "compute"


def mark(needed: bool) -> str:
    """What follows a figure."""
    return f" {MARK}" if needed else ""
