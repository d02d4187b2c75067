"""A notice: one thing that somebody should hear of. What it is, and how it is written down for those who are told.

It says that something is so; it decides nothing and carries nothing that could. Its id comes from where it stands in
the log, so that whoever is told twice can tell. Invariant: without ``private``, a notice holds no arguments of a call
and no words of a model.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import msgspec

from callslip.core.shown import visible
from callslip.errors import LogBroken, TrustBroken
from callslip.notify.each_text import each_text

Clean = Callable[[str], str]
"""Takes the secrets out of a text."""
LONGEST_TEXT = 1000
"""Characters of one text in a notice; what is longer is cut, and says so."""
_DAY = 24 * 3600 * 1000


class NoticeKind(StrEnum):
    APPROVAL_WAITING = "approval_waiting"
    """A call waits for a person's word."""
    APPROVAL_DECIDED = "approval_decided"
    """A person has approved or denied."""
    APPROVAL_EXPIRED = "approval_expired"
    """Nobody answered in time."""
    CALL_PARKED = "call_parked"
    """Nobody knows whether a call took effect; an operator must find out."""
    QUESTION_WAITING = "question_waiting"
    """The model has asked its user something."""
    WORKSPACE_WAITING = "workspace_waiting"
    """The workspace is another folder than the one the session began in."""
    COPY_WAITING = "copy_waiting"
    """A log is a copy, and nobody knows what happened since it was made."""
    BREAKER_OPENED = "breaker_opened"
    """A tool fails too often, and is left alone for a while."""
    LIMIT_REACHED = "limit_reached"
    """A run has used up a budget, its steps or its time, or its model went round in circles."""
    SESSION_FAILED = "session_failed"
    """A run could not go on."""
    LOG_BROKEN = "log_broken"
    """A log contradicts itself or was altered: its session is closed."""
    TRUST_BROKEN = "trust_broken"
    """What the installation trusts was altered: nothing is decided by it any more."""


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    """The same however often it is told."""
    kind: NoticeKind
    session: str
    """Empty when it is about no one session."""
    at: int
    """When it came to be so: milliseconds since 1970, UTC."""
    sentence: str
    details: dict[str, Any] = {}
    private: dict[str, Any] = {}
    """Told only where ``include_arguments`` says so."""


def notice_id(session: str, seq: int, kind: str) -> str:
    """From where the record stands: a second telling has the same one."""
    return _id(f"{session}\0{seq}\0{kind}")


def of_error(error: BaseException, *, session: str, at: int) -> Notice | None:
    """The notice of an error that closes a session or the installation; ``None`` for any other.

    The same error has the same id for the rest of its day (UTC): an alarm that lasts is repeated daily, not at every
    look.
    """
    if isinstance(error, LogBroken):
        kind, where = NoticeKind.LOG_BROKEN, str(error.seq)
    elif isinstance(error, TrustBroken):
        kind, where = NoticeKind.TRUST_BROKEN, str(error)
    else:
        return None
    about = f"Session {session}" if session else "This installation"
    return Notice(
        id=_id(f"{session}\0{where}\0{kind}\0{at // _DAY}"),
        kind=kind,
        session=session,
        at=at,
        sentence=f"{about} is closed to any further effect: {error}",
        details=_details(code=error.code, record=error.seq if isinstance(error, LogBroken) else None),
    )


def document(notice: Notice, *, include_private: bool, clean: Clean) -> dict[str, Any]:
    """The notice as JSON, in the shape that Standard Webhooks recommends: ``type``, ``timestamp``, ``data``.

    Every text is without secrets, spelled out and of limited length.
    """

    def shown(text: str) -> str:
        plain = visible(clean(text))
        return plain if len(plain) <= LONGEST_TEXT else plain[:LONGEST_TEXT] + "… (cut)"

    data = {"session": notice.session, "text": notice.sentence, **notice.details}
    if include_private:
        data |= notice.private
    return {
        "id": notice.id,
        "type": notice.kind.value,
        "timestamp": moment(notice.at),
        "data": each_text(data, shown),
    }


def body(notice: Notice, *, include_private: bool, clean: Clean) -> bytes:
    """The document's text, in ASCII: what is signed and sent, on one line."""
    return json.dumps(document(notice, include_private=include_private, clean=clean), separators=(",", ":")).encode()


def moment(at: int) -> str:
    """Milliseconds since 1970 as ISO 8601, UTC."""
    return datetime.datetime.fromtimestamp(at / 1000, datetime.UTC).isoformat(timespec="milliseconds")


def _details(**known: Any) -> dict[str, Any]:
    return {name: value for name, value in known.items() if value is not None}


def _id(text: str) -> str:
    digest = hashlib.sha256(f"callslip notice 1\n{text}".encode("utf-8", "surrogatepass")).digest()
    return "ntc_" + base64.b32encode(digest[:15]).decode("ascii").lower()
