"""What the server is told to answer: good replies, and every way in which an answer can go wrong."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from callslip.testing.contract.says import Says


class Streams(msgspec.Struct, frozen=True, kw_only=True):
    """A reply with faults. Those of a stream hold only where the request asks for one; ids and the rest hold for both.

    A fault that a format has no place for, such as late ids where a call comes in one piece, is answered with 500 and
    the reason.
    """

    said: Says = Says()
    ids: Literal["", "blank", "null", "late", "repeated"] = ""
    """Of calls: all "", all the literal "null", only in a later event than the first, or all the first one's."""
    indices: Literal["", "merged", "missing", "from_1"] = ""
    """Of calls: all 0, none, or counted from 1."""
    usage: bool = True
    finish: bool = True
    """Whether the reply says why, or that, it ended."""
    final_twice: bool = False
    unknown_events: bool = False
    """Whether an event of a type nobody knows comes before each."""
    comments: bool = False
    """Whether a comment line comes before each event, as proxies send to keep a connection alive."""
    crlf: bool = False
    split: int | None = None
    """Bytes of each write to the network; an event, a character and even a line end may be torn."""
    error_after: int | None = None
    """Events after which an error event comes, and nothing more."""
    cut_after: int | None = None
    """Events after which nothing more comes."""
    cut_inside: bool = False
    """Whether half of the next event comes too."""
    cut_at: int | None = None
    """Bytes after which nothing more comes."""
    then: Literal["", "ends", "lost", "hangs"] = ""
    """How it stops. By itself a stream that was cut is lost, and any other ends as it should."""


class Sends(msgspec.Struct, frozen=True, kw_only=True):
    """Any status, body and headers at all."""

    status: int = 200
    body: bytes | str | dict[str, Any] = b""
    headers: Mapping[str, str] = {}
    """``content-type`` is application/json unless given."""


class Hangs(msgspec.Struct, frozen=True):
    """Takes the request and never answers; with ``begins``, the status line and headers of a good reply come first."""

    begins: bool = False


class Closes(msgspec.Struct, frozen=True):
    """Closes the connection ``after`` so many bytes of a reply's body; before its first byte when None."""

    after: int | None = None
    said: Says = Says(text="Some text that will not arrive as a whole.")


class Html(msgspec.Struct, frozen=True):
    """A proxy's web page."""

    status: int = 502
    text: str = "<html><head><title>Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"


class Floods(msgspec.Struct, frozen=True):
    """An answer of ``size`` bytes, plain or as one endless event, sent until the client has had enough."""

    size: int = 50 * 1024 * 1024


class RateLimited(msgspec.Struct, frozen=True, kw_only=True):
    """429; with ``overloaded``, 529 from Anthropic and 503 from the others."""

    retry_after: float | datetime | None = None
    """Seconds, or the moment (aware), as the header says it."""
    overloaded: bool = False


class WrongKey(msgspec.Struct, frozen=True):
    """The vendor's refusal of a key: 401, from Gemini 400."""


class Fails(msgspec.Struct, frozen=True):
    """The vendor's error body under any status."""

    status: int = 500
    message: str = "The server had an error while processing your request."


class Delays(msgspec.Struct, frozen=True, kw_only=True):
    """``then``, but later: after so many seconds, or when the test says ``release()``."""

    then: Now
    seconds: float | None = None


Now = Says | Streams | Sends | Hangs | Closes | Html | Floods | RateLimited | WrongKey | Fails
Answer = Now | Delays
