"""What the fold makes of a session that is moved, put back, or partly erased. Pure; ``core/fold`` calls it.

A seal promises that nothing comes after it. A log that came without one, or out of a backup, may be older than the
truth: whatever it does not hold may have happened all the same. So for each call that is open in it:

====================================  =============================================================================
in the copy                           what it proves now (``core/crash`` then judges as ever)
====================================  =============================================================================
no T1                                 nothing: parked as ``no_marker``, and a person must say
no T1, a person was asked or agreed   nothing: the question is withdrawn, the approval void, then as above
T1(n), attempt_failed(n) effect none  that n did nothing; there may be an n+1: judged as T1 alone
verdict did_not_happen, no T1 since   what was so then: the verdict is void, the call is judged, or parked, anew
T1 alone, or effect unknown           that it was dispatched. Its process is elsewhere and unknown, and so may be one
                                      of a later attempt: no process seen to have ended counts, only time does: as if
                                      an attempt had begun in the very moment of the import, its deadline and quiet
                                      period must pass
T1, client-owned                      that its client has it: still waiting for the client
parked; verdict happened, or give_up  the same as ever
response                              the same as ever: reused, never executed
====================================  =============================================================================

With its seal a log is whole, and all of this counts as it stands; only the processes of its attempts are elsewhere.
"""

from __future__ import annotations

import copy

import msgspec

from callslip.core import erasure
from callslip.core.broken import broken
from callslip.core.call import CallState
from callslip.core.erasure import NOTHING, Gone, named, without
from callslip.core.event import Record
from callslip.core.events.blob_erased import BlobErased
from callslip.core.events.session_imported import SessionImported
from callslip.core.events.session_sealed import SessionSealed
from callslip.core.payload import SEALED
from callslip.core.result import Effect
from callslip.core.state import Item, SessionState, StepItem

ELSEWHERE = "elsewhere"
"""How an attempt ended whose process was on another host: by its deadline."""
COPY = "copy"
"""The same in a log that may not know its latest attempts: the deadline counts from the import."""
VOID = ""
"""Stands for segments that hold what was erased since: no address, so they are made anew from the log."""


def session_sealed(state: SessionState, event: SessionSealed, record: Record, seq: int) -> None:
    if state.run_open:
        raise broken(seq, "the session was sealed while a run of it was open")
    if (event.prefix_seq, event.prefix_digest) != (state.seq, state.digest.hex()):
        raise broken(seq, f"it seals the log at record {event.prefix_seq}, not at {state.seq}")
    state.sealed = event


def session_imported(state: SessionState, event: SessionImported, record: Record, seq: int) -> None:
    if event.proven and state.sealed is None:
        raise broken(seq, "it claims that the log is whole, and no seal says so")
    for call in state.open_calls():
        if call.call.arguments == NOTHING or (call.dispatch is not None and call.dispatch.arguments == NOTHING):
            raise broken(seq, f"what {call.call.call_id} needs was erased after the session had left")
    state.sealed, state.imported, state.copy_accepted = None, event, None
    state.run_open = state.marker = False
    if event.how == "imported":  # another installation has other keys, and a trust file of its own
        state.trust_seq, state.trust_digest = event.trust_seq, event.trust_digest
    for call in state.open_calls():
        if not event.proven:
            _void(call)
        if call.dispatch is not None and (call.ended_seen_at is None or not event.proven):
            call.ended_seen_at, call.ended_how = record.at, ELSEWHERE if event.proven else COPY


def _void(call: CallState) -> None:
    """Nothing the copy lacks is ruled out by its absence."""
    call.marker = False
    call.asked, call.decided, call.lapsed = None, (), False
    if call.failed is not None and call.failed.effect is Effect.NONE:
        call.failed = None
    if call.resolved is not None and call.resolved.verdict == "did_not_happen":
        call.resolved = call.resolved_seq = call.parked = None


def blob_erased(state: SessionState, event: BlobErased, record: Record, seq: int) -> None:
    addresses = frozenset(event.addresses)

    def gone(address: str) -> bool:
        return address in addresses or (event.whole and address.startswith(SEALED))

    for call in state.open_calls() if state.sealed is None else ():  # what has left goes on without it
        if event.whole or any(map(gone, _names(call))):
            raise broken(seq, f"{call.call.call_id} is open and needs what was erased")
    state.erased = {**state.erased, **dict.fromkeys(event.addresses, seq)}
    if event.whole:
        state.erased_whole = seq
    state.items = [_shown(item, gone) for item in state.items]
    state.calls = {call_id: _without(call, gone, event) for call_id, call in state.calls.items()}
    state.segments = (VOID,) if state.segments else ()


def _names(call: CallState) -> set[str]:
    parts = (call.call, call.asked, call.decided, call.dispatch, call.job, call.resolved, call.response)
    return {address for part in parts for address in named(part)}


def _without(call: CallState, gone: Gone, event: BlobErased) -> CallState:
    changed = copy.copy(call)
    for name in ("call", "asked", "decided", "dispatch", "job", "resolved"):
        setattr(changed, name, without(getattr(call, name), gone))
    if call.response is not None and erasure.hit(call.response, gone):
        changed.response, changed.erased_by = erasure.answer(call.response, gone), event
    return changed


def _shown(item: Item, gone: Gone) -> Item:
    if not isinstance(item, StepItem):
        return without(item, gone)
    responses = tuple(erasure.answer(one, gone) for one in item.responses)
    return msgspec.structs.replace(without(item, gone), responses=responses)
