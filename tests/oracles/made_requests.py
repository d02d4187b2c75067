"""Requests as our adapters make them, out of made-up sessions: with crashes, denials, forks, images, other providers."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.wire.made_history import SENT, Made


class MadeRequest(msgspec.Struct, frozen=True, kw_only=True):
    form: str
    model: str
    path: str
    body: dict[str, Any]


class _Watched(Made):
    """A session whose requests are kept."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.requests: list[MadeRequest] = []

    async def ask(self, name: str) -> tuple[Any, dict[str, Any]]:
        exchange, body = await super().ask(name)
        self.requests.append(MadeRequest(form=name, model=SENT[name][1], path=exchange.path, body=body))
        return exchange, body


async def made_requests(seed: int, form: str) -> list[MadeRequest]:
    """Those of one session that went to one format. There is always one: every provider is asked at the end."""
    made = _Watched(seed)
    await made.play()
    return [request for request in made.requests if request.form == form]
