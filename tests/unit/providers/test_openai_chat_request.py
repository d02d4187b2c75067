import json

import pytest

from callslip.core.message import AssistantReply, CallMessage, Notice, ResultMessage, ToolResults, UserText
from callslip.errors import StillWaiting, UsageError
from callslip.ports.model import ToolView
from callslip.providers.http_model import encode
from callslip.providers.openai_chat_request import Settings, body_of, offer
from callslip.providers.options import Options
from callslip.providers.sent_arguments import argument_text


def call(number, provider_id="", tool="read", arguments="{}"):
    return CallMessage(call_id=f"call_{number}", provider_id=provider_id, tool=tool, arguments=arguments)


def result(number, content="ok", provider_id="", tool="read"):
    return ResultMessage(call_id=f"call_{number}", provider_id=provider_id, tool=tool, content=content)


def replied(*calls, text=""):
    return AssistantReply(text=text, calls=calls)


def results(*items):
    return ToolResults(results=items)


@pytest.fixture
def body(ask):
    def make(*messages, settings=None, **changes):
        request = ask(**({"messages": messages} | changes))
        settings = settings or Settings(model="m")
        return body_of(request, settings, offer(request, settings))

    return make


@pytest.fixture
def sent(body):
    def make(*messages):
        return body(*messages, system="")["messages"]

    return make


def test_the_frame(body, ask):
    made = body(UserText(text="Hello"))
    (tool,) = ask().tools
    assert made == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": offer(ask(), Settings(model="m")).aliases.wire("files.read"),
                    "description": tool.description,
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ],
        "tool_choice": "auto",
    }


def test_streaming_asks_for_usage(body):
    made = body(UserText(text="Hello"), stream=True)
    assert made["stream"] is True
    assert made["stream_options"] == {"include_usage": True}


@pytest.mark.requirement("WIRE-03")
@pytest.mark.parametrize("choice", ["auto", "none", "required"])
def test_tool_choice(body, choice):
    assert body(UserText(text="Hello"), tool_choice=choice)["tool_choice"] == choice


def test_without_tools_nothing_about_tools_is_sent(body):
    made = body(
        UserText(text="Hello"),
        tools=(),
        tool_choice="required",
        settings=Settings(model="m", options=Options(parallel=True)),
    )
    assert set(made) == {"model", "messages"}


@pytest.mark.requirement("WIRE-03")
def test_the_parallel_switch_is_sent_only_when_set(body):
    assert "parallel_tool_calls" not in body(UserText(text="Hello"))
    assert (
        body(UserText(text="Hello"), settings=Settings(model="m", options=Options(parallel=False)))[
            "parallel_tool_calls"
        ]
        is False
    )


def test_a_tool_without_description_has_no_empty_one(body):
    made = body(tools=(ToolView(name="t", description="", input_schema={"type": "object"}),))
    assert made["tools"][0]["function"] == {"name": "t", "parameters": {"type": "object", "properties": {}}}


def test_a_call_without_text_has_null_content(sent):
    wire = sent(replied(call(1, "p1")), results(result(1)))
    assert wire[0] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "p1", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
    }
    assert wire[1] == {"role": "tool", "tool_call_id": "p1", "content": "ok"}


def test_empty_texts_become_legal(sent):
    wire = sent(UserText(text=""), replied(call(1)), results(result(1, content="")), replied(), replied(text=" "))
    assert [message["content"] for message in wire] == ["(empty message)", None, "(empty result)"]


@pytest.mark.requirement("CALL-06")
@pytest.mark.requirement("WIRE-02")
def test_results_stand_in_the_order_of_the_calls_right_after_them(sent):
    wire = sent(
        replied(call(1, "p1"), call(2, "p2")),
        UserText(text="And hurry"),
        results(result(2, "two"), result(1, "one")),
        UserText(text="Thanks"),
    )
    assert [message["role"] for message in wire] == ["assistant", "tool", "tool", "user", "user"]
    assert [message["content"] for message in wire[1:]] == ["one", "two", "And hurry", "Thanks"]


def test_a_notice_is_marked_as_the_runtimes(sent):
    (wire,) = sent(Notice(text="The reply was cut."))
    assert wire["role"] == "user"
    assert wire["content"] == "[Notice from the runtime, not from the user]\nThe reply was cut."


def ids(wire):
    made = [call["id"] for message in wire for call in message.get("tool_calls", ())]
    assert made == [message["tool_call_id"] for message in wire if message["role"] == "tool"]
    return made


