"""The simplest policy: one decision for each risk, and for single tools, from configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from callslip.core.tool import Risk
from callslip.errors import ConfigError
from callslip.ports.policy import Question, Verdict

Decision = Literal["allow", "ask", "deny"]
_DECISIONS: Mapping[str, tuple[Decision, int]] = {
    "allow": ("allow", 1), "ask": ("ask", 1), "ask_two": ("ask", 2), "deny": ("deny", 1),
}  # fmt: skip
"""``ask_two``: two different people must approve, neither of them the requester."""
DEFAULTS: Mapping[str, str] = {"read": "allow", "write": "allow", "dangerous": "ask"}
_TOOL = "tool."


class RiskPolicy:
    """Implements ``Policy``. ``decisions`` maps ``read``, ``write``, ``dangerous``, and ``tool.NAME`` for a single
    tool, to ``allow``, ``ask``, ``ask_two`` or ``deny``. What is said of a tool goes before what is said of its risk.

    Raises:
        ConfigError: another risk or decision.
    """

    def __init__(self, decisions: Mapping[str, str] | None = None) -> None:
        self._decisions: dict[str, str] = {**DEFAULTS, **(decisions or {})}
        for about, decision in self._decisions.items():
            known = about in set(Risk) or (about.startswith(_TOOL) and about != _TOOL)
            if not known or decision not in _DECISIONS:
                raise ConfigError(
                    f"[policy] {about} = {decision!r} means nothing. Nothing was started. What can be decided on is "
                    f"read, write, dangerous, or one tool as tool.NAME; decisions are {', '.join(_DECISIONS)}."
                )

    def decide(self, question: Question) -> Verdict:
        risk, tool = question.tool.risk.value, _TOOL + question.tool.name
        by_tool = tool in self._decisions
        said = self._decisions[tool if by_tool else risk]
        decision, approvers = _DECISIONS[said]
        about = f"tool {question.tool.name} is" if by_tool else f"tools of risk {risk} are"
        return Verdict(
            decision=decision,
            rules=(tool if by_tool else f"risk.{risk}",),
            reason=f"{about} set to {said}",
            approvers=approvers,
        )
