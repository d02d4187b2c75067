"""The adapter against a real server on a real socket: what is sent, what is understood, what is raised."""

import json
import socket
import threading

import anyio
import httpx2
import pytest

from callslip.core.message import AssistantReply, CallMessage, Notice, ResultMessage, ToolResults, UserText
from callslip.errors import ConfigError, ModelUnavailable
from callslip.ports.model import Delta
from callslip.providers.aliases import CHAT, Aliases
from callslip.providers.openai_chat import OpenAIChat
from callslip.providers.recorded import Recorded, Recorder
from callslip.testing.chat_server import ChatServer, Floods, Hangs, Says, Sends, Streams

KEY = "sk-very-secret-0123456789"
WIRE = Aliases(["files.read"], CHAT).wire("files.read")
pytestmark = pytest.mark.anyio


def talk(server, **settings):
    return OpenAIChat("m", base_url=server.base_url, api_key=KEY, **settings)


async def refused(server_answer, request, **settings):
    """The error that an answer leads to, having checked what every error must say and must not."""
    with ChatServer([server_answer]) as server:
        with pytest.raises(ModelUnavailable) as caught:
            await talk(server, **settings).reply(request)
        assert len(server.requests) == 1, "nothing is retried here"
    message = str(caught.value)
    assert "othing was executed" in message
    assert "can be resumed" in message
    assert KEY not in message
    assert KEY not in repr(caught.value)
    return caught.value


