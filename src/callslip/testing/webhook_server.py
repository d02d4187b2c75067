"""A receiver of webhooks on loopback that answers what it is told to, faults included: for tests and demos.

Real HTTP over a real socket. ::

    with WebhookServer([Answers(500), Hangs(), Answers(200)]) as server:
        endpoint = WebhookEndpoint(url=server.url, secret_env="HOOK_SECRET", allow_hosts=("127.0.0.1",))

Each request takes the next answer, in the order of arrival; past the last one the server says 200. On leaving the block
every connection is closed and every thread has ended, also those of answers that hang. It checks no signature: give
what it has seen to ``callslip.notify.verify``.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Any, Self, cast

import msgspec

from callslip.testing.loopback import Loopback

_PATIENCE = 30


class Answers(msgspec.Struct, frozen=True):
    """A status, with whatever headers and body."""

    status: int = 200
    headers: Mapping[str, str] = {}
    body: bytes = b""
    floods: int = 0
    """Bytes of body that are sent after ``body``, as far as the client takes them."""


class Hangs(msgspec.Struct, frozen=True):
    """Takes the request and never answers; with ``begins``, it sends the status line and headers first."""

    begins: bool = False


class Drops(msgspec.Struct, frozen=True):
    """Takes the request and closes the connection."""


Answer = Answers | Hangs | Drops


class Got(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes


class WebhookServer:
    """The server, as a context manager. With ``tls`` it speaks https, and notes the name each client asks for."""

    def __init__(self, answers: Sequence[Answer] = (), *, tls: ssl.SSLContext | None = None) -> None:
        self._answers = tuple(answers)
        self._tls = tls
        self._changed = threading.Condition()
        self.requests: list[Got] = []
        self.names: list[str | None] = []
        """What each TLS client said whom it wants to speak to."""
        self.sent = 0
        """Bytes of flooding bodies that were handed to the network."""
        self.closing = threading.Event()

    @property
    def port(self) -> int:
        return self._server.server_port

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}/hook"

    def __enter__(self) -> Self:
        self._server = _Server(self)
        if self._tls is not None:
            self._tls.sni_callback = lambda _socket, name, _context: self.names.append(name)
            self._server.socket = self._tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._server.begin("webhook-server")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.end()

    def wait_for(self, requests: int) -> list[Got]:
        """Block until so many requests have arrived.

        Raises:
            TimeoutError: they did not, for half a minute.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.requests) >= requests, timeout=_PATIENCE):
                raise TimeoutError(f"{len(self.requests)} requests arrived, not {requests}")
            return list(self.requests)

    def answer(self, got: Got) -> Answer:
        """Record the request and give the answer that is due."""
        with self._changed:
            number = len(self.requests)
            self.requests.append(got)
            self._changed.notify_all()
        return self._answers[number] if number < len(self._answers) else Answers()

    def count(self, size: int) -> None:
        with self._changed:
            self.sent += size


class _Server(Loopback):
    def __init__(self, owner: WebhookServer) -> None:
        super().__init__(_Handler)
        self.owner = owner


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def owner(self) -> WebhookServer:
        return cast("_Server", self.server).owner

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing: a test's output is its own."""

    def do_POST(self) -> None:
        self._serve()

    def do_GET(self) -> None:
        """Where a client that followed a redirect would arrive."""
        self._serve()

    def _serve(self) -> None:
        self.close_connection = True
        got = Got(
            path=self.path,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(int(self.headers.get("content-length", "0"))),
        )
        answer = self.owner.answer(got)
        if isinstance(answer, Drops):
            return
        if isinstance(answer, Hangs):
            if answer.begins:
                self._begin(Answers(), size=1)
            self.owner.closing.wait()
            return
        self._begin(answer, size=len(answer.body) + answer.floods)
        self.wfile.write(answer.body)
        left = answer.floods
        while left and not self.owner.closing.is_set():
            piece = b"x" * min(left, 16 * 1024)
            self.wfile.write(piece)
            self.owner.count(len(piece))
            left -= len(piece)

    def _begin(self, answer: Answers, *, size: int) -> None:
        self.send_response(answer.status)
        for name, value in {**answer.headers, "content-length": str(size), "connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()
