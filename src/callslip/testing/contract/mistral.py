"""Mistral's chat endpoint, seen from the server."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from callslip.testing.contract import rules_mistral, says_mistral
from callslip.testing.contract.says import Says
from callslip.testing.contract.violation import Violation

_KINDS = {
    "role_order": ("invalid_request_message_order", "3230"),
    "unanswered_call": ("invalid_request_message_order", "3230"),
    "last_role": ("invalid_request_message_order", "3230"),
    "assistant_says_nothing": ("invalid_request_assistant_message", "3240"),
    "call_id": ("invalid_function_call", "3280"),
    "call_id_null": ("invalid_function_call", "3280"),
    "call_name": ("invalid_function_call", "3280"),
}
_DETAIL_KINDS = {
    "extra_forbidden": "extra_forbidden",
    "message_extra": "extra_forbidden",
    "missing_field": "missing",
    "wrong_type": "type_error",
}
_STATUS_KINDS = {401: "unauthorized", 404: "not_found", 429: "rate_limited"}


class Mistral:
    """``POST …/chat/completions``. It keeps nothing."""

    name = "mistral"

    def asks(self, method: str, path: str) -> bool:
        return method == "POST" and path.partition("?")[0].endswith("/chat/completions")

    def check(self, body: dict[str, Any], headers: Mapping[str, str], path: str) -> list[Violation]:
        return rules_mistral.check(body)

    def refusal(self, violations: Sequence[Violation]) -> tuple[int, dict[str, Any]]:
        """422 for a wrong shape, with all that is wrong; else 400 for the first."""
        shapes = [one for one in violations if one.rule in rules_mistral.SCHEMA_RULES]
        if shapes:
            detail = [
                {
                    "type": _DETAIL_KINDS.get(one.rule, "value_error"),
                    "loc": ["body", *_steps(one.path)],
                    "msg": one.message,
                }
                for one in shapes
            ]
            return 422, self._body({"detail": detail}, "invalid_request_error", None, 422)
        first = violations[0]
        kind, code = _KINDS.get(first.rule, ("invalid_request_error", None))
        return 400, self._body(first.message, kind, code, 400)

    def error(self, status: int, message: str, *, kind: str = "") -> dict[str, Any]:
        return self._body(message, kind or _STATUS_KINDS.get(status, "internal_server_error"), None, status)

    def _body(self, message: Any, kind: str, code: str | None, status: int) -> dict[str, Any]:
        return {
            "object": "error",
            "message": message,
            "type": kind,
            "param": None,
            "code": code,
            "raw_status_code": status,
        }

    def streams(self, body: dict[str, Any], path: str) -> bool:
        return body.get("stream") is True

    def plain(self, said: Says, body: dict[str, Any]) -> dict[str, Any]:
        return says_mistral.plain(said, body)

    def events(self, said: Says, body: dict[str, Any]) -> list[tuple[str, dict[str, Any] | str]]:
        return says_mistral.events(said, body)


def _steps(path: str) -> list[str | int]:
    return [int(step) if step.isdigit() else step for step in re.split(r"[.\[\]]+", path) if step]
