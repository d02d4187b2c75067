"""What our adapters send is what the official SDKs would have sent: every field has its type, and nothing is lost or
added on its way through them.
"""

from __future__ import annotations

import pytest

from callslip.core.message import UserText
from callslip.ports.model import Request
from callslip.providers.options import Options
from callslip.testing.contract.says import Says
from callslip.testing.contract.server import ContractServer

from .made_requests import MadeRequest, made_requests
from .oracle import MODELS, PAY, SDKS, adapter, contract, oracle
from .typed import faults

pytestmark = [
    pytest.mark.anyio,
    # An SDK warns of models that its vendor will take away, and of settings that it would rather see otherwise.
    pytest.mark.filterwarnings("ignore:The model 'claude:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Using Claude with:UserWarning"),
]
each = pytest.mark.parametrize("form", list(SDKS))
SEEDS = range(25)


def through(sdk, client, request, server):
    """Send a request by the SDK; what the server saw of it."""
    if request.form != "gemini":  # whose SDK looks itself, at run time
        typed = sdk.as_typed(request.body) if request.form == "openai_responses" else request.body
        assert faults(typed, sdk.type_of(request.body)) == []
    sdk.send(client, request.body, request.path)
    return sdk.unchanged(server.seen[-1].body)


@pytest.mark.requirement("WIRE-01")
@pytest.mark.requirement("WIRE-03")
@each
async def test_made_up_sessions(form):
    sdk, count = oracle(form), 0
    with ContractServer(lambda _: Says("Yes."), formats=[contract(form)]) as server:
        client = sdk.client(server.url(form))
        for seed in SEEDS:
            for request in await made_requests(seed, form):
                assert through(sdk, client, request, server) == request.body, f"seed {seed}"
                count += 1
        assert server.violations == []
    assert count >= len(SEEDS)


SETTINGS = {
    "nothing": ({}, {}),
    "a temperature": ({"temperature": 0.5}, {}),
    "few tokens": ({"max_output_tokens": 2048}, {}),
    "no thinking": ({"effort": "off"}, {}),
    "much thinking": ({"effort": "high"}, {}),
    "one call at a time": ({"parallel": False}, {}),
    "strict": ({"strict": True}, {}),
    "not strict": ({"strict": False}, {}),
    "no tool": ({}, {"tool_choice": "none"}),
    "any tool": ({}, {"tool_choice": "required"}),
    "this tool": ({}, {"tool_choice": "required", "only": "pay"}),
}


@pytest.mark.requirement("WIRE-03")
@each
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting(form, stream, setting):
    sdk, (options, changes) = oracle(form), SETTINGS[setting]
    exchange = adapter(form, "http://127.0.0.1:1", options=Options(**options))._wire.exchange(
        Request(system="Be brief.", messages=(UserText(text="Pay."),), tools=(PAY,), stream=stream, **changes)
    )
    request = MadeRequest(form=form, model=MODELS[form], path=exchange.path, body=exchange.body)
    with ContractServer([Says("Yes.")], formats=[contract(form)]) as server:
        assert through(sdk, sdk.client(server.url(form)), request, server) == request.body
        assert server.violations == []
