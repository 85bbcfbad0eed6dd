"""Users and their tokens. A token is shown once, when it is made; the store keeps its SHA-256."""

import hashlib
import re
import secrets
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from judge.errors import UsageError
from judge.store.models import Token, User

SCOPES = ("submit", "read", "admin")
LOCAL_USER = "local"
_PREFIX = "kj_"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_SHAPE = re.compile(r"kj_[A-Za-z0-9_-]{43}")
_USED_STEP_S = 60.0


@dataclass(frozen=True)
class Caller:
    """Who asks. scopes: what the token allows; admin allows everything. token_id: None for who needs no token."""

    user_id: str
    name: str
    scopes: frozenset[str]
    token_id: str | None = None

    def may(self, scope: str) -> bool:
        return scope in self.scopes or "admin" in self.scopes


def user_named(session: Session, name: str) -> str:
    """Id of the user of this name, made if there is none. Raises UsageError for a name that is none."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name[:80]!r} is no name of a user. Use 1 to 64 letters, digits and . _ @ -")
    found = session.scalar(select(User.id).where(User.name == name))
    if found is not None:
        return found
    user = User(id=secrets.token_hex(16), name=name, created_at=time.time())
    try:
        with session.begin_nested():
            session.add(user)
    except IntegrityError:
        return session.scalars(select(User.id).where(User.name == name)).one()
    return user.id


def create_token(
    session: Session,
    name: str,
    scopes: Collection[str],
    lifetime_s: float | None,
    label: str = "",
    maker: Caller | None = None,
) -> tuple[str, Token]:
    """A new token of a user and its record; the text is not to be had again. Raises UsageError.

    maker: who makes it with a token of their own; it then ends with that one at the latest.
    """
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        raise UsageError(
            f"A token has one or more of the scopes {', '.join(SCOPES)}, not {', '.join(unknown) or 'none'}."
        )
    text = _PREFIX + secrets.token_urlsafe(32)
    now = time.time()
    ends = [] if lifetime_s is None else [now + lifetime_s]
    made_with = None if maker is None else maker.token_id
    if made_with is not None:
        # Locked, so that a revocation comes before this or sees what was made.
        parent = session.get(Token, made_with, with_for_update=True, populate_existing=True)
        if parent is None or not _good(parent, now):
            raise UsageError("The token you make it with has ended. Log in with another.")
        ends += [] if parent.expires_at is None else [parent.expires_at]
    token = Token(
        id=secrets.token_hex(6),
        user_id=user_named(session, name),
        label=label[:64],
        digest=_digest(text),
        scopes=[scope for scope in SCOPES if scope in scopes],
        created_at=now,
        expires_at=min(ends, default=None),
        made_with=made_with,
    )
    session.add(token)
    session.flush()
    return text, token


def list_tokens(session: Session, user_id: str | None = None) -> Sequence[tuple[Token, str]]:
    """Every token with the name of its user, in the order they were made; only those of a user where one is named."""
    query = select(Token, User.name).join(User, User.id == Token.user_id).order_by(Token.created_at)
    rows = session.execute(query if user_id is None else query.where(Token.user_id == user_id))
    return [(token, name) for token, name in rows]


def revoke_token(session: Session, token_id: str) -> bool:
    """End a token and all that were made with it now.

    False when there is none of this id; True also when it had been revoked before.
    """
    now = time.time()
    token = session.get(Token, token_id, with_for_update=True)
    if token is None:
        return False
    ended = [token]
    for one in ended:
        one.revoked_at = one.revoked_at or now
        made = select(Token).where(Token.made_with == one.id).order_by(Token.id).with_for_update()
        ended.extend(session.scalars(made))
    return True


def caller_of(session: Session, text: str) -> tuple[Caller, bool] | None:
    """Who a token stands for, and whether its last use is worth noting; None for one that is not good.

    The text is looked up by its digest, so the time this takes says nothing about how much of it is right.
    """
    if not _SHAPE.fullmatch(text):
        return None
    row = session.execute(
        select(Token, User.name).join(User, User.id == Token.user_id).where(Token.digest == _digest(text))
    ).first()
    if row is None:
        return None
    token, name = row
    now = time.time()
    if not _good(token, now):
        return None
    stale = token.used_at is None or now - token.used_at > _USED_STEP_S
    return Caller(token.user_id, name, frozenset(token.scopes), token.id), stale


def still_good(session: Session, caller: Caller) -> bool:
    """Whether the token that this caller came with has not ended since."""
    if caller.token_id is None:
        return True
    token = session.get(Token, caller.token_id, populate_existing=True)
    return token is not None and _good(token, time.time())


def _good(token: Token, now: float) -> bool:
    return token.revoked_at is None and (token.expires_at is None or token.expires_at > now)


def note_use(session: Session, text: str) -> None:
    session.execute(update(Token).where(Token.digest == _digest(text)).values(used_at=time.time()))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
