"""Long sessions for measuring, written through the real ledger: claimed, run, asked, called, settled, ended.

A turn is a user's question, ten steps of two calls each, and an answer: 85 records, in three commits. The texts are
made up and differ from each other. The last run of a made session broke off in the middle: two calls were dispatched
and one has no outcome, so whoever goes on has to settle it first.
"""

import random
import secrets
from collections.abc import Iterable
from pathlib import Path

from callslip import Runtime, tool
from callslip.core import canon, ids
from callslip.core.event import Event
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.model_replied import ModelReplied, Usage
from callslip.core.events.model_requested import ModelRequested
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.payload import inline
from callslip.core.result import Effect, Status
from callslip.ports.trust import Identity
from callslip.runtime.drive import Drive
from callslip.sessions.acquire import acquire
from callslip.sessions.checkpoint import EVERY, save_state

SESSION = "long"
STEPS = 10
WIDTH = 2
PER_TURN = 1 + 1 + STEPS * (2 + 3 * WIDTH) + 2 + 1
"""run_started, the question, the steps, the answer, run_ended."""
MODEL = "made:up"
WORDS = ("order", "invoice", "customer", "harbour", "window", "copper", "letter", "bridge", "parcel", "stamp")


@tool(risk="read")
def look_up(number: int, note: str) -> dict[str, object]:
    """Looks up one order."""
    return {"number": number, "note": note}


class _Texts:
    """Made-up words, the same for the same seed."""

    def __init__(self) -> None:
        self._random = random.Random(7)

    def some(self, count: int) -> str:
        return " ".join(self._random.choices(WORDS, k=count))

    def number(self) -> int:
        return self._random.randrange(10**6)


async def make_session(state: Path, *, events: int, tail: int, checkpoint: bool = True) -> int:
    """Write a session of about so many records; the last checkpoint, if any, leaves about ``tail`` to be folded.

    Returns:
        How many records it has.
    """
    texts = _Texts()
    turns = max(1, events // PER_TURN)
    covered = turns - tail // PER_TURN
    saved = 0
    async with Runtime(tools=[look_up], state=state) as runtime:
        for turn in range(1, turns + 1):
            drive = await _begin(runtime, texts)
            await drive.append(*_turn(drive, turn, texts), RunEnded(status="finished"))
            due = drive.state.seq - saved >= EVERY or turn == covered
            if checkpoint and due and turn <= covered:
                await save_state(runtime.parts, drive.state)
                saved = drive.state.seq
        drive = await _begin(runtime, texts)
        broken_off = list(_step(drive, turns + 1, 1, texts, asked=True))[:-1]
        await drive.append(*broken_off)
        return drive.state.seq


async def _begin(runtime: Runtime, texts: _Texts) -> Drive:
    drive = await acquire(runtime.parts, SESSION, active=set(), requester=Identity(name="bench", uid=None))
    await runtime.send(SESSION, texts.some(20))
    await drive.refresh()
    return drive


def _turn(drive: Drive, turn: int, texts: _Texts) -> Iterable[Event]:
    for number in range(1, STEPS + 1):
        yield from _step(drive, turn, number, texts, asked=number == 1)
    last = f"{turn}.{STEPS + 1}"
    yield ModelRequested(step=last, turn=turn, model=MODEL)
    yield ModelReplied(step=last, text=texts.some(60), finish="stop", calls=0, usage=Usage(input_tokens=900))


def _step(drive: Drive, turn: int, number: int, texts: _Texts, *, asked: bool) -> Iterable[Event]:
    """Request and reply, then the calls, then each one's T1 and T2."""
    step = f"{turn}.{number}"
    visible = drive.parts.catalogue.visible()
    yield ModelRequested(
        step=step,
        turn=turn,
        model=MODEL,
        visible=visible if drive.state.step is None and number == 1 else None,
        consumed=tuple(message.seq for message in drive.state.queued) if asked else (),
    )
    yield ModelReplied(step=step, text=texts.some(8), finish="calls", calls=WIDTH, usage=Usage(input_tokens=900))
    calls = [_call(drive, step, position, texts) for position in range(WIDTH)]
    yield from calls
    dispatches = [_dispatch(drive, call) for call in calls]
    yield from dispatches
    yield from [_response(one, texts) for one in dispatches]


def _call(drive: Drive, step: str, position: int, texts: _Texts) -> FunctionCall:
    arguments = canon.canonical({"note": texts.some(6), "number": texts.number()})
    return FunctionCall(
        call_id=ids.call_id(drive.session, step, position),
        step=step,
        position=position,
        tool=look_up.spec.name,
        arguments=inline(canon.canonical(arguments.decode())),
        provider_call_id=f"call_{secrets.token_hex(12)}",
    )


def _dispatch(drive: Drive, call: FunctionCall) -> ToolDispatch:
    spec = look_up.spec
    arguments = str(call.arguments.value()).encode()
    digest = canon.digest(arguments)
    return ToolDispatch(
        call_id=call.call_id,
        attempt=1,
        nonce=secrets.token_hex(8),
        tool=spec.name,
        tool_version=look_up.version,
        arguments=inline(arguments),
        arguments_digest=digest,
        idempotency_key=ids.idempotency_key(drive.parts.key, drive.session, call.call_id, digest),
        risk=spec.risk,
        recovery=spec.recovery,
        rules=(f"risk.{spec.risk}",),
        deadline=drive.parts.clock.now() + spec.timeout_ms,
        quiet_ms=spec.quiet_ms,
    )


def _response(dispatch: ToolDispatch, texts: _Texts) -> FunctionResponse:
    return FunctionResponse(
        call_id=dispatch.call_id,
        lane="settled",
        status=Status.SUCCESS,
        effect=Effect.NONE,
        structured=inline(canon.canonical({"number": texts.number(), "rows": [texts.some(10) for _ in range(3)]})),
        attempt=dispatch.attempt,
        nonce=dispatch.nonce,
        duration_ms=3,
    )
