"""A reply of Mistral's in one piece, every case of mistral_streams.json, cut at every place, and streams drawn at random."""

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from callslip.ports.model import Delta, Request, ToolView
from callslip.providers.aliases import CHAT
from callslip.providers.mistral_reply import MistralAssembly, whole_reply
from callslip.providers.offered import Offered
from callslip.providers.options import Price
from callslip.providers.wire_format import BrokenOff
from callslip.schema.shape.dialect import MISTRAL

FILE = Path(__file__).parents[2] / "wire" / "mistral_streams.json"
CASES = json.loads(FILE.read_text(encoding="utf-8"))["cases"]
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "line": {"type": "integer"}},
    "required": ["path"],
}
TOOL = ToolView(name="files.read", description="", input_schema=SCHEMA)
OFFERED = Offered(Request(system="", messages=(), tools=(TOOL,)), CHAT, MISTRAL)
WIRE = OFFERED.wire("files.read")
THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}


def function(name="read", arguments="{}", provider_id="aaaaaaaa1", **more):
    return {"id": provider_id, "function": {"name": name, "arguments": arguments}} | more


def read(content="", *calls, finish="stop", price=None, **body):
    message = {"role": "assistant", "content": content, "tool_calls": list(calls) or None}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return whole_reply({"object": "chat.completion", "choices": [choice]} | body, OFFERED, price)


def streamed(chunks, *, broken=False):
    assembly = MistralAssembly(OFFERED)
    shown = [delta for chunk in chunks for delta in assembly.add("message", chunk)]
    return assembly.reply(broken=broken), shown


def spelt(reply, expected):
    """The calls; arguments read, unless the case says that they stay a text."""
    calls = []
    for one, want in zip(reply.proposals, expected, strict=True):
        is_text = isinstance(one.arguments, str) and not isinstance(want[2], str)
        calls.append([one.provider_id, one.tool, json.loads(one.arguments) if is_text else one.arguments])
    return calls


@pytest.mark.requirement("WIRE-02")
def test_calls_and_text_in_one_piece():
    reply = read("Look", function(WIRE, '{"path":"a"}'), function("nobody's", {"a": 1}, "b" * 9), finish="tool_calls")
    assert [(one.tool, one.arguments, one.provider_id) for one in reply.proposals] == [
        ("files.read", '{"path":"a"}', "aaaaaaaa1"),
        ("nobody's", {"a": 1}, "b" * 9),
    ]
    assert (reply.text, reply.finish, reply.kept) == ("Look", "calls", ())


@pytest.mark.requirement("CALL-03")
@pytest.mark.parametrize("provider_id", ["null", "", " ", None, 7])
def test_a_call_without_an_id_is_a_call(provider_id):
    reply = read("", function(provider_id=provider_id), function(provider_id=provider_id), finish="tool_calls")
    assert [one.provider_id for one in reply.proposals] == ["", ""]


@pytest.mark.requirement("WIRE-03")
def test_the_shaping_of_a_strict_schema_is_undone():
    call = function(WIRE, '{"path":"a","line":null}')
    assert read("", call).proposals[0].arguments == {"path": "a"}
    end = {"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    assert streamed([end])[0].proposals[0].arguments == {"path": "a"}


@pytest.mark.requirement("CALL-05")
@pytest.mark.parametrize(
    ("finish", "becomes"),
    [
        ("tool_calls", "calls"),
        ("stop", "calls"),
        (None, "calls"),
        ("length", "length"),
        ("model_length", "length"),
        ("error", "cut"),
        ("unheard of", "cut"),
    ],
)
def test_only_a_whole_reply_makes_calls(finish, becomes):
    reply = read([THOUGHT, {"type": "text", "text": "Look"}], function(), finish=finish)
    assert (reply.finish, reply.text) == (becomes, "Look")
    assert bool(reply.proposals) == bool(reply.kept) == (becomes == "calls")


@pytest.mark.requirement("WIRE-05")
def test_what_was_thought_is_kept_in_its_place_and_is_no_text():
    source = {"type": "reference", "reference_ids": [0]}
    reply = read([THOUGHT, {"type": "text", "text": "Os"}, {"type": "text", "text": "lo"}, source])
    assert (reply.text, reply.finish) == ("Oslo", "stop")
    assert reply.kept == ({"content": [THOUGHT, {"type": "text", "text": "Oslo"}, source]},)
    assert read([{"type": "text", "text": "Oslo"}]).kept == ()
    assert (read([THOUGHT]).finish, read([THOUGHT]).kept) == ("empty", ())


def test_json_without_choices_is_no_reply():
    assert whole_reply({"object": "response", "output": []}, OFFERED) is None
    assert whole_reply({"choices": {}}, OFFERED) is None
    nothing = whole_reply({"choices": []}, OFFERED)
    assert nothing is not None
    assert nothing.finish == "empty"


@pytest.mark.parametrize(
    "said",
    [
        {"num_cached_tokens": 40},
        {"prompt_token_details": {"cached_tokens": 40}},
        {"prompt_tokens_details": {"cached_tokens": 40}, "num_cached_tokens": 7},
    ],
)
def test_usage_and_its_price(said):
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, **said}
    price = Price(input=1.0, output=2.0, cached=0.5)
    plain = read("Hi", usage=usage, model="m-1", price=price)
    assert (plain.usage.input_tokens, plain.usage.output_tokens, plain.usage.cached_tokens) == (100, 20, 40)
    assert (plain.usage.cost_micros, plain.model) == (60 + 20 + 40, "m-1")
    assembly = MistralAssembly(OFFERED, price)
    end = {"model": "m-1", "choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    assembly.add("message", {**end, "usage": usage})
    assembly.add("message", {"choices": []})
    assert assembly.reply(broken=False).usage == plain.usage
    assert read("Hi", usage=usage).usage.cost_micros is None


LISTED = {"detail": [{"loc": ["body"], "msg": "one"}, {"msg": "two"}, 7, {"msg": 3}]}


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        ({"message": "busy", "code": "3505", "raw_status_code": 429}, "busy", 429),
        ({"message": "busy", "code": "3505"}, "busy", "3505"),
        ({"message": LISTED, "raw_status_code": 422}, "one; two", 422),
        ({"message": 7, "raw_status_code": True}, "", None),
    ],
)
def test_an_error_in_the_place_of_a_reply_breaks_off(body, message, code):
    body = {"object": "error", **body}
    with pytest.raises(BrokenOff) as caught:
        whole_reply(body, OFFERED)
    assert (caught.value.error["message"], caught.value.error["code"]) == (message, code)
    with pytest.raises(BrokenOff):
        streamed([CASES[0]["chunks"][0], body])


