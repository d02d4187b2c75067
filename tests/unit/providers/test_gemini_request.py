import base64
import json
import re

import pytest
from hypothesis import given, strategies as st

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
from callslip.errors import StillWaiting
from callslip.ports.model import Request, ToolView
from callslip.providers.aliases import GEMINI, Aliases
from callslip.providers.gemini_parts import UNSIGNED, digest_of
from callslip.providers.gemini_request import Settings, body_of, offer
from callslip.providers.http_model import encode
from callslip.providers.options import Options

THREE, TWO = "gemini-3.1-pro-preview", "gemini-2.5-flash"
PNG = Attachment(name="plot.png", media_type="image/png", data=b"\x89PNG")
GIF = Attachment(name="cat.gif", media_type="image/gif", data=b"GIF89a")
PDF = Attachment(name="", media_type="application/pdf", data=b"%PDF-")


def call(number, provider_id="", tool="read", arguments=None):
    arguments = {} if arguments is None else arguments
    return CallMessage(call_id=f"call_{number}", provider_id=provider_id, tool=tool, arguments=arguments)


def result(number, content="ok", tool="read", **more):
    return ResultMessage(call_id=f"call_{number}", provider_id="", tool=tool, content=content, **more)


def kept(*items, model=THREE):
    return Kept(model=f"gemini:{model}", items=items)


def replied(*calls, text="", kept=None):
    return AssistantReply(text=text, calls=calls, kept=kept)


def results(*items):
    return ToolResults(results=items)


@pytest.fixture
def body(ask):
    def make(*messages, model=THREE, options=None, **changes):
        request = ask(**({"messages": messages} | changes))
        settings = Settings(model=model, options=options or Options(), sender=f"gemini:{model}")
        return body_of(request, settings, offer(request))

    return make


@pytest.fixture
def sent(body):
    def make(*messages, **more):
        return body(*messages, **more)["contents"]

    return make


HELLO = UserText(text="Hello")


def test_the_frame(body):
    assert body(HELLO) == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "files.read",
                        "description": "Read a file",
                        "parametersJsonSchema": {"type": "object", "properties": {}},
                    }
                ]
            }
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
    }


def test_without_tools_nothing_about_tools_is_sent(body):
    assert set(body(HELLO, tools=(), tool_choice="required", system=" ")) == {"contents"}


def test_a_tool_without_description_is_described_by_its_own_name(body):
    tool = ToolView(name="a/b", description="", input_schema={"type": "object"})
    (declared,) = body(HELLO, tools=(tool,))["tools"][0]["functionDeclarations"]
    assert declared["description"] == "a/b"
    assert declared["name"] == Aliases(["a/b"], GEMINI).wire("a/b") != "a/b"


@pytest.mark.requirement("WIRE-03")
@pytest.mark.parametrize(("choice", "mode"), [("auto", "AUTO"), ("none", "NONE"), ("required", "ANY")])
def test_tool_choice(body, choice, mode):
    assert body(HELLO, tool_choice=choice)["toolConfig"] == {"functionCallingConfig": {"mode": mode}}


@pytest.mark.requirement("WIRE-03")
def test_the_one_tool_that_must_be_called(body):
    tool = ToolView(name="a/b", description="", input_schema={"type": "object"})
    config = body(HELLO, tools=(tool,), tool_choice="required", only="a/b")["toolConfig"]["functionCallingConfig"]
    assert config == {"mode": "ANY", "allowedFunctionNames": [Aliases(["a/b"], GEMINI).wire("a/b")]}


def test_only_is_left_out_where_nothing_is_required_or_nobody_has_that_name(body):
    assert body(HELLO, tool_choice="required", only="gone")["toolConfig"] == {"functionCallingConfig": {"mode": "ANY"}}
    assert body(HELLO, only="files.read")["toolConfig"] == {"functionCallingConfig": {"mode": "AUTO"}}


@pytest.mark.requirement("WIRE-03")
def test_settings_and_no_word_of_what_gemini_does_not_have(body):
    options = Options(max_output_tokens=9, temperature=0.5, parallel=False, strict=True)
    made = body(HELLO, options=options)
    assert made["generationConfig"] == {"maxOutputTokens": 9, "temperature": 0.5}
    assert "parallel" not in json.dumps(made)
    assert "strict" not in json.dumps(made)


@pytest.mark.parametrize(("model", "config"), [(THREE, {"thinkingLevel": "LOW"}), (TWO, {"thinkingBudget": 0})])
def test_how_much_it_is_to_think(body, model, config):
    assert body(HELLO, model=model, options=Options(effort="off"))["generationConfig"] == {"thinkingConfig": config}
    assert "generationConfig" not in body(HELLO, model="gemini-2.0-flash", options=Options(effort="off"))


