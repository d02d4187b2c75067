"""Sessions that wait, for measuring: written through the ledger directly, in records that fold as those of real runs.

Each began, was asked something, and its model called one tool. Of every two, one waits for a client's result and one
for a person's approval, which expires. Given a moment, a session waits for that moment besides, and its client's
answer stays away: whoever drives it then finds it waiting all the same.
"""

import asyncio
import secrets
from collections.abc import Iterator

from callslip import Tool, tool
from callslip.core import canon, ids
from callslip.core.approval import bind
from callslip.core.event import Event, draft
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.model_replied import ModelReplied
from callslip.core.events.model_requested import ModelRequested, VisibleTool
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.run_started import RunStarted
from callslip.core.events.session_started import SessionStarted
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.events.user_message import UserMessage
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.payload import inline
from callslip.core.wait import WaitKind
from callslip.ports.ledger import Ledger, Owner

ME = Owner(id="own_bench", host="bench", boot="bench", process=1)
STEP = "1.1"
TOGETHER = 500
"""Sessions whose records share a commit."""
MONTH_MS = 30 * 86_400_000


@tool(risk="write", recovery="never", client_owned=True)
async def ask_client(question: str) -> str:
    """Asks the client."""
    raise AssertionError("a client's tool never runs here")


@tool(risk="dangerous", recovery="never")
async def pay(question: str) -> str:
    """Pays, once a person has said yes."""
    raise AssertionError("nobody says yes here")


TOOLS = [ask_client, pay]


async def make_waiting(ledger: Ledger, names: list[str], *, at: int, wake_at: int | None = None) -> None:
    """Let sessions of these names wait, since ``at``; with ``wake_at``, each for its client and for that moment."""
    for first in range(0, len(names), TOGETHER):
        batch = names[first : first + TOGETHER]
        await asyncio.gather(*[ledger.claim(name, ME, expected_epoch=0, at=at) for name in batch])
        logs = [
            _approval(name, at) if wake_at is None and number % 2 else _client(name, at, wake_at)
            for number, name in enumerate(batch)
        ]
        await asyncio.gather(
            *[
                ledger.append(name, [draft(event, at=at, by=ME.id, epoch=1, run="run_1") for event in log], epoch=1)
                for name, log in zip(batch, logs, strict=True)
            ]
        )


def _client(session: str, at: int, wake_at: int | None) -> Iterator[Event]:
    call = _call(session, ask_client)
    digest = canon.digest(bytes(call.arguments.text))
    yield from _until_called(call, ask_client)
    yield ToolDispatch(
        call_id=call.call_id,
        attempt=1,
        nonce=secrets.token_hex(8),
        tool=call.tool,
        tool_version=ask_client.version,
        arguments=call.arguments,
        arguments_digest=digest,
        idempotency_key=ids.idempotency_key(b"bench", session, call.call_id, digest),
        risk=ask_client.spec.risk,
        recovery=ask_client.spec.recovery,
        rules=("risk.write",),
        deadline=at + ask_client.spec.timeout_ms,
        quiet_ms=ask_client.spec.quiet_ms,
        client_owned=True,
    )
    reason = "its client runs it"
    yield WaitOpened(wait_id=ids.wait_id("wait", session), kind=WaitKind.CLIENT, reason=reason, call_id=call.call_id)
    if wake_at is not None:
        wait = ids.wait_id("wait", session)
        yield WaitOpened(wait_id=wait, kind=WaitKind.TIME, reason="for its moment", wake_at=wake_at)
    yield RunEnded(status="waiting", reason="client")


def _approval(session: str, at: int) -> Iterator[Event]:
    call = _call(session, pay)
    digest = canon.digest(bytes(call.arguments.text))
    asked = ApprovalRequested(
        call_id=call.call_id,
        approval_id=ids.wait_id("appr", session),
        binding="",
        tool=call.tool,
        tool_version=pay.version,
        executor="bench",
        arguments=call.arguments,
        arguments_digest=digest,
        requester="bench",
        rules=("risk.dangerous",),
        reason="dangerous calls are asked about",
        schema=inline(b'{"type":"object"}'),
        expires_at=at + MONTH_MS,
    )
    asked = bind(asked, session)
    yield from _until_called(call, pay)
    yield asked
    yield WaitOpened(
        wait_id=asked.approval_id,
        kind=WaitKind.APPROVAL,
        reason=asked.reason,
        call_id=call.call_id,
        wake_at=asked.expires_at,
    )
    yield RunEnded(status="waiting", reason="approval")


def _call(session: str, one: Tool) -> FunctionCall:
    return FunctionCall(
        call_id=ids.call_id(session, STEP, 0),
        step=STEP,
        position=0,
        tool=one.spec.name,
        arguments=inline(canon.canonical({"question": f"What about {session}?"})),
        provider_call_id=f"call_{secrets.token_hex(12)}",
    )


def _until_called(call: FunctionCall, one: Tool) -> Iterator[Event]:
    yield SessionStarted(requester="bench")
    yield RunStarted(owner=ME.id, host=ME.host, boot=ME.boot, process=ME.process)
    yield UserMessage(text="Do what is to be done.", author="bench")
    visible = (VisibleTool(name=one.spec.name, version=one.version),)
    yield ModelRequested(step=STEP, turn=1, model="made:up", visible=visible, consumed=(3,))
    yield ModelReplied(step=STEP, text="I ask.", finish="calls", calls=1)
    yield call
