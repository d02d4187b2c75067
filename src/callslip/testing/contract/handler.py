"""The part that reads from and writes to the network. It decides nothing."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any, Protocol

from callslip.testing.contract.answering import Response


class Owner(Protocol):
    """The server, as the handler knows it."""

    closing: threading.Event
    released: threading.Event

    def respond(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Response: ...
    def count(self, size: int) -> None: ...


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Each write is a packet of its own, so that a torn event arrives torn.
    disable_nagle_algorithm = True
    owner: Owner

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing: a test's output is its own."""

    def do_POST(self) -> None:
        self._handle()

    def do_GET(self) -> None:
        self._handle()

    def _handle(self) -> None:
        self.close_connection = True
        raw = self.rfile.read(int(self.headers.get("content-length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        response = self.owner.respond(self.command, self.path, headers, raw)
        if response.waits_for_release:
            self.owner.released.wait()
        elif response.waits is not None:
            self.owner.closing.wait(response.waits)
        with contextlib.suppress(ConnectionError):  # the client has had enough
            self._send(response)

    def _send(self, response: Response) -> None:
        if response.begins:
            self._begin(response)
            for data in response.writes:
                self._write(b"%x\r\n%b\r\n" % (len(data), data) if response.streamed and data else data)
            self._flood(response)
        if response.then == "hangs":
            self.owner.closing.wait()
        elif response.then == "ends" and response.streamed:
            self._write(b"0\r\n\r\n")

    def _begin(self, response: Response) -> None:
        self.send_response(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        if response.streamed:
            self.send_header("transfer-encoding", "chunked")
        else:
            length = sum(map(len, response.writes)) if response.announced is None else response.announced
            self.send_header("content-length", str(length))
        self.send_header("connection", "close")
        self.end_headers()

    def _flood(self, response: Response) -> None:
        left = response.floods
        while left > 0 and not self.owner.closing.is_set():
            self._write(response.filling[:left])
            left -= len(response.filling)

    def _write(self, data: bytes) -> None:
        self.wfile.write(data)
        self.owner.count(len(data))
