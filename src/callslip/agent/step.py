"""One step: ask the model, and take its whole reply into the log in one commit (CALL-05)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from callslip import failpoint
from callslip.agent.showing import show
from callslip.agent.unless_stopped import unless_stopped
from callslip.core import canon, ids
from callslip.core.event import Event
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.model_replied import ModelReplied
from callslip.core.events.model_requested import ModelRequested
from callslip.core.fold import CALLER
from callslip.core.message import UserText
from callslip.core.payload import Payload
from callslip.core.state import QueuedMessage
from callslip.ports.model import Delta, Model, Proposal, Reply, Request
from callslip.runtime import payloads
from callslip.runtime.drive import Drive
from callslip.runtime.live import Asking, ModelText
from callslip.sessions.project import project


async def take_step(
    drive: Drive,
    model: Model,
    *,
    system: str,
    consume: Sequence[QueuedMessage],
    turn: int,
    stream: bool,
) -> Reply:
    """Ask once and record request, reply and proposals together: a crash before that leaves no trace at all.

    Raises:
        ModelUnavailable: no reply. Interrupted: a stop came first.
    """
    shows = await show(drive, consume, turn)
    visible = shows.visible
    messages = await project(drive.parts, drive.state)
    shown = tuple(UserText(text=message.text) for message in consume)
    request = Request(
        system="\n\n".join(filter(None, (system, drive.parts.inventory))),
        messages=(*messages, *shown),
        tools=drive.parts.catalogue.views(visible),
        stream=stream,
        searching=shows.searching,
    )
    model = chosen(model, request)
    step = next_step(drive, turn)
    began = drive.parts.clock.monotonic()
    reply = await _ask(drive, model, request, step=step, new_turn=turn != drive.state.turn)
    took = round((drive.parts.clock.monotonic() - began) * 1000)
    same = drive.state.step is not None and drive.state.step.visible == visible
    requested = ModelRequested(
        step=step,
        turn=turn,
        model=model.name,
        visible=None if same else visible,
        consumed=tuple(message.seq for message in consume),
        preselected=shows.preselected,
    )
    await record(drive, requested, reply, took)
    return reply


def next_step(drive: Drive, turn: int) -> str:
    """What the step is called that is taken next in this turn."""
    return f"{turn}.{drive.state.steps_in_turn + 1 if turn == drive.state.turn else 1}"


def chosen(model: Model, request: Request) -> Model:
    """The one that takes this step."""
    choose: Callable[[Request], Model] | None = getattr(model, "choose", None)
    return model if choose is None else choose(request)


async def record(drive: Drive, requested: ModelRequested, reply: Reply, took: int | None = None) -> None:
    """Commit a step: the request, the reply and every proposal in it. ``took``: milliseconds until the reply came."""
    replied = ModelReplied(
        step=requested.step,
        text=canon.scrub(reply.text),
        finish=reply.finish,
        calls=len(reply.proposals),
        usage=reply.usage,
        reply_model=canon.scrub(reply.model),
        duration_ms=took,
        kept=await _kept(drive, reply),
    )
    calls = [
        await _function_call(drive, requested, position, proposal) for position, proposal in enumerate(reply.proposals)
    ]
    events: list[Event] = [requested, replied, *calls]
    failpoint.hit("reply.before")
    await drive.append(*events)


async def _kept(drive: Drive, reply: Reply) -> Payload | None:
    """As a string of JSON text: canonical text would order the keys anew, and this is to stay to the letter."""
    if not reply.kept:
        return None
    text = json.dumps(reply.kept, ensure_ascii=False, separators=(",", ":"))
    return await payloads.store(drive.parts.blobs, canon.canonical(canon.scrub(text)))


async def _function_call(drive: Drive, requested: ModelRequested, position: int, proposal: Proposal) -> FunctionCall:
    caller = requested.model == CALLER
    return FunctionCall(
        call_id=ids.call_id(drive.session, requested.step, position, caller=caller),
        step=requested.step,
        position=position,
        tool=canon.scrub(str(proposal.tool)),
        arguments=await payloads.store(drive.parts.blobs, raw_arguments(proposal.arguments)),
        provider_call_id=canon.scrub(str(proposal.provider_id or "")),
    )


def raw_arguments(arguments: object) -> bytes:
    """The proposal's arguments as JSON text: a string for raw text, an object where the provider sent one."""
    if isinstance(arguments, str):
        return canon.canonical(canon.scrub(arguments))
    try:
        return canon.canonical(arguments)
    except (ValueError, TypeError):  # NaN, a surrogate, a huge number: keep it as text, and let the gate refuse it
        return canon.canonical(canon.scrub(_bounded(arguments)))


def _bounded(arguments: object) -> str:
    try:
        return str(arguments)
    except RecursionError:
        return "(nested too deeply to be shown)"


async def _ask(drive: Drive, model: Model, request: Request, *, step: str, new_turn: bool) -> Reply:
    watch, session = drive.parts.watch, drive.session

    def on_delta(delta: Delta) -> None:
        if delta.text:
            watch(ModelText(session=session, text=delta.text))

    async def ask() -> Reply:
        watch(Asking(session=session, step=step, model=model.name))
        return await model.reply(request, on_delta)

    return await unless_stopped(drive, ask(), new_turn=new_turn)
