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
from callslip.providers.openai_responses_reply import kept_of
from callslip.providers.openai_responses_request import Settings, body_of, offer
from callslip.providers.options import Options

SENDER = "openai_responses:m"


def call(number, provider_id="", tool="read", arguments="{}"):
    return CallMessage(call_id=f"call_{number}", provider_id=provider_id, tool=tool, arguments=arguments)


def result(number, content="ok", **more):
    return ResultMessage(call_id=f"call_{number}", provider_id="", tool="read", content=content, **more)


def results(*items):
    return ToolResults(results=items)


def said(*calls, text="", items=(), model=SENDER):
    kept = Kept(model=model, items=kept_of(items)) if items else None
    return AssistantReply(text=text, calls=calls, kept=kept)


def reasoning(number=1, **more):
    return {"id": f"rs_{number}", "type": "reasoning", "summary": [], "encrypted_content": f"E{number}"} | more


def message(number=1, text="Look", **more):
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": content,
    } | more


def function(number=1, **more):
    return {
        "id": f"fc_{number}",
        "type": "function_call",
        "status": "completed",
        "call_id": f"c{number}",
        "name": "read",
        "arguments": "{}",
    } | more


@pytest.fixture
def sent(ask):
    def make(*messages, own=True, **changes):
        settings = Settings(model="m", own=own, sender=SENDER, options=Options(**changes))
        request = ask(messages=messages)
        return body_of(request, settings, offer(request, settings))["input"]

    return make


def kinds(items):
    return [item["type"] if item["type"] != "message" else item["role"] for item in items]


@pytest.mark.requirement("CALL-06")
@pytest.mark.requirement("WIRE-02")
def test_outputs_stand_right_after_their_calls_whatever_came_between(sent):
    wire = sent(
        said(call(1, "p1"), call(2, "p2"), text="Look"),
        UserText(text="And hurry"),
        results(result(2, "two"), result(1, "one")),
        Notice(text="n"),
    )
    assert kinds(wire) == ["assistant"] + ["function_call"] * 2 + ["function_call_output"] * 2 + ["user", "user"]
    assert wire[1] == {"type": "function_call", "call_id": "p1", "name": "read", "arguments": "{}"}
    assert wire[3:5] == [
        {"type": "function_call_output", "call_id": "p1", "output": "one"},
        {"type": "function_call_output", "call_id": "p2", "output": "two"},
    ]
    assert wire[0]["content"] == "Look"


@pytest.mark.requirement("CALL-05")
def test_an_unanswered_call_and_an_orphan_result_are_not_sent(sent):
    with pytest.raises(StillWaiting):
        sent(said(call(1)))
    with pytest.raises(UsageError):
        sent(results(result(1)))
    with pytest.raises(UsageError):
        sent(said(call(1)), results(result(1), result(1)))


@pytest.mark.requirement("CALL-03")
@pytest.mark.parametrize("given", ["", " ", "a b", "x" * 65, "é"])
def test_a_call_id_that_is_not_legal_is_made_anew(sent, given):
    wire = sent(said(call(1, given)), results(result(1)))
    assert [item["call_id"] for item in wire] == ["call_1", "call_1"]


@pytest.mark.requirement("CALL-03")
def test_legal_call_ids_go_back_exactly_and_once(sent):
    wire = sent(said(call(1, "x" * 64)), results(result(1)), said(call(2, "x" * 64)), results(result(2)))
    assert [item["call_id"] for item in wire] == ["x" * 64] * 2 + ["call_2"] * 2


def test_empty_texts_become_legal(sent):
    wire = sent(UserText(text=""), said(call(1)), results(result(1, content="")), said(text=" "))
    assert wire[0]["content"] == "(empty message)"
    assert wire[2]["output"] == "(empty result)"
    assert len(wire) == 3


@pytest.mark.requirement("WIRE-02")
@pytest.mark.parametrize("arguments", ["", "null", '{"a":', '{"a":1}{"b":2}', {"a": 1}, '{"n": 12345678901234567890}'])
def test_arguments_are_the_text_of_one_object(sent, arguments):
    wire = sent(said(call(1, arguments=arguments)), results(result(1)))
    assert isinstance(json.loads(wire[0]["arguments"]), dict)
    if arguments == '{"n": 12345678901234567890}':
        assert wire[0]["arguments"] == arguments


PNG = Attachment(name="a.png", media_type="image/png", data=b"x")
PDF = Attachment(name="", media_type="application/pdf", data=b"y")


@pytest.mark.requirement("RSLT-04")
@pytest.mark.requirement("WIRE-02")
def test_images_and_files_are_parts_of_their_output(sent):
    history = (said(call(1)), results(result(1, "see", attachments=(PNG, PDF))))
    text = {"type": "input_text", "text": "see"}
    image = {"type": "input_image", "image_url": "data:image/png;base64,eA==", "detail": "auto"}
    file = {"type": "input_file", "filename": "file", "file_data": "data:application/pdf;base64,eQ=="}
    assert sent(*history)[1]["output"] == [text, image, file]
    assert sent(*history, own=False)[1]["output"] == [text, image]
    assert sent(*history, images=False)[1]["output"] == "see"


@pytest.mark.requirement("WIRE-05")
def test_what_the_same_model_said_goes_back_item_for_item(sent):
    items = [
        reasoning(1),
        message(1, phase="commentary"),
        {"id": "x1", "type": "unheard_of", "blob": "B"},
        function(1),
        reasoning(2),
        function(2),
    ]
    before = copy.deepcopy(items)
    wire = sent(said(call(1, "c1"), call(2, "c2"), text="Look", items=items), results(result(1), result(2)))
    assert wire[:6] == before
    assert kinds(wire[6:]) == ["function_call_output"] * 2
    assert items == before


