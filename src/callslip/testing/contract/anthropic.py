"""Anthropic's Messages endpoint, seen from the server."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from callslip.testing.contract import rules_anthropic, says_anthropic
from callslip.testing.contract.made_ids import made_id
from callslip.testing.contract.prefix_anthropic import seal_of
from callslip.testing.contract.rules_anthropic_messages import THINKING
from callslip.testing.contract.rules_anthropic_thinking import Thought
from callslip.testing.contract.says import Says
from callslip.testing.contract.violation import Violation

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_STATUSES = {"key_missing": 401, "request_too_large": 413}


class Anthropic:
    """``POST …/v1/messages``. It keeps what was thought before each call, and wants it back with the call."""

    name = "anthropic"

    def __init__(self) -> None:
        self._thoughts: dict[str, Thought] = {}

    def asks(self, method: str, path: str) -> bool:
        return method == "POST" and path.partition("?")[0].endswith("/v1/messages")

    def check(self, body: dict[str, Any], headers: Mapping[str, str], path: str) -> list[Violation]:
        return rules_anthropic.check(body, headers, self._thoughts)

    def refusal(self, violations: Sequence[Violation]) -> tuple[int, dict[str, Any]]:
        """The first broken rule, as the vendor names one."""
        first = violations[0]
        status = _STATUSES.get(first.rule, 400)
        place = re.sub(r"^tools\.(\d+)\.", r"tools.\1.custom.", re.sub(r"\[(\d+)\]", r".\1", first.path))
        return status, self.error(status, f"{place}: {first.message}" if place else first.message)

    def error(self, status: int, message: str, *, kind: str = "") -> dict[str, Any]:
        return {
            "type": "error",
            "error": {"type": kind or _KINDS.get(status, "api_error"), "message": message},
            "request_id": made_id("req_011C", 20),
        }

    def streams(self, body: dict[str, Any], path: str) -> bool:
        return body.get("stream") is True

    def plain(self, said: Says, body: dict[str, Any]) -> dict[str, Any]:
        made = says_anthropic.message(said, body)
        self._note(made)
        return made

    def events(self, said: Says, body: dict[str, Any]) -> list[tuple[str, dict[str, Any] | str]]:
        made = says_anthropic.message(said, body)
        self._note(made)
        return list(says_anthropic.events(made, said))

    def _note(self, made: dict[str, Any]) -> None:
        seals = tuple(seal_of(block) for block in made["content"] if block["type"] in THINKING)
        if seals:
            for block in made["content"]:
                if block["type"] == "tool_use":
                    self._thoughts[block["id"]] = Thought(model=made["model"], seals=seals)