@pytest.mark.requirement("WIRE-03")
@pytest.mark.parametrize(
    ("strict", "choice", "mode"),
    [(True, "auto", "VALIDATED"), (True, "required", "ANY"), (True, "none", "NONE"), (False, "auto", "AUTO")],
)
def test_calls_are_held_to_their_schemas_where_that_is_asked_for(body, strict, choice, mode):
    made = body(HELLO, tool_choice=choice, options=Options(strict=strict))
    assert made["toolConfig"] == {"functionCallingConfig": {"mode": mode}}


@pytest.mark.requirement("WIRE-02")
@pytest.mark.requirement("CALL-06")
def test_results_stand_alone_right_after_their_calls_in_their_order(sent):
    contents = sent(
        HELLO,
        replied(call(1), call(2, tool="write"), text="Looking."),
        UserText(text="And hurry"),
        results(result(2, "two", tool="write", is_error=True), result(1, "one")),
        UserText(text="Thanks"),
        model=TWO,
    )
    assert contents == [
        {"role": "user", "parts": [{"text": "Hello"}]},
        {
            "role": "model",
            "parts": [
                {"text": "Looking."},
                {"functionCall": {"name": "read", "args": {}}},
                {"functionCall": {"name": "write", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "read", "response": {"result": "one"}}},
                {"functionResponse": {"name": "write", "response": {"error": "two"}}},
            ],
        },
        {"role": "user", "parts": [{"text": "And hurry"}, {"text": "Thanks"}]},
    ]


def test_a_call_without_its_result_is_not_sent(sent):
    with pytest.raises(StillWaiting):
        sent(HELLO, replied(call(1)))


def test_nothing_is_empty(sent):
    contents = sent(UserText(text=""), replied(call(1), text=" "), results(result(1, "")), replied(), model=TWO)
    assert contents[0]["parts"] == [{"text": "(empty message)"}]
    assert contents[1]["parts"] == [{"functionCall": {"name": "read", "args": {}}}]
    assert contents[2]["parts"][0]["functionResponse"]["response"] == {"result": "(empty result)"}
    assert len(contents) == 3


@pytest.mark.parametrize(
    "history", [(), (Notice(text="Cut."),), (replied(call(1)), results(result(1))), (replied(text="Hi"),)]
)
def test_the_user_begins_and_ends(sent, history):
    contents = sent(*history)
    assert contents[0]["role"] == contents[-1]["role"] == "user"
    assert all(content["parts"] for content in contents)


def test_neighbours_of_one_role_become_one(sent):
    contents = sent(
        HELLO, Notice(text="Cut."), replied(text="A"), replied(call(1), text="B"), results(result(1)), model=TWO
    )
    assert [content["role"] for content in contents] == ["user", "model", "user"]
    assert contents[0]["parts"][1]["text"].endswith("Cut.")
    assert contents[1]["parts"][:2] == [{"text": "A"}, {"text": "B"}]


@pytest.mark.requirement("WIRE-05")
def test_what_was_kept_goes_back_in_its_order_with_the_calls_of_the_history(sent):
    items = (
        {"text": "Thinking…", "thought": True, "thoughtSignature": "s0"},
        {"call": 0, "thoughtSignature": "s1"},
        {"text": "Meanwhile"},
        {"call": 1},
        {"text": "", "thoughtSignature": "s2"},
    )
    turn = replied(call(1, "p1", arguments={"path": "b"}), call(2, "p2"), text="Meanwhile", kept=kept(*items))
    contents = sent(HELLO, turn, results(result(1), result(2)))
    assert contents[1]["parts"] == [
        items[0],
        {"functionCall": {"id": "p1", "name": "read", "args": {"path": "b"}}, "thoughtSignature": "s1"},
        {"text": "Meanwhile"},
        {"functionCall": {"id": "p2", "name": "read", "args": {}}},
        items[4],
    ]
    assert [part["functionResponse"]["id"] for part in contents[2]["parts"]] == ["p1", "p2"]
    assert turn.kept.items == items, "what was kept stays as it was"


@pytest.mark.requirement("WIRE-05")
@pytest.mark.requirement("WIRE-01")
@pytest.mark.parametrize(
    "was",
    [
        None,
        kept({"call": 0, "thoughtSignature": "s1"}, {"call": 1}, model="gemini-3-flash"),
        Kept(model="anthropic:claude", items=({"call": 0}, {"call": 1})),
        kept({"call": 0, "thoughtSignature": "s1"}),
        kept({"call": 1, "thoughtSignature": "s1"}, {"call": 0}),
        kept("nonsense", 5),
        kept(),
    ],
)
def test_what_another_said_is_rendered_plainly_and_signed_with_the_documented_stand_in(sent, was):
    """Also where what was kept no longer fits the calls. Ids are another's too, and are not sent."""
    contents = sent(HELLO, replied(call(1, "p1"), call(2, "p2"), kept=was), results(result(1), result(2)))
    first, second = contents[1]["parts"]
    assert first == {"functionCall": {"name": "read", "args": {}}, "thoughtSignature": UNSIGNED}
    assert second == {"functionCall": {"name": "read", "args": {}}}
    assert all("id" not in part["functionResponse"] for part in contents[2]["parts"])


