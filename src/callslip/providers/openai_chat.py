"""Models of OpenAI's Chat Completions API, and of the many servers that copy it.

The body is made by ``openai_chat_request``, the reply by ``openai_chat_reply`` and ``openai_chat_stream``; HTTP is
``http_model``'s.
"""

from __future__ import annotations

from typing import Any

import httpx2

from callslip.ports.model import Reply, Request
from callslip.providers.http_model import MAX_REPLY_BYTES, TIMEOUT, HttpModel, OnRaw
from callslip.providers.openai_chat_reply import plain_reply
from callslip.providers.openai_chat_request import Settings, body_of, offer
from callslip.providers.openai_chat_stream import ChatAssembly
from callslip.providers.openai_hosts import is_openais_own
from callslip.providers.options import Options
from callslip.schema.shape.dialect import COMPATIBLE, OPENAI


class OpenAIChat(HttpModel):
    """One model of one server that speaks Chat Completions. See :class:`HttpModel` for the other settings.

    ``parallel`` is sent as ``parallel_tool_calls``, when there are tools; so is ``options.parallel``.
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
        parallel: bool | None = None,
        options: Options | None = None,
        on_raw: OnRaw | None = None,
    ) -> None:
        options = options or Options(parallel=parallel)
        super().__init__(
            ChatFormat(model, options, own=is_openais_own(base_url)),
            base_url=base_url,
            api_key=api_key,
            timeout=timeout,
            http=http,
            max_reply_bytes=max_reply_bytes,
            on_raw=on_raw,
        )


class ChatFormat:
    """Implements ``Format``. ``own``: the server is OpenAI's own, not one that copies it."""

    name = "openai_chat"

    def __init__(self, model: str, options: Options, *, own: bool) -> None:
        self.model = model
        dialect = OPENAI if own else COMPATIBLE
        self._settings = Settings(model=model, options=options, dialect=dialect, own=own, sender=f"{self.name}:{model}")

    def headers(self, key: str | None) -> dict[str, str]:
        return {} if key is None else {"authorization": f"Bearer {key}"}

    def exchange(self, request: Request) -> ChatExchange:
        return ChatExchange(request, self._settings)


class ChatExchange:
    """Implements ``Exchange``."""

    path = "/chat/completions"

    def __init__(self, request: Request, settings: Settings) -> None:
        self._settings = settings
        self.offered = offer(request, settings)
        self.body: dict[str, Any] = body_of(request, settings, self.offered)

    def whole(self, body: dict[str, Any]) -> Reply | None:
        return plain_reply(body, self.offered, self._settings.options.price)

    def assembly(self) -> ChatAssembly:
        return ChatAssembly(self.offered, self._settings.options.price)
