"""The loop guard: the same call, which has always come to the same end, is not made once more (ARGS-05)."""

from __future__ import annotations

from callslip.core.repeat import Repeat
from callslip.core.result import Status
from callslip.gate.refusal import Refusal

_LONGEST = 60


def check_loop(tool: str, repeated: Repeat | None) -> Refusal | None:
    """Refuse a call that failed in the world, or was refused by a person, too often in the same way, or whose result
    never changes. What the gate itself refused before is judged anew: the facts may have changed.
    """
    if repeated is None or repeated.found_by_gate:
        return None
    if repeated.succeeded:
        often = f"{tool} was called with exactly these arguments in {repeated.count} steps, and gave the same result"
        message = (
            f"{often} each time. It was not called again. Use the result you have, do something else, or tell the user "
            "what you wait for."
        )
    else:
        message = _failed(tool, repeated, "")
    return Refusal(status=Status.FATAL_ERROR, code="loop", message=message, same_as=repeated.call_id)


def once_more(tool: str, refusal: Refusal, repeated: Repeat | None) -> Refusal:
    """The refusal; as the loop guard's, with the first one's words, if it is the same as too often before."""
    if repeated is None or refusal.code != repeated.same or repeated.lane != "refused":
        return refusal
    return Refusal(
        status=refusal.status,
        code="loop",
        message=_failed(tool, repeated, f" It still fails: {refusal.message}"),
        field_errors=refusal.field_errors,
        rules=refusal.rules,
        same_as=repeated.call_id,
    )


def _failed(tool: str, repeated: Repeat, still: str) -> str:
    return (
        f"{tool[:_LONGEST]} was called with exactly these arguments in {repeated.count} steps, and failed in the same "
        f"way each time ({repeated.same[:_LONGEST]}). It was not made again.{still} Change what is wrong, take another "
        "way, or tell the user what stands in it."
    )
