"""The official SDKs read what the contract server says, and read the same as our adapters out of the same bytes."""

from __future__ import annotations

import pytest

from callslip.core.message import UserText
from callslip.ports.model import Request
from callslip.testing.contract.answers import Streams
from callslip.testing.contract.says import Call, Says
from callslip.testing.contract.server import ContractServer

from .oracle import PAY, SDKS, adapter, contract, oracle, parsed, same_bytes

pytestmark = pytest.mark.anyio
FORMATS = list(SDKS)
ONE = Call("pay", {"cents": 5, "to": "Ada"})
OTHERS = (Call("pay", {"cents": -7, "to": 'é\u2028 "\\"\n'}), Call("pay", {"cents": 2**40, "to": ""}))
SAID = {
    "text": Says("Hello, wörld \U0001f600.\n"),
    "one call": Says(calls=(ONE,)),
    "three calls": Says(calls=(ONE, *OTHERS)),
    "text and calls": Says("Let me pay.", (ONE, *OTHERS)),
    "thinking and a call": Says(calls=(ONE,), thinking="Is it a good idea? Yes."),
    "all of it": Says("Paying.", (ONE, *OTHERS), thinking="Hm."),
}
TORN = {
    "a byte at a time": {"split": 1},
    "comments": {"comments": True},
    "the other line end": {"crlf": True, "split": 5},
}
given = pytest.mark.parametrize("said", SAID.values(), ids=SAID)
each = pytest.mark.parametrize("form", FORMATS)
both = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])


def request(*, stream, **changes):
    return Request(system="Be brief.", messages=(UserText(text="Pay."),), tools=(PAY,), stream=stream, **changes)


def first_request(form, *, stream):
    """As our adapter makes it; the SDKs have their own way to ask for the usage of a stream."""
    return adapter(form, "http://127.0.0.1:1")._wire.exchange(request(stream=stream))


@pytest.mark.requirement("WIRE-02")
@each
@both
@given
def test_the_sdk_reads_what_the_server_says(form, stream, said):
    sdk, exchange = oracle(form), first_request(form, stream=stream)
    with ContractServer([said], formats=[contract(form)]) as server:
        read = sdk.parse(sdk.send(sdk.client(server.url(form)), exchange.body, exchange.path))
        assert server.violations == []
    assert read.text == said.text
    assert [(name, arguments) for _, name, arguments in read.calls] == [(one.name, one.arguments) for one in said.calls]
    assert read.finish == ("calls" if said.calls else "stop")
    assert read.input_tokens >= 10
    assert read.output_tokens >= 5


@pytest.mark.requirement("WIRE-02")
@each
@both
@given
async def test_our_adapter_reads_the_same_out_of_the_same_bytes(form, stream, said):
    sdk, exchange = oracle(form), first_request(form, stream=stream)
    answer = same_bytes(said, form, exchange)
    with ContractServer([answer, answer], formats=[contract(form)]) as server:
        ours = parsed(await adapter(form, server.url(form)).reply(request(stream=stream)))
        theirs = sdk.parse(sdk.send(sdk.client(server.url(form)), exchange.body, exchange.path))
    assert ours == theirs


@pytest.mark.requirement("WIRE-02")
@each
@pytest.mark.parametrize("torn", TORN.values(), ids=TORN)
async def test_however_a_stream_is_torn(form, torn):
    if (form, torn) == ("gemini", TORN["comments"]):
        pytest.skip("google-genai itself takes a comment line for data")
    sdk, exchange = oracle(form), first_request(form, stream=True)
    answer = Streams(said=Says("Päying.", (Call("pay", ONE.arguments, "abcDEF123"), *OTHERS)), **torn)
    with ContractServer([answer, answer], formats=[contract(form)]) as server:
        ours = parsed(await adapter(form, server.url(form)).reply(request(stream=True)))
        theirs = sdk.parse(sdk.send(sdk.client(server.url(form)), exchange.body, exchange.path))
    assert [call[1:] for call in ours.calls] == [call[1:] for call in theirs.calls]
    assert (ours.text, len(ours.calls), ours.calls[0]) == (theirs.text, 3, theirs.calls[0])


@pytest.mark.requirement("WIRE-02")
@pytest.mark.parametrize("form", ["openai_chat", "openai_responses", "anthropic"])
@both
async def test_a_refusal_reads_the_same(form, stream):
    sdk, exchange = oracle(form), first_request(form, stream=stream)
    answer = same_bytes(Says(refusal="I can't."), form, exchange)
    with ContractServer([answer, answer], formats=[contract(form)]) as server:
        ours = parsed(await adapter(form, server.url(form)).reply(request(stream=stream)))
        theirs = sdk.parse(sdk.send(sdk.client(server.url(form)), exchange.body, exchange.path))
    assert ours == theirs
    assert (ours.calls, ours.text) == ((), "I can't.")


@pytest.mark.requirement("WIRE-01")
@each
@both
def test_a_client_that_knows_only_its_sdk_is_not_refused(form, stream):
    """What the server demands back, a plain client of the SDK gives back by doing what the vendor's pages say."""
    sdk, exchange = oracle(form), first_request(form, stream=stream)
    body, said = exchange.body, SAID["all of it"]
    with ContractServer([said, said, Says("Done.")], formats=[contract(form)]) as server:
        client = sdk.client(server.url(form))
        for _ in range(2):
            reply = sdk.send(client, body, exchange.path)
            body = sdk.goes_on(body, reply, "paid")
        last = sdk.parse(sdk.send(client, body, exchange.path))
        assert server.violations == []
    assert (last.text, last.finish) == ("Done.", "stop")
