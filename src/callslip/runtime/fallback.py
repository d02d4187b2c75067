"""What answers in the place of a tool that fails: another tool, or its own last good answer (RESI-05).

Only where the tool itself certainly had no effect. Another tool is dispatched as the same call, through its own gate,
approval, breaker and claims, with a T1 of its own that says for what it stands in; so the crash table judges it as what
it is. Nothing stands in for what stands in.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any

import msgspec

from callslip.core import canon
from callslip.core.breaker import Heard
from callslip.core.call import CallState
from callslip.core.erasure import TEXT
from callslip.core.event import Stored
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.instead import CACHE, OPEN, Fallback, Instead
from callslip.core.payload import Payload
from callslip.core.result import Effect, Status
from callslip.core.tool import ToolSpec
from callslip.errors import Erased, LogBroken, NotFound
from callslip.gate.pipeline import Passed
from callslip.gate.refusal import Refusal
from callslip.ports.breakers import Barred
from callslip.ports.last_good import Place
from callslip.runtime import breaking, outcome, payloads
from callslip.runtime.drive import Drive
from callslip.runtime.judge import Asks, Cleared, judge_call
from callslip.runtime.parts import Parts

_TROUBLE = frozenset({Heard.FAILURE, Heard.TIMEOUT})


Verdict = Cleared | Asks | Refusal | FunctionResponse
"""A response: it is answered without being dispatched."""


async def judge(drive: Drive, call: CallState) -> Verdict:
    """Today's gate on the call, and what becomes of it if its tool is left alone now."""
    judged = await judge_call(drive, call)
    if isinstance(judged, Refusal):
        return judged
    passed = judged.passed
    found = breaking.barred(drive.parts, passed.entry.executor.spec, passed.arguments.value)
    return judged if found is None else await _for_barred(drive, call, passed, found)


async def _for_barred(drive: Drive, call: CallState, passed: Passed, found: Barred) -> Verdict:
    spec = passed.entry.executor.spec
    also = ""
    if call.instead is None and spec.fallback is not None:
        instead = Instead(tool=spec.fallback, of=spec.name, why=OPEN)
        judged = await _judged(drive, call, instead)
        if not isinstance(judged, Refusal):
            return judged
        also = f"Its fallback {spec.fallback} can't answer either: {judged.message}"
    original, why = _original(drive, call, spec, OPEN)
    kept = await _last_good(drive, original, passed.arguments.text, why)
    if kept is not None:
        return msgspec.structs.replace(kept, call_id=call.call.call_id)
    return breaking.refusal(drive.parts, passed, found, also)


async def after(
    drive: Drive, call: CallState, dispatch: ToolDispatch, spec: ToolSpec, heard: Heard, response: FunctionResponse
) -> FunctionResponse | AttemptFailed:
    """What becomes of a call whose last attempt has just failed: as it failed, or that another tool is to answer, or an
    earlier answer.
    """
    if response.status is Status.SUCCESS or response.effect is not Effect.NONE or heard not in _TROUBLE:
        return told(response, dispatch)
    why = response.error_code or "tool_failed"
    if dispatch.instead is None and spec.fallback is not None:
        instead = Instead(tool=spec.fallback, of=spec.name, why=why)
        judged = await _judged(drive, call, instead)
        if not isinstance(judged, Refusal):
            return _given_over(dispatch, response, instead)
        note = f"its fallback {spec.fallback} can't answer: {judged.code}"
        response = msgspec.structs.replace(response, notes=(*response.notes, note))
    original, why = _original(drive, call, spec, why)
    text = await payloads.text(drive.parts.blobs, dispatch.arguments)
    kept = await _last_good(drive, original, text, why)
    if kept is None:
        return told(response, dispatch)
    return msgspec.structs.replace(
        kept,
        call_id=dispatch.call_id,
        lane="settled",
        attempt=dispatch.attempt,
        nonce=dispatch.nonce,
        internal=response.internal,
    )


def told(response: FunctionResponse, dispatch: ToolDispatch) -> FunctionResponse:
    """The response of a tool that stands in says so."""
    if dispatch.instead is None:
        return response
    fallback = Fallback(source=dispatch.tool, of=dispatch.instead.of, why=dispatch.instead.why)
    return msgspec.structs.replace(response, fallback=fallback)


def refused(call: CallState, refusal: Refusal, parts: Parts) -> FunctionResponse:
    """The response of a call that the gate refuses: as it failed before, if it is what stands in that is refused."""
    failed = call.failed
    if failed is None or failed.instead is None or call.dispatch is None:
        return outcome.refused(call, refusal, parts)
    said = f"Its fallback {failed.instead.tool} was refused ({refusal.code})."
    return outcome.given_up(call.dispatch, failed, said)


