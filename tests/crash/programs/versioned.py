"""A ticket with versions, changed twice for the version that was read before, killed everywhere."""

import os

from callslip import Context, Runtime, tool
from callslip.providers.scripted import Scripted, calling, saying
from callslip.runtime.parts import Limits
from callslip.testing.crash_scenario import Place, Scenario


def scenario(place: Place) -> Scenario:
    """The variant says how a change may be recovered."""

    def revision(item: str) -> int:
        """As a service counts that knows its callers' keys."""
        return len({arrival.key for arrival in place.effects.arrivals() if arrival.target == item})

    @tool(
        risk="write", recovery=place.variant, local_effect=True, quiet=0, claims=["ticket:{item}"], version=revision,
        expects="if_version",
    )  # fmt: skip
    def change(item: str, if_version: int, context: Context) -> dict:
        """Change a ticket."""
        before = place.effects.happened(context.idempotency_key)
        if context.version != if_version or (before is not None and before.value != str(context.version)):
            os._exit(9)  # it is made for another version than before
        return place.effects.take(context, "change", target=item, value=str(context.version))

    replies = [calling(("change", {"item": "a", "if_version": number})) for number in (0, 1)]
    runtime = Runtime(
        tools=[change], model=Scripted([*replies, saying("changed")]), state=place.state,
        limits=Limits(poll=0.02, grace=2.0),
    )  # fmt: skip
    return Scenario(runtime=runtime, text="Change it twice.")
