"""Count how models get calls wrong, by tool, field and rule: what is often wrong is perhaps badly defined (ARGS-05).
Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from callslip.core.event import Stored
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.repeat import counts_as_failure
from callslip.core.result import Status

OFTEN = 3
"""So many of the same kind are worth a word."""
_FIRST = "call_first"


class Fault(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One way in which calls of a tool fail."""

    tool: str
    """As the model called it."""
    field: str
    """Of the arguments; empty where it is about the call as a whole."""
    rule: str
    """Of the tool's schema; without a field, the result's code."""


class Faults:
    """Counts session after session; remembers a call as long as it is open."""

    def __init__(self) -> None:
        self.counts: Counter[Fault] = Counter()
        self._tools: dict[str, str] = {}

    def begin(self) -> None:
        """A session begins, whose calls are no other's."""
        self._tools = {}

    def take(self, records: Iterable[Stored]) -> None:
        """Count what follows in the session."""
        for stored in records:
            event = stored.record.event
            if isinstance(event, FunctionCall):
                self._tools[event.call_id] = event.tool
            elif isinstance(event, FunctionResponse):
                tool = self._tools.pop(event.call_id, None)
                if tool is not None:
                    self.counts.update(faults_of(tool, event))


def faults_of(tool: str, response: FunctionResponse) -> Sequence[Fault]:
    """What is wrong with a call, by its answer; each field and rule once, however many elements of a list are wrong."""
    if response.status is Status.SUCCESS or not counts_as_failure(response):
        return ()
    if not response.field_errors:
        return (Fault(tool=tool, field="", rule=response.error_code or response.status.value),)
    return tuple({Fault(tool=tool, field=error.field, rule=error.rule): None for error in response.field_errors})


def advice(fault: Fault, count: int) -> str:
    """What whoever defined the tool may want to change, as a sentence."""
    if fault.field:
        return (
            f"{count} calls got {fault.field!r} wrong ({fault.rule}): say in its description what is wanted, give an "
            "example, or declare a form for it."
        )
    if fault.rule == _FIRST:
        return f"{count} calls came before those they need ({fault.rule}): say in the description what to call first."
    return f"{count} calls failed in the same way ({fault.rule}): say in the description what leads to that."
