import copy
import json

import pytest

from callslip.core.message import (
    AssistantReply,
    Attachment,
    CallMessage,
    Kept,
    Notice,
    ResultMessage,
    ToolResults,
    UserText,
)
from callslip.errors import StillWaiting, UsageError
from callslip.ports.model import ToolView
from callslip.providers.http_model import encode
from callslip.providers.mistral import MistralFormat
from callslip.providers.mistral_request import BRIDGE, IDS, Settings, body_of, offer
from callslip.providers.open_end import GO_ON
from callslip.providers.options import Options

SENDER = "mistral:m"
ID = "aB3dE6gH9"
PNG = Attachment(name="a.png", media_type="image/png", data=b"x")
PDF = Attachment(name="", media_type="application/pdf", data=b"y")
BYTES = Attachment(name="b", media_type="application/octet-stream", data=b"z")
CHUNKS = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}, {"type": "text", "text": "Look"}]


def call(number, provider_id="", tool="read", arguments="{}"):
    return CallMessage(call_id=f"call_{number}", provider_id=provider_id, tool=tool, arguments=arguments)


def result(number, content="ok", **more):
    return ResultMessage(call_id=f"call_{number}", provider_id="", tool="read", content=content, **more)


def results(*items):
    return ToolResults(results=items)


def said(*calls, text="", chunks=(), model=SENDER):
    kept = Kept(model=model, items=({"content": list(chunks)},)) if chunks else None
    return AssistantReply(text=text, calls=calls, kept=kept)


@pytest.fixture
def body(ask):
    def make(*messages, model="m", changes=None, **options):
        request = ask(**({"messages": messages} if messages else {}) | (changes or {}))
        settings = Settings(model=model, sender=f"mistral:{model}", options=Options(**options))
        return body_of(request, settings, offer(request, settings))

    return make


@pytest.fixture
def sent(body):
    return lambda *messages, **options: body(*messages, changes={"system": ""}, **options)["messages"]


def roles(messages):
    return [message["role"] for message in messages]


@pytest.mark.requirement("WIRE-02")
def test_the_frame(body, ask):
    (tool,) = offer(ask(), Settings(model="m")).tools
    assert body() == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": tool.wire,
                    "description": "Read a file",
                    "parameters": {"type": "object", "properties": {}},
                    "strict": False,
                },
            }
        ],
        "tool_choice": "auto",
    }
    assert "." not in tool.wire


@pytest.mark.requirement("WIRE-03")
def test_strict_is_always_said(body):
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    tools = (ToolView(name="t", description="", input_schema=schema),)
    on, off = (body(changes={"tools": tools}, strict=strict)["tools"][0]["function"] for strict in (None, False))
    assert (on["strict"], off["strict"]) == (True, False)
    assert "description" not in on


@pytest.mark.requirement("WIRE-03")
@pytest.mark.parametrize(("choice", "word"), [("auto", "auto"), ("none", "none"), ("required", "any")])
def test_tool_choice(body, choice, word):
    assert body(changes={"tool_choice": choice})["tool_choice"] == word


@pytest.mark.requirement("WIRE-03")
def test_one_tool_is_chosen_by_the_name_it_goes_by(body):
    made = body(changes={"tool_choice": "required", "only": "files.read"})
    name = made["tools"][0]["function"]["name"]
    assert made["tool_choice"] == {"type": "function", "function": {"name": name}}


def test_without_tools_nothing_about_tools_is_sent(body):
    made = body(changes={"tools": (), "tool_choice": "required"}, parallel=True)
    assert set(made) == {"model", "messages"}


@pytest.mark.requirement("WIRE-03")
def test_options_are_sent_only_when_set_and_no_field_that_mistral_does_not_know(body):
    made = body(
        changes={"stream": True}, parallel=False, max_output_tokens=9, temperature=0.5, effort="off", images=True
    )
    assert {name: made[name] for name in made if name not in {"model", "messages", "tools", "tool_choice"}} == {
        "parallel_tool_calls": False,
        "max_tokens": 9,
        "temperature": 0.5,
        "reasoning_effort": "none",
        "stream": True,
    }
    assert set(body()) == {"model", "messages", "tools", "tool_choice"}


@pytest.mark.requirement("WIRE-03")
@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("mistral-small-latest", ["none", "high", "high", "high"]),
        ("mistral-medium-3-5", ["none", "high", "high", "high"]),
        ("mistralai/magistral-small-2509", ["none", "high", "high", "high"]),
        ("mistral-large-4-0", ["none", "low", "medium", "high"]),
        ("zai-glm-5-3", ["none", "low", "medium", "high"]),
    ],
)
def test_models_that_can_only_think_or_not_are_told_no_effort_between(body, model, words):
    asked = ("off", "low", "medium", "high")
    assert [body(model=model, effort=effort)["reasoning_effort"] for effort in asked] == words


@pytest.mark.requirement("CALL-06")
@pytest.mark.requirement("WIRE-02")
def test_results_stand_right_after_their_calls_and_the_user_never_after_a_result(sent):
    wire = sent(
        said(call(1, ID), call(2, "b" * 9, tool="gone.tool"), text="Look"),
        UserText(text="And hurry"),
        results(result(2, "two"), result(1, "one")),
        Notice(text="n"),
    )
    assert roles(wire) == ["assistant", "tool", "tool", "assistant", "user", "user"]
    first, second = wire[0]["tool_calls"]
    assert first == {"id": ID, "type": "function", "function": {"name": "read", "arguments": "{}"}}
    assert wire[0]["content"] == "Look"
    assert wire[1] == {"role": "tool", "name": "read", "tool_call_id": ID, "content": "one"}
    assert wire[2]["tool_call_id"] == second["id"] == "b" * 9
    assert wire[2]["name"] == second["function"]["name"] != "gone.tool"
    assert wire[3] == {"role": "assistant", "content": BRIDGE}


