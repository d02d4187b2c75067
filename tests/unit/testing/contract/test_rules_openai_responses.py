"""Each rule of Responses: a body that breaks it, and one beside it that does not; and what only a memory can know."""

from __future__ import annotations

import pytest

from callslip.testing.contract import openai_schema, rules_openai_responses
from callslip.testing.contract.openai_responses import OpenAIResponses
from callslip.testing.contract.says import Call, Says

SCHEMA = {"type": "object", "properties": {"cents": {"type": "integer"}}}
USER = {"role": "user", "content": "Pay."}
ENCRYPTED = {"store": False, "include": ["reasoning.encrypted_content"]}


def call(call_id="call_1", name="pay", arguments="{}", **more):
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments, **more}


def output(call_id="call_1", text="Paid.", **more):
    return {"type": "function_call_output", "call_id": call_id, "output": text, **more}


def tool(name="pay", **more):
    return {"type": "function", "name": name, "parameters": SCHEMA, "strict": False, **more}


def body(*items, **more):
    return {"model": "m", "input": list(items or [USER]), **more}


def said(*parts, role="user"):
    return {"role": role, "content": list(parts)}


def search(call_id="call_1", **more):
    made = {"type": "tool_search_call", "call_id": call_id, "execution": "client", "arguments": {"queries": ["pay"]}}
    return made | more


def found(call_id="call_1", **more):
    return {"type": "tool_search_output", "call_id": call_id, "execution": "client", "tools": [LATER]} | more


