"""The name that somebody meant who wrote another one."""

import difflib
from collections.abc import Iterable

LIKENESS = 0.6


def nearest(written: str, names: Iterable[str], likeness: float = LIKENESS) -> str | None:
    """The one of the names that is most like what was written; None where none is like enough.

    likeness: from 0 to 1, how much of both must agree. Short names, and those with a part that is known to be
    right, need less of it.
    """
    found = difflib.get_close_matches(written, list(names), n=1, cutoff=likeness)
    return found[0] if found else None
