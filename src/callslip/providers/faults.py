"""What can go wrong between us and a model server, as errors a person can act on.

Every message says what happened, that nothing was executed, and what to do. The API key stands in none of them, nor
do the user and query parts of the address. ``can_retry`` says whether the same request may succeed later (WIRE-06).
"""

from __future__ import annotations

import errno
import json
import math
import re
import socket
import ssl
from collections.abc import Iterator
from typing import Any

import httpx2

from callslip.core import retry_after as core_retry_after
from callslip.errors import ModelUnavailable

SAFE = "Nothing was executed, and the session can be resumed."
_QUOTED = 300
"""Characters of a server's own words that are passed on."""
_A_DAY = 86_400.0
_WAIT = frozenset({408, 425, 429})
_PERMANENT = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "invalid_request_error"}
    | {"invalid_prompt", "context_length_exceeded", "invalid_image", "invalid_image_format", "invalid_base64_image"}
    | {"invalid_image_url", "image_too_large", "image_too_small", "image_parse_error", "invalid_image_mode"}
    | {"image_content_policy_violation", "image_file_too_large", "unsupported_image_media_type", "empty_image_file"}
)
"""Error codes and types that stay, whatever the status around them says; those from ``invalid_prompt`` on stand in
``response.error.code`` (OpenAI API reference, "The response object").
"""
_NO_KEY = frozenset({"API_KEY_INVALID"})
"""Google answers a wrong key with 400 (Gemini API docs, "Troubleshooting guide")."""
_DELAY = re.compile(r'"retryDelay"\s*:\s*"(\d{1,9}(?:\.\d{1,9})?)s"')
_NESTED = 4
"""Levels of an error object that are looked into for words."""


