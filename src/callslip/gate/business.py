"""A tool's own rules, and the calls it declares must come first (ARGS-04, PARA-06)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from callslip.core.result import Status
from callslip.gate.catalogue import Entry
from callslip.gate.refusal import Refusal


def check_rules(entry: Entry, arguments: dict[str, Any]) -> Refusal | None:
    """Ask the tool's validators. One that raises refuses: a rule that can't be evaluated is not fulfilled."""
    try:
        complaint = entry.executor.check(arguments)
    except Exception as error:  # noqa: BLE001 - the tool author's code
        return Refusal(
            status=Status.FATAL_ERROR,
            code="rule_failed",
            message=f"A business rule of {entry.executor.spec.name} could not be evaluated ({type(error).__name__}). "
            "Nothing was executed.",
        )
    if complaint is None:
        return None
    return Refusal(status=Status.INVALID_ARGUMENTS, code="business_rule", message=complaint, retryable=True)


def check_required(entry: Entry, succeeded: Collection[str]) -> Refusal | None:
    """Refuse a call whose declared earlier calls have not succeeded in this session."""
    missing = [name for name in entry.executor.spec.requires if name not in succeeded]
    if not missing:
        return None
    first = " and ".join(missing)
    return Refusal(
        status=Status.INVALID_ARGUMENTS,
        code="call_first",
        message=f"{entry.executor.spec.name} needs the result of {first}. Nothing was executed. "
        f"Call {first} first, then this again in a later step.",
        retryable=True,
    )