@pytest.mark.requirement("WIRE-01")
@pytest.mark.parametrize("stream", [False, True])
async def test_a_call_and_then_an_answer(ask, stream):
    with ChatServer([Says("Looking.", [(WIRE, {"path": "a"})], ids=["x1"]), Says("Done.")]) as server:
        model = talk(server)
        first = await model.reply(ask(stream=stream))
        call = CallMessage(
            call_id="call_a", provider_id="x1", tool="files.read", arguments=first.proposals[0].arguments
        )
        result = ResultMessage(call_id="call_a", provider_id="x1", tool="files.read", content="text")
        history = (
            UserText(text="Hello"),
            AssistantReply(text=first.text, calls=(call,)),
            ToolResults(results=(result,)),
        )
        second = await model.reply(ask(stream=stream, messages=history))
    assert (first.text, first.finish, first.model) == ("Looking.", "calls", "fake")
    assert [(p.tool, p.provider_id, json.loads(p.arguments)) for p in first.proposals] == [
        ("files.read", "x1", {"path": "a"})
    ]
    assert (first.usage.input_tokens, first.usage.output_tokens, first.usage.cached_tokens) == (10, 5, 2)
    assert (second.text, second.finish, second.proposals) == ("Done.", "stop", ())
    sent = server.requests[1]
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {
            "role": "assistant",
            "content": "Looking.",
            "tool_calls": [
                {
                    "id": "x1",
                    "type": "function",
                    "function": {"name": WIRE, "arguments": first.proposals[0].arguments},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "x1", "content": "text"},
    ]
    assert ("stream" in sent.body) is stream
    assert ("stream_options" in sent.body) is stream


@pytest.mark.requirement("WIRE-04")
async def test_deltas_are_shown_as_they_come_with_the_tools_own_name(ask):
    shown = []
    with ChatServer([Says("Looking.", [(WIRE, {"path": "a"})])]) as server:
        await talk(server).reply(ask(stream=True), shown.append)
    assert shown == [Delta(text="Loo"), Delta(text="king."), Delta(tool="files.read")]


async def test_a_server_that_ignores_stream_is_understood(ask):
    with ChatServer([Sends(body={"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]})]) as server:
        reply = await talk(server).reply(ask(stream=True))
    assert (reply.text, reply.finish) == ("Hi", "stop")


async def test_a_server_that_streams_unasked_is_understood(ask):
    with ChatServer([Streams(chunks=[{"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}])]) as server:
        reply = await talk(server).reply(ask())
    assert (reply.text, reply.finish) == ("Hi", "stop")


async def test_a_client_given_is_used_and_left_open(ask):
    async with httpx2.AsyncClient() as http:
        with ChatServer([Says("One"), Says("Two")]) as server:
            model = talk(server, http=http)
            assert (await model.reply(ask())).text == "One"
            assert (await model.reply(ask())).text == "Two"
        assert not http.is_closed


async def test_no_key_sends_no_authorization(ask):
    with ChatServer([Says("Hi")]) as server:
        await OpenAIChat("m", base_url=server.base_url, api_key=None).reply(ask())
    assert "authorization" not in server.requests[0].headers


async def test_lone_surrogates_and_nul_go_out_as_valid_utf_8(ask):
    with ChatServer([Says("Hi")]) as server:
        await talk(server).reply(ask(messages=(UserText(text="a\ud800b\0c"), Notice(text="The reply was cut."))))
    assert server.requests[0].body["messages"][1]["content"] == "a\ufffdb\0c"


@pytest.mark.parametrize(
    ("status", "retryable"),
    [
        (400, False),
        (404, False),
        (408, True),
        (409, False),
        (422, False),
        (429, True),
        (500, True),
        (503, True),
        (529, True),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_statuses(ask, status, retryable, stream):
    body = {"error": {"message": f"because\nof \x1b[31mthis; you sent {KEY}", "type": "some_error"}}
    error = await refused(Sends(status=status, body=body), ask(stream=stream))
    assert error.can_retry is retryable
    assert str(status) in str(error)
    assert "because of [31mthis; you sent [key]" in str(error)


async def test_a_wrong_key_is_one_sentence_without_the_key(ask):
    error = await refused(Sends(status=401, body={"error": {"message": f"Incorrect API key {KEY[:6]}***"}}), ask())
    assert KEY[:6] not in str(error)
    assert str(error).count(". ") == 0
    assert "401" in str(error)
    assert not error.can_retry


async def test_a_spent_quota_is_not_worth_a_retry(ask):
    error = await refused(Sends(status=429, body={"error": {"message": "Pay", "code": "insufficient_quota"}}), ask())
    assert not error.can_retry


async def test_retry_after_is_passed_on(ask):
    error = await refused(Sends(status=429, headers={"retry-after": "20"}, body={"error": "slow down"}), ask())
    assert "Resume in 20 s." in str(error)
    assert "slow down" in str(error)


async def test_a_proxys_web_page_is_not_quoted(ask):
    page = "<html><body><h1>502 Bad Gateway</h1></body></html>"
    error = await refused(Sends(status=502, body=page, headers={"content-type": "text/html"}), ask())
    assert error.can_retry
    assert "502" in str(error)
    assert "<" not in str(error)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "application/json"])
async def test_a_web_page_instead_of_a_reply(ask, kind, stream):
    page = Sends(body="<!doctype html><p>Welcome", headers={"content-type": kind})
    error = await refused(page, ask(stream=stream))
    assert "web page" in str(error)
    assert not error.can_retry


async def test_a_redirect_is_not_followed(ask):
    error = await refused(Sends(status=307, headers={"location": "http://127.0.0.1:9/steal"}), ask())
    assert "not followed" in str(error)


@pytest.mark.parametrize("body", ['{"choices": [', "nonsense", "[" * 100_000])
async def test_broken_json(ask, body):
    error = await refused(Sends(body=body), ask())
    assert "not JSON" in str(error)
    assert error.can_retry


@pytest.mark.parametrize("body", ['{"hello": 1}', "[1]", '"text"', '{"choices": null}'])
async def test_json_that_is_no_completion(ask, body):
    assert "no reply of its API" in str(await refused(Sends(body=body), ask()))


async def test_an_empty_body(ask):
    assert "nothing in it" in str(await refused(Sends(body=b""), ask()))


async def test_an_empty_stream(ask):
    error = await refused(Streams(chunks=[": only a comment\n\n"]), ask(stream=True))
    assert "nothing in it" in str(error)
    assert error.can_retry


async def test_an_error_inside_a_plain_success(ask):
    error = await refused(Sends(body={"error": {"message": "Overloaded", "code": 503}}), ask())
    assert "Overloaded" in str(error)
    assert error.can_retry


@pytest.mark.parametrize(("code", "retryable"), [(503, True), (429, True), (400, False), ("insufficient_quota", False)])
async def test_an_error_in_the_middle_of_a_stream(ask, code, retryable):
    begun = {"choices": [{"delta": {"content": "Hi"}}]}
    failed = {"error": {"message": f"Broke at {KEY}", "code": code}}
    error = await refused(Streams(chunks=[begun, failed]), ask(stream=True))
    assert "Broke at [key]" in str(error)
    assert error.can_retry is retryable


@pytest.mark.parametrize("data", ['{"message": "Gone wrong"}', "Gone wrong", '{"error": "Gone wrong"}'])
async def test_an_error_event(ask, data):
    error = await refused(Streams(chunks=[f"event: error\ndata: {data}\n\n"]), ask(stream=True))
    assert "Gone wrong" in str(error)


async def test_a_broken_chunk(ask):
    begun = {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    assert "not JSON" in str(await refused(Streams(chunks=[begun, "data: {oops\n\n"]), ask(stream=True)))


async def test_the_server_closes_in_the_middle_of_a_plain_reply(ask):
    body = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}
    error = await refused(Sends(body=body, closes_after=30), ask())
    assert "before its answer was whole" in str(error)
    assert error.can_retry


async def test_the_server_closes_before_the_first_chunk(ask):
    error = await refused(Streams(chunks=[], done=False, breaks=True), ask(stream=True))
    assert "before its answer was whole" in str(error)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_server_that_never_answers(ask, stream):
    error = await refused(Hangs(), ask(stream=stream), timeout=0.2)
    assert "silent" in str(error)
    assert error.can_retry


@pytest.mark.parametrize("stream", [False, True])
async def test_a_reply_without_end_is_not_read_to_its_end(ask, stream):
    with (
        ChatServer([Floods(50 * 1024 * 1024)]) as server,
        pytest.raises(ModelUnavailable, match="1,048,576 bytes") as caught,
    ):
        await talk(server, max_reply_bytes=1024 * 1024).reply(ask(stream=stream))
    assert not caught.value.can_retry
    # The rest fits into the sockets' buffers; it was never taken from there.
    assert server.sent < 25 * 1024 * 1024


async def test_a_reply_of_exactly_the_limit_is_read(ask):
    body = json.dumps({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]})
    with ChatServer([Sends(body=body), Sends(body=body)]) as server:
        assert (await talk(server, max_reply_bytes=len(body)).reply(ask())).text == "Hi"
        with pytest.raises(ModelUnavailable, match="bytes for one reply"):
            await talk(server, max_reply_bytes=len(body) - 1).reply(ask())


async def test_a_compressed_reply_is_refused(ask):
    error = await refused(Sends(body=b"\x1f\x8b", headers={"content-encoding": "gzip"}), ask())
    assert "compressed" in str(error)


async def test_a_compressed_error_is_told_by_its_status_alone(ask):
    error = await refused(Sends(status=500, body=b"\x1f\x8b", headers={"content-encoding": "gzip"}), ask())
    assert "answered with status 500." in str(error)


async def test_a_refused_connection(ask):
    with ChatServer([]) as server:
        address = server.base_url
    with pytest.raises(ModelUnavailable, match="refused the connection") as caught:
        await OpenAIChat("m", base_url=address, api_key=KEY).reply(ask())
    assert caught.value.can_retry
    assert address.removesuffix("/v1") in str(caught.value)


async def test_a_host_nobody_knows(ask):
    with pytest.raises(ModelUnavailable, match=r"host name nobody knows|could not be reached"):
        await OpenAIChat("m", base_url="http://no-such-host.invalid/v1", api_key=KEY).reply(ask())


async def test_tls_against_a_server_without_it(ask):
    with ChatServer([]) as server, pytest.raises(ModelUnavailable, match="over TLS") as caught:
        await OpenAIChat("m", base_url=server.base_url.replace("http:", "https:"), api_key=KEY).reply(ask())
    assert not caught.value.can_retry


@pytest.mark.parametrize("stream", [False, True])
async def test_what_was_recorded_plays_the_same(ask, stream, tmp_path):
    file = tmp_path / "session.jsonl"
    history = (UserText(text="Hello"), AssistantReply(text="Looking."))
    answers = [Says("Looking.", [(WIRE, {"path": "\ud800"})]), Says("Done.")]
    with ChatServer(answers) as server:
        model = talk(server, on_raw=Recorder(file))
        live = [await model.reply(ask(stream=stream)), await model.reply(ask(stream=stream, messages=history))]
    recorded = Recorded(file)
    played = [await recorded.reply(ask()), await recorded.reply(ask(messages=history))]
    assert played == live
    assert recorded.name == "recorded:m"
    assert KEY not in file.read_text()


async def test_a_stream_that_broke_plays_as_cut(ask, tmp_path):
    file = tmp_path / "session.jsonl"
    finished = {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    with ChatServer([Streams(chunks=[finished], done=False, breaks=True)]) as server:
        live = await talk(server, on_raw=Recorder(file)).reply(ask(stream=True))
    assert live.finish == "cut"
    assert await Recorded(file).reply(ask()) == live


async def test_the_server_leaves_no_thread_and_no_open_port(ask):
    before = threading.active_count()
    with ChatServer([Hangs(), Streams(chunks=[], then_hangs=True)]) as server:
        assert threading.active_count() > before
        for stream in (False, True):
            with pytest.raises(ModelUnavailable):
                await talk(server, timeout=0.1).reply(ask(stream=stream))
    assert threading.active_count() == before


@pytest.mark.timeout(20)
async def test_a_client_that_only_connects_does_not_keep_the_server():
    before = threading.active_count()
    with ChatServer([]) as server:
        address = httpx2.URL(server.base_url)
        silent = socket.create_connection((address.host, address.port))
        while threading.active_count() < before + 2:  # until its handler waits for the request
            await anyio.sleep(0.005)
    silent.close()
    assert threading.active_count() == before


async def test_a_script_at_its_end_says_so(ask):
    with ChatServer([]) as server, pytest.raises(ModelUnavailable, match="holds 0 answers"):
        await talk(server).reply(ask())


async def test_an_answer_may_depend_on_the_request(ask):
    with ChatServer([lambda seen: Says(seen.body["model"])]) as server:
        assert (await talk(server).reply(ask())).text == "m"


@pytest.mark.parametrize("host", ["a" * 70 + ".invalid", "a..invalid", "xn--a-0.invalid", "127.0.0.1:99999"])
async def test_a_host_that_can_not_even_be_looked_up(ask, host):
    with pytest.raises((ModelUnavailable, ConfigError)) as caught:
        await OpenAIChat("m", base_url=f"http://{host}/v1", api_key=KEY).reply(ask())
    assert "othing was" in str(caught.value)


@pytest.mark.parametrize("answer", [Hangs(), Streams(chunks=[{"choices": []}], then_hangs=True)])
async def test_a_cancelled_reply_ends_at_once_and_closes_its_connection(ask, answer):
    with ChatServer([answer]) as server:
        with anyio.move_on_after(0.2) as scope:
            await talk(server).reply(ask(stream=True))
        assert scope.cancelled_caught


async def test_an_error_of_the_listener_is_its_own(ask):
    def broken(delta):
        raise KeyError(delta.text)

    with ChatServer([Says("Hi")]) as server, pytest.raises(KeyError):
        await talk(server).reply(ask(stream=True), broken)


async def test_a_long_error_page_is_read_in_part(ask):
    page = "x" * 30_000_000
    with ChatServer([Sends(status=500, body=page)]) as server, pytest.raises(ModelUnavailable, match="500") as caught:
        await talk(server).reply(ask())
    assert len(str(caught.value)) < 600
    assert server.sent < len(page), "the client hung up before it had it all"


async def test_an_error_page_that_is_cut_still_tells_its_status(ask):
    error = await refused(Sends(status=503, body="upstream is gone, sorry", closes_after=8), ask())
    assert "status 503: upstream" in str(error)
