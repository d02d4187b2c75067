"""Real sockets: where it listens, that it ends well, and the client against it."""

from __future__ import annotations

import asyncio
import contextlib
import socket

import msgspec
import pytest

from callslip.answering import client
from callslip.answering.guard import Guard
from callslip.answering.listening import listen, serve, url
from callslip.answering.server import Server
from callslip.core.standing import Standing
from callslip.errors import ConfigError, LedgerUnavailable, LogBroken, NotAuthorised, NotFound, UsageError

pytestmark = pytest.mark.anyio

ENROLLED = Standing(root="0" * 64)


@contextlib.asynccontextmanager
async def serving(world, host="127.0.0.1"):
    listening, bound = listen(host, 0, world.trust.standing())
    stop = asyncio.Event()
    server = Server(world.runtime, Guard(world.made, bound, world.clock), world.seen.append)
    task = asyncio.ensure_future(serve(server, listening, stop))
    try:
        yield url(bound)
    finally:
        stop.set()
        await task
        listening.close()


class TestListen:
    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
    async def test_on_loopback(self, host):
        with (
            contextlib.suppress(ConfigError) if host == "::1" else contextlib.nullcontext()
        ):  # not every machine has it
            listening, bound = listen(host, 0, Standing())
            listening.close()
            assert bound.port > 0

    @pytest.mark.requirement("APPR-08")
    async def test_elsewhere_only_once_keys_are_enrolled(self):
        with pytest.raises(ConfigError, match="no key is enrolled"):
            listen("0.0.0.0", 0, Standing())
        listening, bound = listen("0.0.0.0", 0, ENROLLED)
        listening.close()
        assert bound.address == "0.0.0.0"

    async def test_a_name_that_leads_nowhere(self):
        with pytest.raises(ConfigError, match="leads nowhere"):
            listen("no host", 0, Standing())

    async def test_a_port_that_is_taken(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            with pytest.raises(ConfigError, match="can't be listened on"):
                listen("127.0.0.1", taken.getsockname()[1], Standing())


@pytest.mark.requirement("APPR-08")
class TestClient:
    async def test_from_the_list_to_the_effect(self, staffed):
        await staffed.ask()
        secret = staffed.made.reveal()
        async with serving(staffed) as place:
            (told,) = await client.waits(place, secret)
            asked = await client.question(place, secret, told["id"])
            taken = await client.decide(place, secret, asked, "approved", by=staffed.bob.identity, clock=staffed.clock)
        assert (taken.by, taken.decision, taken.enough) == ("bob", "approved", True)
        assert "paid 100" in await staffed.outcome()

    async def test_what_it_raises(self, staffed):
        wait = await staffed.ask()
        secret = staffed.made.reveal()
        async with serving(staffed) as place:
            with pytest.raises(NotAuthorised):
                await client.question(place, "wrong", wait)
            with pytest.raises(NotFound):
                await client.question(place, secret, "appr_none")
            asked = await client.question(place, secret, wait)
            with pytest.raises(UsageError, match="amount"):
                await client.decide(place, secret, asked, "approved", by=staffed.bob.identity, arguments={"amount": ""})
            with pytest.raises(NotAuthorised, match="needs `proof`"):
                await client.decide(place, secret, asked, "approved")
        with pytest.raises(LedgerUnavailable, match="does not answer"):
            await client.question(place, secret, wait)

    async def test_it_signs_nothing_that_is_not_what_it_binds_to(self, staffed, monkeypatch):
        """A server that shows other arguments than it will have approved."""
        wait = await staffed.ask()
        secret = staffed.made.reveal()
        real = client._ask

        async def lying(http, method, address, token, body=None):
            told = await real(http, method, address, token, body)
            return told | {"arguments": {"amount": 1, "to": "shop"}} if method == "GET" else told

        async with serving(staffed) as place:
            asked = await client.question(place, secret, wait)
            monkeypatch.setattr(client, "_ask", lying)
            with pytest.raises(LogBroken):
                await client.question(place, secret, wait)
            with pytest.raises(LogBroken):
                altered = msgspec.structs.replace(asked, arguments={"amount": 1, "to": "shop"})
                await client.decide(place, secret, altered, "approved", by=staffed.bob.identity)
        assert await staffed.open_waits() == [wait]

    @pytest.mark.parametrize("answer", [b"<html>", b'{"id": 1}'])
    async def test_something_else_answers_there(self, answer):
        async def page(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(answer), answer))
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(page, "127.0.0.1", 0)
        async with server:
            place = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            with pytest.raises((LedgerUnavailable, UsageError)):
                await client.question(place, "t", "w")


class TestRawRequests:
    async def test_a_body_that_never_ends_is_cut(self, world):
        wait = await world.ask()
        async with serving(world) as place:
            port = int(place.rpartition(":")[2])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(
                f"POST /v1/waits/{wait}/decision HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
                f"Authorization: Bearer {world.made.reveal()}\r\nContent-Type: application/json\r\n"
                "Transfer-Encoding: chunked\r\n\r\n".encode()
            )
            chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
            for _ in range(6):
                writer.write(chunk)
            line = await reader.readline()
            assert b"413" in line
            writer.close()
        assert await world.open_waits() == [wait]

    async def test_it_ends_while_a_request_is_half_sent(self, world):
        async with serving(world) as place:
            port = int(place.rpartition(":")[2])
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /v1/waits HTTP/1.1\r\n")
            await writer.drain()
        writer.close()
