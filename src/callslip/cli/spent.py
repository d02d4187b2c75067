"""What a session has used, and of how much: as people and as programs read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from callslip.cli import look
from callslip.core.budget import Use

_ALWAYS = {"session.calls", "session.tokens", "session.money", "session.seconds"}
"""Told also where there is no budget for it."""


def say_spent(uses: Sequence[Use]) -> None:
    """One line of what was used in all, and a line for each budget of the turn that is in use."""
    for scope, words in (("session", "used in all"), ("turn", "in this turn")):
        mine = [use for use in uses if use.name.startswith(f"{scope}.")]
        told = [use for use in mine if use.of is not None or (use.name in _ALWAYS and use.used)]
        if not told:
            continue
        spent = any(use.spent for use in told)
        amounts = [use.amount for use in told]
        look.say(f"{words}: {', '.join(amounts)}", dim=not spent, colour="yellow" if spent else None)


def spent_document(uses: Sequence[Use]) -> dict[str, dict[str, Any]]:
    """By scope and name: ``used`` and ``budget`` (null: none). Money is in US dollars."""
    document: dict[str, dict[str, Any]] = {}
    for use in uses:
        scope, _, what = use.name.partition(".")
        document.setdefault(scope, {})[what] = {"used": use.used, "budget": use.of}
    return document