async def keep(drive: Drive, dispatch: ToolDispatch, spec: ToolSpec, stored: Stored) -> None:
    """Remember where this answer stands, for when the tool fails."""
    store, event = drive.parts.last_good, stored.record.event
    if store is None or not isinstance(event, FunctionResponse) or not _is_good(event):
        return
    text = await payloads.text(drive.parts.blobs, dispatch.arguments)
    store.keep(_key(drive, spec, text), Place(drive.session, stored.seq))


async def _judged(drive: Drive, call: CallState, instead: Instead) -> Cleared | Asks | Refusal:
    """The gate on the tool that is to stand in. Its breaker is looked at here, too, since nothing follows it."""
    judged = await judge_call(drive, call, instead=instead)
    if isinstance(judged, Refusal):
        return judged
    passed = judged.passed
    found = breaking.barred(drive.parts, passed.entry.executor.spec, passed.arguments.value)
    return judged if found is None else breaking.refusal(drive.parts, passed, found)


def _given_over(dispatch: ToolDispatch, response: FunctionResponse, instead: Instead) -> AttemptFailed:
    return AttemptFailed(
        call_id=dispatch.call_id,
        attempt=dispatch.attempt,
        nonce=dispatch.nonce,
        effect=Effect.NONE,
        code=response.error_code or "tool_failed",
        internal=response.internal,
        transient=response.retryable,
        last=True,
        status=response.status,
        message=response.error_message or "",
        layer=response.layer,
        duration_ms=response.duration_ms,
        instead=instead,
    )


def _original(drive: Drive, call: CallState, spec: ToolSpec, why: str) -> tuple[ToolSpec, str]:
    """The tool that was called and why it did not answer: an earlier answer is only ever its own."""
    instead = call.instead
    if instead is None:
        return spec, why
    entry = drive.parts.catalogue.get(instead.of)
    return (spec if entry is None else entry.executor.spec), instead.why


# The last good answer


async def _last_good(drive: Drive, spec: ToolSpec, arguments: bytes, why: str) -> FunctionResponse | None:
    """An earlier answer to the same arguments, for the same requester, if it is young enough and still there."""
    parts = drive.parts
    if parts.last_good is None or spec.cached_fallback_ms is None:
        return None
    place = parts.last_good.find(_key(drive, spec, arguments))
    if place is None:
        return None
    try:
        log = await parts.ledger.read(place.session, after=place.seq - 1, limit=1)
    except (NotFound, LogBroken):
        return None
    event = log[0].record.event if log else None
    if not isinstance(event, FunctionResponse) or not _is_good(event):
        return None
    age = max(parts.clock.now() - log[0].record.at, 0)
    if age > spec.cached_fallback_ms or TEXT in event.summary:
        return None
    text = await _text(parts.of(place.session), event.structured)
    return None if text is None else await _answer(parts, spec, event, text, age, why)


def _is_good(event: FunctionResponse) -> bool:
    """Whether the tool itself has answered, and well."""
    return event.status is Status.SUCCESS and event.fallback is None


async def _text(parts: Parts, payload: Payload | None) -> bytes | None:
    """The payload's text; ``None`` when it is gone."""
    if payload is None:
        return b"null"
    if not payload.blob:
        return bytes(payload.text)
    try:
        return await parts.blobs.get(payload.blob)
    except (Erased, NotFound, LogBroken):
        return None


async def _answer(
    parts: Parts, spec: ToolSpec, event: FunctionResponse, text: bytes, age: int, why: str
) -> FunctionResponse:
    """The answer as one of this session: its payload is kept here anew, its evidence stays where it is."""
    kept = await payloads.store(parts.blobs, text)
    shown = outcome.cut(text, parts.limits.result_bytes, kept)
    return FunctionResponse(
        call_id="",
        lane="refused",
        status=Status.SUCCESS,
        effect=Effect.NONE,
        summary=event.summary,
        structured=kept,
        shown=None if shown is None else await payloads.store(parts.blobs, canon.canonical(shown)),
        truncated=event.truncated or shown is not None,
        fallback=Fallback(source=CACHE, of=spec.name, why=why, age_ms=age),
    )


def _key(drive: Drive, spec: ToolSpec, arguments: bytes) -> str:
    """A keyed digest: who reads the file learns no arguments. What one requester was answered is no answer to another.

    Of the arguments as the tool itself is given them: those of what stands in may have been read in another way.
    """
    about: Mapping[str, Any] = {
        "arguments": canon.digest(arguments), "requester": drive.state.requester, "tool": spec.name,
        "version": spec.version,
    }  # fmt: skip
    return hmac.new(drive.parts.key, b"last good\0" + canon.canonical(about), "sha256").hexdigest()
