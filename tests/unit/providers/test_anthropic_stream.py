"""WIRE-04 for Messages: every case of anthropic_streams.json, cut at every place, and streams drawn at random."""

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from callslip.core.events.model_replied import Usage
from callslip.ports.model import Delta, Request, ToolView
from callslip.providers.aliases import ANTHROPIC
from callslip.providers.anthropic_stream import MessagesAssembly
from callslip.providers.offered import Offered
from callslip.providers.options import Price
from callslip.providers.wire_format import BrokenOff
from callslip.schema.shape.dialect import COMPATIBLE

FILE = Path(__file__).parents[2] / "wire" / "anthropic_streams.json"
CASES = json.loads(FILE.read_text(encoding="utf-8"))["cases"]
TOOL = ToolView(name="files.read", description="", input_schema={"type": "object"})
OFFERED = Offered(Request(system="", messages=(), tools=(TOOL,)), ANTHROPIC, COMPATIBLE)


def read(events, *, broken=False, price=None):
    assembly = MessagesAssembly(OFFERED, price)
    for event in events:
        assembly.add("message", event)
    return assembly.reply(broken=broken)


def value_of(arguments):
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments


def spelt(reply):
    return [[one.provider_id, one.tool, value_of(one.arguments)] for one in reply.proposals]


@pytest.mark.requirement("WIRE-04")
@pytest.mark.requirement("WIRE-05")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_what_becomes_of_a_stream(case):
    reply = read(case["events"])
    assert (reply.finish, reply.text) == (case["becomes"], case["text"])
    assert spelt(reply) == case["calls"]
    if "kept" in case:
        assert list(reply.kept) == case["kept"]


@pytest.mark.requirement("CALL-05")
@pytest.mark.requirement("WIRE-04")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_stream_cut_anywhere_before_its_end_is_a_cut(case):
    events = case["events"]
    end = next((place for place, event in enumerate(events) if event["type"] == "message_stop"), len(events))
    for place in range(end + 1):
        reply = read(events[:place])
        assert (reply.finish, reply.proposals, reply.kept) == ("cut", (), ())


@pytest.mark.requirement("CALL-05")
@pytest.mark.parametrize("case", [case for case in CASES if case["calls"]], ids=lambda case: case["id"])
def test_a_lost_connection_is_never_a_call_even_after_the_end(case):
    reply = read(case["events"], broken=True)
    assert (reply.finish, reply.proposals, reply.kept) == ("cut", (), ())


@pytest.mark.requirement("CALL-05")
@pytest.mark.parametrize("lost", ["content_block_start", "content_block_stop", "message_delta", "message_stop"])
@pytest.mark.parametrize("case", CASES[:4], ids=lambda case: case["id"])
def test_any_one_event_that_is_lost_leaves_a_doubt(case, lost):
    events = case["events"]
    for place, event in enumerate(events):
        if event["type"] == lost:
            assert read([*events[:place], *events[place + 1 :]]).proposals == ()


def shown(events):
    assembly = MessagesAssembly(OFFERED)
    return [delta for event in events for delta in assembly.add("message", event)]


@pytest.mark.requirement("WIRE-04")
@pytest.mark.parametrize("case", [case for case in CASES if case["becomes"] != "filtered"], ids=lambda case: case["id"])
def test_all_text_is_shown_once_and_no_thinking(case):
    if case["id"] == "split-character":
        pytest.skip("shown as it came")
    assert "".join(delta.text for delta in shown(case["events"])) == case["text"]


def opened(block, index=0):
    return {"type": "content_block_start", "index": index, "content_block": block}


def piece(index=0, **delta):
    return {"type": "content_block_delta", "index": index, "delta": delta}


def closed(index=0):
    return {"type": "content_block_stop", "index": index}


def ended(reason="tool_use", **more):
    return [{"type": "message_delta", "delta": {"stop_reason": reason}} | more, {"type": "message_stop"}]


def test_tools_are_shown_by_their_own_names_and_once():
    call = {"type": "tool_use", "id": "toolu_1", "name": OFFERED.wire("files.read"), "input": {}}
    assert shown([opened(call), piece(type="input_json_delta", partial_json="{}"), closed()]) == [
        Delta(tool="files.read")
    ]


@pytest.mark.parametrize(
    ("name", "event", "said"),
    [
        ("message", {"type": "error", "error": {"type": "overloaded_error"}}, {"type": "overloaded_error"}),
        ("error", {"error": {"type": "api_error"}}, {"type": "api_error"}),
        ("error", {"message": "m"}, {"message": "m"}),
        ("message", {"type": "error"}, {"type": "error"}),
    ],
)
def test_an_error_breaks_off_even_after_the_end(name, event, said):
    for events in (CASES[0]["events"][:3], CASES[0]["events"]):
        assembly = MessagesAssembly(OFFERED)
        for before in events:
            assembly.add("message", before)
        with pytest.raises(BrokenOff) as caught:
            assembly.add(name, event)
        assert caught.value.error == said


