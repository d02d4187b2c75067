"""WIRE-04 for Responses: every case of openai_responses_streams.json, cut at every place, and streams drawn at random."""

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from callslip.ports.model import Delta, Request, ToolView
from callslip.providers.aliases import RESPONSES
from callslip.providers.offered import Offered
from callslip.providers.openai_responses_stream import ResponsesAssembly
from callslip.providers.wire_format import BrokenOff
from callslip.schema.shape.dialect import COMPATIBLE

FILE = Path(__file__).parents[2] / "wire" / "openai_responses_streams.json"
CASES = json.loads(FILE.read_text(encoding="utf-8"))["cases"]
TOOL = ToolView(name="files.read", description="", input_schema={"type": "object"})
OFFERED = Offered(Request(system="", messages=(), tools=(TOOL,)), RESPONSES, COMPATIBLE)


def read(events, *, broken=False):
    assembly = ResponsesAssembly(OFFERED)
    for event in events:
        assembly.add("message", event)
    return assembly.reply(broken=broken)


def spelt(reply):
    calls = []
    for proposal in reply.proposals:
        arguments = proposal.arguments
        calls.append([proposal.provider_id, proposal.tool, json.loads(arguments) if arguments else arguments])
    return calls


def is_final(event):
    return event["type"] in {"response.completed", "response.incomplete", "response.cancelled"}


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
    end = next((place for place, event in enumerate(events) if is_final(event)), len(events))
    for place in range(end + 1):
        reply = read(events[:place])
        assert (reply.finish, reply.proposals, reply.kept) == ("cut", (), ())


@pytest.mark.requirement("CALL-05")
@pytest.mark.parametrize("case", [case for case in CASES if case["calls"]], ids=lambda case: case["id"])
def test_a_lost_connection_is_never_a_call_even_after_the_end(case):
    reply = read(case["events"], broken=True)
    assert (reply.finish, reply.proposals, reply.kept) == ("cut", (), ())


def shown(events):
    assembly = ResponsesAssembly(OFFERED)
    return [delta for event in events for delta in assembly.add("message", event)]


AS_IT_CAME = {"parts-out-of-order", "split-character"}
"""Cases whose text is put in order, or whole, only at the end."""


@pytest.mark.requirement("WIRE-04")
@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case["becomes"] == "stop" and case["id"] not in AS_IT_CAME],
    ids=lambda case: case["id"],
)
def test_all_text_is_shown_once(case):
    assert "".join(delta.text for delta in shown(case["events"])) == case["text"]


def test_tools_are_shown_by_their_own_names_and_once():
    wire = OFFERED.wire("files.read")
    call = {"id": "fc_1", "type": "function_call", "name": wire, "arguments": ""}
    added = {"type": "response.output_item.added", "output_index": 0, "item": call}
    done = {"type": "response.output_item.done", "output_index": 0, "item": {**call, "arguments": "{}"}}
    assert shown([added, done]) == [Delta(tool="files.read")]
    assert shown([done]) == [Delta(tool="files.read")]


def test_text_that_only_an_items_end_says_is_shown():
    item = {"id": "msg_1", "type": "message", "content": [{"type": "output_text", "text": "Hi"}]}
    assert shown([{"type": "response.output_item.done", "output_index": 0, "item": item}]) == [Delta(text="Hi")]


@pytest.mark.parametrize(
    ("name", "event", "said"),
    [
        ("message", {"type": "error", "code": "server_error", "message": "m"}, {"code": "server_error"}),
        ("message", {"type": "error", "error": {"code": "x"}}, {"code": "x"}),
        ("error", {"code": "y"}, {"code": "y"}),
        (
            "message",
            {"type": "response.failed", "response": {"status": "failed", "error": {"code": "rate_limit_exceeded"}}},
            {"code": "rate_limit_exceeded"},
        ),
        (
            "message",
            {"type": "response.completed", "response": {"status": "failed", "error": {"code": "z"}}},
            {"code": "z"},
        ),
    ],
)
def test_an_error_breaks_off(name, event, said):
    assembly = ResponsesAssembly(OFFERED)
    assembly.add("message", CASES[0]["events"][0])
    with pytest.raises(BrokenOff) as caught:
        assembly.add(name, event)
    assert said.items() <= caught.value.error.items()


