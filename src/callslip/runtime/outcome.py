"""From how an attempt ended to the event that settles it (RSLT-01 … RSLT-05).

Never raises on what a tool did: the effect may have happened, and the log must be able to say so.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callslip.core import canon, payload, version
from callslip.core.call import CallState
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.fault import UNKNOWN, Fault
from callslip.core.media import media_type_of
from callslip.core.plain import to_plain
from callslip.core.result import BlobRef, Effect, Status, ToolResult
from callslip.core.retry import Over
from callslip.core.sentence import sentence
from callslip.core.tool import Risk
from callslip.errors import CallslipError, Conflict, ToolFailed
from callslip.gate.refusal import Refusal
from callslip.runtime import payloads
from callslip.runtime.parts import Parts
from callslip.schema.validate import Validator


class Returned(msgspec.Struct, frozen=True, kw_only=True):
    """The tool returned this."""

    value: Any


class Raised(msgspec.Struct, frozen=True, kw_only=True):
    """The tool raised this."""

    error: BaseException


class TimedOut(msgspec.Struct, frozen=True, kw_only=True):
    """The deadline passed first; ``began`` is false when it had only waited for a thread or a process."""

    began: bool = True
    of_turn: bool = False
    """Whether it was the turn that had no time left."""
    effect: Effect | None = None
    """What the tool itself said of its effect as it ended, within the grace time."""


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    """It was told to stop, and did not converge within the grace time; ``began`` and ``effect`` as in
    :class:`TimedOut`.
    """

    began: bool = True
    why: str = ""
    """Who stopped it, as the end of a sentence."""
    effect: Effect | None = None


Attempt = Returned | Raised | TimedOut | Stopped


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """What a failed attempt means; ``runtime/failure`` finds out."""

    fault: Fault = UNKNOWN
    effect: Effect
    again: int | Over | None = None
    """When it is made again, in milliseconds since 1970, or why it is not; ``None``: nothing speaks for it."""
    tried: int = 1


_MOST_INTERNAL = 8000
"""Characters of a traceback that are recorded."""
_FAILURES = {
    TimedOut: (Status.TIMEOUT, "timeout", "The call did not end within its time limit."),
    Stopped: (Status.RETRYABLE_ERROR, "cancelled", "The call was cancelled while it ran."),
}


def refused(call: CallState, refusal: Refusal, parts: Parts) -> FunctionResponse:
    """The response of a call that was never dispatched."""
    return FunctionResponse(
        call_id=call.call.call_id,
        lane="refused",
        status=refusal.status,
        effect=Effect.NONE,
        error_code=refusal.code,
        error_message=parts.redactor.clean(refusal.message),
        field_errors=refusal.field_errors,
        rules=refusal.rules,
        same_as=refusal.same_as,
        retryable=refusal.retryable,
    )


def unstarted(dispatch: ToolDispatch) -> FunctionResponse:
    """The response of a call that was told to stop between its dispatch and its effect."""
    status, code, _ = _FAILURES[Stopped]
    return FunctionResponse(
        call_id=dispatch.call_id,
        lane="settled",
        status=status,
        effect=Effect.NONE,
        error_code=code,
        error_message="The call was cancelled before it began. Nothing was executed.",
        retryable=True,
        attempt=dispatch.attempt,
        nonce=dispatch.nonce,
    )


async def settle(
    parts: Parts,
    dispatch: ToolDispatch,
    attempt: Attempt,
    *,
    failure: Failure | None = None,
    output: Validator | None,
    artifacts: Sequence[tuple[BlobRef, bytes]],
    duration_ms: int,
) -> FunctionResponse | AttemptFailed:
    """T2, or a failed attempt that is made again, or whose effect is unknown, and which the crash table must judge."""
    if isinstance(attempt, Returned):
        response = await success(parts, dispatch, attempt.value, output=output, artifacts=artifacts)
        return msgspec.structs.replace(response, duration_ms=duration_ms)
    assert failure is not None
    if failure.effect is Effect.UNKNOWN or isinstance(failure.again, int):
        status, code, message, _ = _describe(dispatch, attempt, failure)
        return AttemptFailed(
            call_id=dispatch.call_id,
            attempt=dispatch.attempt,
            nonce=dispatch.nonce,
            effect=failure.effect,
            code=code,
            internal=parts.redactor.clean(_internal(attempt, unclear=message)),
            transient=failure.fault.transient,
            retry_at=failure.again if isinstance(failure.again, int) else None,
            last=failure.fault.transient is False or isinstance(failure.again, Over),
            layer="network" if failure.fault.network else "tool",
            status=status,
            message=parts.redactor.clean(_with(message, _tried(failure))),
            duration_ms=duration_ms,
        )
    return _failure(parts, dispatch, attempt, failure, duration_ms)


def _tried(failure: Failure) -> str:
    """How often it was tried, where that is all it will be."""
    if isinstance(failure.again, Over):
        return failure.again.said(failure.tried)
    return f"It was tried {failure.tried} times." if failure.again is None and failure.tried > 1 else ""


def _with(message: str, said: str) -> str:
    """A message, and a sentence after it: which begins where the other has ended, whoever wrote it."""
    return f"{sentence(message)} {said}" if said else message


def given_up(dispatch: ToolDispatch, failed: AttemptFailed, said: str) -> FunctionResponse:
    """The response of a call that is not tried again after this failure; ``said`` is why, as a sentence."""
    return FunctionResponse(
        call_id=dispatch.call_id,
        lane="settled",
        status=failed.status or Status.RETRYABLE_ERROR,
        effect=failed.effect,
        error_code=failed.code if failed.status is not None else "attempts_exhausted",
        error_message=_with(failed.message or "The call was attempted and never ended with an answer.", said),
        retryable=failed.transient is not False,
        attempt=dispatch.attempt,
        nonce=dispatch.nonce,
        internal=failed.internal,
        layer=_beyond(failed.layer == "network"),
    )


def job_failed(parts: Parts, dispatch: ToolDispatch, error: ToolFailed) -> FunctionResponse:
    """The response of a call whose job has failed, whatever it did to the world: that it has ended is certain."""
    attempt = Raised(error=error)
    return _failure(parts, dispatch, attempt, Failure(effect=effect_of(dispatch, attempt)), None)


def _failure(
    parts: Parts, dispatch: ToolDispatch, attempt: Attempt, failure: Failure, duration_ms: int | None
) -> FunctionResponse:
    status, code, message, retryable = _describe(dispatch, attempt, failure)
    if retryable and isinstance(failure.again, Over) and failure.again.hopeless:
        status, retryable = Status.FATAL_ERROR if status is Status.RETRYABLE_ERROR else status, False
    return FunctionResponse(
        call_id=dispatch.call_id,
        lane="settled",
        status=status,
        effect=failure.effect,
        error_code=code,
        error_message=parts.redactor.clean(_with(message, _tried(failure))),
        retryable=retryable,
        attempt=dispatch.attempt,
        nonce=dispatch.nonce,
        duration_ms=duration_ms,
        internal=parts.redactor.clean(_internal(attempt)),
        layer=_beyond(failure.fault.network),
    )


def _beyond(network: bool) -> str:
    """The layer of a failure whose code says that it is the tool's, where it lies beyond it (OBSV-03)."""
    return "network" if network else ""