def test_no_bridge_where_the_model_itself_goes_on(sent):
    wire = sent(said(call(1, ID)), results(result(1)), said(text="Done"), UserText(text="More"))
    assert roles(wire) == ["assistant", "tool", "assistant", "user"]
    assert roles(sent(said(call(1, ID)), results(result(1)))) == ["assistant", "tool"]


def test_the_model_never_speaks_last(sent):
    assert sent(UserText(text="a"), said(text="b"))[-1] == {"role": "user", "content": GO_ON}
    assert sent(said(text=" "))[-1] == {"role": "user", "content": GO_ON}


@pytest.mark.requirement("CALL-05")
def test_an_unanswered_call_and_an_orphan_result_are_not_sent(sent):
    with pytest.raises(StillWaiting):
        sent(said(call(1)))
    with pytest.raises(UsageError):
        sent(results(result(1)))


@pytest.mark.requirement("CALL-03")
@pytest.mark.parametrize(
    "given", ["", "null", "call_1", "aB3dE6gH", "aB3dE6gH90", "aB3-E6gH9", "aB3dE6gHé", "aB3dE6gH9\n"]
)
def test_an_id_that_is_not_nine_letters_and_digits_is_made_anew(sent, given):
    wire = sent(said(call(1, given)), results(result(1)))
    made = wire[0]["tool_calls"][0]["id"]
    assert IDS.allows(made)
    assert len(made) == 9
    assert made.isalnum()
    assert wire[1]["tool_call_id"] == made
    assert sent(said(call(1, given)), results(result(1))) == wire


@pytest.mark.requirement("CALL-03")
def test_legal_ids_go_back_exactly_and_once(sent):
    wire = sent(said(call(1, ID)), results(result(1)), said(call(2, ID)), results(result(2)))
    ids = [message["tool_calls"][0]["id"] for message in wire if message["role"] == "assistant"]
    assert ids[0] == ID
    assert ids[1] != ID
    assert [message["tool_call_id"] for message in wire if message["role"] == "tool"] == ids


def test_empty_texts_become_legal(sent):
    wire = sent(UserText(text=""), said(call(1, ID)), results(result(1, content=" ")))
    assert [message["content"] for message in wire] == ["(empty message)", "", "(empty result)"]


@pytest.mark.requirement("WIRE-02")
@pytest.mark.parametrize("arguments", ["", "null", '{"a":', '{"a":1}{"b":2}', {"a": 1}, '{"n": 12345678901234567890}'])
def test_arguments_are_the_text_of_one_object(sent, arguments):
    wire = sent(said(call(1, ID, arguments=arguments)), results(result(1)))
    text = wire[0]["tool_calls"][0]["function"]["arguments"]
    assert isinstance(json.loads(text), dict)
    assert "12345678901234567890" not in str(arguments) or text == arguments


@pytest.mark.requirement("RSLT-04")
@pytest.mark.requirement("WIRE-02")
def test_images_and_documents_follow_all_results_as_the_users_chunks(sent):
    history = (
        said(call(1, ID), call(2, "b" * 9)),
        results(result(1, "see", attachments=(PNG, BYTES)), result(2, attachments=(PDF,))),
    )
    wire = sent(*history)
    assert roles(wire) == ["assistant", "tool", "tool", "assistant", "user"]
    whose, image, whose_too, document = wire[-1]["content"]
    assert image == {"type": "image_url", "image_url": "data:image/png;base64,eA=="}
    assert document == {"type": "document_url", "document_url": "data:application/pdf;base64,eQ=="}
    assert "a.png" in whose["text"]
    assert "not from the user" in whose_too["text"]
    assert roles(sent(*history, images=False)) == ["assistant", "tool", "tool"]


@pytest.mark.requirement("WIRE-05")
def test_what_the_same_model_thought_goes_back_in_every_later_request(sent):
    before = copy.deepcopy(CHUNKS)
    turn = said(call(1, ID), text="Look", chunks=CHUNKS)
    wire = sent(turn, results(result(1)), said(text="Done"), UserText(text="More"))
    assert wire[0]["content"] == before
    assert wire[0]["tool_calls"][0]["id"] == ID
    assert before == CHUNKS


@pytest.mark.requirement("WIRE-05")
@pytest.mark.parametrize("model", ["mistral:other", "openai_chat:m"])
def test_another_model_is_told_the_text_alone(sent, model):
    assert sent(said(call(1, ID), text="Look", chunks=CHUNKS, model=model), results(result(1)))[0]["content"] == "Look"


@pytest.mark.parametrize("items", [(1, None), ({"content": "abc"},), ({"content": 7},), ([],), ({},)])
def test_kept_items_of_any_shape_send_something_legal(sent, items):
    turn = AssistantReply(text="t", calls=(call(1, ID),), kept=Kept(model=SENDER, items=items))
    assert sent(turn, results(result(1)))[0]["content"] == "t"


def test_the_key_is_a_bearers(ask):
    wire = MistralFormat("m", Options())
    assert wire.headers("k") == {"authorization": "Bearer k"}
    assert wire.headers(None) == {}
    assert (wire.name, wire.model) == ("mistral", "m")
    assert wire.exchange(ask()).path == "/chat/completions"


def test_the_same_request_gives_the_same_bytes_and_earlier_messages_never_change(body):
    messages = (UserText(text="a"), said(call(1, "p", tool="gone.tool"), text="b"), results(result(1)))
    first, again = body(*messages), body(*messages)
    assert encode(first) == encode(again)
    longer = body(*messages, UserText(text="c"))
    assert longer["messages"][: len(first["messages"])] == first["messages"]
    assert list(longer) == list(first)