@pytest.mark.requirement("WIRE-04")
@pytest.mark.requirement("WIRE-05")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_what_becomes_of_a_stream(case):
    reply, shown = streamed(case["chunks"])
    assert (reply.finish, reply.text) == (case["becomes"], case["text"])
    assert len(reply.proposals) == len(case["calls"])
    assert spelt(reply, case["calls"]) == case["calls"]
    assert list(reply.kept) == case["kept"]
    assert "".join(delta.text for delta in shown) == reply.text


@pytest.mark.requirement("CALL-05")
@pytest.mark.requirement("WIRE-04")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_stream_cut_anywhere_before_its_end_is_a_cut(case):
    ends = [place for place, chunk in enumerate(case["chunks"]) if '"finish_reason": "' in json.dumps(chunk)]
    for place in range(ends[0] + 1 if ends else len(case["chunks"]) + 1):
        reply, _ = streamed(case["chunks"][:place])
        assert (reply.finish, reply.proposals, reply.kept) == ("cut", (), ())


@pytest.mark.requirement("CALL-05")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_lost_connection_is_never_a_call_even_after_the_end(case):
    reply, _ = streamed(case["chunks"], broken=True)
    assert (reply.finish, reply.proposals, reply.kept) == ("cut", (), ())


def test_tools_are_shown_by_their_own_names_and_thoughts_are_not_shown():
    chunks = [
        {"content": [THOUGHT]},
        {"content": "Look"},
        {"tool_calls": [function(WIRE), function("x", provider_id="b")]},
    ]
    _, shown = streamed([{"choices": [{"index": 0, "delta": delta}]} for delta in chunks])
    assert shown == [Delta(text="Look"), Delta(tool="files.read"), Delta(tool="x")]


def test_a_chunk_of_any_kind_is_a_beginning():
    assembly = MistralAssembly(OFFERED)
    assert not assembly.started
    assembly.add("message", {})
    assert assembly.started


@pytest.mark.requirement("WIRE-04")
@given(
    st.lists(
        st.tuples(st.sampled_from(["read", "list"]), st.text(max_size=5), st.integers(0, 2)), min_size=1, max_size=5
    ),
    st.sampled_from(["own", "null", "missing"]),
    st.sampled_from(["own", "zero", "missing"]),
    st.booleans(),
)
def test_whole_calls_stay_apart_whatever_their_ids_and_indices(meant, ids, indices, together):
    items = []
    for place, (name, value, _) in enumerate(meant):
        item = function(name, json.dumps({"v": value}), f"id{place:07}" if ids == "own" else "null")
        if ids == "missing":
            del item["id"]
        if indices != "missing":
            item["index"] = place if indices == "own" else 0
        items.append(item)
    packs = [items] if together else [[item] for item in items]
    chunks = [{"choices": [{"index": 0, "delta": {"tool_calls": pack}, "finish_reason": None}]} for pack in packs]
    assert streamed(chunks)[0].finish == "cut"
    reply, _ = streamed([*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}])
    assert [(one.tool, json.loads(one.arguments)["v"]) for one in reply.proposals] == [one[:2] for one in meant]


KEYS = ["type", "id", "index", "function", "name", "arguments", "content", "text", "thinking", "closed", "tool_calls"]
SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["text", "thinking", "null", "{}", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(st.sampled_from(["content", "tool_calls"]), SHAPES), max_size=4), SHAPES)
def test_no_shape_of_json_breaks_the_reading(deltas, shape):
    """A total function: whatever a server sends, there is a reply, and without an end it makes no calls."""
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}], "usage": shape} for delta in deltas]
    assert streamed(chunks)[0].proposals == ()
    end = {"choices": [{"index": 0, "delta": shape, "finish_reason": "stop"}], "usage": shape, "model": shape}
    reply, _ = streamed([*chunks, end])
    json.dumps(reply.kept)
    assert streamed([*chunks, end], broken=True)[0].proposals == ()
    message = {"index": 0, "message": {"content": shape, "tool_calls": shape}, "finish_reason": shape}
    assert whole_reply({"choices": [message], "usage": shape}, OFFERED) is not None
    whole_reply({"choices": shape, "message": shape, "object": shape}, OFFERED)


def test_a_thought_nested_without_end_is_read():
    nested = {"type": "text", "text": "a"}
    for _ in range(900):
        nested = {"type": "thinking", "thinking": [nested]}
    reply = read([THOUGHT, nested, {"type": "text", "text": "Hi"}])
    assert reply.kept == ({"content": [THOUGHT, {"type": "text", "text": "Hi"}]},)
