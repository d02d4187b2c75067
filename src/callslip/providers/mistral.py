"""Models of Mistral's chat API.

The body is made by ``mistral_request``, the reply by ``mistral_reply``; HTTP is ``http_model``'s.
"""

from __future__ import annotations

from typing import Any

import httpx2

from callslip.ports.model import Reply, Request
from callslip.providers.http_model import MAX_REPLY_BYTES, TIMEOUT, HttpModel, OnRaw
from callslip.providers.mistral_reply import MistralAssembly, whole_reply
from callslip.providers.mistral_request import Settings, body_of, offer
from callslip.providers.options import Options


class Mistral(HttpModel):
    """One model of Mistral's, or of a server that speaks its API. See :class:`HttpModel` for the settings."""

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
            MistralFormat(model, options or Options()),
            base_url=base_url,
            api_key=api_key,
            timeout=timeout,
            http=http,
            max_reply_bytes=max_reply_bytes,
            on_raw=on_raw,
        )


class MistralFormat:
    """Implements ``Format``."""

    name = "mistral"

    def __init__(self, model: str, options: Options) -> None:
        self.model = model
        self._settings = Settings(model=model, options=options, sender=f"{self.name}:{model}")

    def headers(self, key: str | None) -> dict[str, str]:
        return {} if key is None else {"authorization": f"Bearer {key}"}

    def exchange(self, request: Request) -> MistralExchange:
        return MistralExchange(request, self._settings)


class MistralExchange:
    """Implements ``Exchange``."""

    path = "/chat/completions"

    def __init__(self, request: Request, settings: Settings) -> None:
        self._price = settings.options.price
        self.offered = offer(request, settings)
        self.body: dict[str, Any] = body_of(request, settings, self.offered)

    def whole(self, body: dict[str, Any]) -> Reply | None:
        return whole_reply(body, self.offered, self._price)

    def assembly(self) -> MistralAssembly:
        return MistralAssembly(self.offered, self._price)
