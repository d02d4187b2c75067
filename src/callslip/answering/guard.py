"""What stands before every request: is it meant for this server, does it carry the token, is it of a sane size?

Nothing of a request is looked at before. A page in a browser can neither send the token nor read an answer; the checks
of ``Host`` and ``Origin`` stop it before that, also when its own name has come to lead here (DNS rebinding).
"""

from __future__ import annotations

import ipaddress
from collections import deque
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from callslip.answering.faults import Refused
from callslip.answering.token import Token
from callslip.ports.clock import Clock

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_FAILURES, _WINDOW = 10, 60.0
"""So many wrong tokens in so many seconds; those beyond are told to wait."""

_UNKNOWN = "No valid token. Nothing was done. It stands in answers.token, new at every start."

Next = Callable[[Request], Awaitable[Response]]


class Bound(NamedTuple):
    """Where the server listens."""

    host: str
    """As it was asked for: a name or an address."""
    address: str
    port: int


class Guard:
    """Lets a request through, or raises why not."""

    def __init__(self, token: Token, bound: Bound, clock: Clock) -> None:
        self._token = token
        self._bound = bound
        self._clock = clock
        self._failures: deque[float] = deque(maxlen=_FAILURES)

    def check(self, request: Request) -> None:
        """
        Raises:
            Refused: another host or origin (403), a wrong token (401), too many of those (429).
        """
        host = request.headers.get("host", "")
        if len(request.headers.getlist("host")) != 1 or not self._meant(host):
            raise Refused(403, "wrong_host", "This is not the server you mean.")
        origin = request.headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            raise Refused(403, "wrong_origin", "Requests of other origins are refused.")
        said = request.headers.getlist("authorization")
        if not self._token.is_in(said[0] if len(said) == 1 else None):
            raise self._failed()

    def _meant(self, host: str) -> bool:
        """Whether the name is one of ours: as bound, loopback, or (listening everywhere) any address in figures."""
        name, port = _split(host)
        if port != self._bound.port:
            return False
        if name in {self._bound.host.lower(), self._bound.address, "localhost"}:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or ipaddress.ip_address(self._bound.address).is_unspecified

    def _failed(self) -> Refused:
        now = self._clock.monotonic()
        while self._failures and now - self._failures[0] >= _WINDOW:
            self._failures.popleft()
        if len(self._failures) == _FAILURES:
            wait = str(max(round(_WINDOW - (now - self._failures[0])), 1))
            return Refused(429, "too_many_failures", "Too many failed requests. Wait.", {"Retry-After": wait})
        self._failures.append(now)
        return Refused(401, "unauthorised", _UNKNOWN, {"WWW-Authenticate": "Bearer"})


def _split(host: str) -> tuple[str, int | None]:
    """``Host`` as name and port; an address of version 6 stands in brackets."""
    name, colon, port = host.rpartition(":")
    if not colon or port.endswith("]"):
        return host.strip("[]").lower(), 80
    return name.strip("[]").lower(), int(port) if port.isascii() and port.isdecimal() else None


async def read(request: Request, most: int) -> bytes:
    """The body, of type ``application/json``.

    Raises:
        Refused: another type (415), or more than ``most`` bytes (413).
    """
    kinds = request.headers.getlist("content-type")
    if len(kinds) != 1 or kinds[0].partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "not_json", "Send application/json. Nothing was written.")
    text = bytearray()
    async for part in request.stream():
        text += part
        if len(text) > most:
            raise Refused(413, "too_large", f"The body is larger than {most:,} bytes. Nothing was written.")
    return bytes(text)
