"""Where a webhook may go, and that the address that was checked is the one that is dialled (GATE-04).

A name is resolved once for each request; every address it has is checked, and the connection is made to one of them
by number, while the certificate and the Host header stay those of the name. So a name that answers differently the
second time it is asked is never asked a second time.

Source of the ranges: IANA's special-purpose address registries, as :mod:`ipaddress` knows them; addresses that carry
an IPv4 address inside (RFC 4291 mapped, RFC 6052, RFC 3056) are judged by that one.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal
from urllib.parse import SplitResult, urlsplit

import anyio
import anyio.to_thread
import msgspec

from callslip.errors import ConfigError

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""From a host and a port to addresses, in the order in which they are to be tried. Raises OSError."""
Reach = Literal["public", "private", "never"]
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_LOOPBACK_NAMES = {"localhost", "127.0.0.1", "::1"}


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """An address as configured, taken apart."""

    scheme: Literal["http", "https"]
    host: str
    """Lower case, without brackets."""
    port: int
    path: str
    """With its query."""
    listed: bool
    """Whether the host may have addresses that are not public."""

    @property
    def authority(self) -> str:
        """What the Host header says."""
        standard = 443 if self.scheme == "https" else 80
        name = bracketed(self.host)
        return name if self.port == standard else f"{name}:{self.port}"

    def at(self, address: str) -> str:
        """The URL with the address in the place of the name."""
        return f"{self.scheme}://{bracketed(address)}:{self.port}{self.path}"


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """Addresses that may be dialled, or why none may."""

    addresses: tuple[str, ...] = ()
    refusal: str = ""


def target_of(url: str, allow_hosts: Sequence[str]) -> Target:
    """The address, taken apart.

    Raises:
        ConfigError: it is not https (http only on the loopback of this machine), or holds what it must not.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    host = (parts.hostname or "").rstrip(".")
    if parts.scheme not in {"http", "https"} or not host or port == 0:
        raise _refused(host, "the url is no full address", "Write it like https://hooks.example.com/callslip")
    if not url.isascii() or not url.isprintable() or " " in url:
        raise _refused("", "the url holds characters that an address can't", "Write them percent-encoded or as xn--…")
    if parts.username is not None or parts.password is not None:
        raise _refused(host, "the url holds a user name or password", "Take it out; the signature says who sends")
    if parts.fragment:
        raise _refused(host, "the url has a #fragment, which is never sent", "Take it out")
    if parts.scheme == "http" and host not in _LOOPBACK_NAMES:
        raise _refused(host, "it is plain http, which anybody on the way can read", "Use https")
    listed = host in {name.strip("[]").rstrip(".").lower() for name in allow_hosts}
    if not listed and _reach_of_literal(host) == "private":
        raise _refused(
            host,
            "its address is not a public one",
            f"If it is meant, list it: allow_hosts = [{host!r}]".replace("'", '"'),
        )
    scheme: Literal["http", "https"] = "https" if parts.scheme == "https" else "http"
    return Target(
        scheme=scheme, host=host, port=port or (443 if scheme == "https" else 80), path=_path(parts), listed=listed
    )


async def checked(target: Target, resolve: Resolve) -> Checked:
    """Resolve the host, once, and check every address it has. One that may not be dialled refuses them all."""
    try:
        found = tuple(dict.fromkeys(await resolve(target.host, target.port)))
    except OSError as error:
        return Checked(refusal=f"{target.host} has no address ({error.strerror or error})")
    if not found:
        return Checked(refusal=f"{target.host} has no address")
    for address in found:
        why = _why_not(target, address)
        if why:
            return Checked(refusal=why)
    return Checked(addresses=found)


def _why_not(target: Target, address: str) -> str:
    reach = reach_of(address)
    if reach == "never":
        return f"{target.host} has the address {address}, which no server can have; nothing was sent"
    if reach == "private" and not target.listed:
        return (
            f"{target.host} has the address {address}, which is not a public one, and allow_hosts does not list the "
            "host; nothing was sent"
        )
    if target.scheme == "http" and not ipaddress.ip_address(address).is_loopback:
        return f"{target.host} has the address {address}, and plain http does not leave this machine; nothing was sent"
    return ""


def reach_of(address: str) -> Reach:
    """Who can be at an address: anybody, somebody of this machine or network, or nobody."""
    try:
        whole = ipaddress.ip_address(address)
    except ValueError:
        return "never"  # an address with a zone among them: it is good on one interface only
    ip = _inner(whole)
    if isinstance(ip, ipaddress.IPv6Address) and ip.scope_id is not None:
        return "never"
    if ip.is_loopback:
        return "private"
    if ip.is_multicast or ip.is_unspecified or ip.is_reserved:
        return "never"
    return "public" if ip.is_global else "private"


def _inner(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip in _NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or ip


def _reach_of_literal(host: str) -> Reach | None:
    """``None`` for a name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return "private" if host == "localhost" else None
    return reach_of(host)


def _path(parts: SplitResult) -> str:
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _refused(host: str, why: str, advice: str) -> ConfigError:
    return ConfigError(f"[[notify]] webhook {host or '?'}: {why}. Nothing was started. {advice}.")


class SystemResolver:
    """Asks the system. A question that hangs holds a thread of its own endpoint and nobody else's."""

    def __init__(self) -> None:
        self._thread = anyio.CapacityLimiter(1)

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        found = await anyio.to_thread.run_sync(
            lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM),
            abandon_on_cancel=True,
            limiter=self._thread,
        )
        return [str(where[0]) for *_, where in found]