SEARCH = {"type": "tool_search", "execution": "client", "description": "Find.", "parameters": {"type": "object"}}
LATER = tool(defer_loading=True)
TEXT = {"type": "input_text", "text": "x"}
OUT = {"type": "output_text", "text": "x"}
FORMAT = {"type": "json_schema", "name": "answer", "schema": SCHEMA}
ALLOWED = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "pay"}]}
CASES = [
    ("unknown_field", body(messages=[]), body()),
    ("unknown_field", body(stop=["x"]), body(top_p=0.5)),
    ("unknown_field", body(stream=True, stream_options={"include_usage": True}), body(stream=True, stream_options={})),
    ("missing_field", {"input": "x"}, {"model": "m", "input": "x"}),
    ("missing_field", {"model": "m"}, body()),
    ("wrong_type", body(input=3), body()),
    ("wrong_type", body(store="no"), body(store=False)),
    ("wrong_type", body(instructions=["x"]), body(instructions="x")),
    ("wrong_type", body(temperature="hot"), body(temperature=0.1)),
    ("out_of_range", body(max_output_tokens=15), body(max_output_tokens=16)),
    ("stream_options_without_stream", body(stream_options={}), body(stream=True)),
    ("include_unknown", body(include=["reasoning"]), body(include=["reasoning.encrypted_content"])),
    ("previous_response_unknown", body(previous_response_id="resp_1"), body(previous_response_id=None)),
    ("text_format_shape", body(text={"format": {"type": "json_schema"}}), body(text={"format": FORMAT})),
    ("text_format_shape", body(text={"format": "json"}), body(text={"format": {"type": "text"}, "verbosity": "low"})),
    ("item_shape", body("hello"), body()),
    ("item_shape", body({"type": "reasoning", "summary": []}, call(), output()), body(call(), output())),
    ("unknown_item_type", body({"type": "tool_result"}), body()),
    ("unknown_item_type", body({"text": "x"}), body({"type": "message", **USER})),
    ("unknown_item_field", body({**USER, "metadata": {}}), body(USER)),
    ("unknown_item_field", body(call(), output(is_error=True)), body(call(), output(status="completed"))),
    ("unknown_role", body({"role": "tool", "content": "x"}), body({"role": "developer", "content": "x"})),
    ("content_shape", body({"role": "user", "content": None}), body({"role": "user", "content": ""})),
    ("content_part", body(said({"type": "text", "text": "x"})), body(said(TEXT))),
    ("content_part", body(said(TEXT, role="assistant")), body(said(OUT, role="assistant"))),
    ("content_part", body(said(OUT)), body(said({"type": "refusal", "refusal": "x"}, role="assistant"))),
    ("content_part", body(said({"type": "input_text"})), body(said(TEXT))),
    (
        "image_url",
        body(said({"type": "input_image", "image_url": {"url": "https://example.com/a.png"}})),
        body(said({"type": "input_image", "image_url": "https://example.com/a.png"})),
    ),
    (
        "image_url",
        body(call(), output(text=[{"type": "input_image"}])),
        body(call(), output(text=[{"type": "input_image", "image_url": "data:image/png;base64,aGk="}])),
    ),
    ("call_id", body(call(""), output("")), body(call(), output())),
    ("call_id", body(call("c" * 65), output("c" * 65)), body(call("c" * 64), output("c" * 64))),
    ("call_name", body(call(name="files.read"), output()), body(call(name="files_read"), output())),
    ("arguments_not_text", body(call(arguments={}), output()), body(call(arguments="{"), output())),
    ("output_shape", body(call(), output(text=None)), body(call(), output(text=""))),
    ("output_shape", body(call(), output(text={"a": 1})), body(call(), output(text=[TEXT]))),
    ("id_prefix", body(call(id="call_1"), output()), body(call(id="fc_1"), output())),
    (
        "id_prefix",
        body({**said(OUT, role="assistant"), "id": "item_1"}),
        body({**said(OUT, role="assistant"), "id": "msg_1"}),
    ),
    ("id_too_long", body(call(id="fc_" + "c" * 62), output()), body(call(id="fc_" + "c" * 61), output())),
    ("duplicate_item", body(call("a", id="fc_1"), call("b", id="fc_1"), output("a"), output("b")), body()),
    ("orphan_output", body(output()), body(call(), output())),
    ("orphan_output", body(output(), call()), body(call(), USER, output())),
    ("orphan_output", body(call(id="fc_1"), output("fc_1")), body(call(id="fc_1"), output())),
    ("output_twice", body(call(), output(), output()), body(call(), output())),
    ("unanswered_call", body(call("a"), call("b"), output("b")), body(call("a"), call("b"), output("b"), output("a"))),
    ("call_id_repeated", body(call(), output(), call(), output()), body(call(), output())),
    ("tool_shape", body(tools={}), body(tools=[])),
    ("tool_shape", body(tools=[{"type": "function", "function": {"name": "pay"}}]), body(tools=[tool()])),
    ("tool_shape", body(tools=[{"type": "function", "name": "pay"}]), body(tools=[tool(parameters=None)])),
    ("tool_shape", body(tools=[{"name": "pay"}]), body(tools=[{"type": "web_search"}])),
    ("tool_name", body(tools=[tool("files.read")]), body(tools=[tool("files_read")])),
    ("unknown_tool_field", body(tools=[tool(cache=1)]), body(tools=[tool(description="x")])),
    ("reserved_name", body(tools=[tool("tool_search")]), body(tools=[tool("tool_search_2")])),
    ("reserved_name", body(tools=[tool("python")]), body(tools=[tool("python3")])),
    ("duplicate_tool", body(tools=[tool(), tool()]), body(tools=[tool(), tool("pay2")])),
    (
        "too_many_tools",
        body(tools=[tool(f"t{number}") for number in range(129)]),
        body(tools=[tool(f"t{number}") for number in range(128)]),
    ),
    ("tool_choice_without_tools", body(tool_choice="required"), body(tool_choice="auto")),
    ("tool_choice_shape", body(tools=[tool()], tool_choice="any"), body(tools=[tool()], tool_choice="required")),
    (
        "tool_choice_shape",
        body(tools=[tool()], tool_choice={"type": "allowed_tools"}),
        body(tools=[tool()], tool_choice=ALLOWED),
    ),
    (
        "tool_choice_unknown_tool",
        body(tools=[tool()], tool_choice={"type": "function", "name": "play"}),
        body(tools=[tool()], tool_choice={"type": "function", "name": "pay"}),
    ),
    ("schema_not_object", body(tools=[tool(parameters={})]), body(tools=[tool()])),
    ("strict_required", body(tools=[tool(strict=True)]), body(tools=[tool(strict=None)])),
    ("search_shape", body(tools=[{**SEARCH, "strict": True}]), body(tools=[SEARCH])),
    ("search_shape", body(tools=[{**SEARCH, "execution": "us"}]), body(tools=[{"type": "tool_search"}, LATER])),
    ("search_shape", body(tools=[{**SEARCH, "parameters": "{}"}]), body(tools=[{**SEARCH, "description": None}])),
    ("search_twice", body(tools=[SEARCH, SEARCH]), body(tools=[SEARCH])),
    ("search_unsupported", body(tools=[SEARCH], model="gpt-5.3"), body(tools=[SEARCH], model="gpt-5.4")),
    ("search_unsupported", body(tools=[SEARCH], model="gpt-4.1"), body(tools=[SEARCH], model="gpt-6-astra")),
    ("search_unsupported", body(tools=[SEARCH], model="gpt-5.4-nano"), body(tools=[SEARCH], model="gpt-5.4-mini")),
    ("deferred_without_search", body(tools=[LATER]), body(tools=[LATER, SEARCH])),
    (
        "deferred_without_search",
        body(tools=[{"type": "namespace", "name": "n", "description": "x", "tools": [LATER]}]),
        body(tools=[{"type": "namespace", "name": "n", "description": "x", "tools": [tool()]}]),
    ),
    ("search_without_deferred", body(tools=[{"type": "tool_search"}]), body(tools=[SEARCH, tool()])),
    ("search_call_shape", body(search(arguments="{}"), found()), body(search(), found())),
    ("search_call_shape", body(search(call_id=None)), body(search(execution="server", call_id=None))),
    ("search_output_shape", body(search(), found(tools=None)), body(search(), found(tools=[]))),
    ("search_output_shape", body(search(), found(status="failed")), body(search(), found(status="completed"))),
    ("tool_shape", body(search(), found(tools=[{"name": "pay"}])), body(search(), found(tools=[LATER]))),
    ("unknown_item_field", body(search(name="tool_search"), found()), body(search(id="tsc_1"), found(id="tso_1"))),
    ("orphan_output", body(call(), found()), body(search(), found())),
    ("orphan_output", body(search(), output()), body(call(), output())),
    ("unanswered_call", body(search()), body(search(), found())),
    ("output_twice", body(search(), found(), found()), body(search(), found())),
    ("call_id_repeated", body(search(), found(), call(), output()), body(search("a"), found("a"), call(), output())),
    ("lone_surrogate", body({"role": "user", "content": "\ud83d"}), body({"role": "user", "content": "😀"})),
]
WITH_MEMORY = {
    "reasoning_without_item",
    "summary_missing",
    "call_without_reasoning",
    "reasoning_not_returned",
    "encrypted_content",
    "not_persisted",
}


