"""Events in a few words, the same in the live view and in the timeline."""

from __future__ import annotations

from callslip.cli.moments import age, day, span
from callslip.core.asking import APPROVAL
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.background_polled import BackgroundPolled
from callslip.core.events.breaker_opened import BreakerOpened
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.events.model_failed import ModelFailed
from callslip.core.events.model_replied import ModelReplied
from callslip.core.events.revert_started import RevertStarted
from callslip.core.events.run_started import RunStarted
from callslip.core.events.stop_requested import StopRequested
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.hedging import Hedged
from callslip.core.instead import CACHE, Fallback
from callslip.core.raised import first_line
from callslip.core.result import Effect, Status
from callslip.core.version import in_words

_ENDED = {
    "first": "the first run",
    "released": "the run before had ended",
    "lock_free": "taken over after a crash: the owner before, and all it had started, was seen to have ended",
    "rebooted": "taken over after a crash: the machine has restarted since",
    "elsewhere": "taken over from another machine: nothing was seen of its owner, so only deadlines count",
    "still_running": "taken over after a crash: the owner before has ended, but something it started still runs",
}

CUT = {
    "cut": "the stream broke in the middle of the reply",
    "length": "the reply grew too long and was cut",
    "filtered": "the provider withheld the rest of the reply",
}
"""Ends of a reply of which nothing is executed, and that is asked for again."""
_MOST = 300


def dispatched(event: ToolDispatch) -> str:
    """What T1 promises."""
    parts = [f"attempt {event.attempt}", f"risk {event.risk}", f"recovery {event.recovery}"]
    if event.client_owned:
        parts.append("asked of the user" if event.asks_user else "run by its client")
    if event.background:
        parts.append("in the background")
    if event.instead is not None:
        parts.append(f"in the place of {event.instead.of} ({event.instead.why})")
    if event.approval:
        kind = "approval" if event.approval.startswith(APPROVAL + "_") else "grant"
        parts.append(f"on {kind} {event.approval}")
    if event.version is not None:
        parts.append(f"changes {in_words(event.version)}")
    return ", ".join(parts)


def cut(event: ModelReplied) -> str:
    """Why a reply is none, and what becomes of it."""
    return f"{CUT[event.finish]}; the model is told so when it is asked again"


def asked(event: ApprovalRequested) -> str:
    """What a person is asked, and until when."""
    parts = [f"by {' and '.join(event.rules)}" if event.rules else event.reason]
    if event.instead is not None:
        parts.append(f"in the place of {event.instead.of} ({event.instead.why})")
    if event.approvers > 1:
        parts.append(f"{event.approvers} people must approve")
    if event.evidence is not None:
        parts.append(f"target {event.evidence.target}")
    if event.version is not None:
        parts.append(f"changes {in_words(event.version)}")
    if event.expires_at is not None:
        parts.append(f"expires {age(event.expires_at)}")
    parts += [f"again: {change}" for change in event.again]
    return ", ".join(parts)


def decided(event: ApprovalDecided) -> str:
    """A person's word: who, for whom, how, why, and what they changed."""
    proof = event.proof
    parts = [f"by {proof.principal}"]
    if proof.on_behalf_of:
        parts.append(f"for {proof.on_behalf_of}")
    if event.via != "cli":
        parts.append(f"over {'HTTP' if event.via == 'http' else 'the API'}")
    if not proof.signature:
        parts.append("unsigned")
    if event.grant:
        parts.append(f"with grant {event.grant}")
    changes = f"; changed {'; '.join(event.changes)}" if event.changes else ""
    return ", ".join(parts) + changes + (f": {event.reason}" if event.reason else "")


def decided_deed(event: ApprovalDecided) -> str:
    """``approved``, ``edited`` or ``denied``; whatever is not literally an approval denies."""
    return "denied" if event.decision != "approved" else "approved" if event.edited is None else "edited"


