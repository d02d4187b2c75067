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
from callslip.providers.anthropic import MessagesFormat
from callslip.providers.anthropic_content import GO_ON
from callslip.providers.anthropic_reply import kept_of
from callslip.providers.http_model import encode
from callslip.providers.options import Options

MODEL = "claude-sonnet-4-5"
THOUGHT = {"type": "thinking", "thinking": "Hm. ", "signature": "sig1"}
HIDDEN = {"type": "redacted_thinking", "data": "opaque"}
PNG = Attachment(name="a.png", media_type="image/png", data=b"\x89PNG")
PDF = Attachment(name="", media_type="application/pdf", data=b"%PDF-")
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}}
DOCUMENT = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}}


def text(value):
    return {"type": "text", "text": value}


def use(number, **more):
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {}} | more


def call(number, provider_id="", tool="read", arguments="{}"):
    return CallMessage(call_id=f"call_{number}", provider_id=provider_id, tool=tool, arguments=arguments)


def result(number, content="ok", tool="read", **more):
    return ResultMessage(call_id=f"call_{number}", provider_id="", tool=tool, content=content, **more)


def results(*items):
    return ToolResults(results=items)


def said(*calls, text="", blocks=(), model=f"anthropic:{MODEL}"):
    kept = Kept(model=model, items=tuple(json.loads(json.dumps(kept_of(blocks))))) if blocks else None
    return AssistantReply(text=text, calls=calls, kept=kept)


@pytest.fixture
def sent(ask):
    def make(*messages, model=MODEL, **options):
        body = MessagesFormat(model, Options(**options)).exchange(ask(messages=messages)).body
        body = json.loads(encode(body))
        for message in body["messages"]:
            for block in message["content"]:
                block.pop("cache_control", None)
        return body["messages"]

    return make


def roles(messages):
    return [message["role"] for message in messages]


@pytest.mark.requirement("CALL-05", "CALL-06", "WIRE-02")
def test_all_results_of_a_step_stand_together_first_in_the_next_message(sent):
    wire = sent(
        UserText(text="Begin"),
        said(call(1, "toolu_1", arguments={"p": 1}), call(2, "toolu_2"), text="Look"),
        UserText(text="And hurry"),
        results(result(2, "two", is_error=True), result(1, "one")),
        Notice(text="n"),
    )
    assert roles(wire) == ["user", "assistant", "user"]
    assert wire[1]["content"] == [text("Look"), use(1, input={"p": 1}), use(2)]
    assert wire[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "one"},
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": "two", "is_error": True},
        text("And hurry"),
        text("[Notice from the runtime, not from the user]\nn"),
    ]


@pytest.mark.requirement("CALL-03")
@pytest.mark.parametrize("given", ["", " ", "a b", "a.b", "x" * 65, "é", "null", "a\n"])
def test_an_id_that_is_not_legal_is_made_anew(sent, given):
    wire = sent(UserText(text="a"), said(call(1, given)), results(result(1)))
    assert (wire[1]["content"][0]["id"], wire[2]["content"][0]["tool_use_id"]) == ("call_1", "call_1")


@pytest.mark.requirement("CALL-03")
def test_ids_are_unique_over_the_whole_conversation(sent):
    same = "toolu_x"
    wire = sent(
        said(call(1, same), call(2, same)), results(result(1), result(2)), said(call(3, same)), results(result(3))
    )
    assert [block["id"] for message in (wire[1], wire[3]) for block in message["content"]] == [same, "call_2", "call_3"]
    assert [block["tool_use_id"] for block in (*wire[2]["content"], *wire[4]["content"])] == [same, "call_2", "call_3"]


def test_roles_alternate_and_the_user_begins_and_ends(sent):
    assert sent() == [{"role": "user", "content": [text(GO_ON)]}]
    assert roles(sent(said(text="Hi"))) == ["user", "assistant", "user"]
    wire = sent(UserText(text="a"), said(text="b"), said(text="c"))
    assert [message["content"] for message in wire] == [[text(one)] for one in ("a", "b", GO_ON, "c", GO_ON)]
    wire = sent(UserText(text="a"), UserText(text="b"), Notice(text="c"))
    assert (roles(wire), len(wire[0]["content"])) == (["user"], 3)


def test_no_text_is_empty_and_none_of_the_models_ends_in_white_space(sent):
    wire = sent(
        UserText(text=" "), said(call(1), text="\n"), results(result(1, "\t")), said(text=" "), said(text="b \n")
    )
    assert wire[0]["content"] == [text("(empty message)")]
    assert [block["type"] for block in wire[1]["content"]] == ["tool_use"]
    assert wire[2]["content"][0]["content"] == "(empty result)"
    assert wire[3]["content"] == [text("b")]
    assert len(wire) == 5


@pytest.mark.requirement("WIRE-02")
@pytest.mark.parametrize(
    ("arguments", "becomes"),
    [
        ("", {}),
        ("null", {}),
        ('{"n": 12345678901234567890}', {"n": 12345678901234567890}),
        ({"n": 2**60}, {"n": 2**60}),
        ('{"a":', {"raw_arguments": '{"a":'}),
        ("{}{}", {"raw_arguments": "{}{}"}),
        ("[1]", {"raw_arguments": "[1]"}),
        ('{"n": NaN}', {"raw_arguments": '{"n": NaN}'}),
    ],
)
def test_arguments_are_always_one_object(sent, arguments, becomes):
    wire = sent(said(call(1, arguments=arguments)), results(result(1)))
    assert wire[1]["content"][0]["input"] == becomes