@pytest.mark.parametrize(("rule", "wrong", "right"), CASES, ids=[f"{n}-{case[0]}" for n, case in enumerate(CASES)])
def test_a_rule_is_broken_by_one_body_and_kept_by_the_next(rule, wrong, right):
    assert rule in {violation.rule for violation in rules_openai_responses.check(wrong)}
    assert rules_openai_responses.check(right) == []


def test_every_rule_has_a_case_and_a_source():
    shared = {*openai_schema.SOURCES, "text_too_long"}
    assert {case[0] for case in CASES} | shared | WITH_MEMORY == set(rules_openai_responses.SOURCES)
    for source in rules_openai_responses.SOURCES.values():
        assert source.startswith(("github.com/", "OpenAI docs, ", "OpenAI API reference, "))


@pytest.fixture
def server():
    return OpenAIResponses()


@pytest.fixture
def rules(server):
    def check(*items, **more):
        return [violation.rule for violation in server.check(body(*items, **more), {}, "/responses")]

    return check


@pytest.fixture
def reply(server):
    """The items of a reply with one reasoning item and one call."""

    def make(*items, thinking="Hm.", **more):
        spoken = Says(thinking=thinking, calls=(Call("pay"),))
        return server.plain(spoken, body(*items, **more))

    return make


def test_a_reply_given_back_as_it_came_is_legal(reply, rules):
    reasoning, called = reply(**ENCRYPTED)["output"]
    assert rules(USER, reasoning, called, output(called["call_id"]), **ENCRYPTED) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda item: item["encrypted_content"][:-1],
        lambda item: item["encrypted_content"].replace("gAAAA", "gAAAB"),
        lambda item: "x" + item["encrypted_content"][1:],
        lambda item: (
            item["encrypted_content"][:20]
            + ("A" if item["encrypted_content"][20] != "A" else "B")
            + item["encrypted_content"][21:]
        ),
        lambda item: "",
        lambda item: "\u00e9",
        lambda item: 5,
    ],
)
def test_not_a_character_of_opaque_content_may_change(reply, rules, change):
    reasoning, called = reply(**ENCRYPTED)["output"]
    altered = {**reasoning, "encrypted_content": change(reasoning)}
    assert rules(USER, altered, called, output(called["call_id"]), **ENCRYPTED) == ["encrypted_content"]


