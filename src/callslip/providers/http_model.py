"""A model behind an HTTP API, whatever its format: asks once, and reads no more than it may.

It retries nothing and executes nothing. What is sent and what an answer means is the ``Format``'s; what can go wrong
on the way is in ``faults``. Invariant: at most ``max_reply_bytes`` of an answer are ever held.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import cache
from typing import Any

import httpx2

from callslip.core import canon
from callslip.errors import ConfigError
from callslip.ports.model import OnDelta, Reply, Request, ToolView
from callslip.providers.faults import Faults
from callslip.providers.offered import OfferedTool
from callslip.providers.sse import Event, EventReader
from callslip.providers.wire_format import Assembly, BrokenOff, Exchange, Format

MAX_REPLY_BYTES = 16 * 1024 * 1024
TIMEOUT = 120
_MAX_ERROR_BYTES = 64 * 1024
OnRaw = Callable[[dict[str, Any]], None]
"""Takes ``{"model", "body"}`` of a plain reply, ``{"model", "chunks", "broken"}`` of a streamed one."""


class HttpModel:
    """One model of one server.

    ``timeout`` is in seconds: to connect, and of silence while a reply comes; a reply has no limit as a whole. With
    ``http`` given, connections are kept and its owner closes it; without, each reply opens one and closes it.
    ``on_raw`` is handed every raw reply.

    Raises:
        ConfigError: the address is no http or https one or holds credentials, or the key can't stand in a header.
    """

    def __init__(
        self,
        wire: Format,
        *,
        base_url: str,
        api_key: str | None,
        timeout: float = TIMEOUT,
        http: httpx2.AsyncClient | None = None,
        max_reply_bytes: int = MAX_REPLY_BYTES,
        on_raw: OnRaw | None = None,
    ) -> None:
        self._wire = wire
        self._url = _checked_url(base_url)
        self._server = f"{self._url.scheme}://{self._url.netloc.decode('ascii', 'replace')}"
        self._key = _checked_key(api_key)
        self._timeout = httpx2.Timeout(timeout)
        self._http = http
        self._max_reply_bytes = max_reply_bytes
        self._on_raw = on_raw
        self._faults = Faults(self._server, self._key)

    @property
    def name(self) -> str:
        return f"{self._wire.name}:{self._wire.model}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._wire.model!r}, base_url={self._server!r})"

    def offered(self, tools: Sequence[ToolView]) -> tuple[OfferedTool, ...]:
        """The tools as this provider is told of them: name, schema, whether strict, and why not."""
        return self._wire.exchange(Request(system="", messages=(), tools=tuple(tools))).offered.tools

    async def reply(self, request: Request, on_delta: OnDelta | None = None) -> Reply:
        """Ask once. See :class:`callslip.ports.model.Model`.

        Raises:
            ModelUnavailable: no answer, or one that is none; ``can_retry`` says whether asking again may help.
            StillWaiting, UsageError: the history can't be sent to any provider.
        """
        exchange = self._wire.exchange(request)
        try:
            async with (
                self._client() as client,
                client.stream(
                    "POST",
                    self._address(exchange.path),
                    content=encode(exchange.body),
                    headers=self._headers(stream=request.stream),
                    timeout=self._timeout,
                    follow_redirects=False,
                ) as response,
            ):
                return await self._read(response, exchange, on_delta, stream=request.stream)
        except httpx2.RequestError as error:
            raise self._faults.transport(error) from error
        except BrokenOff as broken:
            raise self._faults.in_body(broken.error) from broken

    def _address(self, path: str) -> httpx2.URL:
        path, _, query = path.partition("?")
        url = self._url.copy_with(path=self._url.path.rstrip("/") + path)
        return url.copy_merge_params(dict(pair.split("=", 1) for pair in query.split("&"))) if query else url

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[httpx2.AsyncClient]:
        if self._http is not None:
            yield self._http
            return
        async with httpx2.AsyncClient(verify=_trusted()) as client:
            yield client

    def _headers(self, *, stream: bool) -> dict[str, str]:
        return {
            "accept": "text/event-stream" if stream else "application/json",
            # Uncompressed, so that a few bytes can't become more than the limit before they are counted.
            "accept-encoding": "identity",
            "content-type": "application/json",
            "user-agent": "callslip",
            **self._wire.headers(self._key),
        }

    async def _read(
        self, response: httpx2.Response, exchange: Exchange, on_delta: OnDelta | None, *, stream: bool
    ) -> Reply:
        if response.status_code != 200:
            body = await self._read_error(response)
            path = self._address(exchange.path).path
            raise self._faults.status(response.status_code, response.headers, body, path=path)
        if _compressed(response):
            raise self._faults.compressed()
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "text/html":
            raise self._faults.web_page()
        # The content type decides, since some servers ignore "stream"; the request only where there is none.
        if kind == "text/event-stream" or (stream and kind != "application/json"):
            return await self._read_stream(response, exchange.assembly(), on_delta)
        return await self._read_plain(response, exchange)

    async def _read_error(self, response: httpx2.Response) -> bytes:
        body = bytearray()
        if _compressed(response):
            return b""
        try:
            async with aclosing(response.aiter_bytes()) as pieces:
                async for piece in pieces:
                    body += piece
                    if len(body) >= _MAX_ERROR_BYTES:
                        break
        except httpx2.RequestError:
            # The status says enough; what came of the body is shown.
            pass
        return bytes(body[:_MAX_ERROR_BYTES])

    async def _bounded(self, response: httpx2.Response) -> AsyncGenerator[bytes, None]:
        received = 0
        async with aclosing(response.aiter_bytes()) as pieces:
            async for piece in pieces:
                received += len(piece)
                if received > self._max_reply_bytes:
                    raise self._faults.too_large(self._max_reply_bytes)
                yield piece

    async def _read_plain(self, response: httpx2.Response, exchange: Exchange) -> Reply:
        body = bytearray()
        async with aclosing(self._bounded(response)) as pieces:
            async for piece in pieces:
                body += piece
        if not body.strip():
            raise self._faults.nothing()
        if body.lstrip().startswith(b"<"):
            raise self._faults.web_page()
        parsed = self._object(bytes(body))
        if parsed.get("error"):
            raise self._faults.in_body(parsed["error"])
        reply = exchange.whole(parsed)
        if reply is None:
            raise self._faults.no_completion()
        if self._on_raw is not None:
            self._on_raw({"model": self._wire.model, "body": parsed})
        return reply

    async def _read_stream(self, response: httpx2.Response, assembly: Assembly, on_delta: OnDelta | None) -> Reply:
        chunks: list[dict[str, Any]] = []
        broken = False
        try:
            async with aclosing(self._chunks(response)) as arriving:
                async for name, chunk in arriving:
                    if self._on_raw is not None:
                        chunks.append(chunk)
                    for delta in assembly.add(name, chunk):
                        if on_delta is not None:
                            on_delta(delta)
        except httpx2.TransportError:
            # Also after the finish reason: a reply counts as whole only if its stream ended as streams do.
            if not assembly.started:
                raise
            broken = True
        if not assembly.started:
            raise self._faults.nothing()
        if self._on_raw is not None:
            self._on_raw({"model": self._wire.model, "chunks": chunks, "broken": broken})
        return assembly.reply(broken=broken)

    async def _events(self, response: httpx2.Response) -> AsyncGenerator[Event, None]:
        reader = EventReader()
        async with aclosing(self._bounded(response)) as pieces:
            async for piece in pieces:
                for event in reader.feed(piece):
                    yield event
        last = reader.end()
        if last is not None:
            yield last

    async def _chunks(self, response: httpx2.Response) -> AsyncGenerator[tuple[str, dict[str, Any]], None]:
        async with aclosing(self._events(response)) as events:
            async for event in events:
                if event.data.strip() == "[DONE]":
                    return
                yield event.name, self._chunk(event)

    def _chunk(self, event: Event) -> dict[str, Any]:
        if event.name == "error":
            raise self._faults.in_body(_error_in(event.data))
        if event.unfinished and not _is_json(event.data):
            raise httpx2.RemoteProtocolError("the stream ended inside an event")
        chunk = self._object(event.data)
        if chunk.get("error"):
            raise self._faults.in_body(chunk["error"])
        return chunk

    def _object(self, text: str | bytes) -> dict[str, Any]:
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._faults.not_json() from error
        if not isinstance(parsed, dict):
            raise self._faults.no_completion()
        return parsed


def encode(body: dict[str, Any]) -> bytes:
    """A body as UTF-8. Lone surrogates, which have no UTF-8 form, become U+FFFD."""
    return canon.scrub(json.dumps(body, ensure_ascii=False, separators=(",", ":"))).encode()


def _compressed(response: httpx2.Response) -> bool:
    return response.headers.get("content-encoding", "").strip().lower() not in {"", "identity"}


@cache
def _trusted() -> ssl.SSLContext:
    # Reading the system's certificates takes 20 ms, during which nothing else would run: once a process, not a reply.
    return httpx2.create_ssl_context()


def _error_in(text: str) -> Any:
    if not _is_json(text):
        return text
    parsed = json.loads(text)
    return parsed.get("error", parsed) if isinstance(parsed, dict) else parsed


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _checked_url(base_url: str) -> httpx2.URL:
    try:
        url = httpx2.URL(base_url.strip())
    except httpx2.InvalidURL:
        url = httpx2.URL("")
    if url.scheme not in {"http", "https"} or not url.host or not 0 < (url.port or 80) < 65536:
        raise ConfigError(
            "The base URL of the model server must be a full http or https address, such as "
            "http://127.0.0.1:8000/v1. Nothing was sent. Correct it."
        )
    if url.userinfo:
        raise ConfigError(
            f"The base URL for {url.host} holds a user name or password, which would end up in logs. Nothing was "
            "sent. Take it out, and give the key as api_key."
        )
    return url


def _checked_key(key: str | None) -> str | None:
    """The key without the line break that a file or shell left on it. The error never shows it; h11's would."""
    key = (key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            "The API key holds characters that can't stand in an HTTP header. Nothing was sent. "
            "Copy it again; it is one line of plain letters and digits."
        )
    return key or None