def test_a_failure_that_says_nothing_breaks_off_too():
    with pytest.raises(BrokenOff, match="broke off"):
        read([{"type": "response.failed"}])


def test_the_events_name_stands_in_for_a_missing_type():
    assembly = ResponsesAssembly(OFFERED)
    assembly.add("response.output_text.delta", {"delta": "Hi"})
    assembly.add("response.completed", {"response": {"usage": {"input_tokens": 3}, "model": "m-2"}})
    reply = assembly.reply()
    assert (reply.text, reply.finish, reply.model, reply.usage.input_tokens) == ("Hi", "stop", "m-2", 3)


def test_a_ping_is_no_beginning():
    assembly = ResponsesAssembly(OFFERED)
    assembly.add("message", {"type": "ping"})
    assert not assembly.started
    assembly.add("message", {"type": "response.created", "response": {}})
    assert assembly.started


@st.composite
def streams(draw):
    """Calls as meant, and their events in any order that keeps each call's own."""
    count = draw(st.integers(1, 4))
    broken = draw(st.sampled_from(["nothing", "ids", "indices", "drift"]))
    meant, queues = [], []
    for number in range(count):
        arguments = json.dumps({"v": draw(st.text(max_size=6))})
        at = sorted(draw(st.lists(st.integers(0, len(arguments)), max_size=3)))
        pieces = [arguments[a:b] for a, b in zip([0, *at], [*at, len(arguments)], strict=True)]
        call = {"type": "function_call", "call_id": f"call_{number}", "name": f"t{number}", "arguments": arguments}
        meant.append((f"call_{number}", f"t{number}", arguments))
        kind = "response.function_call_arguments.delta"
        events = [
            {"type": "response.output_item.added", "item": {**call, "arguments": "", "status": "in_progress"}},
            *({"type": kind, "delta": piece} for piece in pieces),
            {"type": "response.output_item.done", "item": {**call, "status": "completed"}},
        ]
        for place, event in enumerate(events):
            item_id = "" if broken == "ids" else f"fc_{number}_{place}" if broken == "drift" else f"fc_{number}"
            if "item" in event:
                event["item"]["id"] = item_id
            else:
                event["item_id"] = item_id
            if broken != "indices":
                event["output_index"] = number
        queues.append(events)
    # The calls begin in their order, as a model writes them; after that anything may follow anything.
    events = [queue.pop(0) for queue in queues]
    while any(queues):
        events.append(draw(st.sampled_from([queue for queue in queues if queue])).pop(0))
    return meant, events


@pytest.mark.requirement("WIRE-04")
@given(streams(), st.booleans())
def test_any_interleaving_gives_the_same_calls(stream, without_ends):
    meant, events = stream
    assert read(events).finish == "cut"
    end = {"type": "response.completed", "response": {"status": "completed", "output": []}}
    reply = read([*events, end])
    assert [(one.provider_id, one.tool, one.arguments) for one in reply.proposals] == meant
    if without_ends:
        events = [event for event in events if event["type"] != "response.output_item.done"]
        assert read([*events, end]).finish == "cut"


KEYS = ["type", "item", "id", "item_id", "output_index", "delta", "arguments", "name", "content", "text", "output"]
KINDS = ["response.output_item.added", "response.output_item.done", "response.output_text.delta"]
KINDS += ["response.function_call_arguments.done", "response.refusal.done", "response.created", "message"]
KINDS += ["function_call", "reasoning"]
SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(KINDS) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(KEYS), SHAPES)), max_size=6), SHAPES)
def test_no_shape_of_json_breaks_the_reading(events, shape):
    """A total function: whatever a server sends, there is a reply, and without an end it makes no calls."""
    assembly = ResponsesAssembly(OFFERED)
    for kind, data in events:
        assembly.add("message", {**data, "type": kind})
    assert assembly.reply().proposals == ()
    assembly.add("message", {"type": "response.completed", "response": {"output": shape, "usage": shape}})
    assembly.reply()
    assert assembly.reply(broken=True).proposals == ()