def effect_of(dispatch: ToolDispatch, attempt: Attempt, fault: Fault = UNKNOWN) -> Effect:
    """What an attempt that failed did to the world: what the tool or its classifier says, none for a tool that only
    reads, else unknown.
    """
    if isinstance(attempt, Raised) and isinstance(attempt.error, ToolFailed):
        return Effect(attempt.error.effect) if attempt.error.effect in set(Effect) else Effect.UNKNOWN
    if isinstance(attempt, TimedOut | Stopped) and not attempt.began:
        return Effect.NONE
    if isinstance(attempt, TimedOut | Stopped) and attempt.effect is not None:
        return attempt.effect
    if dispatch.risk is Risk.READ:
        return Effect.NONE
    return Effect(fault.effect) if fault.effect in set(Effect) else Effect.UNKNOWN


def _describe(dispatch: ToolDispatch, attempt: Attempt, failure: Failure) -> tuple[Status, str, str, bool]:
    """Status, code, message for the model, retryable."""
    fault = failure.fault
    if isinstance(attempt, Raised) and isinstance(attempt.error, Conflict):
        now = attempt.error.now if version.unusable(attempt.error.now) is None else None
        words = version.unclear if failure.effect is Effect.UNKNOWN else version.conflict_at_keeper
        return Status.FATAL_ERROR, "version_conflict", words(dispatch.version, now), False
    if isinstance(attempt, Raised) and isinstance(attempt.error, ToolFailed):
        error = attempt.error
        retryable = bool(error.can_retry or error.transient)
        status = Status.RETRYABLE_ERROR if retryable else Status.FATAL_ERROR
        if error.not_found:
            status = Status.NOT_FOUND
        return status, str(error.tool_code), str(error), retryable
    if isinstance(attempt, Raised) and fault.said:
        status = Status.RETRYABLE_ERROR if fault.transient else Status.FATAL_ERROR
        code = "unavailable" if fault.transient else "tool_exception"
        return status, code, f"The service behind the tool failed: {fault.said}.", bool(fault.transient)
    if isinstance(attempt, Raised) and fault.transient:
        message = f"The tool failed for now ({type(attempt.error).__name__}). The details are in the log."
        return Status.RETRYABLE_ERROR, "unavailable", message, True
    if isinstance(attempt, Raised):
        # CALL-07: an exception's text may hold paths, hosts or secrets; the model gets its kind and nothing else.
        message = f"The tool failed unexpectedly ({type(attempt.error).__name__}). The details are in the log."
        return Status.FATAL_ERROR, "tool_exception", message, False
    if isinstance(attempt, TimedOut) and attempt.of_turn:
        return Status.TIMEOUT, "turn_timeout", "The time of the turn was up before the call ended.", False
    status, code, message = _FAILURES[type(attempt)]
    if isinstance(attempt, TimedOut) and not attempt.began and failure.effect is Effect.NONE:
        message = "The call's time was up before there was room for it to begin. Nothing was executed."
    if isinstance(attempt, Stopped) and attempt.why:
        message = f"{message[:-1]}: {attempt.why}."
    return status, code, message, status is Status.RETRYABLE_ERROR


