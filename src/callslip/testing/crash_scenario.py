"""What a crash run runs: a session that a user's own function sets up, driven until nothing is left to do.

The function stands in any Python file and is given a :class:`Place`. It is called anew in every process, the first and
those that recover, and must give the same tools and the same scripted model each time.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast

import anyio
import msgspec

from callslip.application import Run, Runtime
from callslip.core.result import Effect
from callslip.core.wait import Wait, WaitKind
from callslip.testing.effects import Effects

ANSWERED_BY_CLIENT: dict[str, Any] = {"answered": "by the client"}


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a scenario lives."""

    state: Path
    """The state folder to give to :class:`Runtime`."""
    workspace: Path
    """A folder of its own, for tools that work on files; the same for every process of one run."""
    effects: Effects
    """Every tool reports its effect here, at the moment it takes place."""
    variant: str
    """Which of the target's variants is meant."""


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """A session to be killed."""

    runtime: Runtime
    text: str
    """What the user says."""
    session: str = "crash"
    client: Callable[[Wait], Any] = lambda _: ANSWERED_BY_CLIENT
    """What the client submits for a call it owns."""
    user: Callable[[Wait], str] = lambda _: "As you like."
    """What the user answers to a question."""
    revert: bool = False
    """Whether its turn is undone once it is over."""


Build = Callable[[Place], Scenario]


def load(file: Path, function: str) -> Build:
    """The function of that name in that file.

    Raises:
        AttributeError: the file has no such function.
    """
    spec = importlib.util.spec_from_file_location(f"crash_target_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast("Build", getattr(module, function))


async def drive_to_rest(scenario: Scenario, effects: Effects) -> None:
    """Begin the session or go on with it, and answer what it waits for, until its turn is over.

    The approver approves. The operator's verdicts are true: they say what the effect counter says.
    """
    runtime, session = scenario.runtime, scenario.session
    run = await _begin(scenario)
    while run.status == "waiting":
        await _answer(scenario, run.waits, effects)
        run = await runtime.resume(session)
    while scenario.revert and (done := await runtime.revert(session)).status != "reverted":
        await _answer(scenario, done.waits, effects)


async def _answer(scenario: Scenario, waits: Iterable[Wait], effects: Effects) -> None:
    runtime = scenario.runtime
    for wait in waits:
        if wait.kind is WaitKind.APPROVAL:
            await _decide(runtime, wait)
        elif wait.kind is WaitKind.CLIENT:
            await runtime.submit(wait.id, scenario.client(wait), effect=Effect.DONE)
        elif wait.kind is WaitKind.QUESTION:
            await runtime.answer(wait.id, scenario.user(wait))
        elif wait.kind is WaitKind.PARKED:
            await _verdict(scenario, wait, effects)
        elif wait.kind in {WaitKind.TIME, WaitKind.BACKGROUND} and wait.wake_at is not None:
            await anyio.sleep(max(0.0, (wait.wake_at - runtime.parts.clock.now()) / 1000))


async def _decide(runtime: Runtime, wait: Wait) -> None:
    """Approve; an item named ``b`` only under another name."""
    if wait.arguments.get("item") == "b":
        await runtime.edit(wait.id, {**wait.arguments, "item": "b2"}, note="not that one")
    else:
        await runtime.approve(wait.id, note="checked")


async def _begin(scenario: Scenario) -> Run:
    runtime, session = scenario.runtime, scenario.session
    if await runtime.parts.ledger.heads(session):
        state = await runtime.state(session)
        if state.turn or state.queued:
            return await runtime.resume(session)
    return await runtime.run(scenario.text, session=session)


async def _verdict(scenario: Scenario, wait: Wait, effects: Effects) -> None:
    state = await scenario.runtime.state(scenario.session)
    dispatch = state.calls[wait.call_id or ""].dispatch
    mark = None if dispatch is None else (dispatch.idempotency_key, dispatch.attempt)
    happened = any((arrival.key, arrival.attempt) == mark for arrival in effects.arrivals())
    await scenario.runtime.resolve(
        wait.id,
        "happened" if happened else "did_not_happen",
        reason="the effect counter says so",
        result={"verdict": "by the operator"} if happened else None,
    )
