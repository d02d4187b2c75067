"""A turn that finds its tools: one search, a call of what it found, a second search, and calls of both."""

from __future__ import annotations

from typing import Any

from callslip import Context, Runtime, tool
from callslip.core.routing import Routing
from callslip.ports.model import Reply, Request
from callslip.providers.scripted import Scripted, calling
from callslip.runtime.parts import Limits
from callslip.testing.crash_scenario import Place, Scenario
from callslip.testing.effects import Effects


def _deferred(name: str, recovery: str, effects: Effects) -> Any:
    async def do(item: str, context: Context) -> dict[str, Any]:
        return effects.take(context, name, target=item, value=f"{item} was done")

    do.__doc__ = f"Does {name} to an item."
    return tool(name=name, risk="write", recovery=recovery, local_effect=True, deferred=True)(do)


def _shown(request: Request, *names: str) -> None:
    """A call of what is not shown would be refused, and look like a turn that simply did less."""
    missing = set(names) - {view.name for view in request.tools}
    if missing:
        raise RuntimeError(f"what was found is lost: {sorted(missing)}")


def scenario(place: Place) -> Scenario:
    """Its variants are how the tools recover."""
    first, second = f"one.{place.variant}", f"two.{place.variant}"

    def use_first(request: Request) -> Reply:
        _shown(request, first)
        return calling((first, {"item": "a"}))

    def use_both(request: Request) -> Reply:
        _shown(request, first, second)
        return calling((first, {"item": "b"}), (second, {"item": "c"}))

    def answer(request: Request) -> Reply:
        _shown(request, first, second)
        return Reply(text="Done.", proposals=(), finish="stop")

    replies = [
        calling(("tool_search", {"queries": [f"select:{first}"]})),
        use_first,
        calling(("tool_search", {"queries": [f"select:{second}"]})),
        use_both,
        answer,
    ]
    tools = [_deferred(first, place.variant, place.effects), _deferred(second, place.variant, place.effects)]
    runtime = Runtime(
        tools=tools, model=Scripted(replies), state=place.state, limits=Limits(poll=0.02, grace=2.0),
        routing=Routing(preselect="off", embedder="off"),
    )  # fmt: skip
    return Scenario(runtime=runtime, text="Do it.")