def with_words(
    parts: Parts, event: FunctionResponse | AttemptFailed, printed: str, notes: tuple[str, ...]
) -> FunctionResponse | AttemptFailed:
    """The same, with what the tool's process wrote to its output, for the log only, and what it changed."""
    internal = "\n".join(filter(None, (event.internal, parts.redactor.clean(canon.scrub(printed)))))
    if isinstance(event, AttemptFailed):
        return msgspec.structs.replace(event, internal=internal)
    return msgspec.structs.replace(event, internal=internal, notes=(*event.notes, *map(parts.redactor.clean, notes)))


def _internal(attempt: Attempt, *, unclear: str = "") -> str:
    """``unclear``: what is said instead of a conflict's own words, where an earlier attempt may have brought it about:
    those say that nothing was executed, and that the call is to be made anew.
    """
    if not isinstance(attempt, Raised):
        return ""
    if unclear and isinstance(attempt.error, Conflict):
        return f"{type(attempt.error).__name__}: {unclear}"
    if isinstance(attempt.error, CallslipError):
        return f"{type(attempt.error).__name__}: {attempt.error}"
    return _cut(attempt.error)


def _cut(error: BaseException) -> str:
    """Its traceback; of a long one the end, and of a long message its beginning, where it says what has failed."""
    whole = "".join(traceback.format_exception(error))
    if len(whole) <= _MOST_INTERNAL:
        return whole
    own = "".join(traceback.format_exception_only(error))
    if not whole.endswith(own):
        return whole[-_MOST_INTERNAL:]
    way, own = whole[: -len(own)], own[: _MOST_INTERNAL // 2]
    cut = way.find("\n", max(len(way) - (_MOST_INTERNAL - len(own)), 0)) + 1
    return f"Traceback (most recent call last):\n{way[cut:]}{own}"


async def success(
    parts: Parts,
    dispatch: ToolDispatch,
    value: Any,
    *,
    output: Validator | None = None,
    artifacts: Sequence[tuple[BlobRef, bytes]] = (),
) -> FunctionResponse:
    """The settled response of a call that did what it should: normalised, checked, redacted, cut, stored."""
    result = _plain_result(value) if isinstance(value, ToolResult) else ToolResult(structured=value)
    plain = to_plain(result.structured)
    notes = list(plain.notes)
    if output is not None:
        notes += _mismatch(output, plain.value)
    found = [
        BlobRef(address=payload.address(data), size=len(data), media_type=media_type_of(data)) for data in plain.blobs
    ]
    made = [*artifacts, *zip(found, plain.blobs, strict=True)]
    # An encrypted store has its own addresses, and a result must name those.
    kept_as = {reference.address: await parts.blobs.put(data) for reference, data in made}
    text = _readdress(parts.redactor.clean_json(canon.canonical(plain.value)), kept_as)
    evidence = [
        msgspec.structs.replace(one, address=kept_as.get(one.address, one.address))
        for one in (*result.evidence, *(reference for reference, _ in made))
    ]
    kept = await payloads.store(parts.blobs, text)
    shown = cut(text, parts.limits.result_bytes, kept)
    if shown is not None:
        evidence.append(BlobRef(address=kept.blob or await parts.blobs.put(text), size=len(text)))
    return FunctionResponse(
        call_id=dispatch.call_id,
        lane="settled",
        status=Status.SUCCESS,
        effect=Effect.NONE if dispatch.risk is Risk.READ else Effect.DONE,
        summary=_readdress(parts.redactor.clean(canon.scrub(result.summary)).encode(), kept_as).decode(),
        structured=kept,
        shown=None if shown is None else await payloads.store(parts.blobs, canon.canonical(shown)),
        evidence=tuple(evidence),
        truncated=result.truncated or shown is not None,
        attempt=dispatch.attempt,
        nonce=dispatch.nonce,
        notes=tuple(notes),
    )


def _readdress(text: bytes, kept_as: Mapping[str, str]) -> bytes:
    for made, kept in kept_as.items():
        if made != kept:
            text = text.replace(made.encode(), kept.encode())
    return text


def _plain_result(result: Any) -> ToolResult:
    """The tool's own result with every field of its type, whatever was put there."""
    references = result.evidence if isinstance(result.evidence, tuple | list) else ()
    return ToolResult(
        summary=result.summary if isinstance(result.summary, str) else str(to_plain(result.summary).value),
        structured=result.structured,
        evidence=tuple(one for one in references if isinstance(one, BlobRef)),
        truncated=bool(result.truncated),
    )


def _mismatch(output: Validator, value: Any) -> list[str]:
    """RSLT-02: a result that departs from its schema is still the result; the departure is noted."""
    errors = output.errors(value)
    return [f"departs from its output schema at {error.path or 'the top'}: {error.message}" for error in errors[:5]]


def cut(text: bytes, limit: int, kept: payload.Payload) -> str | None:
    """Head and tail of a long result, saying how much of how much is shown (RSLT-03)."""
    if len(text) <= limit:
        return None
    whole = canon.parse(text)
    raw = whole.encode() if isinstance(whole, str) else text
    half = max(limit // 2, 1)
    head, tail = raw[:half].decode(errors="ignore"), raw[-half:].decode(errors="ignore")
    missing = len(raw) - len(head.encode()) - len(tail.encode())
    address = kept.blob or payload.address(text)
    note = f"\n[… {missing:,} of {len(raw):,} bytes are not shown; the whole result is kept as {address} …]\n"
    return head + note + tail