class Faults:
    """The errors of one server. ``server`` is its origin; ``key`` is known here only to be struck out."""

    def __init__(self, server: str, key: str | None) -> None:
        self._server = server
        self._key = key

    def make(self, what: str, advice: str, *, retryable: bool, after: float | None = None) -> ModelUnavailable:
        said = f"The model server at {self._server} {what}. {SAFE} {advice}"
        return ModelUnavailable(said, retryable=retryable, retry_after=after)

    def transport(self, error: Exception) -> ModelUnavailable:
        """A request that got no whole answer."""
        if isinstance(error, httpx2.ConnectTimeout | httpx2.PoolTimeout):
            return self.make("could not be reached in time", "Resume when it is up again.", retryable=True)
        if isinstance(error, httpx2.TimeoutException):
            return self.make("was silent for longer than the timeout", "Resume, or raise it.", retryable=True)
        if isinstance(error, httpx2.ConnectError):
            return self._unconnected(error)
        if isinstance(error, httpx2.ProxyError):
            return self.make("is behind a proxy that failed", "Check the proxy settings.", retryable=True)
        if isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError):
            return self.make("closed the connection before its answer was whole", "Resume.", retryable=True)
        return self.make(
            f"could not be asked ({type(error).__name__})", "Check the base URL and the settings.", retryable=False
        )

    def _unconnected(self, error: Exception) -> ModelUnavailable:
        for cause in _causes(error):
            if isinstance(cause, socket.gaierror):
                again = cause.errno == socket.EAI_AGAIN
                return self.make("has a host name nobody knows", "Check the base URL and DNS.", retryable=again)
            if isinstance(cause, ssl.SSLError):
                return self.make(
                    "could not be reached over TLS (its certificate is not trusted, or it does not speak TLS)",
                    "Check the base URL and the certificate.",
                    retryable=False,
                )
            if isinstance(cause, OSError) and cause.errno == errno.ECONNREFUSED:
                return self.make("refused the connection", "Start it, or correct the base URL.", retryable=True)
        return self.make("could not be reached", "Check the network and the base URL.", retryable=True)

    def status(self, status: int, headers: httpx2.Headers, body: bytes, *, path: str = "") -> ModelUnavailable:
        """An answer other than 200. ``body`` may be cut. ``path``: what was asked of the server, without its query."""
        detail, code = _detail(body)
        if status in {401, 403} or code in _NO_KEY:
            # One sentence, and not the server's: some echo a part of the key.
            doing = "was given no API key" if self._key is None else "did not accept the API key"
            return ModelUnavailable(
                f"The model server at {self._server} {doing} (status {status}): nothing was executed and the "
                "session can be resumed once the key is right."
            )
        if 300 <= status < 400:
            return self.make(
                f"wants to send the request elsewhere (status {status}), which is not followed so that the key "
                "stays here",
                "Correct the base URL.",
                retryable=False,
            )
        said = self._said(detail)
        if status == 404:
            asked = f"; {self._server}{self.quote(path)} was asked" if path else ""
            return self.make(
                f"knows no such model or address (status 404){said}{asked}",
                "Check both; only a base URL without a path is completed with the usual one.",
                retryable=False,
            )
        retryable = (status in _WAIT or status >= 500) and code not in _PERMANENT
        what = f"answered with status {status}{said}"
        if not retryable:
            return self.make(what, "Correct what it names, then resume.", retryable=False)
        after = retry_after(headers, body)
        soon = after is not None and after <= _A_DAY
        advice = f"Resume in {math.ceil(after or 0)} s." if soon else "Resume later."
        return self.make(what, advice, retryable=True, after=after)

    def in_body(self, error: Any) -> ModelUnavailable:
        """An error object inside an answer, or a stream, that had begun as a success."""
        detail, code = _described(error)
        said = self._said(detail)
        permanent = code in _PERMANENT or (code.startswith("4") and code.isdigit() and int(code) not in _WAIT)
        return self.make(
            f"broke off its reply with an error{said}",
            "Correct what it names, then resume." if permanent else "Resume.",
            retryable=not permanent,
        )

    def web_page(self) -> ModelUnavailable:
        return self.make("answered with a web page", "Check the base URL; it usually ends in /v1.", retryable=False)

    def not_json(self) -> ModelUnavailable:
        return self.make("sent a reply that is not JSON, or is broken", "Resume.", retryable=True)

    def no_completion(self) -> ModelUnavailable:
        return self.make(
            "sent JSON that is no reply of its API", "Check that the base URL is of that API.", retryable=False
        )

    def nothing(self) -> ModelUnavailable:
        return self.make("sent an answer with nothing in it", "Resume.", retryable=True)

    def too_large(self, limit: int) -> ModelUnavailable:
        return self.make(
            f"sent more than {limit:,} bytes for one reply, so the rest was not read",
            "Ask for less; a model made in code takes another limit as max_reply_bytes.",
            retryable=False,
        )

    def compressed(self) -> ModelUnavailable:
        return self.make("compressed its reply though asked not to", "Turn its compression off.", retryable=False)

    def _said(self, detail: str) -> str:
        return f": {self.quote(detail).rstrip('.')}" if detail else ""

    def quote(self, text: str) -> str:
        """A server's words, on one line, short, without the key."""
        if self._key:
            text = text.replace(self._key, "[key]")
        text = " ".join("".join(char if char.isprintable() else " " for char in text).split())
        return text if len(text) <= _QUOTED else text[:_QUOTED] + "…"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and all that led to it, groups opened."""
    waiting: list[BaseException] = [error]
    seen: set[int] = set()
    while waiting:
        cause = waiting.pop()
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        waiting += [more for more in (cause.__cause__, cause.__context__) if more is not None]
        if isinstance(cause, BaseExceptionGroup):
            waiting += cause.exceptions


def retry_after(headers: httpx2.Headers, body: bytes) -> float | None:
    """Seconds that the server asks to be left alone for, if it does.

    ``Retry-After`` is seconds or a date (RFC 9110, 10.2.3); a date is held against the answer's own ``Date``, so that
    neither clock has to be right. Google says it in the body (google.rpc.RetryInfo).
    """
    given = core_retry_after.seconds(headers.get("retry-after", ""), headers.get("date", ""))
    if given is not None:
        return given
    found = _DELAY.search(body.decode("utf-8", "replace"))
    return float(found[1]) if found is not None else None


def _detail(body: bytes) -> tuple[str, str]:
    """The message and code in an error body; nothing of a web page."""
    text = body.decode("utf-8", "replace").strip()
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return ("" if text.startswith("<") else text), ""
    if isinstance(parsed, list) and parsed:
        parsed = parsed[0]
    return _described(parsed.get("error", parsed) if isinstance(parsed, dict) else parsed)


def _described(error: Any) -> tuple[str, str]:
    if not isinstance(error, dict):
        return (error if isinstance(error, str) else ""), ""
    code = next((one["reason"] for one in _details(error) if one.get("reason") in _NO_KEY), "")
    return _words(error, _NESTED), code or str(error.get("code") or error.get("type") or "")


def _details(error: dict[str, Any]) -> list[dict[str, Any]]:
    """What Google says of an error beside its message."""
    given = error.get("details")
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []


def _words(error: Any, levels: int) -> str:
    """The text of an error, however deep it stands: FastAPI's, and so Mistral's, is a list of faults under
    ``detail``, each with its ``msg``.
    """
    if isinstance(error, str) or levels == 0:
        return error if isinstance(error, str) else ""
    if isinstance(error, list):
        return "; ".join(filter(None, (_words(one, levels - 1) for one in error[:5])))
    if not isinstance(error, dict):
        return ""
    found = (_words(error.get(key), levels - 1) for key in ("message", "detail", "error", "msg"))
    said = next(filter(None, found), "")
    place = error.get("loc")
    return f"{'.'.join(map(str, place))}: {said}" if said and isinstance(place, list) and place else said
