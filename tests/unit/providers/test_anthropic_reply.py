import json

import pytest
from hypothesis import given, strategies as st

from callslip.core.events.model_replied import Usage
from callslip.ports.model import Request, ToolView
from callslip.providers.aliases import ANTHROPIC
from callslip.providers.anthropic_reply import kept_of, plain_reply
from callslip.providers.anthropic_request import OfferedTogether
from callslip.providers.offered import Offered
from callslip.providers.options import Price
from callslip.providers.wire_format import BrokenOff
from callslip.schema.shape import dialect

SCHEMA = {"type": "object", "properties": {"a b": {"type": "integer"}}, "required": ["a b"]}
TOOL = ToolView(name="files.read", description="", input_schema=SCHEMA)
REQUEST = Request(system="", messages=(), tools=(TOOL,))
OFFERED = Offered(REQUEST, ANTHROPIC, dialect.COMPATIBLE)
THOUGHT = {"type": "thinking", "thinking": "Hm", "signature": "s"}
HIDDEN = {"type": "redacted_thinking", "data": "opaque"}


def text(value):
    return {"type": "text", "text": value}


def use(number=1, arguments=None, name="read", **more):
    arguments = {} if arguments is None else arguments
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments} | more


def read(*content, offered=OFFERED, price=None, **body):
    return plain_reply({"type": "message", "content": list(content), "stop_reason": "tool_use"} | body, offered, price)


@pytest.mark.requirement("WIRE-02")
def test_calls_by_id_and_their_own_names():
    reply = read(text("Look"), use(1, {"p": 1}, OFFERED.wire("files.read")), use(2, name="nobody's"), model="m-1")
    assert [(one.tool, one.provider_id, one.arguments) for one in reply.proposals] == [
        ("files.read", "toolu_1", {"p": 1}),
        ("nobody's", "toolu_2", {}),
    ]
    assert (reply.text, reply.finish, reply.kept, reply.model) == ("Look", "calls", (), "m-1")


@pytest.mark.requirement("WIRE-03")
def test_the_shaping_of_a_strict_schema_is_undone():
    offered = OfferedTogether(REQUEST, dialect.ANTHROPIC, strict=None)
    (alias,) = offered.tools[0].shaped.schema["properties"]
    assert alias != "a b"
    (proposal,) = read(use(name=offered.wire("files.read"), arguments={alias: 3}), offered=offered).proposals
    assert proposal.arguments == {"a b": 3}


@pytest.mark.parametrize(
    ("arguments", "becomes"),
    [
        ({"n": 12345678901234567890}, {"n": 12345678901234567890}),
        ('{"a":1}', '{"a":1}'),
        ("{", "{"),
        ([1], "[1]"),
        (7, "7"),
    ],
)
def test_arguments_stay_as_they_were_written(arguments, becomes):
    (proposal,) = read(use(arguments=arguments)).proposals
    assert proposal.arguments == becomes


@pytest.mark.parametrize("missing", [{"input": None}, {}])
def test_no_arguments_are_none(missing):
    call = {"type": "tool_use", "id": "toolu_1", "name": "read"} | missing
    assert read(call).proposals[0].arguments == ""


@pytest.mark.parametrize("shape", [("[", "]"), ('{"a":', "}")])
def test_arguments_of_any_depth_that_can_be_read_are_read(shape):
    for depth in range(800, 1000):
        try:
            value = json.loads(shape[0] * depth + "1" + shape[1] * depth)
        except RecursionError:
            break
        assert read(use(arguments=value)).finish == "calls"


@pytest.mark.parametrize("given_id", [None, "", " ", 7])
def test_a_call_without_an_id_is_a_call(given_id):
    (proposal,) = read(use() | {"id": given_id}).proposals
    assert proposal.provider_id == ""


@pytest.mark.requirement("CALL-05")
@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("tool_use", "calls"),
        ("end_turn", "calls"),
        ("stop_sequence", "calls"),
        (None, "calls"),
        ("", "calls"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "filtered"),
        ("pause_turn", "cut"),
        ("compaction", "cut"),
        ("unheard of", "cut"),
        (["tool_use"], "cut"),
        (7, "cut"),
    ],
)
def test_only_a_reply_that_came_to_its_end_makes_calls(reason, finish):
    reply = read(THOUGHT, text("Look"), use(), stop_reason=reason)
    assert (reply.finish, reply.text) == (finish, "Look")
    assert len(reply.proposals) == (finish == "calls")
    assert bool(reply.kept) == (finish == "calls")


@pytest.mark.parametrize(
    ("content", "finish"),
    [((text("Hi"),), "stop"), ((), "empty"), ((text(" \n"),), "empty"), ((THOUGHT,), "empty"), ((use(),), "calls")],
)
def test_what_came_decides_how_it_finished(content, finish):
    reply = read(*content, stop_reason="end_turn")
    assert (reply.finish, reply.kept) == (finish, ())


def test_a_refusal_says_why_unless_it_said_something():
    details = {"type": "refusal", "category": None, "explanation": "Not this."}
    assert read(stop_reason="refusal", stop_details=details).text == "Not this."
    assert read(text("Half"), stop_reason="refusal", stop_details=details).text == "Half"
    assert read(stop_reason="refusal", stop_details={"explanation": 7}).text == ""
    assert read(stop_reason="end_turn", stop_details=details).text == ""


