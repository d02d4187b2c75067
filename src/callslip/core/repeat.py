"""The same call, made again and again: what counts as the same, and when it is no longer made (ARGS-05). Pure.

A model that is told the same fault for the same call will often make it once more. Counted are steps, not calls: what
stands twice in one reply was decided once. Nothing counts any more once the user has said something or the turn is
over; what failed in the world, not once a call that writes has succeeded.

A call that was dispatched, or that a person denied, is the same as another with the same final arguments: as the gate
has read, coerced and normalised them. What the gate refused has none, and is told by how it was spelled.
"""

from __future__ import annotations

import hashlib
from typing import Literal

import msgspec

from callslip.core import canon
from callslip.core.call import CallState
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.payload import Payload
from callslip.core.result import Status

KEPT = 64
"""Different calls that are remembered."""
MORE = 2
"""After so many further steps with a call that is no longer made, the run ends."""
WINDOW_MS = 600_000
"""In a dispatcher's session, whose turns nobody knows, a failure is forgotten after so long."""
LOOP = "loop"
"""Code of a call that is not made once more."""
_PASSING = frozenset({LOOP, "budget_spent", "cancelled", "breaker_open", "turn_timeout"})
"""Codes that say nothing of the call itself, or that time alone mends."""
_OF_PEOPLE = frozenset({"approval_denied", "approval_expired"})


class Repeat(msgspec.Struct, frozen=True, kw_only=True):
    """How often one call has come to the same end."""

    same: str
    """The failure's code, or the result's digest."""
    count: int
    """In how many steps."""
    step: str
    """The latest one."""
    at: int
    """When it came to that end, milliseconds since 1970."""
    lane: Literal["refused", "settled"] = "settled"
    succeeded: bool = False
    call_id: str = ""
    """The call that came to it last."""

    @property
    def found_by_gate(self) -> bool:
        """Whether the gate itself refused it: then it finds out anew each time, and the facts may have changed."""
        return self.lane == "refused" and self.same not in _OF_PEOPLE

    def before(self, step: str) -> int:
        """How often in steps before this one."""
        return self.count - (self.step == step)


def call_key(call: FunctionCall) -> str:
    """Equal for proposals of the same name with the same arguments; the order of keys and white space are no part of
    those.
    """
    return _digest(call.tool, _text(call.arguments))


def final_key(tool: str, digest: str) -> str:
    """Equal for calls of one tool with the same final arguments, of which this is the digest."""
    return _digest(tool, digest)


def key_of(call: CallState, response: FunctionResponse) -> str:
    """By what a call that has its answer is known again. What a person put into it is no call of the model's."""
    said = call.dispatch if response.lane == "settled" else call.asked if response.error_code in _OF_PEOPLE else None
    if said is None or call.edits or call.instead is not None:
        return call_key(call.call)
    return final_key(said.tool, said.arguments_digest)


def beyond(known: dict[str, Repeat], most: int) -> Repeat | None:
    """The call that the model goes on proposing although it is not made any more."""
    if not most:
        return None
    return next((one for one in known.values() if one.count >= most + MORE), None)


def result_digest(response: FunctionResponse) -> str:
    """Equal for results that are."""
    kept = response.structured
    return _digest(response.summary, b"" if kept is None else kept.blob or kept.text)


def counts_as_failure(response: FunctionResponse) -> bool:
    """Whether the answer speaks against making the same call again. What may pass by itself does not: it was retried
    already, and is the breaker's to stop.
    """
    passes = response.lane == "settled" and response.status in {Status.RETRYABLE_ERROR, Status.TIMEOUT}
    return not passes and response.error_code not in _PASSING


def once_more(before: Repeat | None, now: Repeat) -> Repeat:
    """What is known of a call that has come to an end now, counted once, after what was known before."""
    if before is None or before.same != now.same:
        return now
    return msgspec.structs.replace(now, count=before.count + (before.step != now.step))


def insisted(before: Repeat, step: str) -> Repeat:
    """The same after a further step in which the call was proposed, and not made. The time of its last real end stays,
    so that nothing is refused for ever by insisting.
    """
    return msgspec.structs.replace(before, count=before.count + (before.step != step), step=step)


def keep(known: dict[str, Repeat], key: str, repeat: Repeat) -> None:
    """Remember it as the latest, and forget the oldest where there are too many."""
    known.pop(key, None)
    known[key] = repeat
    if len(known) > KEPT:
        del known[next(iter(known))]


def _digest(name: str, text: bytes | str | msgspec.Raw) -> str:
    data = text.encode() if isinstance(text, str) else bytes(text)
    return hashlib.sha256(name.encode() + b"\0" + data).hexdigest()[:24]


def _text(arguments: Payload) -> bytes | str:
    if arguments.blob:
        return arguments.blob
    value = arguments.value()
    if not isinstance(value, str):
        return bytes(arguments.text)
    try:
        return canon.canonical(canon.parse(value.encode()))
    except (msgspec.DecodeError, ValueError, TypeError, RecursionError):  # no JSON: then it is what it is
        return value