@pytest.mark.requirement("CALL-03")
def test_provider_ids_are_given_back_exactly(sent):
    assert ids(sent(replied(call(1, "functions.read:0"), call(2, "x" * 40)), results(result(1), result(2)))) == [
        "functions.read:0",
        "x" * 40,
    ]


@pytest.mark.requirement("CALL-03")
@pytest.mark.parametrize("bad", ["", " ", "a b", "x" * 41, "é", "a\n"])
def test_an_id_that_is_not_legal_is_replaced_by_the_call_id(sent, bad):
    assert ids(sent(replied(call(1, bad)), results(result(1)))) == ["call_1"]


@pytest.mark.requirement("CALL-03")
def test_repeated_ids_within_a_reply_and_across_steps_become_unique(sent):
    first = [replied(call(1, "p"), call(2, "p")), results(result(1), result(2))]
    assert ids(sent(*first)) == ["p", "call_2"]
    assert ids(sent(*first, replied(call(3, "p")), results(result(3)))) == ["p", "call_2", "call_3"]


@pytest.mark.requirement("CALL-03")
def test_what_was_sent_stays_when_the_conversation_grows(sent):
    first = [replied(call(1, "call_2")), results(result(1))]
    before = sent(*first)
    after = sent(*first, replied(call(2, "call_2")), results(result(2)))
    assert after[: len(before)] == before
    assert len(set(ids(after))) == 2


def test_a_call_id_that_is_not_legal_is_derived_the_same_way_each_time(sent):
    odd = CallMessage(call_id="c" * 50, provider_id="", tool="read", arguments="{}")
    answer = ResultMessage(call_id="c" * 50, provider_id="", tool="read", content="ok")
    (made,) = ids(sent(replied(odd), results(answer)))
    assert len(made) <= 40
    assert ids(sent(replied(odd), results(answer))) == [made]


@pytest.mark.requirement("CALL-05")
def test_a_call_without_its_result_is_never_sent(sent):
    with pytest.raises(StillWaiting, match="call_2"):
        sent(replied(call(1), call(2)), results(result(1)))


def test_a_result_without_its_call_is_never_sent(sent):
    with pytest.raises(UsageError, match="a result without the call call_2"):
        sent(replied(call(1)), results(result(1), result(2)))


@pytest.mark.requirement("CALL-05")
def test_a_second_result_is_never_sent(sent):
    with pytest.raises(UsageError, match="a second result for the call call_1"):
        sent(replied(call(1)), results(result(1)), results(result(1)))


def test_a_tool_that_is_not_bound_any_more_keeps_its_alias(sent, body, ask):
    wire = sent(replied(call(1, tool="old.tool")), results(result(1)))
    name = wire[0]["tool_calls"][0]["function"]["name"]
    assert name.startswith("old_tool_")
    assert (
        offer(ask(messages=(replied(call(1, tool="old.tool")),)), Settings(model="m")).aliases.tool(name) == "old.tool"
    )


@pytest.mark.requirement("WIRE-02")
@pytest.mark.parametrize(
    "text", ['{"a": 1}', ' {"a":1.0}\n', '{"a":1,"a":2}', '{"a":' + "9" * 40 + "}", '{"a":"\ud800"}']
)
def test_the_text_of_an_object_is_kept_to_the_letter(text):
    assert argument_text(text) == text


@pytest.mark.parametrize("text", ["", " ", "null", "null\n"])
def test_no_arguments_are_an_empty_object(text):
    assert argument_text(text) == "{}"


@pytest.mark.parametrize(
    "text", ['{"a": 1', "{}{}", "[1]", "5", "{'a': 1}", '{"a": NaN}', '{"a": 1e999}', '{"a":' * 50_000, "x\ud800"]
)
def test_any_other_text_is_wrapped_and_still_all_there(text):
    assert json.loads(argument_text(text)) == {"raw_arguments": text}


def test_an_object_is_written_in_its_own_order():
    assert argument_text({"b": "é", "a": [1]}) == '{"b":"é","a":[1]}'


def test_the_bytes_are_utf_8_whatever_the_text(body):
    made = encode(body(UserText(text="a\ud800\0é"), replied(call(1, arguments='{"p":"\udfff"}')), results(result(1))))
    messages = json.loads(made.decode("utf-8"))["messages"]
    assert messages[1]["content"] == "a\ufffd\0é"
    assert messages[2]["tool_calls"][0]["function"]["arguments"] == '{"p":"\ufffd"}'
