"""Identifiers: how each is made, and which of them are derived so that a replay makes the same one again."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

from callslip.errors import UsageError

MAX_SESSION_LENGTH = 200


def random_id(prefix: str) -> str:
    """A fresh identifier with 80 random bits, e.g. ``run_2f0c…``."""
    return f"{prefix}_{secrets.token_hex(10)}"


def wait_id(prefix: str, session: str) -> str:
    """A fresh id of a wait, which tells of which session it can be: whoever answers too late can be told why."""
    return f"{prefix}_{_mark(session)}{secrets.token_hex(8)}"


def may_be_of(wait: str, session: str) -> bool:
    """Whether the wait can be of that session."""
    return wait.partition("_")[2].startswith(_mark(session))


def _mark(session: str) -> str:
    return hashlib.sha256(session.encode()).hexdigest()[:6]


def call_id(session: str, step: str, position: int, *, caller: bool = False) -> str:
    """The one id of a call, from where it stands. The provider's own id plays no part in it (CALL-03).

    ``caller``: the step was named by a dispatcher's caller, who may choose a name that the loop chooses too.
    """
    kind = "caller" if caller else "loop"
    digest = hashlib.sha256(f"{kind}\0{session}\0{step}\0{position}".encode()).digest()
    return "call_" + base64.b32encode(digest[:15]).decode("ascii").lower()


def idempotency_key(installation_key: bytes, session: str, call: str, arguments_digest: str) -> str:
    """HMAC-SHA-256 under the installation's key; 32 hex digits, stable over retry, restart and resume."""
    message = f"{session}\0{call}\0{arguments_digest}".encode()
    return hmac.new(installation_key, message, hashlib.sha256).hexdigest()[:32]


def check_step(step: object) -> None:
    """Refuse, by :class:`UsageError`, a dispatcher's step that could not be stored faithfully."""
    if not isinstance(step, str) or not step or len(step) > MAX_SESSION_LENGTH or not step.isprintable():
        raise UsageError(
            f"A step is named by 1 to {MAX_SESSION_LENGTH} printable characters; got {step!r:.60}. "
            "Nothing was written. Give it another name."
        )


def check_session(session: str) -> str:
    """The session id itself, or :class:`UsageError` when it could not be shown or stored faithfully."""
    if not session or len(session) > MAX_SESSION_LENGTH or not session.isprintable() or session != session.strip():
        raise UsageError(
            f"A session id is 1 to {MAX_SESSION_LENGTH} printable characters without surrounding space; "
            f"got {session[:40]!r}. Nothing was written. Choose another id."
        )
    return session
