"""What a failed attempt itself said: an operator must judge by it, though the model is never shown it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from callslip.application import Runtime
from callslip.cli.wording import own_line
from callslip.core.wait import Wait
from callslip.errors import CallslipError


class Said(NamedTuple):
    """What an attempt failed with, in one line, and whose attempt it was."""

    tool: str
    words: str
    repeat: int = 0
    """Which attempt that was, where an earlier one may have taken effect: it tells of itself only."""


async def causes(runtime: Runtime, waits: Iterable[Wait]) -> dict[str, Said]:
    """By wait: what the latest attempt of its call failed with."""
    found: dict[str, Said] = {}
    for wait in waits:
        if wait.call_id is None:
            continue
        try:
            call = (await runtime.state(wait.session)).calls.get(wait.call_id)
        except CallslipError:
            continue  # said elsewhere
        if call is not None and call.failed is not None and call.failed.internal:
            tool = call.dispatch.tool if call.dispatch is not None else call.call.tool
            repeat = call.attempts if call.unclear else 0
            found[wait.id] = Said(tool, own_line(call.failed.internal), repeat)
    return found