def test_a_lone_surrogate_reaches_no_server(sent):
    wire = sent(UserText(text="\ud800x"), said(call(1, tool="\udc00"), text="\ud800y"), results(result(1, "\ud800z")))
    assert wire[0]["content"] == [text("\ufffdx")]
    assert wire[2]["content"][0]["content"] == "\ufffdz"


@pytest.mark.requirement("WIRE-05")
def test_what_was_thought_goes_back_to_the_letter_and_in_its_place(sent):
    blocks = [THOUGHT, text("Look \n"), use(9), HIDDEN, text("And"), use(8), THOUGHT | {"signature": "sig2"}, use(7)]
    calls = (call(1, "toolu_1", arguments={"p": 1}), call(2, "bad id"), call(3, "toolu_3"))
    history = (
        UserText(text="a"),
        said(*calls, text="Look \nAnd", blocks=blocks),
        results(result(1), result(2), result(3)),
    )
    wire = sent(*history)
    # Ids and arguments are the history's, all else is as it came.
    made = [use(1, input={"p": 1}), use(2, id="call_2"), use(3)]
    assert wire[1]["content"] == [*blocks[:2], made[0], *blocks[3:5], made[1], blocks[6], made[2]]
    again = sent(*history, said(text="Done"), UserText(text="More"))
    assert again[1] == wire[1]


@pytest.mark.requirement("WIRE-05")
@pytest.mark.parametrize("model", ["anthropic:claude-opus-4-6", "openai_responses:claude-sonnet-4-5", MODEL])
def test_what_another_model_thought_is_not_sent(sent, model):
    blocks = [THOUGHT, text("Look"), use(1)]
    wire = sent(said(call(1), text="Look", blocks=blocks, model=model), results(result(1)))
    assert wire[1]["content"] == [text("Look"), use(1, id="call_1")]


@pytest.mark.requirement("WIRE-05")
def test_a_reply_that_was_edited_keeps_its_thinking_before_it(sent):
    blocks = [THOUGHT, text("Look"), use(1), HIDDEN, use(2)]
    other = sent(said(call(1), call(2), text="Edited", blocks=blocks), results(result(1), result(2)))
    assert other[1]["content"] == [THOUGHT, HIDDEN, text("Edited"), use(1, id="call_1"), use(2, id="call_2")]
    fewer = sent(said(call(1), text="Look", blocks=blocks), results(result(1)))
    assert fewer[1]["content"] == [THOUGHT, HIDDEN, text("Look"), use(1, id="call_1")]


@pytest.mark.requirement("WIRE-05")
def test_no_message_ends_in_thinking_and_none_is_only_that(sent):
    wire = sent(UserText(text="a"), said(text="Done", blocks=[THOUGHT, text("Done"), THOUGHT, HIDDEN]))
    assert wire[1]["content"] == [THOUGHT, text("Done")]
    wire = sent(UserText(text="a"), said(text="Edited", blocks=[THOUGHT, text("Done"), THOUGHT]))
    assert wire[1]["content"] == [THOUGHT, THOUGHT, text("Edited")]


def test_blank_text_between_blocks_is_left_out(sent):
    blocks = [text(""), THOUGHT, text(" \n"), use(1)]
    wire = sent(said(call(1), text=" \n", blocks=blocks), results(result(1)))
    assert wire[1]["content"] == [THOUGHT, use(1, id="call_1")]


@pytest.mark.requirement("WIRE-05")
def test_a_model_that_binds_its_thinking_gets_none_back_when_it_is_told_not_to_think(sent):
    model = "claude-haiku-5-5"
    history = (
        UserText(text="a"),
        said(call(1), blocks=[THOUGHT, use(1)], model=f"anthropic:{model}"),
        results(result(1)),
    )
    assert [block["type"] for block in sent(*history, model=model)[1]["content"]] == ["thinking", "tool_use"]
    assert [block["type"] for block in sent(*history, model=model, effort="off")[1]["content"]] == ["tool_use"]
    # One that can't be told so goes on as it was.
    history = (*history[:1], said(call(1), blocks=[THOUGHT, use(1)], model="anthropic:claude-opus-5-5"), *history[2:])
    wire = sent(*history, model="claude-opus-5-5", effort="off")
    assert [block["type"] for block in wire[1]["content"]] == ["thinking", "tool_use"]


@pytest.mark.requirement("RSLT-04", "WIRE-02")
def test_images_and_documents_are_blocks_of_their_result(sent):
    history = (said(call(1)), results(result(1, "see", attachments=(PNG, PDF))))
    assert sent(*history)[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "call_1", "content": [text("see"), IMAGE, DOCUMENT]}
    ]
    assert sent(*history, images=False)[2]["content"][0]["content"] == "see"


@pytest.mark.requirement("RSLT-04", "WIRE-02")
def test_images_of_an_error_stand_behind_all_results(sent):
    wire = sent(
        said(call(1), call(2)),
        results(result(1, "no", is_error=True, attachments=(PNG,)), result(2, "yes", attachments=(PDF,))),
        UserText(text="Go"),
    )
    assert wire[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "call_1", "content": "no", "is_error": True},
        {"type": "tool_result", "tool_use_id": "call_2", "content": [text("yes"), DOCUMENT]},
        text("[From the result of read, not from the user: a.png (image/png)]"),
        IMAGE,
        text("Go"),
    ]


@pytest.mark.requirement("WIRE-01")
def test_tools_that_are_gone_or_badly_named_stay_in_the_history(sent):
    wire = sent(said(call(1, tool="files.read"), call(2, tool="")), results(result(1), result(2)))
    names = [block["name"] for block in wire[1]["content"]]
    assert names[0].startswith("files_read_")
    assert names[1].startswith("tool_")
