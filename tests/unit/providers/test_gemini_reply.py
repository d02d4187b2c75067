import json

import pytest
from hypothesis import given, strategies as st

from callslip.core.message import AssistantReply, CallMessage, Kept, ResultMessage, ToolResults, UserText
from callslip.ports.model import Request, ToolView
from callslip.providers.gemini_parts import digest_of
from callslip.providers.gemini_reply import plain_reply, usage_of
from callslip.providers.gemini_request import Settings, body_of, offer
from callslip.providers.options import Price


def offering(*tools):
    return offer(Request(system="", messages=(), tools=tools))


NONE = offering()


def call(name="read", args=None, **more):
    return {"functionCall": {"name": name, "args": {} if args is None else args, **more}}


def plain(*parts, finish="STOP", offered=NONE, **body):
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    return plain_reply({"candidates": [candidate | ({"finishReason": finish} if finish else {})], **body}, offered)


@pytest.mark.requirement("WIRE-04")
@pytest.mark.requirement("CALL-05")
@pytest.mark.parametrize(
    ("finish", "becomes"),
    [
        ("STOP", "calls"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "filtered"),
        ("RECITATION", "filtered"),
        ("PROHIBITED_CONTENT", "filtered"),
        ("MALFORMED_FUNCTION_CALL", "cut"),
        ("UNEXPECTED_TOOL_CALL", "cut"),
        ("MISSING_THOUGHT_SIGNATURE", "cut"),
        ("FINISH_REASON_UNSPECIFIED", "cut"),
        ("NEVER_HEARD_OF", "cut"),
        (None, "cut"),
        (5, "cut"),
    ],
)
def test_finish_beside_calls(finish, becomes):
    reply = plain({"text": "Hi"}, call(id="x", thoughtSignature="s"), finish=finish)
    assert reply.finish == becomes
    assert reply.text == "Hi"
    assert len(reply.proposals) == (1 if becomes == "calls" else 0)
    assert bool(reply.kept) is (becomes == "calls")


@pytest.mark.parametrize(
    ("parts", "finish", "becomes"),
    [
        ([{"text": "Hi"}], "STOP", "stop"),
        ([{"text": " "}], "STOP", "empty"),
        ([{"text": "Hm", "thought": True}], "STOP", "empty"),
        ([], "STOP", "empty"),
        ([], "MAX_TOKENS", "length"),
        ([], None, "cut"),
    ],
)
def test_finish_without_calls(parts, finish, becomes):
    assert plain(*parts, finish=finish).finish == becomes


def test_a_refused_prompt_is_filtered_and_what_is_no_reply_is_none():
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 4}}
    reply = plain_reply(blocked, NONE)
    assert (reply.finish, reply.text, reply.proposals, reply.usage.input_tokens) == ("filtered", "", (), 4)
    assert plain_reply({"promptFeedback": {"blockReason": "BLOCK_REASON_UNSPECIFIED"}}, NONE).finish == "cut"
    reply = plain({"text": "Hi"}, call(), promptFeedback={"blockReason": "SAFETY"})
    assert (reply.finish, reply.proposals) == ("filtered", ()), "whatever the candidate says"
    assert plain_reply({"choices": []}, NONE) is None
    assert plain_reply({}, NONE) is None


def test_thoughts_are_no_text_for_the_user():
    reply = plain({"text": "secret", "thought": True}, {"text": "Hello, "}, {"text": "you."})
    assert reply.text == "Hello, you."


@pytest.mark.requirement("WIRE-02")
def test_calls():
    reply = plain(
        call(id="a", args={"n": 5.0}),
        {"functionCall": {"name": "list"}},
        call(id=" ", args=[1]),
        call(id=7, args='{"x":1}'),
        {"functionCall": {"args": None}},
    )
    assert [(one.tool, one.provider_id, one.arguments) for one in reply.proposals] == [
        ("read", "a", {"n": 5.0}),
        ("list", "", {}),
        ("read", "", "[1]"),
        ("read", "", '{"x":1}'),
        ("", "", {}),
    ]


def test_an_alias_and_renamed_arguments_are_mapped_back():
    tool = ToolView(
        name="9/x", description="", input_schema={"type": "object", "properties": {"a b": {"type": "string"}}}
    )
    offered = offering(tool)
    (renamed,) = offered.tools[0].shaped.schema["properties"]
    reply = plain(call(offered.wire("9/x"), {renamed: "v"}), offered=offered)
    assert [(one.tool, one.arguments) for one in reply.proposals] == [("9/x", {"a b": "v"})]


@pytest.mark.requirement("WIRE-04")
@pytest.mark.parametrize(
    "part",
    [
        {"functionCall": {"name": "read", "args": {}, "willContinue": True}},
        {"functionCall": {"name": "read", "partialArgs": [{"jsonPath": "$.p", "stringValue": "x"}]}},
        {"functionCall": "read"},
        {"functionCall": []},
    ],
)
def test_a_call_in_pieces_or_none_at_all_makes_the_reply_a_cut(part):
    reply = plain(call(), part)
    assert (reply.finish, reply.proposals, reply.kept) == ("cut", (), ())