def test_the_events_name_stands_in_for_a_missing_type():
    assembly = MessagesAssembly(OFFERED)
    for name, data in [
        ("message_start", {"message": {"model": "m-2"}}),
        ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": "Hi"}}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": {"stop_reason": "end_turn"}}),
        ("message_stop", {}),
    ]:
        assembly.add(name, data)
    reply = assembly.reply(broken=False)
    assert (reply.text, reply.finish, reply.model) == ("Hi", "stop", "m-2")


@pytest.mark.parametrize(
    "event",
    [
        {"type": "message_start"},
        opened({}),
        piece(),
        closed(),
        {"type": "message_delta"},
    ],
)
def test_a_ping_is_no_beginning_and_everything_else_is(event):
    assembly = MessagesAssembly(OFFERED)
    for nothing in ({"type": "ping"}, {"type": "unheard_of"}, {}):
        assembly.add("message", nothing)
    assert not assembly.started
    assembly.add("message", event)
    assert assembly.started


def test_counts_are_those_of_the_last_event_that_has_them():
    begun = {"input_tokens": 9, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 2, "output_tokens": 1}
    later = {"output_tokens": 7, "input_tokens": 0, "output_tokens_details": {"thinking_tokens": 3}}
    events = [{"type": "message_start", "message": {"usage": begun}}, *ended("end_turn", usage=later)]
    expected = Usage(input_tokens=15, output_tokens=7, cached_tokens=4, cache_write_tokens=2, reasoning_tokens=3)
    assert read(events).usage == expected
    assert read(events, price=Price(input=1, output=2)).usage.cost_micros == 15 + 14
    # A copy that sends counts with the end only.
    assert read(ended("end_turn", usage={"input_tokens": 5, "output_tokens": 2})).usage.input_tokens == 5
    assert read(events[:1]).usage.input_tokens == 15


@st.composite
def streams(draw):
    """Calls as meant, and their events in any order that keeps each call's own."""
    meant, queues = [], []
    for number in range(draw(st.integers(1, 4))):
        arguments = json.dumps({"v": draw(st.text(max_size=6))})
        at = sorted(draw(st.lists(st.integers(0, len(arguments)), max_size=3)))
        pieces = [arguments[a:b] for a, b in zip([0, *at], [*at, len(arguments)], strict=True)]
        meant.append((f"toolu_{number}", f"t{number}", arguments))
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": f"t{number}", "input": {}}
        queues.append(
            [
                opened(call, number),
                *(piece(number, type="input_json_delta", partial_json=part) for part in pieces),
                closed(number),
            ]
        )
    events = []
    while any(queues):
        events.append(draw(st.sampled_from([queue for queue in queues if queue])).pop(0))
    return meant, events


@pytest.mark.requirement("WIRE-04")
@given(streams(), st.booleans(), st.data())
def test_any_interleaving_gives_the_same_calls(stream, torn, data):
    meant, events = stream
    assert read(events).finish == "cut"
    reply = read([*events, *ended()])
    assert [(one.provider_id, one.tool, one.arguments) for one in reply.proposals] == meant
    if torn:
        ends = [place for place, event in enumerate(events) if event["type"] != "content_block_delta"]
        lost = data.draw(st.sampled_from(ends))
        assert read([*events[:lost], *events[lost + 1 :], *ended()]).finish == "cut"


KEYS = ["type", "index", "content_block", "delta", "text", "partial_json", "thinking", "signature", "input", "id"]
KEYS += ["name", "usage", "message", "stop_reason", "stop_details"]
KINDS = ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "ping"]
WORDS = [*KINDS, "text", "tool_use", "thinking", "text_delta", "input_json_delta", "signature_delta", "tool_use"]
SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.floats() | st.sampled_from(WORDS) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(KEYS), SHAPES)), max_size=6))
def test_no_shape_of_json_breaks_the_reading(events):
    """A total function: whatever a server sends, there is a reply, and without an end it makes no calls."""
    assembly = MessagesAssembly(OFFERED)
    for kind, data in events:
        assembly.add("message", {**data, "type": kind})
    assert assembly.reply(broken=False).proposals == ()
    for event in ended():
        assembly.add("message", event)
    assembly.reply(broken=False)
    assert assembly.reply(broken=True).proposals == ()


@pytest.mark.parametrize("shape", [("[", "]"), ('{"a":', "}")])
def test_arguments_of_any_depth_that_can_be_read_are_read(shape):
    for depth in range(800, 1000):
        try:
            value = json.loads(shape[0] * depth + "1" + shape[1] * depth)
        except RecursionError:
            break
        call = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": value}
        reply = read([opened(call), piece(type="input_json_delta", partial_json="{}"), closed(), *ended()])
        assert value_of(reply.proposals[0].arguments) not in ({}, value)
