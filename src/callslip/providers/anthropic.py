"""Models of Anthropic's Messages API, and of the servers that copy it.

The body is made by ``anthropic_request``, the reply by ``anthropic_reply`` and ``anthropic_stream``; HTTP is
``http_model``'s.
"""

from __future__ import annotations

from typing import Any

import httpx2

from callslip.ports.model import Reply, Request
from callslip.providers.anthropic_hosts import is_anthropics_own
from callslip.providers.anthropic_reply import plain_reply
from callslip.providers.anthropic_request import Settings, body_of, offer
from callslip.providers.anthropic_stream import MessagesAssembly
from callslip.providers.anthropic_thinking import BINDING_BETA
from callslip.providers.claude_models import claude
from callslip.providers.http_model import MAX_REPLY_BYTES, TIMEOUT, HttpModel, OnRaw
from callslip.providers.native_search import searches
from callslip.providers.options import Options

VERSION = "2023-06-01"
"""Of the API (Anthropic docs, "API > Versioning")."""


class Anthropic(HttpModel):
    """One model of one server that speaks Messages. See :class:`HttpModel` for the other settings.

    What a model can't do is not asked of it, as its name tells (``claude_models``). ``own`` says whether Anthropic is
    behind the address; by default the address decides, which a gateway hides.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        api_key: str | None,
        timeout: float = TIMEOUT,
        http: httpx2.AsyncClient | None = None,
        max_reply_bytes: int = MAX_REPLY_BYTES,
        options: Options | None = None,
        own: bool | None = None,
        on_raw: OnRaw | None = None,
    ) -> None:
        super().__init__(
            MessagesFormat(model, options or Options(), own=is_anthropics_own(base_url) if own is None else own),
            base_url=base_url,
            api_key=api_key,
            timeout=timeout,
            http=http,
            max_reply_bytes=max_reply_bytes,
            on_raw=on_raw,
        )


class MessagesFormat:
    """Implements ``Format``. ``own`` is as in :class:`Anthropic`."""

    name = "anthropic"

    def __init__(self, model: str, options: Options, *, own: bool = False) -> None:
        self.model = model
        known = claude(model)
        self._settings = Settings(
            model=model,
            claude=known,
            options=options,
            sender=f"{self.name}:{model}",
            searches=searches(options.native_search, known=own and known.knows_search),
        )

    def headers(self, key: str | None) -> dict[str, str]:
        headers = {"anthropic-version": VERSION}
        if self._settings.claude.binds_thinking:
            headers["anthropic-beta"] = BINDING_BETA
        return headers if key is None else {"x-api-key": key, **headers}

    def exchange(self, request: Request) -> MessagesExchange:
        return MessagesExchange(request, self._settings)


class MessagesExchange:
    """Implements ``Exchange``."""

    path = "/messages"

    def __init__(self, request: Request, settings: Settings) -> None:
        self._settings = settings
        self.offered = offer(request, settings)
        self.body: dict[str, Any] = body_of(request, settings, self.offered)

    def whole(self, body: dict[str, Any]) -> Reply | None:
        return plain_reply(body, self.offered, self._settings.options.price)

    def assembly(self) -> MessagesAssembly:
        return MessagesAssembly(self.offered, self._settings.options.price)