@pytest.mark.requirement("WIRE-05")
def test_what_has_to_go_back_is_kept_in_its_order():
    reply = plain(
        {"text": "Thi", "thought": True},
        {"text": "nking", "thought": True},
        {"text": "Look", "thoughtSignature": "s0"},
        {"text": "ing"},
        {"text": " now"},
        {**call(id="a", args={"p": 1}), "thoughtSignature": "s1"},
        call(id="b"),
        {"executableCode": {"code": "1"}},
        {},
        {"thoughtSignature": "s2"},
        {"text": "", "thoughtSignature": "s3"},
    )
    assert reply.kept == (
        {"text": "Thinking", "thought": True},
        {"text": "Look", "thoughtSignature": "s0"},
        {"text": "ing now"},
        {"call": 0, "thoughtSignature": "s1", "signed": digest_of("read", {"p": 1})},
        {"call": 1},
        {"executableCode": {"code": "1"}},
        {"text": "", "thoughtSignature": "s2"},
        {"text": "", "thoughtSignature": "s3"},
    )
    assert reply.text == "Looking now"


@pytest.mark.requirement("WIRE-05")
@pytest.mark.parametrize(
    ("parts", "is_kept"),
    [
        ([{"text": "Hi"}, {"text": "!"}], False),
        ([{"text": "Hi"}, call(), call()], False),
        ([call()], False),
        ([call(id="a")], True),
        ([call(), {"text": "Hi"}], True),
        ([{"text": "Hi", "thoughtSignature": "s"}], True),
        ([{**call(), "thoughtSignature": "s"}], True),
    ],
)
def test_nothing_is_kept_where_text_and_calls_say_it_all(parts, is_kept):
    assert bool(plain(*parts).kept) is is_kept


@pytest.mark.parametrize(
    "part",
    [
        {"text": 5, "x": 1},
        {"text": "a", "thoughtSignature": 5},
        {"text": "a", "thought": "yes", "x": 1},
        {"call": 0, "text": "a"},
        {"functionCall": None, "text": "a"},
        {**call(id="a"), "thoughtSignature": ["s"], "text": "a", "signed": 3},
    ],
)
def test_what_its_own_server_would_not_take_back_is_not_kept(part):
    for item in plain({"text": "Hi", "thoughtSignature": "s"}, part).kept:
        assert isinstance(item.get("text", ""), str)
        assert isinstance(item.get("thoughtSignature", ""), str)
        assert item.get("thought", True) is True
        assert "functionCall" not in item
        assert item.get("call", 0) == 0
        assert not {"text", "call"} <= item.keys()


def test_a_number_that_json_does_not_have_is_never_kept():
    assert plain(call(id="a"), {"x": float("nan")}).kept == ()


def test_usage_counts_thoughts_and_tool_prompts():
    reply = plain(
        {"text": "Hi"},
        modelVersion="gemini-3.1",
        usageMetadata={
            "promptTokenCount": 100,
            "cachedContentTokenCount": 40,
            "candidatesTokenCount": 5,
            "thoughtsTokenCount": 7,
            "toolUsePromptTokenCount": 3,
            "totalTokenCount": 115,
        },
    )
    usage = reply.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.reasoning_tokens) == (103, 12, 40, 7)
    assert (reply.model, usage.cost_micros) == ("gemini-3.1", None)


def test_the_price():
    body = {
        "candidates": [],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2, "thoughtsTokenCount": 1},
    }
    assert plain_reply(body, NONE, Price(input=1, output=10)).usage.cost_micros == 40


@pytest.mark.parametrize("wrong", [{}, {"promptTokenCount": "5"}, {"promptTokenCount": -1}, {"promptTokenCount": True}])
def test_usage_that_is_none_counts_nothing(wrong):
    assert usage_of(wrong).input_tokens == 0


def test_only_the_first_candidate_counts():
    other = {"index": 1, "content": {"parts": [{"text": "B"}]}, "finishReason": "STOP"}
    body = {"candidates": [other, {"content": {"parts": [{"text": "A"}]}, "finishReason": "STOP"}]}
    assert plain_reply(body, NONE).text == "A"
    assert plain_reply({"candidates": [other]}, NONE).finish == "cut"


NAMES = [
    "text",
    "thought",
    "thoughtSignature",
    "functionCall",
    "call",
    "args",
    "name",
    "id",
    "willContinue",
    "signed",
    "x",
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "a", "\ud800", "s"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=12,
)
BODY = st.dictionaries(
    st.sampled_from(["candidates", "usageMetadata", "promptFeedback", "modelVersion"]),
    JSON
    | st.lists(
        st.fixed_dictionaries(
            {
                "content": JSON | st.fixed_dictionaries({"parts": st.lists(JSON, max_size=4)}),
                "finishReason": st.sampled_from(["STOP", "SAFETY", "x", 3]),
            }
        ),
        max_size=2,
    ),
    max_size=4,
)


@given(BODY)
def test_anything_is_read_and_what_it_keeps_goes_back(body):
    """Nothing raises; and what is kept, after it was stored, makes a request of valid JSON with each call once."""
    reply = plain_reply(body, NONE)
    if reply is None or reply.finish not in {"calls", "stop"}:
        assert reply is None or (reply.proposals, reply.kept) == ((), ())
        return
    items = tuple(json.loads(json.dumps(reply.kept)))
    calls = tuple(
        CallMessage(call_id=f"c{place}", provider_id=one.provider_id, tool=one.tool, arguments="{}")
        for place, one in enumerate(reply.proposals)
    )
    said = AssistantReply(text=reply.text, calls=calls, kept=Kept(model="gemini:m", items=items) if items else None)
    results = ToolResults(
        results=tuple(ResultMessage(call_id=c.call_id, provider_id="", tool=c.tool, content="ok") for c in calls)
    )
    request = Request(system="", messages=(UserText(text="Hi"), said, results), tools=())
    contents = body_of(request, Settings(model="m", sender="gemini:m"), offer(request))["contents"]
    json.dumps(contents, allow_nan=False)
    assert sum("functionCall" in part for part in contents[1]["parts"]) == len(calls)
