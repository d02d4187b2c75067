"""What kind of failure an exception is: one that passes, one that stays, or one nobody knows (RESI-01). Pure.

Exceptions of HTTP clients are told by their attributes and by the names of their classes, so that none of the clients
has to be there. Whatever is not recognised is not known, and what is not known is not tried again for its own sake.

That a fault passes says nothing of what the call has done. An exception out of a function proves at most that its
*last* request did not arrive, and a function may have made several. So :func:`classify` never claims an effect; a tool
that makes one request, and whose client does not repeat it, says so with ``classify=one_request``.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from callslip.core import retry_after


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a failure, as a tool's own classifier may say it too."""

    transient: bool | None = None
    """Whether the same attempt may succeed later; ``None``: nobody knows."""
    effect: Literal["none", "done", "unknown"] | None = None
    """What the attempt did to the world; ``None``: as the tool's declaration has it."""
    retry_after: float | None = None
    """Seconds that the other side asks to be left alone for."""
    said: str = ""
    """In a few words that hold nothing of the exception's own text, such as ``status 429``. The model is shown them."""
    network: bool = False
    """Whether it lies between us and a service, rather than in the tool."""
    nothing_sent: bool = False
    """Whether, if this was the call's only request, it can't have had an effect."""


UNKNOWN = Fault()

_PASSES = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_REFUSED = frozenset({400, 401, 403, 404, 405, 406, 411, 412, 413, 414, 415, 417, 421, 422, 425, 426, 428, 429, 431})
"""Statuses that say that the request was not carried out. By RFC 9110, 15.5: a client error, in which the server "will
not process the request" (400), "has not applied" it (401), "refuses to fulfill it" (403), "did not find" its target
(404), and so on; 425 by RFC 8470, 5.2, 428, 429 and 431 by RFC 6585. Left out on purpose: 408 (somebody on the way may
say so after the request went on), 409 and 410 (the state that stands in the way may be this call's own doing), and all
of 5xx, since a gateway answers so when it has lost an answer; but for 503 with Retry-After, RFC 9110, 15.6.4."""

_NOT_SENT = {
    "httpx": {"ConnectTimeout", "PoolTimeout", "ConnectError", "UnsupportedProtocol"},
    "requests": {"ConnectTimeout"},
    "urllib3": {"NewConnectionError", "ConnectTimeoutError", "NameResolutionError"},
    "aiohttp": {"ClientConnectorError", "ConnectionTimeoutError"},
}
"""By package: errors from before there was a connection."""

_BROKEN = {
    "httpx": {"TimeoutException", "NetworkError", "RemoteProtocolError", "ProxyError"},
    "requests": {"Timeout", "ConnectionError", "ChunkedEncodingError"},
    "urllib3": {"TimeoutError", "ProtocolError", "ProxyError"},
    "aiohttp": {"ClientConnectionError", "ClientPayloadError", "ServerTimeoutError"},
    "http": {"RemoteDisconnected", "IncompleteRead", "BadStatusLine"},
    "openai": {"APIConnectionError"},
    "anthropic": {"APIConnectionError"},
}
"""Errors of a request that may have arrived."""

_STAYS = {
    "httpx": {"UnsupportedProtocol", "LocalProtocolError", "InvalidURL", "TooManyRedirects"},
    "requests": {"SSLError", "InvalidURL", "MissingSchema", "InvalidSchema", "TooManyRedirects"},
    "urllib3": {"SSLError", "LocationParseError"},
    "aiohttp": {"ClientConnectorCertificateError", "ClientConnectorSSLError", "InvalidURL"},
    "ssl": {"SSLCertVerificationError"},
}
"""Errors that another attempt would meet again."""

_SAME = {"httpx2": "httpx", "httpcore": "httpx", "httpcore2": "httpx"}
"""Packages whose errors bear the names of another's."""

_UNREACHABLE = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.ETIMEDOUT})
_DEPTH = 6


def classify(error: BaseException, *, now: int | None = None) -> Fault:
    """What kind of failure this is. ``now``: milliseconds since 1970, for a Retry-After that is a date.

    An exception that was raised *from* another one is as passing as that one, unless it is known itself.
    """
    for one in _chain(error):
        fault = _by_status(one, now) or _by_kind(one)
        if fault is not None:
            return fault
    return UNKNOWN


