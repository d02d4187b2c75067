import json

import pytest
from hypothesis import given, strategies as st

from callslip.ports.model import Request, ToolView
from callslip.providers.openai_chat_reply import plain_reply, usage_of
from callslip.providers.openai_chat_request import Settings, offer
from callslip.providers.openai_chat_stream import ChatAssembly


def offering(*names):
    tools = tuple(ToolView(name=name, description="", input_schema={"type": "object"}) for name in names)
    return offer(Request(system="", messages=(), tools=tools), Settings(model="m"))


NONE = offering()


def plain(message=None, finish="stop", **body):
    return plain_reply({"choices": [{"message": message, "finish_reason": finish}], **body}, NONE)


def tool_call(arguments, provider_id="a1", name="read"):
    return {"id": provider_id, "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize(
    ("finish", "becomes"),
    [
        ("tool_calls", "calls"),
        ("stop", "calls"),
        ("end_turn", "calls"),
        (None, "calls"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("content_filter", "filtered"),
        ("error", "cut"),
        ("never_heard_of", "cut"),
    ],
)
def test_finish_beside_calls(finish, becomes):
    reply = plain({"content": "Hi", "tool_calls": [tool_call("{}")]}, finish)
    assert reply.finish == becomes
    assert reply.text == "Hi"
    assert len(reply.proposals) == (1 if becomes == "calls" else 0)


@pytest.mark.parametrize(
    ("message", "finish", "becomes"),
    [
        ({"content": "Hi"}, "stop", "stop"),
        ({"content": "Hi"}, None, "stop"),
        ({"content": "Hi"}, "tool_calls", "stop"),
        ({"content": "Hi", "tool_calls": []}, "stop", "stop"),
        ({"content": None, "refusal": "No."}, "stop", "stop"),
        ({"content": None}, "stop", "empty"),
        ({"content": " "}, "stop", "empty"),
        ({"content": None}, "length", "length"),
        (None, "stop", "empty"),
    ],
)
def test_finish_without_calls(message, finish, becomes):
    assert plain(message, finish).finish == becomes


def test_no_choice_is_an_empty_reply_and_no_choices_is_none():
    assert plain_reply({"choices": []}, NONE).finish == "empty"
    assert plain_reply({}, NONE) is None


def test_calls_of_a_plain_reply_are_never_joined():
    calls = [tool_call('{"p":"x"}'), tool_call('{"p":"x"}'), tool_call({"p": "y"}, None), tool_call(None, 7)]
    reply = plain({"tool_calls": calls})
    assert [(p.provider_id, p.arguments) for p in reply.proposals] == [
        ("a1", '{"p":"x"}'),
        ("a1", '{"p":"x"}'),
        ("", {"p": "y"}),
        ("", ""),
    ]


@pytest.mark.parametrize(("given_", "kept"), [([1], "[1]"), (5, "5"), (True, "true"), ("x", "x")])
def test_arguments_that_are_no_object_are_kept_as_text(given_, kept):
    assert plain({"tool_calls": [tool_call(given_)]}).proposals[0].arguments == kept


def test_an_alias_is_mapped_back_and_an_unknown_name_is_passed_on():
    aliases = offering("a.b")
    calls = [tool_call("{}", name=aliases.wire("a.b")), tool_call("{}", name="a.b"), tool_call("{}", name="what")]
    reply = plain_reply({"choices": [{"message": {"tool_calls": calls}}]}, aliases)
    assert [p.tool for p in reply.proposals] == ["a.b", "a.b", "what"]


@pytest.mark.parametrize(
    "wrong", [None, [], "x", {"prompt_tokens": "5"}, {"prompt_tokens": -1}, {"prompt_tokens": True}]
)
def test_usage_that_is_none_counts_nothing(wrong):
    assert usage_of(wrong).input_tokens == 0


def test_usage_and_model():
    reply = plain(
        {"content": "Hi"},
        model="served",
        usage={"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 5}},
    )
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cached_tokens) == (7, 3, 5)
    assert reply.model == "served"


def test_other_choices_are_left_alone():
    assembly = ChatAssembly(NONE)
    assembly.add(
        "message", {"choices": [{"index": 1, "delta": {"content": "B"}}, {"index": 0, "delta": {"content": "A"}}]}
    )
    assembly.add("message", {"choices": [{"index": 1, "delta": {}, "finish_reason": "stop"}]})
    assert assembly.reply().finish == "cut"
    assembly.add("message", {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    assert (assembly.reply().text, assembly.reply().finish) == ("A", "stop")


def test_calls_after_the_finish_reason_still_count():
    assembly = ChatAssembly(NONE)
    for item in (tool_call("{}", "a1"), tool_call("{}", "b1")):
        assembly.add("message", {"choices": [{"delta": {"tool_calls": [item]}, "finish_reason": "stop"}]})
    assert [p.provider_id for p in assembly.reply().proposals] == ["a1", "b1"]


# The styles servers have of telling which call a delta belongs to. Each is enough by itself.
STYLES = st.sampled_from(["index", "index and id", "index and every id", "id alone", "index 0 and id"])
ARGUMENTS = st.dictionaries(
    st.sampled_from(["p", 'quote"', "é😀"]), st.one_of(st.integers(), st.text(max_size=8)), max_size=3
)


@st.composite
def streams(draw):
    """Calls as they are meant, and their deltas in an order that keeps each call's own."""
    style = draw(STYLES)
    meant, queues = [], []
    for number in range(draw(st.integers(1, 4))):
        arguments = json.dumps(draw(ARGUMENTS), ensure_ascii=draw(st.booleans()))
        provider_id = "" if style == "index" else f"id{number}"
        name = draw(st.sampled_from(["read", "list"]))
        meant.append((provider_id, name, arguments))
        cuts = sorted(draw(st.lists(st.integers(0, len(arguments)), max_size=4)))
        pieces = [arguments[a:b] for a, b in zip([0, *cuts], [*cuts, len(arguments)], strict=True)]
        queues.append([_delta(style, number, place, provider_id, name, piece) for place, piece in enumerate(pieces)])
    deltas = []
    if draw(st.booleans()):
        # The calls begin in their order, as a model writes them; after that anything may follow anything.
        deltas = [queue.pop(0) for queue in queues]
        while any(queues):
            deltas.append(draw(st.sampled_from([queue for queue in queues if queue])).pop(0))
    else:
        deltas = [delta for queue in queues for delta in queue]
    return meant, deltas


def _delta(style, number, place, provider_id, name, piece):
    delta = {"function": {"arguments": piece}}
    if place == 0:
        delta["function"]["name"] = name
    if style.startswith("index"):
        delta["index"] = 0 if style == "index 0 and id" else number
    if provider_id and (place == 0 or style not in {"index", "index and id"}):
        delta["id"] = provider_id
    return delta


@pytest.mark.requirement("WIRE-04")
@given(streams(), st.data())
def test_any_interleaving_in_any_chunks_gives_the_same_calls(stream, data):
    meant, deltas = stream
    assembly, left = ChatAssembly(NONE), list(deltas)
    while left:
        size = data.draw(st.integers(1, len(left)))
        assembly.add("message", {"choices": [{"index": 0, "delta": {"tool_calls": left[:size]}}]})
        left = left[size:]
    assert assembly.reply().finish == "cut"
    assembly.add("message", {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    assert [(p.provider_id, p.tool, p.arguments) for p in assembly.reply().proposals] == meant


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "index",
                        "id",
                        "function",
                        "name",
                        "arguments",
                        "tool_calls",
                        "content",
                        "delta",
                        "finish_reason",
                        "usage",
                        "message",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_no_shape_of_json_breaks_the_reading(shape):
    """A total function: whatever a server sends, there is a reply, and without a finish reason it makes no calls."""
    assembly = ChatAssembly(NONE)
    assembly.add("message", {"choices": shape})
    assembly.add("message", {"choices": [{"delta": shape}]})
    assembly.add("message", {"choices": [{"delta": {"tool_calls": [shape]}}], "usage": shape, "model": shape})
    assert assembly.reply(broken=True).proposals == ()
    plain_reply({"choices": [shape]}, NONE)
    plain_reply({"choices": [{"message": shape, "finish_reason": shape}]}, NONE)
