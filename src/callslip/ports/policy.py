"""What may be done: a pure decision, with its reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

import msgspec

from callslip.core.tool import ToolSpec


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of one call, at the moment of the question."""

    session: str
    requester: str
    tool: ToolSpec
    arguments: Mapping[str, Any]


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    decision: Literal["allow", "ask", "deny"]
    rules: tuple[str, ...]
    """Ids of the rules that decided."""
    reason: str
    approvers: int = 1
    """With ``ask``: how many different people must approve. From two on, none of them may be the requester."""


class Policy(Protocol):
    def decide(self, question: Question) -> Verdict:
        """Never raises for a call it does not understand: it denies."""
        ...