@pytest.mark.requirement("WIRE-05")
def test_what_was_thought_is_kept_in_its_place_and_calls_are_only_marked():
    reply = read(THOUGHT, text("Look"), use(1), HIDDEN, use(2))
    assert reply.kept == (
        THOUGHT, text("Look"), {"type": "tool_use", "call": 0}, HIDDEN, {"type": "tool_use", "call": 1},
    )  # fmt: skip


@pytest.mark.requirement("WIRE-05")
def test_text_after_a_call_is_kept_for_its_place():
    assert len(read(use(), text("Look")).kept) == 2
    assert len(read(text("a"), text("b"), use()).kept) == 3
    assert read(text("a"), use(1), use(2)).kept == ()
    assert read(text(""), text("a"), use(1), text(" ")).kept == ()


@pytest.mark.requirement("WIRE-05")
@pytest.mark.parametrize(
    ("block", "kept"),
    [
        (THOUGHT, True),
        (HIDDEN, True),
        ({"type": "thinking", "thinking": "", "signature": "s"}, True),
        ({"type": "thinking", "thinking": "of a server without signatures"}, True),
        ({"type": "unheard_of", "x": 1}, True),
        ({"type": "thinking", "thinking": "Hm", "signature": ""}, False),
        ({"type": "thinking", "thinking": "Hm", "signature": None}, False),
        ({"type": "thinking", "thinking": "Hm", "signature": 7}, False),
        ({"type": "thinking", "thinking": None, "signature": "s"}, False),
        ({"type": "redacted_thinking"}, False),
        ({"type": "redacted_thinking", "data": 7}, False),
        ({"type": 7}, False),
        ({}, False),
    ],
)
def test_what_would_be_refused_is_not_kept(block, kept):
    assert kept_of([block, text("Hi")]) == ((block, text("Hi")) if kept else ())


def test_kept_text_has_no_fields_of_the_reply():
    assert kept_of([THOUGHT, text("Hi") | {"citations": None}]) == (THOUGHT, text("Hi"))


@pytest.mark.parametrize("content", ["Hi", [text("Hi"), 7, None, "x"]])
def test_content_that_copies_send_otherwise(content):
    reply = plain_reply({"content": content}, OFFERED)
    assert (reply.text, reply.finish) == ("Hi", "stop")


@pytest.mark.parametrize("body", [{}, {"content": None}, {"content": 7}, {"choices": []}])
def test_json_of_another_api_is_no_reply(body):
    assert plain_reply(body, OFFERED) is None


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, {"type": "overloaded_error", "message": "Overloaded"}),
        (None, {"type": "error", "error": None}),
    ],
)
def test_an_error_breaks_off(error, said):
    with pytest.raises(BrokenOff) as caught:
        plain_reply({"type": "error", "error": error}, OFFERED)
    assert caught.value.error == said


def test_usage_counts_what_the_cache_had_part_in():
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 200,
        "cache_creation_input_tokens": 30,
        "cache_creation": {"ephemeral_5m_input_tokens": 30},
        "output_tokens": 7,
        "output_tokens_details": {"thinking_tokens": 4},
    }
    expected = {
        "input_tokens": 240, "output_tokens": 7, "cached_tokens": 200, "cache_write_tokens": 30, "reasoning_tokens": 4,
    }  # fmt: skip
    assert read(text("Hi"), usage=usage).usage == Usage(**expected)
    priced = read(text("Hi"), usage=usage, price=Price(input=3, output=15, cached=0.3, cache_write=3.75)).usage
    assert priced == Usage(**expected, cost_micros=round(10 * 3 + 200 * 0.3 + 30 * 3.75 + 7 * 15))


@pytest.mark.parametrize("usage", [None, 7, {"input_tokens": "7", "output_tokens": -1, "output_tokens_details": 3}])
def test_counts_that_are_none_are_zero(usage):
    assert read(text("Hi"), usage=usage).usage == Usage()


def test_lone_surrogates_are_replaced():
    assert read(text("\ud83d"), text("\ude00"), text("\ud800"), stop_reason="end_turn").text == "😀\ufffd"


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "id", "name", "input", "signature", "thinking"]), inner)
    ),
    max_leaves=6,
)
BLOCK = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_use", "thinking", "redacted_thinking", "x"]) | JUNK},
    optional=dict.fromkeys(("text", "id", "name", "input", "thinking", "signature", "data"), JUNK),
)


@pytest.mark.requirement("CALL-05")
@given(
    st.fixed_dictionaries(
        {"content": st.lists(BLOCK | JUNK, max_size=4) | JUNK},
        optional={"stop_reason": st.sampled_from(["tool_use", "end_turn"]) | JUNK, "usage": JUNK, "model": JUNK},
    )
)
def test_whatever_comes_is_read_or_is_none(body):
    reply = plain_reply(body, OFFERED)
    if reply is not None:
        assert bool(reply.proposals) == (reply.finish == "calls")
        json.dumps(reply.kept)
