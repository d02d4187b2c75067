"""The contract server's errors are the vendors': each official SDK knows them for what they are."""

from __future__ import annotations

import pytest

from callslip.testing.contract.answers import Fails, RateLimited, WrongKey
from callslip.testing.contract.server import ContractServer

from .oracle import SDKS, contract, oracle
from .test_replies import first_request

pytestmark = pytest.mark.requirement("WIRE-06")
each = pytest.mark.parametrize("form", list(SDKS))
both = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])


def failure(form, stream, script, kind, change=lambda body: body):
    """What the SDK raises."""
    sdk, exchange = oracle(form), first_request(form, stream=stream)
    with ContractServer(script, formats=[contract(form)]) as server:
        client, body = sdk.client(server.url(form)), change(exchange.body)
        with pytest.raises(getattr(sdk, kind)) as caught:
            sdk.send(client, body, exchange.path)
        return caught.value, server.violations, len(server.seen)


def status(error):
    return getattr(error, "status_code", None) or error.code


@each
@both
def test_a_rate_limit(form, stream):
    error, violations, asked = failure(form, stream, [RateLimited(retry_after=7)], "LIMITED")
    assert (status(error), violations, asked) == (429, [], 1)
    assert oracle(form).retry_after(error) == "7"
    assert "Rate limit reached" in str(error)


@each
@both
def test_overload(form, stream):
    error, _, _ = failure(form, stream, [RateLimited(overloaded=True)], "OVERLOADED")
    assert status(error) == (529 if form == "anthropic" else 503)
    assert "Overloaded" in str(error)


@each
def test_a_wrong_key(form):
    error, _, _ = failure(form, False, [WrongKey()], "WRONG_KEY")
    assert status(error) == (400 if form == "gemini" else 401)
    assert "API key" in str(error)


@each
def test_a_failure_of_the_vendor(form):
    error, _, _ = failure(form, False, [Fails(500, "It broke.")], "OVERLOADED")
    assert status(error) == 500
    assert "It broke." in str(error)


def with_an_orphan(body):
    """A result whose call nobody made."""
    if "contents" in body:
        part = {"functionResponse": {"name": "pay", "response": {"result": "paid"}}}
        return {**body, "contents": [*body["contents"], {"role": "user", "parts": [part]}]}
    if "input" in body:
        item = {"type": "function_call_output", "call_id": "call_1", "output": "paid"}
        return {**body, "input": [*body["input"], item]}
    if "max_tokens" in body:
        block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "paid"}
        return {**body, "messages": [*body["messages"], {"role": "user", "content": [block]}]}
    return {**body, "messages": [*body["messages"], {"role": "tool", "tool_call_id": "abcDEF123", "content": "paid"}]}


@each
@both
def test_an_illegal_history(form, stream):
    error, violations, asked = failure(form, stream, [], "REFUSED", with_an_orphan)
    assert status(error) == 400
    assert asked == 1
    assert violations
    assert violations[0].message in str(error)
