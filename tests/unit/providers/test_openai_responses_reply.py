import json

import pytest
from hypothesis import given, strategies as st

from callslip.ports.model import Request, ToolView
from callslip.providers.aliases import RESPONSES
from callslip.providers.offered import Offered
from callslip.providers.openai_responses_reply import plain_reply
from callslip.providers.options import Price
from callslip.providers.wire_format import BrokenOff
from callslip.schema.shape.dialect import COMPATIBLE, OPENAI

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "line": {"type": "integer"}},
    "required": ["path"],
}
TOOL = ToolView(name="files.read", description="", input_schema=SCHEMA)
REQUEST = Request(system="", messages=(), tools=(TOOL,))
OFFERED = Offered(REQUEST, RESPONSES, COMPATIBLE)


def function(number=1, arguments="{}", name="read", **more):
    return {
        "id": f"fc_{number}",
        "type": "function_call",
        "status": "completed",
        "call_id": f"c{number}",
        "name": name,
        "arguments": arguments,
    } | more


def message(*parts, **more):
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": list(parts)} | more


def text(value):
    return {"type": "output_text", "text": value, "annotations": [], "logprobs": []}


REASONING = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "E"}


def read(*output, offered=OFFERED, price=None, **body):
    return plain_reply({"object": "response", "status": "completed", "output": list(output)} | body, offered, price)


@pytest.mark.requirement("WIRE-02")
def test_calls_by_call_id_and_their_own_names():
    reply = read(message(text("Look")), function(1, name=OFFERED.wire("files.read")), function(2, name="nobody's"))
    assert [(one.tool, one.provider_id, one.arguments) for one in reply.proposals] == [
        ("files.read", "c1", "{}"),
        ("nobody's", "c2", "{}"),
    ]
    assert (reply.text, reply.finish, reply.kept) == ("Look", "calls", ())


@pytest.mark.requirement("WIRE-03")
def test_the_shaping_of_a_strict_schema_is_undone():
    offered = Offered(REQUEST, RESPONSES, OPENAI)
    call = function(name=offered.wire("files.read"), arguments='{"path": "a", "line": null}')
    (proposal,) = read(call, offered=offered).proposals
    assert proposal.arguments == {"path": "a"}


@pytest.mark.parametrize(
    ("arguments", "becomes"),
    [('{"n": 12345678901234567890}',) * 2, ({"a": 1}, {"a": 1}), (None, ""), ([1], "[1]"), (7, "7"), ("{", "{")],
)
def test_arguments_stay_as_they_were_written(arguments, becomes):
    (proposal,) = read(function(arguments=arguments)).proposals
    assert proposal.arguments == becomes


@pytest.mark.parametrize("call_id", [None, "", " ", 7])
def test_a_call_without_an_id_is_a_call(call_id):
    (proposal,) = read(function(call_id=call_id)).proposals
    assert proposal.provider_id == ""


@pytest.mark.requirement("CALL-05")
@pytest.mark.parametrize(
    ("status", "details", "finish"),
    [
        ("completed", None, "calls"),
        (None, None, "calls"),
        ("", None, "calls"),
        ("incomplete", {"reason": "max_output_tokens"}, "length"),
        ("incomplete", {"reason": "content_filter"}, "filtered"),
        ("incomplete", {"reason": "unheard of"}, "cut"),
        ("incomplete", None, "cut"),
        ("completed", {"reason": "max_output_tokens"}, "length"),
        ("cancelled", None, "cut"),
        ("in_progress", None, "cut"),
        ("queued", None, "cut"),
        ("unheard of", None, "cut"),
    ],
)
def test_only_a_completed_response_makes_calls(status, details, finish):
    reply = read(REASONING, message(text("Look")), function(), status=status, incomplete_details=details)
    assert reply.finish == finish
    assert len(reply.proposals) == (finish == "calls")
    assert bool(reply.kept) == (finish == "calls")
    assert reply.text == "Look"


@pytest.mark.requirement("CALL-05")
@pytest.mark.parametrize("status", ["incomplete", "in_progress", "unheard of", 7])
def test_one_call_that_is_not_whole_makes_none(status):
    reply = read(function(1), function(2, status=status))
    assert (reply.finish, reply.proposals) == ("cut", ())


