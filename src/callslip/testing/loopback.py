"""An HTTP server on loopback whose end is the end of all its threads and connections, also of those that hang."""

from __future__ import annotations

import contextlib
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_LOOK = 0.01
"""Seconds between looks whether it is to end."""


class Loopback(ThreadingHTTPServer):
    """Serves from :meth:`begin` to :meth:`end`, which joins every handler."""

    # Joined at server_close, so that a test that leaves a thread behind can't pass.
    daemon_threads = False
    block_on_close = True

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._serving: threading.Thread | None = None

    def begin(self, name: str = "loopback") -> None:
        """Serve, in a thread of that name."""
        self._serving = threading.Thread(target=self.serve_forever, args=(_LOOK,), name=name)
        self._serving.start()

    def end(self) -> None:
        """Serve no more, and wait until nothing of it goes on."""
        if self._serving is not None:
            self.shutdown()
        self.hang_up()
        self.server_close()
        if self._serving is not None:
            self._serving.join()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Wake every handler that still reads or writes."""
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):  # it may be closed already
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away, or does not trust the certificate, is what tests are about; nothing to print."""
