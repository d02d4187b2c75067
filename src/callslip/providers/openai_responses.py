"""Models of OpenAI's Responses API, and of servers that copy it.

The body is made by ``openai_responses_request`` and ``openai_responses_items``, the reply by ``openai_responses_reply``
and ``openai_responses_stream``; HTTP is ``http_model``'s. The API is used without its memory: nothing is stored there,
and each request holds the whole conversation, because the log is ours.
"""

from __future__ import annotations

from typing import Any

import httpx2

from callslip.ports.model import Reply, Request
from callslip.providers.http_model import MAX_REPLY_BYTES, TIMEOUT, HttpModel, OnRaw
from callslip.providers.native_search import searches
from callslip.providers.openai_hosts import is_openais_own
from callslip.providers.openai_responses_reply import plain_reply
from callslip.providers.openai_responses_request import Settings, body_of, offer, reasons
from callslip.providers.openai_responses_search import knows_search
from callslip.providers.openai_responses_stream import ResponsesAssembly
from callslip.providers.options import Options
from callslip.schema.shape.dialect import COMPATIBLE, OPENAI


class OpenAIResponses(HttpModel):
    """One model of one server that speaks the Responses API. See :class:`HttpModel` for the other settings.

    ``own`` says whether OpenAI is behind the address; by default the address decides, which a gateway hides.
    ``encrypted`` says whether to ask for the model's reasoning in encrypted form; by default every model is asked that
    is not known to refuse.
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
        encrypted: bool | None = None,
        on_raw: OnRaw | None = None,
    ) -> None:
        own = is_openais_own(base_url) if own is None else own
        super().__init__(
            ResponsesFormat(model, options or Options(), own=own, encrypted=encrypted),
            base_url=base_url,
            api_key=api_key,
            timeout=timeout,
            http=http,
            max_reply_bytes=max_reply_bytes,
            on_raw=on_raw,
        )


class ResponsesFormat:
    """Implements ``Format``. ``own`` and ``encrypted`` are as in :class:`OpenAIResponses`."""

    name = "openai_responses"

    def __init__(self, model: str, options: Options, *, own: bool, encrypted: bool | None = None) -> None:
        self.model = model
        self._settings = Settings(
            model=model,
            options=options,
            dialect=OPENAI if own else COMPATIBLE,
            own=own,
            encrypted=reasons(model) if encrypted is None else encrypted,
            sender=f"{self.name}:{model}",
            searches=searches(options.native_search, known=own and knows_search(model)),
        )

    def headers(self, key: str | None) -> dict[str, str]:
        return {} if key is None else {"authorization": f"Bearer {key}"}

    def exchange(self, request: Request) -> ResponsesExchange:
        return ResponsesExchange(request, self._settings)


class ResponsesExchange:
    """Implements ``Exchange``."""

    path = "/responses"

    def __init__(self, request: Request, settings: Settings) -> None:
        self._settings = settings
        self.offered = offer(request, settings)
        self.body: dict[str, Any] = body_of(request, settings, self.offered)

    def whole(self, body: dict[str, Any]) -> Reply | None:
        return plain_reply(body, self.offered, self._settings.options.price)

    def assembly(self) -> ResponsesAssembly:
        return ResponsesAssembly(self.offered, self._settings.options.price)
