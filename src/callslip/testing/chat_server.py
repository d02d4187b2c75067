"""A Chat Completions server on loopback that says what it is told to, faults included: for tests and demos.

It answers with real HTTP over a real socket, so that what breaks there breaks here. ::

    with ChatServer([Says(calls=[("read_file", {"path": "a"})]), Says("Done.")]) as server:
        model = OpenAIChat("any", base_url=server.base_url, api_key="k")

Each request takes the next answer of the script, in the order of arrival; past its end the server says 500. On leaving
the block every connection is closed and every thread has ended, also those of answers that hang. Not for anything but
loopback: it checks nothing.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Any, Self, cast

import msgspec

from callslip.testing.loopback import Loopback

Call = tuple[str, Mapping[str, Any] | str]
"""A tool's name as it stands on the wire, and its arguments: an object, or text to be sent as it is."""
_PIECE = 64 * 1024


class Says(msgspec.Struct, frozen=True):
    """A good reply, plain or streamed as the request asks for it. ``finish`` is derived unless given."""

    text: str = ""
    calls: Sequence[Call] = ()
    finish: str = ""
    ids: Sequence[str] = ()
    """Ids of the calls; made up where there are none."""


class Sends(msgspec.Struct, frozen=True, kw_only=True):
    """Any status, body and headers at all: an error, a web page, broken JSON, a redirect."""

    status: int = 200
    body: bytes | str | dict[str, Any] = b""
    headers: Mapping[str, str] = {}
    """``content-type`` is application/json unless given."""
    closes_after: int | None = None
    """Bytes of the body after which the connection is closed, though the whole length was announced."""


class Streams(msgspec.Struct, frozen=True, kw_only=True):
    """Server-sent events: each chunk as JSON, or a text or bytes sent as they are."""

    chunks: Sequence[dict[str, Any] | str | bytes]
    done: bool = True
    """Whether ``[DONE]`` follows."""
    breaks: bool = False
    """Whether the connection is lost at the end, instead of the body being ended properly."""
    then_hangs: bool = False
    """Whether nothing more comes after the chunks, and the connection stays."""


class Hangs(msgspec.Struct, frozen=True):
    """Takes the request and never answers."""


class Floods(msgspec.Struct, frozen=True):
    """An answer of ``size`` bytes, plain or as one endless event, sent until the client has had enough."""

    size: int = 50 * 1024 * 1024


Answer = Says | Sends | Streams | Hangs | Floods


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: Any
    """The JSON; the bytes where it was none."""