@pytest.mark.requirement("WIRE-05")
def test_ids_and_arguments_of_calls_are_the_historys(sent):
    turn = said(call(1, "", arguments='{"p":"new"}'), items=[reasoning(), function()])
    wire = sent(turn, results(result(1)))
    assert wire[1] == function(call_id="call_1", arguments='{"p":"new"}')
    assert wire[2]["call_id"] == "call_1"


@pytest.mark.requirement("WIRE-05")
def test_to_another_model_the_turn_is_text_and_calls_without_ids(sent):
    items = [reasoning(), message(phase="commentary"), function()]
    wire = sent(said(call(1, "c1"), text="Look", items=items, model="openai_responses:other"), results(result(1)))
    assert kinds(wire) == ["assistant", "function_call", "function_call_output"]
    assert not any("id" in item or "phase" in item for item in wire)


@pytest.mark.requirement("WIRE-05")
def test_kept_items_that_do_not_fit_the_calls_are_not_sent(sent):
    turn = said(call(1, "c1"), items=[reasoning(), function(1), function(2)])
    assert kinds(sent(turn, results(result(1)))) == ["function_call", "function_call_output"]


@pytest.mark.requirement("WIRE-05")
@pytest.mark.parametrize(
    "bad",
    [
        reasoning(encrypted_content=None),
        reasoning(encrypted_content=" "),
        reasoning(id="x_1"),
        reasoning(id=""),
        reasoning(id="rs_" + "x" * 62),
        reasoning(encrypted_content=None, content=[{"type": "reasoning_text", "text": "t"}]),
    ],
)
def test_reasoning_that_can_not_go_back_takes_the_ids_after_it_along(sent, bad):
    wire = sent(said(call(1, "c1"), items=[bad, message(), function()]), results(result(1)))
    assert kinds(wire) == ["assistant", "function_call", "function_call_output"]
    assert not any("id" in item for item in wire)


@pytest.mark.requirement("WIRE-05")
def test_open_models_get_their_plain_reasoning_back(sent):
    plain = reasoning(encrypted_content=None, content=[{"type": "reasoning_text", "text": "t"}])
    wire = sent(said(call(1, "c1"), items=[plain, function()]), results(result(1)), own=False)
    del plain["encrypted_content"]
    assert wire[:2] == [plain, function()]


@pytest.mark.requirement("WIRE-05")
@pytest.mark.parametrize("own", [False, True])
def test_nulls_that_were_given_out_are_not_sent_back(sent, own):
    thought = reasoning(content=None, status=None)
    del thought["summary"]
    items = [thought, message(phase=None), function(caller=None, namespace=None), {"id": "x", "type": "odd", "v": None}]
    wire = sent(said(call(1, "c1"), text="Look", items=items), results(result(1)), own=own)
    assert wire[:4] == [reasoning(), message(), function(), items[3]]


@pytest.mark.requirement("WIRE-05")
@pytest.mark.parametrize("own", [True, False])
def test_a_message_whose_content_is_a_text_goes_back_as_one(sent, own):
    wire = sent(said(text="Look", items=[reasoning(), message(content="Look")]), own=own)
    assert wire == [reasoning(), {"type": "message", "role": "assistant", "content": "Look"}]


@pytest.mark.requirement("WIRE-05")
def test_reasoning_that_nothing_follows_is_left_out(sent):
    wire = sent(said(text="Look", items=[message(), reasoning(1), reasoning(2)]))
    assert wire == [message()]
    assert kinds(sent(said(text="Look", items=[reasoning()]))) == ["assistant"]


@pytest.mark.requirement("WIRE-05")
def test_no_item_id_stands_twice(sent):
    one = [reasoning(), message(phase="x"), function()]
    wire = sent(said(call(1, "c1"), items=one), results(result(1)), said(call(2, "c2"), items=one), results(result(2)))
    ids = [item["id"] for item in wire if "id" in item]
    assert ids == ["rs_1", "msg_1", "fc_1"]
    assert len({item["call_id"] for item in wire if "call_id" in item}) == 2


@pytest.mark.parametrize("own", [True, False])
def test_texts_are_sent_as_texts(sent, own):
    assert sent(UserText(text="a"), own=own) == [{"type": "message", "role": "user", "content": "a"}]


def test_others_get_a_message_without_its_id_as_text(sent):
    wire = sent(said(text="Look", items=[message(id="odd", phase="x")]), own=False)
    assert wire == [{"type": "message", "role": "assistant", "content": "Look"}]
    assert sent(said(text="Look", items=[message(id="odd", phase="x")]))[0]["phase"] == "x"


def test_a_message_with_nothing_in_it_is_left_out(sent):
    wire = sent(said(call(1, "c1"), items=[reasoning(), message(content=[]), function()]), results(result(1)))
    assert kinds(wire) == ["reasoning", "function_call", "function_call_output"]


@pytest.mark.requirement("WIRE-05")
def test_a_call_by_a_program_is_answered_to_it(sent):
    program = {"id": "p_1", "type": "program", "call_id": "cp", "code": "", "fingerprint": "F"}
    caller = {"type": "program", "caller_id": "cp"}
    wire = sent(said(call(1, "c1"), items=[program, function(caller=caller)]), results(result(1)))
    assert wire[0] == program
    assert wire[1]["caller"] == wire[2]["caller"] == caller


@pytest.mark.parametrize("items", [(1, None), ({"call": 0},), ({"call": 0, "item": 3},), ([],), ({"call": True},)])
def test_kept_items_of_any_shape_send_something_legal(sent, items):
    turn = AssistantReply(text="t", calls=(call(1, "c1"),), kept=Kept(model=SENDER, items=items))
    wire = sent(turn, results(result(1)))
    assert kinds(wire)[-2:] == ["function_call", "function_call_output"]
