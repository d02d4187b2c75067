"""JSON over HTTP to the demo's bank, on this machine only."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

_SECONDS = 10


class MissingError(Exception):
    """The bank answers that it has no such thing."""


def ask(
    base: str, method: str, path: str, body: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
) -> Any:
    """Send one request and read the answer.

    Raises:
        MissingError: status 404. OSError: no answer. RuntimeError: any other status.
    """
    where = urlsplit(base)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=_SECONDS)
    try:
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, {"Content-Type": "application/json", **(headers or {})})
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    if answer.status == http.HTTPStatus.NOT_FOUND:
        raise MissingError(path)
    if answer.status >= http.HTTPStatus.BAD_REQUEST:
        raise RuntimeError(f"{method} {path}: status {answer.status}")
    return json.loads(text)
