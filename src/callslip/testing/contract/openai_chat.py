"""OpenAI's Chat Completions, seen from the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from callslip.testing.contract import openai_errors, rules_openai_chat, says_openai_chat
from callslip.testing.contract.says import Says
from callslip.testing.contract.violation import Violation


class OpenAIChat:
    """``POST …/chat/completions``. It keeps nothing: all that it demands back is in the body."""

    name = "openai_chat"

    def asks(self, method: str, path: str) -> bool:
        return method == "POST" and path.partition("?")[0].endswith("/chat/completions")

    def check(self, body: dict[str, Any], headers: Mapping[str, str], path: str) -> list[Violation]:
        return rules_openai_chat.check(body)

    def refusal(self, violations: Sequence[Violation]) -> tuple[int, dict[str, Any]]:
        return openai_errors.refusal(violations)

    def error(self, status: int, message: str, *, kind: str = "") -> dict[str, Any]:
        return openai_errors.error(status, message, kind=kind)

    def streams(self, body: dict[str, Any], path: str) -> bool:
        return body.get("stream") is True

    def plain(self, said: Says, body: dict[str, Any]) -> dict[str, Any]:
        return says_openai_chat.plain(said, body)

    def events(self, said: Says, body: dict[str, Any]) -> list[tuple[str, dict[str, Any] | str]]:
        return says_openai_chat.events(said, body)
