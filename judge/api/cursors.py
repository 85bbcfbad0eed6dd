"""Cursors of lists: opaque to callers, who have no use for what is in them."""

import base64
import binascii

from judge.api.errors import Refusal

_PREFIX = b"n:"


def write_cursor(number: int) -> str:
    return base64.urlsafe_b64encode(_PREFIX + str(number).encode()).decode().rstrip("=")


def read_cursor(text: str) -> int:
    """Raises Refusal for what write_cursor() did not write."""
    try:
        data = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
        number = int(data.removeprefix(_PREFIX).decode("ascii"))
    except (binascii.Error, UnicodeError, ValueError):
        number = -1
    if not 0 <= number < 2**63 or write_cursor(number) != text:
        raise Refusal("bad_cursor", "Take it from `next` of a page as it is.")
    return number