@pytest.mark.requirement("WIRE-05")
def test_a_call_of_its_own_that_came_unsigned_gets_the_stand_in_too(sent):
    turn = replied(call(1, "p1"), kept=kept({"text": "Hm", "thoughtSignature": "s"}, {"call": 0}))
    parts = sent(HELLO, turn, results(result(1)))[1]["parts"]
    assert parts[0]["thoughtSignature"] == "s"
    assert parts[1]["thoughtSignature"] == UNSIGNED


@pytest.mark.requirement("WIRE-05")
def test_a_signature_goes_only_with_the_call_it_came_with(sent):
    def parts(arguments, name="read"):
        item = {"call": 0, "thoughtSignature": "s", "signed": digest_of(name, {"n": 2.0**60, "m": 5.0})}
        return sent(HELLO, replied(call(1, arguments=arguments), kept=kept(item)), results(result(1)))[1]["parts"]

    same = {"m": 5, "n": 2**60}
    assert parts(same) == [{"functionCall": {"name": "read", "args": same}, "thoughtSignature": "s"}]
    assert parts({"m": 6, "n": 5})[0]["thoughtSignature"] == UNSIGNED
    assert parts("was erased")[0]["thoughtSignature"] == UNSIGNED
    assert parts(same, name="read it")[0]["thoughtSignature"] == UNSIGNED


@pytest.mark.requirement("WIRE-05")
def test_a_call_that_is_not_the_first_loses_the_signature_of_other_arguments_and_gets_none(sent):
    items = ({"call": 0}, {"call": 1, "thoughtSignature": "s", "signed": digest_of("read", {"n": 1})})
    turn = replied(call(1, "a"), call(2, "b", arguments={"n": 2}), kept=kept(*items))
    first, second = sent(HELLO, turn, results(result(1), result(2)))[1]["parts"]
    assert first["thoughtSignature"] == UNSIGNED
    assert second == {"functionCall": {"id": "b", "name": "read", "args": {"n": 2}}}


def test_older_models_get_no_stand_in(sent):
    parts = sent(HELLO, replied(call(1)), results(result(1)), model=TWO)[1]["parts"]
    assert parts == [{"functionCall": {"name": "read", "args": {}}}]


@pytest.mark.requirement("CALL-03")
def test_ids_go_back_only_where_the_model_gave_them_and_are_unique(sent):
    turn = replied(call(1, "p"), call(2, "p"), call(3), call(4, "a b"), kept=kept(*({"call": n} for n in range(4))))
    contents = sent(HELLO, turn, results(*(result(n) for n in (1, 2, 3, 4))))
    ids = [part["functionCall"].get("id") for part in contents[1]["parts"]]
    assert ids == [part["functionResponse"].get("id") for part in contents[2]["parts"]]
    assert ids == ["p", "call_2", None, "call_4"]


@pytest.mark.requirement("WIRE-02")
@pytest.mark.requirement("RSLT-04")
def test_images_stand_in_the_response_where_the_model_takes_them_there(sent):
    contents = sent(HELLO, replied(call(1)), results(result(1, attachments=(PNG, GIF, PDF))))
    (part,) = contents[2]["parts"]
    assert part["functionResponse"]["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(PNG.data).decode()}},
        {"inlineData": {"mimeType": "application/pdf", "data": base64.b64encode(PDF.data).decode()}},
    ]
    assert len(contents) == 3


@pytest.mark.requirement("WIRE-02")
@pytest.mark.requirement("RSLT-04")
def test_for_older_models_images_follow_all_responses_in_a_content_of_their_own(sent):
    contents = sent(
        HELLO,
        replied(call(1), call(2)),
        results(result(1, attachments=(PNG, GIF)), result(2, attachments=(PDF,))),
        UserText(text="And?"),
        model=TWO,
    )
    assert [list(part) for part in contents[2]["parts"]] == [["functionResponse"], ["functionResponse"]]
    assert "parts" not in contents[2]["parts"][0]["functionResponse"]
    assert [next(iter(part)) for part in contents[3]["parts"]] == ["text", "inlineData", "text", "inlineData", "text"]
    assert "not from the user" in contents[3]["parts"][0]["text"]
    assert "gif" not in json.dumps(contents)


