"""What a failed attempt itself said: an operator must judge by it, though the model is never shown it."""

from __future__ import annotations

from collections.abc import Iterable

from callslip.application import Runtime
from callslip.cli.wording import last_line
from callslip.core.wait import Wait
from callslip.errors import CallslipError


async def causes(runtime: Runtime, waits: Iterable[Wait]) -> dict[str, str]:
    """By wait: the last line of what the latest attempt of its call failed with."""
    found: dict[str, str] = {}
    for wait in waits:
        if wait.call_id is None:
            continue
        try:
            call = (await runtime.state(wait.session)).calls.get(wait.call_id)
        except CallslipError:
            continue  # said elsewhere
        if call is not None and call.failed is not None and call.failed.internal:
            found[wait.id] = last_line(call.failed.internal)
    return found
