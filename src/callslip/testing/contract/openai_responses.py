"""OpenAI's Responses API, seen from the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from callslip.testing.contract import openai_errors, rules_openai_responses, says_openai_responses
from callslip.testing.contract.issued import Issued
from callslip.testing.contract.says import Says
from callslip.testing.contract.violation import Violation


class OpenAIResponses:
    """``POST …/responses``. It remembers each reply: stored ones whole, others by their ids."""

    name = "openai_responses"

    def __init__(self) -> None:
        self._issued = Issued()

    def asks(self, method: str, path: str) -> bool:
        return method == "POST" and path.partition("?")[0].endswith("/responses")

    def check(self, body: dict[str, Any], headers: Mapping[str, str], path: str) -> list[Violation]:
        return rules_openai_responses.check(body, self._issued)

    def refusal(self, violations: Sequence[Violation]) -> tuple[int, dict[str, Any]]:
        return openai_errors.refusal(violations)

    def error(self, status: int, message: str, *, kind: str = "") -> dict[str, Any]:
        return openai_errors.error(status, message, kind=kind)

    def streams(self, body: dict[str, Any], path: str) -> bool:
        return body.get("stream") is True

    def plain(self, said: Says, body: dict[str, Any]) -> dict[str, Any]:
        whole = says_openai_responses.response(said, body)
        previous = self._issued.responses.get(body.get("previous_response_id") or "", ())
        given = body.get("input")
        items = (
            [{"type": "message", **item} for item in given if isinstance(item, dict)] if isinstance(given, list) else []
        )
        self._issued.note(
            whole["id"],
            whole["output"],
            model=whole["model"],
            before=[*previous, *items],
            store=body.get("store") is not False,
        )
        return whole

    def events(self, said: Says, body: dict[str, Any]) -> list[tuple[str, dict[str, Any] | str]]:
        return says_openai_responses.events(self.plain(said, body))