@pytest.mark.parametrize("error", [{"code": "server_error", "message": "m"}, None])
def test_a_failed_response_breaks_off(error):
    with pytest.raises(BrokenOff) as caught:
        read(status="failed", error=error)
    assert caught.value.error == (error or "the response failed")


@pytest.mark.parametrize("output", [None, {}, "text", 7])
def test_json_without_an_output_is_no_response(output):
    assert plain_reply({"status": "completed", "output": output}, OFFERED) is None


def test_a_refusal_is_text_and_is_kept():
    said = message({"type": "refusal", "refusal": "I won't."})
    reply = read(said)
    assert (reply.text, reply.finish) == ("I won't.", "stop")
    assert reply.kept == (said,)


def test_nothing_said_is_empty():
    assert read().finish == "empty"
    reply = read(REASONING, message(text(" ")))
    assert (reply.finish, reply.kept) == ("empty", ())


@pytest.mark.requirement("WIRE-05")
def test_reasoning_is_kept_with_all_that_it_belongs_to_in_order():
    program = {"id": "p_1", "type": "program", "call_id": "cp", "code": "x", "fingerprint": "F"}
    reply = read(REASONING, message(text("Look")), program, function(1), REASONING | {"id": "rs_2"}, function(2))
    rest = {"type": "function_call", "status": "completed"}
    assert reply.kept == (
        REASONING,
        message(text("Look")),
        program,
        {"call": 0, "item": rest | {"id": "fc_1"}},
        REASONING | {"id": "rs_2"},
        {"call": 1, "item": rest | {"id": "fc_2"}},
    )
    assert json.loads(json.dumps(reply.kept)) == list(reply.kept)


@pytest.mark.requirement("WIRE-05")
@pytest.mark.parametrize(
    "output",
    [
        [message(text("a"), phase="final_answer")],
        [message(text("a")), message(text("b"))],
        [function(), message(text("a"))],
        [function(namespace="n")],
    ],
)
def test_what_text_and_calls_do_not_say_is_kept(output):
    assert read(*output).kept


@pytest.mark.parametrize("output", [[message(text("a"))], [function(1), function(2)], [message(text("a"), phase=None)]])
def test_what_they_do_say_is_not(output):
    assert read(*output).kept == ()


@pytest.mark.requirement("WIRE-05")
@pytest.mark.parametrize("kind", ["custom_tool_call", "computer_call", "mcp_approval_request"])
def test_what_nobody_here_can_answer_is_not_kept(kind):
    assert read(REASONING, {"id": "x", "type": kind}, message(text("a"))).kept == (REASONING, message(text("a")))


def test_usage_and_its_price():
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 10},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 5},
    }
    counted = read(message(text("a")), usage=usage, model="m-1", price=Price(input=1.0, output=2.0, cached=0.5))
    assert counted.model == "m-1"
    assert (counted.usage.input_tokens, counted.usage.output_tokens) == (100, 20)
    assert (counted.usage.cached_tokens, counted.usage.cache_write_tokens) == (40, 10)
    assert counted.usage.reasoning_tokens == 5
    assert counted.usage.cost_micros == 50 + 20 + 10 + 40
    assert read(message(text("a")), usage=[1]).usage.cost_micros is None


def test_lone_surrogates_are_scrubbed_from_text():
    assert read(message(text("a\ud800"))).text == "a\ufffd"


KEYS = ["type", "id", "status", "call_id", "name", "arguments", "content", "text", "refusal", "summary", "caller"]
SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["message", "function_call", "reasoning", "completed"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)


@given(st.lists(SHAPES, max_size=4), SHAPES, SHAPES)
def test_no_shape_of_json_breaks_the_reading(output, status, other):
    """A total function: whatever a server sends, there is a reply, or word that it is none."""
    body = {"output": output, "status": status, "incomplete_details": other, "usage": other, "model": other}
    reply = plain_reply(body, OFFERED)
    assert reply is not None
    if status not in ("completed", None) and isinstance(status, str):
        assert reply.proposals == ()
    plain_reply({"output": other, "status": "completed"}, OFFERED)
