"""A real HTTP service that answers as it is told to, and counts what it was asked."""

from http.server import BaseHTTPRequestHandler

from callslip.testing.loopback import Loopback

BREAKS = "breaks"
"""Takes the request and closes the connection."""


class Service:
    """``answers``: status, or (status, headers), or BREAKS; past their end 200."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []
        """Path and idempotency key of each."""

    def __enter__(self):
        service = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args):
                pass

            def do_POST(self):
                service.requests.append((self.path, self.headers.get("idempotency-key", "")))
                due = service.answers.pop(0) if service.answers else 200
                if due == BREAKS:
                    return
                status, headers = due if isinstance(due, tuple) else (due, {})
                body = b'"done"'
                self.send_response_only(status)
                for name, value in {"content-length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

        self.server = Loopback(Handler)
        self.server.begin()
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        return self

    def __exit__(self, *error):
        self.server.end()