def test_opaque_content_belongs_to_its_item_and_model(reply, rules):
    first, _ = reply(**ENCRYPTED)["output"]
    second, called = reply(**ENCRYPTED)["output"]
    swapped = {**second, "encrypted_content": first["encrypted_content"]}
    assert rules(USER, swapped, called, output(called["call_id"]), **ENCRYPTED) == ["encrypted_content"]
    other = {**ENCRYPTED, "model": "other"}
    assert rules(USER, second, called, output(called["call_id"]), **other) == ["encrypted_content"]


def test_a_session_may_go_on_with_another_server(reply):
    reasoning, called = reply(**ENCRYPTED)["output"]
    items = (USER, reasoning, called, output(called["call_id"]))
    assert OpenAIResponses().check(body(*items, **ENCRYPTED), {}, "/responses") == []


def test_a_call_given_back_by_its_id_needs_its_reasoning(reply, rules):
    _, called = reply(**ENCRYPTED)["output"]
    answered = output(called["call_id"])
    assert rules(USER, called, answered, **ENCRYPTED) == ["call_without_reasoning"]
    # Also long after, and to another model: the id is what links them.
    assert rules(USER, called, answered, USER, **{**ENCRYPTED, "model": "other"}) == ["call_without_reasoning"]


def test_without_ids_reasoning_is_wanted_back_while_its_turn_goes_on(reply, rules):
    _, called = reply(**ENCRYPTED)["output"]
    nameless = {key: value for key, value in called.items() if key != "id"}
    answered = output(called["call_id"])
    assert rules(USER, nameless, answered, **ENCRYPTED) == ["reasoning_not_returned"]
    assert rules(USER, nameless, answered, USER, **ENCRYPTED) == []
    assert rules(USER, nameless, answered, **{**ENCRYPTED, "model": "other"}) == []


def test_a_call_made_without_reasoning_needs_none(reply, rules):
    (called,) = reply(thinking="", **ENCRYPTED)["output"]
    assert rules(USER, called, output(called["call_id"]), **ENCRYPTED) == []


@pytest.mark.parametrize("after", [[], [USER], [output()]])
def test_reasoning_is_followed_by_what_the_model_made_next(reply, rules, after):
    reasoning, _ = reply(**ENCRYPTED)["output"]
    assert "reasoning_without_item" in rules(USER, reasoning, *after, **ENCRYPTED)
    assert rules(USER, reasoning, said(OUT, role="assistant"), **ENCRYPTED) == []


def test_several_reasoning_items_may_come_before_one_call(reply, rules):
    first, _ = reply(**ENCRYPTED)["output"]
    second, called = reply(**ENCRYPTED)["output"]
    assert rules(USER, first, second, called, output(called["call_id"]), **ENCRYPTED) == []


