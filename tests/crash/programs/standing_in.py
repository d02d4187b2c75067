"""A payment whose tool fails without an effect, and another one that stands in for it, killed everywhere."""

from callslip import Context, Runtime, ToolFailed, tool
from callslip.core.retry import Retry
from callslip.providers.scripted import Scripted, calling, saying
from callslip.runtime.parts import Limits
from callslip.testing.crash_scenario import Place, Scenario


def scenario(place: Place) -> Scenario:
    """The variant says how what stands in may be recovered."""

    @tool(risk="write", recovery="never", local_effect=True, quiet=0, fallback="pay_slowly")
    def pay(item: str) -> str:
        """Pay."""
        raise ToolFailed("The bank is closed.", code="closed", transient=True)

    @tool(risk="write", recovery=place.variant, local_effect=True, quiet=0)
    def pay_slowly(item: str, context: Context) -> dict:
        """Pay by letter."""
        return place.effects.take(context, "pay_slowly", target=item, value="paid")

    model = Scripted([calling(("pay", {"item": "a"})), saying("paid")])
    limits = Limits(retry=Retry(attempts=2, base=0.01, cap=0.01), poll=0.02, grace=2.0)
    runtime = Runtime(tools=[pay, pay_slowly], model=model, state=place.state, limits=limits)
    return Scenario(runtime=runtime, text="Pay.")
