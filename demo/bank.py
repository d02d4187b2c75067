"""The world outside: a bank and a mail room, as a process of its own that counts what really happened.

It deliberately does *not* drop repeats: a second charge with the same ``Idempotency-Key`` is a second charge. So its
count proves that no repeat was sent, instead of hiding one. It says each effect on its standard output, in the same
instant, and ends when its standard input ends.

    POST /charges          charges, for an ``Idempotency-Key``
    GET  /charges?key=…    the charge made for that key, or 404: what a probe asks
    POST /letters          posts a letter; nobody can ask afterwards which letters went out for whom
    GET  /ledger           counts and sums for each account, and the tray of posted letters
"""

from __future__ import annotations

import argparse
import json
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from demo.parent import end_with_parent


class Books:
    """What was charged and posted. ``twice`` books every charge two times: the fault that the demo must notice."""

    def __init__(self, *, twice: bool = False) -> None:
        self._lock = threading.Lock()
        self._twice = twice
        self._charges: list[dict[str, Any]] = []
        self._letters: list[dict[str, Any]] = []

    def charge(self, key: str, body: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            for _ in range(2 if self._twice else 1):
                number = f"CH-{len(self._charges) + 1:04d}"
                charge = {
                    "charge": number, "key": key, "account": body["account"], "invoice": body["invoice"],
                    "amount_cents": body["amount_cents"],
                }  # fmt: skip
                self._charges.append(charge)
                say({"kind": "charge", **charge})
            return charge

    def find(self, key: str) -> dict[str, Any] | None:
        with self._lock:
            return next((charge for charge in self._charges if charge["key"] == key), None)

    def post(self, body: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            self._letters.append({"to": body["to"], "subject": body["subject"]})
            say({"kind": "letter", **self._letters[-1]})
            return {"posted": True}

    def ledger(self) -> dict[str, Any]:
        with self._lock:
            accounts: dict[str, dict[str, int]] = {}
            for charge in self._charges:
                account = accounts.setdefault(charge["account"], {"charges": 0, "amount_cents": 0})
                account["charges"] += 1
                account["amount_cents"] += charge["amount_cents"]
            return {"accounts": accounts, "letters": list(self._letters)}


def say(what: dict[str, Any]) -> None:
    """One line for whoever watches."""
    print(json.dumps(what), flush=True)


class Desk(BaseHTTPRequestHandler):
    """Takes requests. One instance for each."""

    books: Books

    def do_GET(self) -> None:
        where = urlsplit(self.path)
        if where.path == "/ledger":
            return self._answer(self.books.ledger())
        if where.path == "/charges":
            found = self.books.find(parse_qs(where.query).get("key", [""])[0])
            return self._answer(found) if found else self._answer({"error": "no such charge"}, HTTPStatus.NOT_FOUND)
        return self._answer({"error": "no such page"}, HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        if self.path == "/charges":
            return self._answer(self.books.charge(self.headers.get("Idempotency-Key") or "", body))
        if self.path == "/letters":
            return self._answer(self.books.post(body))
        return self._answer({"error": "no such page"}, HTTPStatus.NOT_FOUND)

    def _answer(self, body: dict[str, Any], status: HTTPStatus = HTTPStatus.OK) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing: standard output is for effects."""


class Hall(ThreadingHTTPServer):
    """Desks on a free port of the loopback address."""

    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A client that was killed while its answer was written is what this demo is about."""


def main() -> None:
    parser = argparse.ArgumentParser(description="The demo's bank.")
    parser.add_argument("--twice", action="store_true", help="book every charge two times")
    Desk.books = Books(twice=parser.parse_args().twice)
    end_with_parent()
    with Hall(("127.0.0.1", 0), Desk) as hall:
        say({"kind": "open", "url": f"http://127.0.0.1:{hall.server_port}"})
        hall.serve_forever()


if __name__ == "__main__":
    main()