def test_reasoning_needs_its_summary(reply, rules):
    reasoning, called = reply(**ENCRYPTED)["output"]
    bare = {key: value for key, value in reasoning.items() if key != "summary"}
    assert rules(USER, bare, called, output(called["call_id"]), **ENCRYPTED) == ["summary_missing"]


def test_opaque_content_comes_only_where_it_is_included(reply):
    assert "encrypted_content" not in reply(store=False)["output"][0]
    assert "encrypted_content" in reply(**ENCRYPTED)["output"][0]


def test_what_was_not_stored_can_not_be_named(reply, rules):
    reasoning, called = reply(store=False)["output"]
    assert rules(USER, reasoning, called, output(called["call_id"]), store=False) == ["not_persisted"]
    reference = {"type": "item_reference", "id": called["id"]}
    assert "not_persisted" in rules(USER, reference, store=False)


def test_what_was_stored_can_be_named(reply, rules):
    reasoning, called = reply()["output"]
    assert rules(USER, reasoning, called, output(called["call_id"])) == []
    references = [{"type": "item_reference", "id": item["id"]} for item in (reasoning, called)]
    assert rules(USER, *references, output(called["call_id"])) == []
    assert rules(USER, *references) == ["unanswered_call"]


def test_a_stored_response_can_be_gone_on_from(reply, rules):
    first = reply()
    call_id = first["output"][1]["call_id"]
    assert rules(output(call_id), previous_response_id=first["id"]) == []
    assert rules(USER, previous_response_id=first["id"]) == ["unanswered_call"]
    assert rules(output("call_2"), output(call_id), previous_response_id=first["id"]) == ["orphan_output"]
    second = reply(output(call_id), previous_response_id=first["id"])
    call_id = second["output"][1]["call_id"]
    assert rules(output(call_id), previous_response_id=second["id"]) == []
    unstored = reply(store=False)
    assert rules(USER, previous_response_id=unstored["id"]) == ["previous_response_unknown"]


def test_a_summary_comes_where_it_is_asked_for(reply):
    assert reply()["output"][0]["summary"] == []
    asked = reply(reasoning={"summary": "auto"})["output"][0]
    assert asked["summary"] == [{"type": "summary_text", "text": "Hm."}]


@pytest.mark.requirement("DEFR-07")
def test_the_models_own_search_is_called_where_it_is_offered():
    form, asked = OpenAIResponses(), body(tools=[SEARCH, tool()])
    said = Says(calls=(Call("tool_search", {"queries": ["pay"]}), Call("pay", {"cents": 5})))
    searched, called = form.plain(said, asked)["output"]
    assert (searched["type"], searched["execution"], searched["arguments"]) == (
        "tool_search_call",
        "client",
        {"queries": ["pay"]},
    )
    assert (called["type"], called["name"]) == ("function_call", "pay")
    assert form.plain(said, body(tools=[tool()]))["output"][0]["type"] == "function_call"
    told = form.events(Says(calls=said.calls[:1]), asked)
    kinds = [(name, data.get("item", {}).get("arguments")) for name, data in told if "item" in data]
    assert kinds == [("response.output_item.added", {}), ("response.output_item.done", {"queries": ["pay"]})]


@pytest.mark.requirement("DEFR-07")
def test_reasoning_before_a_search_comes_back_with_it():
    form = OpenAIResponses()
    settings = ENCRYPTED | {"tools": [SEARCH]}
    said = Says(thinking="Hm.", calls=(Call("tool_search", {"queries": ["pay"]}),))
    reasoning, searched = form.plain(said, body(**settings))["output"]
    answered = found(searched["call_id"])

    def broken(*items):
        return [one.rule for one in form.check(body(*items, **settings), {}, "/responses")]

    assert broken(USER, reasoning, searched, answered) == []
    assert broken(USER, searched, answered) == ["call_without_reasoning"]
    bare = {name: value for name, value in searched.items() if name != "id"}
    assert broken(USER, bare, answered) == ["reasoning_not_returned"]
