"""One call round trip with each provider itself, plain and streamed: only under `make live`, and only with its key.

A model is asked a price that it can only know from the tool: the call, its result in the next request, and the answer
have to survive the provider's real wire. ``CALLSLIP_LIVE_OPENAI_CHAT=NAME`` and so on name another model. Each run
costs a few hundred tokens.
"""

from __future__ import annotations

import os

import pytest

from callslip import Runtime, tool
from callslip.models import KINDS

ON = bool(os.environ.get("CALLSLIP_LIVE"))
MODELS = {
    "openai_chat": "gpt-5.4-mini",
    "openai_responses": "gpt-5.4-mini",
    "anthropic": "claude-haiku-4-5",
    "gemini": "gemini-2.5-flash",
    "mistral": "mistral-small-latest",
}
"""Small ones, as of 2026-11."""
pytestmark = pytest.mark.anyio


def chosen(kind):
    """The model of a provider, or the reason why it is not asked."""
    if not ON:
        pytest.skip("live runs are off: `make live` asks the providers themselves")
    if KINDS[kind].key() is None:
        pytest.skip(f"no key: set {' or '.join(KINDS[kind].keys)}")
    return f"{kind}:{os.environ.get(f'CALLSLIP_LIVE_{kind.upper()}') or MODELS[kind]}"


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("kind", MODELS)
async def test_a_call_there_and_back(kind, stream):
    asked = []

    @tool(risk="read", name="shop.get_price")
    def get_price(item: str) -> int:
        """Get the price of an item of this shop, in cents."""
        asked.append(item)
        return 4711

    system = "Prices are only known to the tool. Answer with the number alone, without separators."
    async with Runtime(tools=[get_price], model=chosen(kind), system=system, stream=stream) as rt:
        run = await rt.run("What does tea cost, in cents?", session="live")
    assert run.status == "finished", run.reason
    assert asked, "the model did not call the tool"
    assert "4711" in run.text
