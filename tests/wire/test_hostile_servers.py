"""Every adapter against servers that hang, close, lie, flood and babble: an error a person can act on, or no call."""

import json
import re
import tracemalloc
from contextlib import suppress

import pytest

from callslip.errors import ModelUnavailable
from callslip.models import KINDS
from callslip.ports.model import ToolView
from callslip.providers.wire_format import BrokenOff
from callslip.testing.contract import answering
from callslip.testing.contract.answers import Closes, Floods, Hangs, Html, RateLimited, Sends, Streams, WrongKey
from callslip.testing.contract.formats import ALL, BASE
from callslip.testing.contract.says import Call, Says
from callslip.testing.contract.server import ContractServer

KEY = "sk-very-secret-0123456789"
SERVED_AS = {
    "openai_chat": "openai_chat",
    "openai_responses": "openai_responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "mistral": "mistral",
    "constrained": "compatible",
}
"""By the adapter: the server's format."""
NAMES = {"anthropic": "claude-sonnet-4-5", "gemini": "gemini-3-pro-preview"}
FORMS = {made.name: made for made in (form() for form in ALL)}
PAGE = "<!doctype html><html><body><h1>Welcome</h1></body></html>"
MEBIBYTE = 1024 * 1024
TOOL = ToolView(name="pay", description="Pay.", input_schema={"type": "object"})
ENVELOPE = '{"reply": {"calls": [{"tool": "pay", "arguments": {"cents": 5}}]}}'
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("kind", SERVED_AS),
    pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"]),
]


class Asked:
    """One request to a server with one answer."""

    def __init__(self, kind, request, **settings):
        self.kind, self.request, self.settings = kind, request, settings
        self.sent = 0
        words = Says("Well, I pay.", (Call("pay", {"cents": 5}),))
        self.said = Says(ENVELOPE) if kind == "constrained" else words

    def model(self, url="http://127.0.0.1:1"):
        name = NAMES.get(self.kind, "m")
        return KINDS[self.kind].made_by()(name, base_url=url, api_key=KEY, **self.settings)

    def good(self):
        """A reply with words and a call, as the bytes of the format."""
        exchange = self.model()._wire.exchange(self.request)
        served = SERVED_AS[self.kind]
        made = answering.answer(self.said, FORMS[served], exchange.body, BASE[served] + exchange.path)
        assert made.status == 200
        return b"".join(made.writes)

    async def reply(self, answer):
        with ContractServer([answer]) as server:
            try:
                return await self.model(server.url(SERVED_AS[self.kind])).reply(self.request)
            finally:
                self.sent = server.sent
                assert server.violations == []
                assert len(server.seen) == 1, "nothing is retried here"

    async def refused(self, answer):
        """The error, having checked what every one must say and must not."""
        with pytest.raises(ModelUnavailable) as caught:
            await self.reply(answer)
        message = str(caught.value)
        assert "othing was executed" in message
        assert "can be resumed" in message
        assert len(message) < 700
        assert message.isprintable()
        error = caught.value
        while error is not None:
            assert KEY not in f"{error} {error!r}"
            error = error.__cause__ or error.__context__
        return caught.value

    def sends(self, body, **more):
        """A body under the content type that the request asked for."""
        kind = "text/event-stream" if self.request.stream else "application/json"
        return Sends(body=body, headers={"content-type": kind}, **more)


@pytest.fixture
def asked(kind, stream, ask):
    return lambda **settings: Asked(kind, ask(stream=stream, tools=(TOOL,)), **settings)


async def test_the_same_reply_from_a_good_server_is_a_call(asked):
    one = asked()
    reply = await one.reply(one.sends(one.good()))
    assert (reply.finish, len(reply.proposals)) == ("calls", 1)


@pytest.mark.parametrize("begins", [False, True])
async def test_it_hangs(asked, begins):
    error = await asked(timeout=0.2).refused(Hangs(begins=begins))
    assert "silent for longer than the timeout" in str(error)
    assert error.can_retry


async def test_it_hangs_in_the_middle(asked, stream):
    one = asked(timeout=0.2)
    if not stream:
        assert (await one.refused(Streams(said=Says("Well."), cut_at=9, then="hangs"))).can_retry
        return
    reply = await one.reply(Streams(said=Says("Well.", (Call("pay"),)), cut_after=2, then="hangs"))
    assert (reply.finish, reply.proposals) == ("cut", ())