def one_request(error: BaseException) -> Fault | None:
    """``classify=`` for a tool that makes a single request, by a client that does not repeat it by itself.

    Then a refused connection, an unknown host, or a status such as 404 and 429 proves that nothing was done.
    """
    fault = classify(error)
    return msgspec.structs.replace(fault, effect="none") if fault.nothing_sent else None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and those it was made of, the outermost first."""
    seen: list[BaseException] = []
    ahead: list[Any] = [error]
    while ahead and len(seen) < _DEPTH:
        one = ahead.pop(0)
        if not isinstance(one, BaseException) or any(one is before for before in seen):
            continue
        seen.append(one)
        yield one
        ahead += [one.__cause__, _get(one, "reason")]


def _get(thing: Any, name: str) -> Any:
    """An attribute of something whose attributes may be code that fails."""
    try:
        return getattr(thing, name, None)
    except Exception:  # noqa: BLE001 - then it says nothing
        return None


# By status


def _by_status(error: BaseException, now: int | None) -> Fault | None:
    response = _get(error, "response")
    status = _status(error, response)
    if status is None:
        return None
    transient = status in _PASSES
    headers = _headers(error, response)
    after = retry_after.seconds(headers.get("retry-after", ""), headers.get("date", ""), now) if transient else None
    refused = status in _REFUSED or (status == 503 and after is not None)
    return Fault(transient=transient, retry_after=after, said=f"status {status}", network=True, nothing_sent=refused)


def _status(error: BaseException, response: Any) -> int | None:
    places = [(error, "status_code"), (error, "status"), (response, "status_code"), (response, "status")]
    if response is not None or _get(error, "headers") is not None:  # else a code may be anything
        places.append((error, "code"))
    for thing, name in places:
        found = _get(thing, name)
        if isinstance(found, int) and not isinstance(found, bool) and 400 <= found <= 599:
            return int(found)
    if isinstance(response, Mapping):  # botocore
        about = response.get("ResponseMetadata")
        found = about.get("HTTPStatusCode") if isinstance(about, Mapping) else None
        if isinstance(found, int) and 400 <= found <= 599:
            return found
    return None


def _headers(error: BaseException, response: Any) -> dict[str, str]:
    about = response.get("ResponseMetadata") if isinstance(response, Mapping) else None
    places = (_get(response, "headers"), _get(error, "headers"), _get(error, "hdrs"))
    found = next((one for one in places if one is not None), None)
    if found is None and isinstance(about, Mapping):
        found = about.get("HTTPHeaders")
    try:
        return {str(name).lower(): str(value) for name, value in dict(found or {}).items()}
    except Exception:  # noqa: BLE001 - whatever it is, it is no headers
        return {}


# By what was raised


def _by_kind(error: BaseException) -> Fault | None:
    if _named(error, _STAYS) or _stays_beneath(error):
        return Fault(transient=False, said="it can't be reached in this way", network=True)
    if isinstance(error, socket.gaierror):
        again = error.errno == socket.EAI_AGAIN
        return Fault(transient=again, said="its host name was not found", network=True, nothing_sent=True)
    if isinstance(error, ConnectionRefusedError) or _get(error, "errno") == errno.ECONNREFUSED:
        return Fault(transient=True, said="connection refused", network=True, nothing_sent=True)
    if _named(error, _NOT_SENT):
        return _beneath(error) or Fault(transient=True, said="no connection", network=True, nothing_sent=True)
    if isinstance(error, TimeoutError):
        return Fault(transient=True, said="no answer in time", network=True)
    if isinstance(error, ConnectionError) or _named(error, _BROKEN):
        return _beneath(error) or Fault(transient=True, said="the connection broke", network=True)
    if isinstance(error, OSError) and error.errno in _UNREACHABLE:
        return Fault(transient=True, said="unreachable", network=True)
    return None


def _named(error: BaseException, names: Mapping[str, set[str]]) -> bool:
    for kind in type(error).__mro__:
        package = kind.__module__.partition(".")[0]
        if kind.__name__ in names.get(_SAME.get(package, package), ()):
            return True
    return False


def _inner(error: BaseException) -> Iterator[BaseException]:
    """What a client's error wraps, however it does so."""
    ahead: list[Any] = [error]
    for _ in range(_DEPTH * 2):
        if not ahead:
            return
        one = ahead.pop(0)
        if one is not error and isinstance(one, BaseException):
            yield one
        if isinstance(one, BaseException):
            # Never its context: that may be an earlier request, which the tool has come to terms with.
            ahead += [one.__cause__, _get(one, "os_error"), _get(one, "reason"), *one.args[:2]]


def _stays_beneath(error: BaseException) -> bool:
    """A certificate that is not trusted, under an error that may be anything."""
    wraps = _named(error, _NOT_SENT) or _named(error, _BROKEN)
    return wraps and any(_named(one, {"ssl": _STAYS["ssl"]}) for one in _inner(error))


def _beneath(error: BaseException) -> Fault | None:
    """The operating system's own word, where it is one from before there was a connection."""
    for one in _inner(error):
        if isinstance(one, socket.gaierror | ConnectionRefusedError):
            return _by_kind(one)
        if _named(one, _NOT_SENT) and not _named(error, _NOT_SENT):
            return Fault(transient=True, said="no connection", network=True, nothing_sent=True)
    return None