def settled(event: FunctionResponse, since_dispatch: int | None) -> str:
    """What T2 says: status, code, effect, how long."""
    said = (
        event.status.value if event.error_code in (None, event.status.value) else f"{event.status} ({event.error_code})"
    )
    parts = [said]
    if event.lane == "settled" and event.effect is not Effect.NONE:
        parts.append(f"effect {event.effect}")
    took = event.duration_ms if event.duration_ms is not None else since_dispatch
    if took is not None:
        parts.append(span(took))
    if event.from_user:
        parts.append("in the user's words")
    if event.hedged is not None:
        parts.append(hedged(event.hedged))
    if event.activated:
        parts.append(f"found {', '.join(tool.name for tool in event.activated)}")
    if event.truncated:
        parts.append("cut for the model")
    return ", ".join([*parts, *event.notes])


def hedged(said: Hedged) -> str:
    """That an attempt was executed twice, and what came of that."""
    failed = f" ({said.failed})" if said.failed else ""
    if said.answered == "neither":
        return f"asked twice, and the other one failed, too{failed}"
    other = f"; the other one had failed{failed}" if failed else ""
    return f"asked twice, the {said.answered} answered{other}"


def late(event: LateOutcome) -> str:
    """What came to its end when nobody awaited it any more."""
    what = "the other execution of " if event.beaten else ""
    return f"{what}attempt {event.attempt} came to its end after all"


def fallback(said: Fallback) -> str:
    """What has answered in the place of the tool that was called."""
    if said.source == CACHE:
        return f"an earlier answer, {span(said.age_ms or 0)} old, because {said.of} fails ({said.why})"
    return f"by {said.source} in the place of {said.of} ({said.why})"


def settled_deed(event: FunctionResponse) -> str:
    """``answered`` is a call that was never dispatched and has an earlier answer all the same."""
    if event.lane == "settled":
        return "settled"
    return "answered" if event.status is Status.SUCCESS else "refused"


def asked_by(event: StopRequested) -> str:
    """Who wants the session to stop, and why."""
    why = f": {event.reason}" if event.reason else ""
    what = "; what was not read is taken back" if event.unread else ""
    return f"asked by {event.actor}{why}{what}"


def reverted(event: RevertStarted) -> str:
    """Which turn is undone, for whom and why."""
    why = f": {event.reason}" if event.reason else ""
    return f"turn {event.turn}, asked by {event.actor}{why}"


def left_alone(event: BreakerOpened) -> str:
    """That a breaker has opened, and until when."""
    at = f" at {event.target}" if event.target else ""
    return f"{event.reason}{at}; nobody calls it until {day(event.until)}"


def job_polled(event: BackgroundPolled) -> str:
    """What was heard of a job that goes on."""
    told = "the session was stopped; " if event.asked_to_end else ""
    said = f": {event.note}" if event.note else ""
    return f"{told}it goes on{said}; asked after again {day(event.poll_at)}"


def settled_mark(event: FunctionResponse) -> str:
    return "ok" if event.status is Status.SUCCESS else "bad"


def attempt_failed(event: AttemptFailed, at: int) -> str:
    """How an attempt failed at that time, and when the next one is."""
    said = f" ({own_line(event.internal)})" if event.internal else ""
    again = f"; tried again in {span(event.retry_at - at)}" if event.retry_at is not None else ""
    instead = f"; {event.instead.tool} is to answer in its place" if event.instead is not None else ""
    twice = f"; {hedged(event.hedged)}" if event.hedged is not None else ""
    failed = f"{event.code}, effect {event.effect}{said}{twice}"
    return f"attempt {event.attempt} ended without an answer: {failed}{instead}{again}"


def model_failed(event: ModelFailed, at: int) -> str:
    """That the model could not answer, and when it is asked again."""
    return f"asked again in {span(event.retry_at - at)} (request {event.attempt} failed): {event.message}"


def run_began(event: RunStarted) -> str:
    """How a run began, and how the one before was seen to have ended."""
    return _ENDED.get(event.parent_ended, event.parent_ended)


def own_line(internal: str) -> str:
    """The error's type and the first line of its message, such as ``TimeoutError: no answer``."""
    first = first_line(internal)
    return first if len(first) <= _MOST else f"{first[: _MOST - 1]}…"


def own_words(event: FunctionResponse) -> str:
    """What a call that failed said itself, where that is more than what the model is told."""
    told = first_line(event.internal).partition(": ")[2]
    return "" if told and (event.error_message or "").startswith(told) else own_line(event.internal)
