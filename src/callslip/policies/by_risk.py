"""The simplest policy: one decision for each risk, from configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from callslip.core.tool import Risk
from callslip.errors import ConfigError
from callslip.ports.policy import Question, Verdict

Decision = Literal["allow", "ask", "deny"]
DEFAULTS: Mapping[str, Decision] = {"read": "allow", "write": "allow", "dangerous": "ask"}


class RiskPolicy:
    """Implements ``Policy``. ``decisions`` maps ``read``, ``write``, ``dangerous`` to ``allow``, ``ask`` or ``deny``.

    Raises:
        ConfigError: another risk or decision.
    """

    def __init__(self, decisions: Mapping[str, str] | None = None) -> None:
        self._decisions: dict[str, str] = {**DEFAULTS, **(decisions or {})}
        for risk, decision in self._decisions.items():
            if risk not in set(Risk) or decision not in {"allow", "ask", "deny"}:
                raise ConfigError(
                    f"[policy] {risk} = {decision!r} means nothing. Nothing was started. "
                    "Risks are read, write, dangerous; decisions are allow, ask, deny."
                )

    def decide(self, question: Question) -> Verdict:
        risk = question.tool.risk.value
        decision = self._decisions[risk]
        return Verdict(
            decision="allow" if decision == "allow" else "ask" if decision == "ask" else "deny",
            rules=(f"risk.{risk}",),
            reason=f"tools of risk {risk} are set to {decision}",
        )
