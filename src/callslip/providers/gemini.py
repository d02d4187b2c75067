"""Models of the Gemini API's ``generateContent``.

The body is made by ``gemini_request`` and ``gemini_parts``, the reply by ``gemini_reply`` and ``gemini_stream``; which
model takes what is in ``gemini_models``; HTTP is ``http_model``'s.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx2

from callslip.ports.model import Reply, Request
from callslip.providers.gemini_reply import plain_reply
from callslip.providers.gemini_request import Settings, body_of, offer
from callslip.providers.gemini_stream import GeminiAssembly
from callslip.providers.http_model import MAX_REPLY_BYTES, TIMEOUT, HttpModel, OnRaw
from callslip.providers.options import Options

_TUNED = "tunedModels/"


class Gemini(HttpModel):
    """One Gemini model. See :class:`HttpModel` for the other settings.

    ``base_url`` is such as https://generativelanguage.googleapis.com/v1beta. ``model`` may be written as Google's lists
    have it, ``models/gemini-…`` or ``tunedModels/…``.
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
        on_raw: OnRaw | None = None,
    ) -> None:
        super().__init__(
            GeminiFormat(model, options or Options()),
            base_url=base_url,
            api_key=api_key,
            timeout=timeout,
            http=http,
            max_reply_bytes=max_reply_bytes,
            on_raw=on_raw,
        )


class GeminiFormat:
    """Implements ``Format``."""

    name = "gemini"

    def __init__(self, model: str, options: Options) -> None:
        self.model = model
        self._settings = Settings(model=model, options=options, sender=f"{self.name}:{model}")

    def headers(self, key: str | None) -> dict[str, str]:
        # As a header, never as ``?key=``, which ends up in the logs of every proxy.
        return {} if key is None else {"x-goog-api-key": key}

    def exchange(self, request: Request) -> GeminiExchange:
        return GeminiExchange(request, self._settings)


class GeminiExchange:
    """Implements ``Exchange``."""

    def __init__(self, request: Request, settings: Settings) -> None:
        self._settings = settings
        self.offered = offer(request)
        # Without alt=sse the stream would be one JSON array, which can't be told whole from cut.
        method = "streamGenerateContent?alt=sse" if request.stream else "generateContent"
        self.path = f"/{_resource(settings.model)}:{method}"
        self.body: dict[str, Any] = body_of(request, settings, self.offered)

    def whole(self, body: dict[str, Any]) -> Reply | None:
        return plain_reply(body, self.offered, self._settings.options.price)

    def assembly(self) -> GeminiAssembly:
        return GeminiAssembly(self.offered, self._settings.options.price)


def _resource(model: str) -> str:
    """The model as a path: nothing in its name can lead elsewhere."""
    if model.startswith(_TUNED):
        return _TUNED + quote(model.removeprefix(_TUNED), safe="")
    return "models/" + quote(model.removeprefix("models/"), safe="")