async def test_it_closes_at_once(asked):
    error = await asked().refused(Closes())
    assert "closed the connection" in str(error)
    assert error.can_retry


@pytest.mark.requirement("WIRE-04", "CALL-05")
async def test_it_closes_midway(asked, stream):
    size = len(asked().good())
    outcomes = []
    for kept in (1, size // 3, size // 2, size - 12):
        one = asked()
        outcome = "refused"
        with suppress(ModelUnavailable):
            reply = await one.reply(Streams(said=one.said, cut_at=kept))
            assert reply.proposals == ()
            outcome = reply.finish
        outcomes.append(outcome)
    assert set(outcomes) == ({"cut", "refused"} if stream else {"refused"})


async def test_what_it_closes_midway_may_be_asked_again(asked, stream):
    one = asked()
    assert (await one.refused(Streams(said=one.said, cut_at=1))).can_retry


@pytest.mark.parametrize("content_type", ["text/html; charset=utf-8", "application/json"])
async def test_it_sends_a_web_page_as_a_success(asked, content_type):
    error = await asked().refused(Sends(body=PAGE, headers={"content-type": content_type}))
    assert "web page" in str(error)
    assert not error.can_retry
    assert "<" not in str(error)


async def test_a_web_page_in_place_of_a_stream(asked, stream):
    one = asked()
    error = await one.refused(one.sends(PAGE))
    assert ("nothing in it" if stream else "web page") in str(error)
    assert "<" not in str(error)


async def test_a_proxys_web_page(asked):
    error = await asked().refused(Html())
    assert "502" in str(error)
    assert error.can_retry
    assert "<" not in str(error)
    assert "Bad Gateway" not in str(error)


@pytest.mark.parametrize("status", [401, 403])
async def test_a_wrong_key_is_one_sentence_without_the_key(asked, status):
    body = {"error": {"message": f"Incorrect API key provided: {KEY}. See {KEY[:9]}***.", "code": "invalid_api_key"}}
    error = await asked().refused(Sends(status=status, body=body))
    assert str(error).count(". ") == 0
    assert KEY[:9] not in str(error)
    assert "did not accept the API key" in str(error)
    assert not error.can_retry


async def test_a_wrong_key_in_the_vendors_own_words(asked):
    assert not (await asked().refused(WrongKey())).can_retry


async def test_a_wrong_key_as_googles_servers_say_it(asked):
    detail = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
    said = {"code": 400, "message": f"API key not valid: {KEY}", "status": "INVALID_ARGUMENT", "details": [detail]}
    error = await asked().refused(Sends(status=400, body={"error": said}))
    assert "did not accept the API key" in str(error)
    assert str(error).count(". ") == 0
    assert not error.can_retry


async def test_where_it_was_asked_is_named_if_nothing_is_there(asked):
    error = await asked().refused(Sends(status=404, body={"error": {"message": "Not here."}}))
    assert re.search(r"status 404\): Not here; http://127\.0\.0\.1:\d+/\S+[a-zA-Z] was asked\. ", str(error))


@pytest.mark.parametrize("status", [400, 404, 429, 500, 529])
async def test_the_key_is_struck_out_of_what_it_says(asked, status):
    error = await asked().refused(Sends(status=status, body={"error": {"message": f"You sent {KEY}\x1b[31m\n."}}))
    assert "You sent [key]" in str(error)
    assert error.can_retry is (status > 404)


async def test_too_many_requests(asked):
    error = await asked().refused(RateLimited(retry_after=7))
    assert "429" in str(error)
    assert "Resume in 7 s." in str(error)
    assert error.can_retry
    assert (await asked().refused(RateLimited(overloaded=True))).can_retry


async def test_a_reply_of_50_mb_is_refused_at_the_limit(asked):
    one = asked(max_reply_bytes=MEBIBYTE)
    tracemalloc.start()
    try:
        error = await one.refused(Floods(50 * MEBIBYTE))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "1,048,576 bytes" in str(error)
    assert not error.can_retry
    # What was sent beyond lies in the sockets' buffers; it was never taken from there.
    assert one.sent < 25 * MEBIBYTE
    assert peak < 10 * MEBIBYTE, "the server's own pieces included"


async def test_the_limit_that_nobody_set(asked):
    one = asked()
    assert "16,777,216 bytes" in str(await one.refused(Floods(50 * MEBIBYTE)))
    assert one.sent < 45 * MEBIBYTE


async def test_a_small_reply_that_would_become_large(asked):
    one = asked()
    squeezed = one.sends(b"\x1f\x8b" + bytes(100))
    headers = {**squeezed.headers, "content-encoding": "gzip"}
    assert "compressed" in str(await one.refused(Sends(body=squeezed.body, headers=headers)))


async def test_it_sends_bytes_that_are_no_text(asked, stream):
    one = asked()
    good = one.good()
    mark = b"pay" if b"pay" in good else b"5}"  # in a stream, text is in pieces
    torn = good.replace(mark, mark[:1] + b"\xff" + mark[1:])
    assert torn != good
    if not stream:
        assert "not JSON" in str(await one.refused(one.sends(torn)))
        return
    reply = await one.reply(one.sends(torn))
    assert "pay" not in [call.tool for call in reply.proposals], "a name that was torn is nobody's"


@pytest.mark.parametrize("opening", ["[", '{"a":'])
async def test_it_nests_without_end(asked, opening, stream):
    one = asked()
    deep = opening * 100_000
    error = await one.refused(one.sends(f"data: {deep}\n\n" if stream else deep))
    assert "not JSON" in str(error)


@pytest.mark.requirement("WIRE-04")
@pytest.mark.parametrize("depth", [50, 400, 900, 5000])
async def test_it_nests_inside_what_is_otherwise_a_good_reply(asked, depth):
    one = asked()
    deep = b'{"a":' * depth + b"5" + b"}" * depth
    good = one.good()
    for place in (b"5", b'"Well, I pay."', b'"pay"', b"null"):
        with suppress(ModelUnavailable):
            reply = await one.reply(one.sends(good.replace(place, deep)))
            assert all(isinstance(call.tool, str) for call in reply.proposals)


def odd_variants(value):
    """The JSON with each of its parts in turn replaced by what it must not be."""
    for odd in (None, 0, -1, 1e308, True, "", "x", [], {}, [None], [[]], {"a": None}):
        yield odd
    if isinstance(value, dict):
        for key, part in value.items():
            yield {name: one for name, one in value.items() if name != key}
            for odd in odd_variants(part):
                yield value | {key: odd}
    elif isinstance(value, list):
        for place, part in enumerate(value):
            for odd in odd_variants(part):
                yield [*value[:place], odd, *value[place + 1 :]]


@pytest.mark.untraced
@pytest.mark.requirement("WIRE-04")
async def test_any_part_of_a_reply_may_be_of_any_type(asked, kind, stream):
    """Without a socket: nothing but a reply, or the word that it broke off, comes of whatever was sent."""
    one = asked()
    wire = one.model()._wire
    good = one.good().decode()
    if not stream:
        for odd in odd_variants(json.loads(good)):
            if isinstance(odd, dict):
                sound(lambda odd=odd: wire.exchange(one.request).whole(odd))
        return
    events = [line for line in good.splitlines() if line.startswith(("event: ", "data: {"))]
    parsed, name = [], "message"
    for line in events:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        else:
            parsed.append((name, json.loads(line.removeprefix("data: "))))
            name = "message"
    for place, (_, data) in enumerate(parsed):
        for odd in odd_variants(data):
            if isinstance(odd, dict):
                changed = [*parsed[:place], (parsed[place][0], odd), *parsed[place + 1 :]]
                sound(lambda changed=changed: streamed(wire.exchange(one.request), changed))


def streamed(exchange, events):
    assembly = exchange.assembly()
    for name, data in events:
        assembly.add(name, data)
    return assembly.reply(broken=False)


def sound(read):
    try:
        reply = read()
    except BrokenOff:
        return
    if reply is not None:
        assert reply.finish == "calls" or not reply.proposals
        assert isinstance(reply.text, str)
        for call in reply.proposals:
            assert isinstance(call.tool, str)
            assert isinstance(call.provider_id, str)
            assert isinstance(call.arguments, str | dict)
        json.dumps(reply.kept)
