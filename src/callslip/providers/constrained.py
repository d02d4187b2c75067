"""Models without tool calls of their own: the reply is constrained to JSON that holds the calls, by a schema.

For any server with OpenAI's ``/chat/completions`` and, best, its ``response_format: json_schema`` (llama.cpp, vLLM,
SGLang, LM Studio, Ollama, gateways); ``Options.constrain`` says what else there is. What the model is asked to write is
``constrained_envelope``'s, how tools and history look as text is ``constrained_tools``' and ``constrained_request``'s,
the reading is ``constrained_reply``'s; HTTP is ``http_model``'s.
"""

from __future__ import annotations

from typing import Any

import httpx2

from callslip.ports.model import Reply, Request
from callslip.providers.constrained_reply import ConstrainedAssembly, whole_reply
from callslip.providers.constrained_request import Settings, body_of, enveloped, offer
from callslip.providers.http_model import MAX_REPLY_BYTES, TIMEOUT, HttpModel, OnRaw
from callslip.providers.options import Options


class Constrained(HttpModel):
    """One model of one server, asked for calls as JSON. See :class:`HttpModel` for the settings."""

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
        on_raw: OnRaw | None = None,
    ) -> None:
        super().__init__(
            ConstrainedFormat(model, options or Options()),
            base_url=base_url,
            api_key=api_key,
            timeout=timeout,
            http=http,
            max_reply_bytes=max_reply_bytes,
            on_raw=on_raw,
        )


class ConstrainedFormat:
    """Implements ``Format``."""

    name = "constrained"

    def __init__(self, model: str, options: Options) -> None:
        self.model = model
        self._settings = Settings(model=model, options=options)

    def headers(self, key: str | None) -> dict[str, str]:
        return {} if key is None else {"authorization": f"Bearer {key}"}

    def exchange(self, request: Request) -> ConstrainedExchange:
        return ConstrainedExchange(request, self._settings)


class ConstrainedExchange:
    """Implements ``Exchange``."""

    path = "/chat/completions"

    def __init__(self, request: Request, settings: Settings) -> None:
        self._price = settings.options.price
        self.offered = offer(request, settings)
        # Without an envelope asked for, whatever comes is text, also what looks like one.
        self._enveloped = enveloped(request)
        self.body: dict[str, Any] = body_of(request, settings, self.offered)

    def whole(self, body: dict[str, Any]) -> Reply | None:
        return whole_reply(body, self.offered, self._price, enveloped=self._enveloped)

    def assembly(self) -> ConstrainedAssembly:
        return ConstrainedAssembly(self.offered, self._price, enveloped=self._enveloped)
