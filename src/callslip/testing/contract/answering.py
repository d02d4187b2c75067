"""From an answer of the script to what is sent: pure, so that the handler only writes and waits."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qs

import msgspec

from callslip.testing.contract.answers import (
    Answer,
    Closes,
    Delays,
    Fails,
    Floods,
    Hangs,
    Html,
    RateLimited,
    Sends,
    Streams,
    WrongKey,
)
from callslip.testing.contract.format import Format
from callslip.testing.contract.says import Says
from callslip.testing.contract.stream_faults import NoSuchFault, faulty, faulty_body
from callslip.testing.contract.violation import Violation

_OVERLOADED = {"anthropic": 529}
_PIECE = b"x" * 64 * 1024
_JSON = {"content-type": "application/json"}


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """What goes over the network, and when it stops."""

    status: int = 200
    headers: dict[str, str] = {}
    writes: tuple[bytes, ...] = ()
    """Each is written by itself."""
    streamed: bool = False
    """Whether the body is sent in chunks, without its length being said before."""
    announced: int | None = None
    """The length that is said, where it is not what comes."""
    begins: bool = True
    """Whether even the status line is sent."""
    then: str = "ends"
    """``ends``, ``lost`` (the connection, without the end of the body) or ``hangs``."""
    waits: float | None = None
    """Seconds before anything is sent."""
    waits_for_release: bool = False
    floods: int = 0
    """Bytes of filling after the writes."""

    @property
    def filling(self) -> bytes:
        return _PIECE


def answer(due: Answer, form: Format, body: dict[str, Any], path: str) -> Response:
    """The response for an answer of the script."""
    if isinstance(due, Delays):
        later = answer(due.then, form, body, path)
        return msgspec.structs.replace(later, waits=due.seconds, waits_for_release=due.seconds is None)
    if isinstance(due, Says | Streams):
        return _said(due if isinstance(due, Streams) else Streams(said=due), form, body, path)
    if isinstance(due, Closes):
        return _closed(due, form, body, path)
    if isinstance(due, Hangs):
        return msgspec.structs.replace(_said(Streams(), form, body, path), begins=due.begins, writes=(), then="hangs")
    if isinstance(due, Floods):
        kind = "text/event-stream" if form.streams(body, path) else "application/json"
        start = b"data: " if form.streams(body, path) else b'{"x":"'
        return Response(
            headers={"content-type": kind}, writes=(start,), announced=due.size, floods=due.size - len(start)
        )
    return _plainly(due, form)


def _plainly(due: Sends | Html | RateLimited | WrongKey | Fails, form: Format) -> Response:
    if isinstance(due, Sends):
        text = json.dumps(due.body) if isinstance(due.body, dict) else due.body
        raw = text.encode() if isinstance(text, str) else text
        return Response(status=due.status, headers={**_JSON, **due.headers}, writes=(raw,))
    if isinstance(due, Html):
        return Response(status=due.status, headers={"content-type": "text/html"}, writes=(due.text.encode(),))
    if isinstance(due, RateLimited):
        return _limited(due, form)
    if isinstance(due, WrongKey):
        own: Callable[[], tuple[int, dict[str, Any]]] | None = getattr(form, "wrong_key", None)
        return _json(*(own() if own is not None else (401, form.error(401, "Incorrect API key provided."))))
    return _json(due.status, form.error(due.status, due.message))


def refusal(form: Format, violations: Sequence[Violation]) -> Response:
    """The vendor's words for an illegal request."""
    return _json(*form.refusal(violations))


def text(status: int, message: str) -> Response:
    return Response(status=status, headers={"content-type": "text/plain"}, writes=(message.encode(),))


def key_of(headers: Mapping[str, str], path: str) -> str | None:
    """The key that a request bears, wherever its vendor wants it."""
    bearer = headers.get("authorization", "")
    if bearer.startswith("Bearer "):
        return bearer.removeprefix("Bearer ")
    in_query = parse_qs(path.partition("?")[2]).get("key", [None])[0]
    return headers.get("x-api-key") or headers.get("x-goog-api-key") or in_query


def _json(status: int, body: dict[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    return Response(status=status, headers={**_JSON, **(headers or {})}, writes=(json.dumps(body).encode(),))


def _said(due: Streams, form: Format, body: dict[str, Any], path: str) -> Response:
    try:
        if form.streams(body, path):
            made = faulty(form.events(due.said, body), due, form.name, form.error(500, "The stream failed."))
            return Response(
                headers={"content-type": "text/event-stream"}, writes=made.writes, streamed=True, then=made.then
            )
        whole = faulty_body(form.plain(due.said, body), due, form.name)
    except NoSuchFault as error:
        return _json(500, form.error(500, str(error)))
    raw = json.dumps(whole).encode()
    kept = raw if due.cut_at is None else raw[: due.cut_at]
    then = due.then or ("ends" if due.cut_at is None else "lost")
    return Response(headers=_JSON, writes=(kept,), announced=len(raw), then=then)


def _closed(due: Closes, form: Format, body: dict[str, Any], path: str) -> Response:
    if due.after is None:
        return Response(begins=False, then="lost")
    return _said(Streams(said=due.said, cut_at=due.after), form, body, path)


def _limited(due: RateLimited, form: Format) -> Response:
    status = _OVERLOADED.get(form.name, 503) if due.overloaded else 429
    headers = {}
    if isinstance(due.retry_after, datetime):
        headers["retry-after"] = format_datetime(due.retry_after.astimezone(UTC), usegmt=True)
    elif due.retry_after is not None:
        headers["retry-after"] = f"{due.retry_after:g}"
    message = "Overloaded" if due.overloaded else "Rate limit reached. Please try again later."
    return _json(status, form.error(status, message), headers)
