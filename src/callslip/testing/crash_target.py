"""The reference target of crash runs: one tool for each way to recover, alike in all but their declaration.

Two calls side by side, then one whose result is large enough for a blob, then the answer. Each claims what it works on,
and ``never_write`` what all its calls work on, so that they wait for one another.
"""

from __future__ import annotations

from typing import Any

from callslip.application import Runtime
from callslip.core import canon
from callslip.core.events.tool_dispatch import Evidence
from callslip.ports.context import Context
from callslip.ports.executor import ProbeAnswer
from callslip.providers.scripted import Scripted, calling
from callslip.runtime.parts import Limits
from callslip.sources.functions import Tool, tool
from callslip.testing.crash_elsewhere import elsewhere, tell
from callslip.testing.crash_scenario import Place, Scenario
from callslip.testing.effects import Effects

BLOB_SIZE = 6000


def scenario(place: Place) -> Scenario:
    """A turn with three calls of the variant's tool."""
    one = place.variant
    model = Scripted(
        [
            calling((one, {"item": "a"}), (one, {"item": "b"})),
            calling((one, {"item": "c", "size": BLOB_SIZE})),
            "Done.",
        ]
    )
    runtime = Runtime(
        tools=[TOOLS[one](place.effects)],
        model=model,
        state=place.state,
        policy={"dangerous": "allow", "tool.approved": "ask"},
        limits=Limits(poll=0.02, grace=2.0),
    )
    return Scenario(runtime=runtime, text="Do it.", client=lambda _: {"data": "x" * BLOB_SIZE})


def _do(effects: Effects, context: Context, name: str, item: str, size: int) -> dict[str, Any]:
    taken = effects.take(context, name, target=item, value=f"{item} was done")
    return taken | {"data": "x" * size}


def _idempotent(effects: Effects) -> Tool:
    @tool(risk="write", recovery="idempotent", local_effect=True, claims=["item:{item}"])
    async def idempotent(item: str, context: Context, size: int = 0) -> dict[str, Any]:
        """Do something that the service does once per idempotency key."""
        return _do(effects, context, "idempotent", item, size)

    return idempotent


def _probe(effects: Effects) -> Tool:
    def asked(context: Context, item: str, size: int = 0) -> ProbeAnswer:
        there = effects.happened(context.idempotency_key)
        return ProbeAnswer(happened=there is not None, result={"target": item, "data": "x" * size})

    @tool(risk="dangerous", recovery="probe", local_effect=True, probe=asked, claims=["item:{item}"])
    def probe(item: str, context: Context, size: int = 0) -> dict[str, Any]:
        """Do something that can be asked for afterwards."""
        return _do(effects, context, "probe", item, size)

    return probe


def _evidence(effects: Effects) -> Tool:
    def now(target: str) -> str:
        return canon.digest(effects.value(target).encode())

    def before(item: str, size: int = 0) -> Evidence:
        return Evidence(target=item, before=now(item), after=canon.digest(f"{item} was done".encode()))

    @tool(risk="write", recovery="evidence", local_effect=True, prepare=before, digest=now, claims=["item:{item}"])
    def evidence(item: str, context: Context, size: int = 0) -> dict[str, Any]:
        """Change something whose state before and after is known."""
        return _do(effects, context, "evidence", item, size)

    return evidence


def _never_write(effects: Effects) -> Tool:
    @tool(risk="dangerous", recovery="never", local_effect=True, claims=["items"])
    def never_write(item: str, context: Context, size: int = 0) -> dict[str, Any]:
        """Do something that nobody can ask about."""
        return _do(effects, context, "never_write", item, size)

    return never_write


def _never_read(effects: Effects) -> Tool:
    @tool(risk="read", recovery="never", local_effect=True, claims=["item:{item}"])
    async def never_read(item: str, context: Context, size: int = 0) -> dict[str, Any]:
        """Only look; the counter counts the looks."""
        return _do(effects, context, "never_read", item, size)

    return never_read


def _approved(effects: Effects) -> Tool:
    @tool(risk="write", recovery="never", local_effect=True, claims=["item:{item}"])
    async def approved(item: str, context: Context, size: int = 0) -> dict[str, Any]:
        """Do something that a person must approve first."""
        return _do(effects, context, "approved", item, size)

    return approved


def _elsewhere(effects: Effects) -> Tool:
    tell(effects)
    return elsewhere


def _client(_: Effects) -> Tool:
    @tool(risk="write", recovery="never", client_owned=True)
    def client(item: str, size: int = 0) -> dict[str, Any]:
        """Runs at the client."""
        raise NotImplementedError

    return client


TOOLS = {
    "idempotent": _idempotent,
    "probe": _probe,
    "evidence": _evidence,
    "never_write": _never_write,
    "never_read": _never_read,
    "client": _client,
    "approved": _approved,
    "elsewhere": _elsewhere,
}
VARIANTS = tuple(name for name in TOOLS if name != "elsewhere")
"""Those that cost little: each call of the other one starts a process."""
