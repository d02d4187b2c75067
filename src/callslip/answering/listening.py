"""Listen, and serve until told to end: on loopback, or elsewhere once decisions must be signed."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Iterator

import uvicorn

from callslip.answering.guard import Bound
from callslip.core.standing import Standing
from callslip.errors import ConfigError

_CONCURRENT = 64
"""Connections at a time; more are told to come later."""
_GRACE = 5
"""Seconds for answers that are under way when the server ends."""


class _Quiet(uvicorn.Server):
    """One that leaves signals to whoever runs it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listen(host: str, port: int, standing: Standing) -> tuple[socket.socket, Bound]:
    """A socket that listens.

    Raises:
        ConfigError: no such address, or it is in use; or it is not loopback while no key is enrolled.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"--host {host} leads nowhere: {error}. Nothing was started.") from error
    family, kind, protocol, _, place = found[0]
    address = str(place[0]).partition("%")[0]
    if not ipaddress.ip_address(address).is_loopback and standing.advisory:
        raise ConfigError(
            f"{host} can be reached from other machines, and no key is enrolled, so a decision from there would prove "
            "nothing. Nothing was started. Enrol one first (`callslip enrol NAME`), or leave --host out."
        )
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind(place)
        listening.listen()
    except OSError as error:
        listening.close()
        raise ConfigError(
            f"{host} port {port} can't be listened on: {error.strerror}. Nothing was started. Choose another --port, "
            "or leave it out."
        ) from error
    return listening, Bound(host, address, int(listening.getsockname()[1]))


async def serve(app: object, listening: socket.socket, stop: asyncio.Event) -> None:
    """Answer requests until ``stop`` is set; those under way are answered first."""
    config = uvicorn.Config(
        app,  # type: ignore[arg-type]
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",  # requests are told of elsewhere, and what they hold nowhere
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=_CONCURRENT,
        timeout_keep_alive=_GRACE,
        timeout_graceful_shutdown=_GRACE,
    )
    server = _Quiet(config)
    serving = asyncio.ensure_future(server.serve(sockets=[listening]))
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        server.should_exit = True
        await serving


def url(bound: Bound) -> str:
    """Where requests go."""
    host = f"[{bound.address}]" if ":" in bound.address else bound.address
    return f"http://{host}:{bound.port}"