class ChatServer:
    """The server, as a context manager. ``answers`` may be functions of the request seen."""

    def __init__(self, answers: Sequence[Answer | Callable[[Seen], Answer]]) -> None:
        self._answers = tuple(answers)
        self._lock = threading.Lock()
        self.requests: list[Seen] = []
        self.sent = 0
        """Bytes of bodies handed to the network so far."""
        self.closing = threading.Event()

    @property
    def base_url(self) -> str:
        """What a client is given; ends in ``/v1``."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._server = _Server(self)
        self._server.begin("chat-server")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.end()

    def answer(self, seen: Seen) -> Answer:
        """Record the request and give the answer that is due."""
        with self._lock:
            place = len(self.requests)
            self.requests.append(seen)
        if place >= len(self._answers):
            said = f"the script holds {len(self._answers)} answers, and this is request {place + 1}"
            return Sends(status=500, body={"error": {"message": said}})
        due = self._answers[place]
        return due(seen) if callable(due) else due

    def count(self, size: int) -> None:
        with self._lock:
            self.sent += size


class _Server(Loopback):
    def __init__(self, owner: ChatServer) -> None:
        super().__init__(_Handler)
        self.owner = owner


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def owner(self) -> ChatServer:
        return cast("_Server", self.server).owner

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing: a test's output is its own."""

    def do_POST(self) -> None:
        self.close_connection = True
        seen = Seen(
            path=self.path, headers={key.lower(): value for key, value in self.headers.items()}, body=self._body()
        )
        answer = self.owner.answer(seen)
        streamed = isinstance(seen.body, dict) and bool(seen.body.get("stream"))
        if isinstance(answer, Says):
            answer = Streams(chunks=chunks(answer)) if streamed else Sends(body=completion(answer))
        if isinstance(answer, Hangs):
            self.owner.closing.wait()
        elif isinstance(answer, Sends):
            self._send(answer)
        elif isinstance(answer, Streams):
            self._stream(answer)
        else:
            self._flood(answer.size, streamed=streamed)

    def _body(self) -> Any:
        raw = self.rfile.read(int(self.headers.get("content-length", "0")))
        try:
            return json.loads(raw)
        except ValueError:
            return raw

    def _send(self, answer: Sends) -> None:
        body = json.dumps(answer.body).encode() if isinstance(answer.body, dict) else answer.body
        body = body.encode() if isinstance(body, str) else body
        self._begin(
            answer.status, {"content-type": "application/json", **answer.headers, "content-length": str(len(body))}
        )
        self._write(body[: answer.closes_after])

    def _stream(self, answer: Streams) -> None:
        self._begin(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        for chunk in answer.chunks:
            self._write_chunk(_event(chunk) if isinstance(chunk, dict) else chunk)
        if answer.then_hangs:
            self.owner.closing.wait()
            return
        if answer.done:
            self._write_chunk("data: [DONE]\n\n")
        if not answer.breaks:
            self._write(b"0\r\n\r\n")

    def _flood(self, size: int, *, streamed: bool) -> None:
        kind = "text/event-stream" if streamed else "application/json"
        self._begin(200, {"content-type": kind, "content-length": str(size)})
        self._write(b"data: " if streamed else b'{"x":"')
        for _ in range(size // _PIECE):
            if self.owner.closing.is_set():
                return
            self._write(b"x" * _PIECE)

    def _begin(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("connection", "close")
        self.end_headers()

    def _write_chunk(self, data: str | bytes) -> None:
        data = data.encode() if isinstance(data, str) else data
        self._write(b"%x\r\n%b\r\n" % (len(data), data))

    def _write(self, data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()
        self.owner.count(len(data))


def completion(says: Says, model: str = "fake") -> dict[str, Any]:
    """A reply as a ``chat.completion`` object."""
    message: dict[str, Any] = {"role": "assistant", "content": says.text or None}
    if says.calls:
        message["tool_calls"] = _tool_calls(says)
    choice = {"index": 0, "message": message, "finish_reason": _finish(says)}
    return {"object": "chat.completion", "model": model, "choices": [choice], "usage": _USAGE}


def chunks(says: Says, model: str = "fake") -> list[dict[str, Any]]:
    """A reply as ``chat.completion.chunk`` objects, each call's arguments in two pieces."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if says.text:
        deltas += [{"content": piece} for piece in (says.text[:3], says.text[3:]) if piece]
    for index, call in enumerate(_tool_calls(says)):
        text = call["function"]["arguments"]
        half = len(text) // 2
        first = {**call, "index": index, "function": {**call["function"], "arguments": text[:half]}}
        deltas.append({"tool_calls": [first]})
        deltas.append({"tool_calls": [{"index": index, "function": {"arguments": text[half:]}}]})
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": _finish(says)})
    head = {"object": "chat.completion.chunk", "model": model}
    return [*({**head, "choices": [choice]} for choice in choices), {**head, "choices": [], "usage": _USAGE}]


_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 2}}


def _finish(says: Says) -> str:
    return says.finish or ("tool_calls" if says.calls else "stop")


def _tool_calls(says: Says) -> list[dict[str, Any]]:
    made = [f"call_{number}" for number in range(1, len(says.calls) + 1)]
    ids = says.ids or made
    return [
        {
            "id": ids[number],
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for number, (name, given) in enumerate(says.calls)
    ]


def _event(chunk: dict[str, Any]) -> str:
    return f"data: {json.dumps(chunk)}\n\n"
