"""Gemini's generateContent, seen from the server."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from callslip.testing.contract import gemini_models, rules_gemini, says_gemini
from callslip.testing.contract.says import Says
from callslip.testing.contract.violation import Violation

_WORDS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_PARSER = ("unknown_name", "wrong_value", "not_a_list", "not_a_struct")
_TYPE = "type.googleapis.com/google.rpc."


class Gemini:
    """``POST …/models/{model}:generateContent`` and ``:streamGenerateContent?alt=sse``.

    Without ``alt=sse`` the vendor streams one long JSON array; this server sends events all the same.
    """

    name = "gemini"

    def __init__(self) -> None:
        self._asked = threading.local()

    def asks(self, method: str, path: str) -> bool:
        return method == "POST" and bool(gemini_models.of_path(path)[0])

    def check(self, body: dict[str, Any], headers: Mapping[str, str], path: str) -> list[Violation]:
        self._note(path)
        return rules_gemini.check(body, headers, path)

    def refusal(self, violations: Sequence[Violation]) -> tuple[int, dict[str, Any]]:
        """The parser names all that it could not read; what comes after it, the first rule that is broken."""
        first = violations[0]
        if first.rule == "key_missing":
            return 403, self.error(403, first.message)
        parser = [one for one in violations if one.rule in _PARSER]
        if not parser:
            return 400, self.error(400, first.message)
        body = self.error(400, "\n".join(one.message for one in parser))
        fields = [{"field": one.path, "description": one.message} for one in parser]
        body["error"]["details"] = [{"@type": f"{_TYPE}BadRequest", "fieldViolations": fields}]
        return 400, body

    def wrong_key(self) -> tuple[int, dict[str, Any]]:
        """What Google answers to a key that is none (Gemini API docs, "Troubleshooting guide")."""
        body = self.error(400, "API key not valid. Please pass a valid API key.")
        body["error"]["details"] = [
            {"@type": f"{_TYPE}ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com",
             "metadata": {"service": "generativelanguage.googleapis.com"}},
        ]  # fmt: skip
        return 400, body

    def error(self, status: int, message: str, *, kind: str = "") -> dict[str, Any]:
        return {"error": {"code": status, "message": message, "status": kind or _WORDS.get(status, "UNKNOWN")}}

    def streams(self, body: dict[str, Any], path: str) -> bool:
        self._note(path)
        return gemini_models.of_path(path)[1] == "streamGenerateContent"

    def plain(self, said: Says, body: dict[str, Any]) -> dict[str, Any]:
        return says_gemini.plain(said, body, self._model)

    def events(self, said: Says, body: dict[str, Any]) -> list[tuple[str, dict[str, Any] | str]]:
        return [("", chunk) for chunk in says_gemini.events(said, body, self._model)]

    def _note(self, path: str) -> None:
        """The model is in the path and not in the body, so each thread remembers what it was last asked for."""
        self._asked.model = gemini_models.of_path(path)[0]

    @property
    def _model(self) -> str:
        model: str = getattr(self._asked, "model", "")
        return model or "gemini-3-pro-preview"