@pytest.mark.parametrize("model", [TWO, THREE])
def test_a_model_without_eyes_is_shown_none(sent, model):
    contents = sent(
        HELLO, replied(call(1)), results(result(1, attachments=(PNG,))), model=model, options=Options(images=False)
    )
    assert "inlineData" not in json.dumps(contents)


@pytest.mark.requirement("WIRE-02")
def test_arguments_are_objects_and_large_integers_text(sent):
    turn = replied(
        call(1, arguments='{"n": 9007199254740993, "m": 5}'), call(2, arguments="{cut"), call(3, arguments="")
    )
    parts = sent(HELLO, turn, results(result(1), result(2), result(3)), model=TWO)[1]["parts"]
    assert [part["functionCall"]["args"] for part in parts] == [
        {"n": "9007199254740993", "m": 5},
        {"raw_arguments": "{cut"},
        {},
    ]


@pytest.mark.requirement("WIRE-02")
def test_numbers_of_a_result_stay_in_its_text(sent):
    contents = sent(HELLO, replied(call(1)), results(result(1, '{"n": 9007199254740993}')))
    assert contents[2]["parts"][0]["functionResponse"]["response"] == {"result": '{"n": 9007199254740993}'}


NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")


@pytest.mark.requirement("SPEC-02")
@given(st.lists(st.one_of(st.text(max_size=90), st.from_regex(r"[0-9.:_a-z-]{1,20}", fullmatch=True)), max_size=8))
def test_any_name_is_legal_on_the_wire_and_comes_back(names):
    table = Aliases(names, GEMINI)
    wires = [table.wire(name) for name in names]
    assert all(NAME.fullmatch(wire) for wire in wires)
    assert [table.tool(wire) for wire in wires] == names


def test_the_same_request_gives_the_same_bytes_and_no_lone_surrogate(body):
    history = (
        UserText(text="a\ud800\0"),
        replied(call(1, tool="gone/tool", arguments={"\udfff": 1})),
        results(result(1)),
    )
    assert encode(body(*history)) == encode(body(*history))
    assert json.loads(encode(body(*history)))["contents"][0]["parts"][0]["text"] == "a\ufffd\0"


TEXTS = st.sampled_from(["", " ", "x", "\ud800", "y\0"])
IDS = st.sampled_from(["", "p1", "p1", "toolu_1", "a b", "é"])
ITEMS = st.sampled_from(
    [{"call": 0, "thoughtSignature": "s"}, {"call": 1}, {"call": 0}, {"text": "x", "thoughtSignature": "s"}]
)


@st.composite
def histories(draw):
    messages, number = [], 0
    for _ in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from(["user", "notice", "reply"]))
        if kind == "user":
            messages.append(UserText(text=draw(TEXTS)))
        elif kind == "notice":
            messages.append(Notice(text=draw(TEXTS)))
        else:
            calls = [
                call(number + n, draw(IDS), draw(st.sampled_from(["read", "a/b", "9"])))
                for n in range(draw(st.integers(0, 3)))
            ]
            number += len(calls)
            items = draw(st.lists(ITEMS, max_size=3))
            was = draw(st.sampled_from([None, kept(*items), Kept(model="gemini:other", items=tuple(items))]))
            messages.append(replied(*calls, text=draw(TEXTS), kept=was))
            if draw(st.booleans()):
                messages.append(UserText(text="meanwhile"))
            if calls:
                shown = draw(st.sampled_from([(), (PNG,), (GIF, PDF)]))
                answers = [result(int(one.call_id[5:]), draw(TEXTS), one.tool, attachments=shown) for one in calls]
                messages.append(results(*draw(st.permutations(answers))))
    return tuple(messages)


@pytest.mark.requirement("WIRE-01")
@given(histories(), st.sampled_from([TWO, THREE]))
def test_any_history_is_legal(messages, model):
    request = Request(system="", messages=messages, tools=())
    contents = body_of(request, Settings(model=model, sender=f"gemini:{THREE}"), offer(request))["contents"]
    assert contents[0]["role"] == contents[-1]["role"] == "user"
    for place, content in enumerate(contents):
        kinds = {kind for part in content["parts"] for kind in part if kind != "thoughtSignature"}
        assert content["parts"]
        assert all(part["text"] or part.get("thoughtSignature") for part in content["parts"] if "text" in part)
        if "functionResponse" in kinds:
            assert kinds == {"functionResponse"}
        calls = [part for part in content["parts"] if "functionCall" in part]
        if calls:
            assert contents[place - 1]["role"] == "user"
            answers = [part["functionResponse"] for part in contents[place + 1]["parts"]]
            assert [(one["functionCall"]["name"], one["functionCall"].get("id")) for one in calls] == [
                (answer["name"], answer.get("id")) for answer in answers
            ]
            assert model == TWO or calls[0]["thoughtSignature"]
