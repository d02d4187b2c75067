"""Targets of crash runs whose calls go on outside: jobs in the background, a question to the user, a turn undone.

Two calls side by side, then one with large payloads, then the answer; as in ``callslip.testing.crash_target``.
"""

import time

from callslip import Context, Runtime, tool
from callslip.ports.background import Done, Running
from callslip.ports.executor import ProbeAnswer
from callslip.providers.scripted import Scripted, calling
from callslip.runtime.parts import Limits
from callslip.testing.crash_scenario import Scenario

SIZE = 6000
RUNS = 0.03
"""How long a job runs, in seconds."""


def scenario(place):
    one = place.variant
    model = Scripted(
        [calling((one, {"item": "a"}), (one, {"item": "b"})), calling((one, {"item": "c", "size": SIZE})), "Done."]
    )
    runtime = Runtime(
        tools=TOOLS[one](place.effects, one),
        model=model,
        state=place.state,
        policy={"dangerous": "allow"},
        limits=Limits(poll=0.02, grace=2.0),
    )
    return Scenario(runtime=runtime, text="Do it.", user=lambda _: "x" * SIZE, revert=one == "undone")


def job(recovery):
    def made(effects, name):
        def start(item: str, context: Context, size: int = 0) -> dict:
            """Start a job."""
            effects.take(context, name, target=item)
            return handle(item, size)

        def handle(item, size):
            return {"target": item, "over_at": time.time() + RUNS, "data": "x" * size}

        def find(context, item, size=0):
            return ProbeAnswer(
                happened=effects.happened(context.idempotency_key) is not None, result=handle(item, size)
            )

        def poll(handle, context):
            if time.time() < handle["over_at"]:
                return Running(note="not yet", again_in=RUNS / 3)
            return Done(result={"target": handle["target"], "data": handle["data"]})

        more = {"probe": find} if recovery == "probe" else {}
        return [
            tool(
                name=name, risk="write", recovery=recovery, local_effect=True, poll=poll, poll_after=RUNS / 3, **more
            )(start)
        ]  # fmt: skip

    return made


def question(effects, name):
    @tool(name=name, risk="read", client_owned=True, asks_user=True)
    def ask(item: str, size: int = 0) -> str:
        """Ask."""

    return [ask]


def undone(effects, name):
    def there(context, item, size=0):
        return ProbeAnswer(happened=effects.happened(context.idempotency_key) is not None, result={"target": item})

    def act(item: str, context: Context, size: int = 0) -> dict:
        """Do it."""
        return effects.take(context, name, target=item) | {"data": "x" * size}

    def take_back(item: str, context: Context, size: int = 0) -> dict:
        """Undo it."""
        return effects.take(context, "take_back", target=item)

    declared = {"risk": "write", "recovery": "probe", "probe": there, "local_effect": True}
    return [
        tool(name=name, compensation="take_back", **declared)(act),
        tool(callable_from=(), **declared)(take_back),
    ]


TOOLS = {
    "job_idempotent": job("idempotent"),
    "job_probe": job("probe"),
    "job_never": job("never"),
    "question": question,
    "undone": undone,
}
