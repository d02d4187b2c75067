"""A real HTTP service that keeps tickets with revisions, gives them as ETags and honours If-Match; and tools over it."""

# ruff: noqa: A002 - arguments are named as services name them

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler

import httpx2

from callslip import Conflict, Context, ToolFailed, tool
from callslip.testing.loopback import Loopback


class Tickets:
    """``revisions``: of each ticket; one that is not there has none. ``before_put`` is called before each change."""

    def __init__(self, **revisions):
        self.revisions = {name.removeprefix("t"): number for name, number in revisions.items()}
        self.texts = {}
        self.asked = []
        """Method, path and If-Match or If-None-Match of each request."""
        self.before_put = lambda: None
        self.loses = 0
        """How many answers to a change are lost after it was made."""
        self.status = 200
        """What a look at a ticket is answered with; anything else than 200 tells nothing."""
        self.lock = threading.Lock()

    def __enter__(self):
        service = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args):
                pass

            def answer(self, status, body=b"{}", etag=None):
                self.send_response_only(status)
                self.send_header("content-length", str(len(body)))
                if etag is not None:
                    self.send_header("etag", f'"{etag}"')
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                name = self.path.rsplit("/", 1)[-1]
                service.asked.append(("GET", name, ""))
                revision = service.revisions.get(name)
                if service.status != 200:
                    self.answer(service.status)
                else:
                    self.answer(404 if revision is None else 200, etag=revision)

            def do_PUT(self):
                name = self.path.rsplit("/", 1)[-1]
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                service.before_put()
                with service.lock:
                    wanted = self.headers.get("if-match", self.headers.get("if-none-match", ""))
                    service.asked.append(("PUT", name, wanted))
                    revision = service.revisions.get(name)
                    held = "*" if revision is None else f'"{revision}"'
                    if wanted and wanted != held:
                        self.answer(412, etag=revision)
                        return
                    service.revisions[name] = (revision or 0) + 1
                    service.texts[name] = body["text"]
                    if service.loses:
                        service.loses -= 1
                        return
                self.answer(200, etag=service.revisions[name])

        self.server = Loopback(Handler)
        self.server.begin()
        self.url = f"http://127.0.0.1:{self.server.server_port}/tickets/"
        return self

    def __exit__(self, *error):
        self.server.end()

    def changes(self):
        return [(name, wanted) for method, name, wanted in self.asked if method == "PUT"]

    def tool(self, **declared):
        """``set_ticket``, which sends the version along, and asks for it before."""
        url = self.url

        async def current(id: str) -> int | None:
            # Plain HTTP: the system's certificates, which take 20 ms to read, are of no use.
            async with httpx2.AsyncClient(timeout=60, verify=False) as client:
                found = await client.get(url + id)
            if found.status_code == 404:
                return None
            found.raise_for_status()
            return int(found.headers["etag"].strip('"'))

        settings = {"risk": "write", "claims": ["ticket:{id}"], "version": current, "expects": "if_version", "quiet": 0,
                    "timeout": 300}  # fmt: skip

        @tool(**(settings | declared))
        async def set_ticket(id: str, text: str, context: Context, if_version: int | None = None) -> int:
            """Set a ticket's text."""
            seen = context.version
            condition = {"if-none-match": "*"} if seen is None else {"if-match": f'"{seen}"'}
            async with httpx2.AsyncClient(timeout=60, verify=False) as client:
                answer = await client.put(url + id, json={"text": text}, headers=condition)
            if answer.status_code == 412:
                etag = answer.headers.get("etag")
                raise Conflict(None if etag is None else int(etag.strip('"')))
            if answer.status_code >= 400:
                raise ToolFailed("The service said no.")
            return int(answer.headers["etag"].strip('"'))

        return set_ticket


def change(id="7", text="new", **more):
    return {"name": "set_ticket", "arguments": {"id": id, "text": text, **more}}
