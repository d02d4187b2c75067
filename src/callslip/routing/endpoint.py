"""Vectors from an OpenAI-compatible embeddings endpoint: OpenAI's own, or a local server's (``POST /embeddings``).

It asks once and retries nothing: a search whose embedder fails goes on by words and says so, which is better than a
search that waits. A request has one deadline for all of it, however often a piece of an answer comes. Tools' names and
descriptions go to the server when they are indexed, and every query when it is asked; nothing of arguments, results or
conversations does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

import httpx2
import msgspec

from callslip.errors import ConfigError
from callslip.routing.patient import FEW

_TIMEOUT = 10.0
_FOR_MANY = 6
"""How many times as long a batch of tools may take as a query."""
_MOST_DIMENSIONS = 16_384
"""How long vectors may be that are to be learned."""
_BYTES = 48
"""Of a number in JSON, at most: its digits, what stands between it and the next, and a line of its own."""
_ROOM = 64 * 1024
"""Bytes of what else is in a reply."""
_MAX_TEXT = 8_000
_BATCH = 128
_PORTS = {"http": 80, "https": 443}


class _Row(msgspec.Struct):
    index: int
    embedding: list[float]


class _Rows(msgspec.Struct):
    data: list[_Row]


class EndpointFailed(Exception):
    """The endpoint gave no vectors, and why. Searching by words goes on."""


class EndpointEmbedder:
    """One model of one server.

    Raises:
        ConfigError: the address is no http or https one, or numpy isn't installed.
    """

    remote = True

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        api_key: str | None = None,
        dimensions: int,
        version: str = "1",
        reads_unspaced: bool = True,
        timeout: float = _TIMEOUT,
    ) -> None:
        """``dimensions``: how long the model's vectors are. ``version``: change it when the server's model behind the
        same name changed, so that kept vectors are made anew. ``reads_unspaced``: whether the model was trained on
        Chinese, Japanese, Korean and the like. ``timeout``: seconds that a request may take as a whole; one with many
        texts, six times as long.
        """
        server = _server(base_url.strip())
        if not server:
            raise ConfigError(
                "The address of the embeddings endpoint must be an http or https one without credentials."
                " Nothing was sent. Give the key as api_key."
            )
        try:
            self._np: Any = import_module("numpy")
        except ImportError as error:
            raise ConfigError(
                "Searching tools by meaning needs numpy, which isn't installed. Searching by words works without it."
                " Install it with: pip install 'callslip[vectors]'"
            ) from error
        self.name = f"endpoint {model} at {server}"
        self.version = version
        self.dimensions = dimensions
        self.reads_unspaced = reads_unspaced
        self._model = model
        self._url = base_url.strip().rstrip("/") + "/embeddings"
        self._headers = {"accept-encoding": "identity"} | ({"authorization": f"Bearer {api_key}"} if api_key else {})
        self._timeout = timeout

    @classmethod
    def learn(cls, model: str, *, base_url: str, api_key: str | None = None) -> EndpointEmbedder:
        """The same, with the length of its vectors as the server gives one.

        Raises:
            EndpointFailed: it gave none. ConfigError.
        """
        asked = cls(model, base_url=base_url, api_key=api_key, dimensions=0)
        ((row,),) = asyncio.run(asked._all(["tool"]))
        asked.dimensions = len(row)
        return asked

    def __repr__(self) -> str:
        return f"EndpointEmbedder({self.name!r})"

    def embed(self, texts: Sequence[str]) -> Any:
        """One row a text, each of length 1.

        Raises:
            EndpointFailed: no answer in time, or one that is no vectors; its text holds nothing of the key.
        """
        rows = [row for batch in asyncio.run(self._all(texts)) for row in batch]
        sizes = sorted({len(row) for row in rows})
        if sizes not in ([], [self.dimensions]):
            raise EndpointFailed(f"{self.name} gave vectors of {sizes} numbers, where {self.dimensions} were expected")
        array = self._np.asarray(rows, dtype="float32").reshape(len(texts), self.dimensions)
        lengths = self._np.linalg.norm(array.astype("float64"), axis=1, keepdims=True)
        return (array / self._np.maximum(lengths, 1e-12)).astype("float32")

    async def _all(self, texts: Sequence[str]) -> list[list[list[float]]]:
        async with httpx2.AsyncClient(timeout=None, follow_redirects=False) as http:
            return [
                await self._asked(http, [_readable(text) for text in texts[start : start + _BATCH]])
                for start in range(0, len(texts), _BATCH)
            ]

    async def _asked(self, http: httpx2.AsyncClient, texts: list[str]) -> list[list[float]]:
        """One row a text, as the server gives them."""
        body = {"model": self._model, "input": texts, "encoding_format": "float"}
        seconds = self._timeout * (1 if len(texts) <= FEW else _FOR_MANY)
        most = _ROOM + len(texts) * (self.dimensions or _MOST_DIMENSIONS) * _BYTES
        try:
            async with (
                asyncio.timeout(seconds),
                http.stream("POST", self._url, json=body, headers=self._headers) as response,
            ):
                read = await _read(response, most)
        except httpx2.HTTPError as error:
            raise EndpointFailed(f"{self.name} did not answer: {type(error).__name__}") from error
        except TimeoutError as error:
            raise EndpointFailed(f"{self.name} did not answer within {seconds:g} s") from error
        if response.status_code != 200:
            raise EndpointFailed(f"{self.name} answered with HTTP status {response.status_code}")
        try:
            data = msgspec.json.decode(read, type=_Rows).data
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise EndpointFailed(f"{self.name} answered with no embeddings: {error}") from error
        found = {row.index: row.embedding for row in data}
        if set(found) != set(range(len(texts))):
            raise EndpointFailed(f"{self.name} gave {len(data)} vectors for {len(texts)} texts")
        return [found[at] for at in range(len(texts))]


def _server(address: str) -> str:
    """What tells a server from others, and is no secret: its host, port and path; nothing, if this is no address of
    one. Kept vectors go by it, for two servers of one host may hold different models of one name.
    """
    try:
        parts = urlsplit(address)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return ""
    if parts.scheme not in _PORTS or not parts.hostname or parts.username or parts.password:
        return ""
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{host}:{port}{parts.path.rstrip('/')}"


async def _read(response: httpx2.Response, most: int) -> bytes:
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > most:
            raise EndpointFailed(f"the embeddings endpoint's answer is longer than {most:,} bytes")
    return bytes(body)


def _readable(text: str) -> str:
    """Bounded, without lone surrogates, never empty: servers refuse empty input."""
    return text[:_MAX_TEXT].encode("utf-8", "replace").decode() or " "
