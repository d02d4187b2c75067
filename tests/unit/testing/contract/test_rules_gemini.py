"""Every rule of Gemini's has a request that breaks it, and one beside it that is legal."""

from __future__ import annotations

import base64
import copy

import pytest

from callslip.testing.contract import rules_gemini
from callslip.testing.contract.gemini import Gemini
from callslip.testing.contract.says import Call, Says

HEADERS = {"x-goog-api-key": "k"}
PATH = "/v1beta/models/gemini-2.5-flash:generateContent"
PATH_3 = "/v1beta/models/gemini-3-pro-preview:generateContent"
PNG = base64.b64encode(b"\x89PNG").decode()
DUMMY = "skip_thought_signature_validator"
SCHEMA = {"type": "OBJECT", "properties": {"path": {"type": "STRING"}}, "required": ["path"]}
FUNCTION = {"name": "read_file", "description": "Reads.", "parameters": SCHEMA}


def user(*parts):
    return {"role": "user", "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def model(*parts):
    return {**user(*parts), "role": "model"}


def call(name="read_file", **more):
    return {"functionCall": {"name": name, "args": {}, **more}}


def response(name="read_file", **more):
    return {"functionResponse": {"name": name, "response": {"output": "done"}, **more}}


def request(*contents, **more):
    return {"contents": list(contents) or [user("Hi")], **more}


def tooled(*functions, **more):
    return request(tools=[{"functionDeclarations": list(functions) or [FUNCTION]}], **more)


def function(**more):
    return tooled({**FUNCTION, **more})


def schema(given):
    return function(parameters={"type": "OBJECT", "properties": {"a": given}})


def json_schema(given):
    return tooled({"name": "f", "parametersJsonSchema": given})


def calling(mode=None, allowed=None, **more):
    config = {"mode": mode, "allowedFunctionNames": allowed}
    return {**tooled(), **more, "toolConfig": {"functionCallingConfig": config}}


def generation(**config):
    return request(generationConfig=config)


def thinking(**config):
    return generation(thinkingConfig=config)


def blob(mime="image/png", data=PNG):
    return {"inlineData": {"mimeType": mime, "data": data}}


def loop(*responses, calls=None):
    return request(user("Hi"), model(*(calls or [call()])), user(*responses))


def rules(body, path=PATH, headers=HEADERS):
    return [one.rule for one in rules_gemini.check(body, headers, path)]


CASES = [
    ("unknown_name", request(max_tokens=5), generation(maxOutputTokens=5)),
    ("unknown_name", generation(max_tokens=5), generation(max_output_tokens=5)),
    ("unknown_name", schema({"type": "STRING", "additionalProperties": False}), schema({"type": "STRING", "title": "A"})),
    ("unknown_name", schema({"type": "NUMBER", "exclusiveMinimum": 0}), schema({"type": "NUMBER", "minimum": 0})),
    ("unknown_name", schema({"const": "a"}), schema({"type": "STRING", "enum": ["a"]})),
    ("unknown_name", schema({"$ref": "#/a"}), json_schema({"type": "object", "properties": {"a": {"$ref": "#"}}})),
    ("unknown_name", loop({"functionResponse": {"name": "read_file", "response": {}, "error": "x"}}), loop(response())),
    ("wrong_value", schema({"type": "INTEGER", "enum": [1]}), schema({"type": "STRING", "enum": ["1"]})),
    ("wrong_value", generation(candidateCount="1"), generation(candidateCount=1)),
    ("not_a_list", schema({"type": ["STRING", "NULL"]}), schema({"type": "STRING", "nullable": True})),
    ("not_a_struct", loop(response(response="done")), loop(response(response={"output": "done"}))),
    ("not_a_struct", loop(response(response=["done"])), loop(response(response={}))),
    ("not_a_struct", loop(response(), calls=[call(args="{}")]), loop(response(), calls=[call(args={"a": 1})])),
    ("lone_surrogate", request(user("a\udc00")), request(user("a\U0001f600"))),
    # functions
    ("function_name", function(name="1st"), function(name="_1st")),
    ("function_name", function(name="a b"), function(name="a.b:c-d")),
    ("function_name", function(name="a" * 65), function(name="a" * 64)),
    ("duplicate_function", tooled(FUNCTION, FUNCTION), tooled(FUNCTION, {**FUNCTION, "name": "other"})),
    ("parameters_twice", function(parametersJsonSchema={"type": "object"}), json_schema({"type": "object"})),
    ("calling_mode", calling("REQUIRED"), calling("ANY")),
    ("calling_without_functions", calling("AUTO", tools=[{"googleSearch": {}}]), calling("AUTO")),
    ("allowed_names_mode", calling("AUTO", ["read_file"]), calling("ANY", ["read_file"])),
    ("allowed_names_unknown", calling("ANY", ["write_file"]), calling("VALIDATED", ["read_file"])),
    # schemas
    ("schema_root", function(parameters={"properties": {"a": {"type": "STRING"}}}), function(parameters=SCHEMA)),
    ("schema_type", schema({"type": "text"}), schema({"type": "string"})),
    ("schema_type_missing", schema({"items": {"type": "STRING"}}), schema({"anyOf": [{"type": "STRING"}]})),
    ("schema_empty_object", function(parameters={"type": "OBJECT", "properties": {}}), tooled({"name": "f"})),
    ("schema_empty_object", schema({"type": "OBJECT"}), schema(SCHEMA)),
    ("schema_only_object", schema({"type": "STRING", "properties": {}}), schema({"type": "STRING"})),
    ("schema_only_array", schema({"type": "STRING", "items": {}}), schema({"type": "ARRAY", "items": {}})),
    ("schema_items_missing", schema({"type": "ARRAY"}), schema({"type": "ARRAY", "items": {"type": "STRING"}})),
    ("schema_enum", schema({"type": "INTEGER", "enum": ["1"]}), schema({"type": "STRING", "enum": ["1"]})),
    ("schema_enum", schema({"type": "STRING", "enum": [""]}), schema({"type": "STRING", "enum": ["a"]})),
    ("schema_required", function(parameters={**SCHEMA, "required": ["paths"]}), function(parameters=SCHEMA)),
    ("schema_format", schema({"type": "STRING", "format": "uri"}), schema({"type": "STRING", "format": "date-time"})),
    ("schema_format", generation(responseSchema={"type": "NUMBER", "format": "int64"}), generation(responseSchema={"type": "INTEGER", "format": "int64"})),
    ("json_schema_root", json_schema({"anyOf": []}), json_schema({"type": "object", "additionalProperties": False})),
    (
        "json_schema_reference",
        json_schema({"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}}),
        json_schema({"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "null"}}}),
    ),
    # contents and parts
    ("role", request({"role": "assistant", "parts": [{"text": "Hi"}]}), request({"parts": [{"text": "Hi"}]})),
    ("role", request({"role": "tool", "parts": [{"text": "Hi"}]}), loop(response()) | {"contents": [user("Hi")]}),
    ("parts_empty", request(user("Hi"), model(), user("Hi")), request(user("Hi"), model("Hi"), user("Hi"))),
    ("parts_empty", request(systemInstruction={"parts": []}), request(systemInstruction=user("Be brief"))),
    ("part_empty", request(user({})), request(user("Hi"))),
    ("part_empty", request(user({"thought": True})), request(user("Hi"), model({"text": "x", "thought": True}), user("?"))),
    ("part_twice", request(user({"text": "Hi", **blob()})), request(user("Hi", blob()))),
    ("text_empty", request(user("")), request(user("Hi"), model({"text": "", "thoughtSignature": DUMMY}), user("?"))),
    ("text_empty", request(systemInstruction=user("")), request(systemInstruction=user("x"))),
    ("part_role", request(user(call()), user(response())), loop(response())),
    ("part_role", request(user("Hi"), model(call()), model(response()), user("x")), loop(response())),
    ("call_name", loop(response("1"), calls=[call("1")]), loop(response("gone"), calls=[call("gone")])),
    ("response_name", loop(response("")), loop(response())),
    ("response_missing", loop({"functionResponse": {"name": "read_file"}}), loop(response(response={}))),
    ("response_reference", loop(response(response={"$ref": "image"})), loop(response(response={"a": "$ref"}))),
    ("response_parts_unsupported", loop(response(parts=[blob()])), loop(response())),
    ("media_beside_response", loop(response(), blob()), request(*loop(response())["contents"], user(blob()))),
    ("media_type", request(user(blob("image/gif"))), request(user(blob("image/webp")))),
    ("media_data", request(user(blob(data="data:,"))), request(user(blob()))),
    ("system_not_text", request(systemInstruction=user(blob())), request(system_instruction=user("x"))),
    # turns
    ("contents_empty", {"contents": []}, request()),
    ("call_turn_place", request(model(call()), user(response())), loop(response())),
    (
        "call_turn_place",
        request(user("Hi"), model("Well"), model(call()), user(response())),
        request(user("Hi"), model("Well", call()), user(response())),
    ),
    ("response_turn_place", request(user(response())), loop(response())),
    (
        "response_turn_place",
        request(user("Hi"), model(call()), user(response()), user(response())),
        request(user("Hi"), model(call()), user(response()), model(call()), user(response())),
    ),
    ("response_count", loop(response(), calls=[call(), call()]), loop(response(), response(), calls=[call(), call()])),
    ("response_count", request(user("Hi"), model(call()), user("Never mind")), loop(response(), "Never mind")),
    ("response_id", loop(response(id="b"), calls=[call(id="a")]), loop(response(id="a"), calls=[call(id="a")])),
    ("response_id", loop(response(), calls=[call(id="a")]), loop(response(id="x"))),
    (
        "response_name_differs",
        loop(response("b", id="1"), response("b", id="2"), calls=[call("a", id="1"), call("b", id="2")]),
        loop(response("b", id="2"), response("a", id="1"), calls=[call("a", id="1"), call("b", id="2")]),
    ),
    (
        "response_name_differs",
        loop(response("b"), response("a"), calls=[call("a"), call("b")]),
        loop(response("a"), response("b"), calls=[call("a"), call("b")]),
    ),
    ("last_role", request(user("Hi"), model("So")), request(user("Hi"), model("So"), user("?"))),
    ("last_role", request(user("Hi"), model(call())), loop(response())),
    ("signature_corrupted", loop(response(), calls=[call() | {"thoughtSignature": "AAAA"}]), loop(response(), calls=[call() | {"thoughtSignature": DUMMY}])),
    # generation
    ("generation_value", generation(temperature=2.5), generation(temperature=2)),
    ("generation_value", generation(stopSequences=list("abcdef")), generation(stopSequences=list("abcde"))),
    ("thinking_level", thinking(thinkingLevel="HIGH"), thinking(thinkingBudget=1024)),
    (
        "json_with_functions",
        {**tooled(), **generation(responseMimeType="application/json")},
        generation(responseMimeType="application/json"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "broken", "legal"), CASES, ids=[f"{n}-{case[0]}" for n, case in enumerate(CASES)])
def test_the_one_is_refused_and_the_other_is_not(rule, broken, legal):
    assert rule in rules(broken)
    assert rules(legal) == []


SIGNED = {"thoughtSignature": DUMMY}
CASES_3 = [
    ("response_parts_type", loop(response(parts=[blob("video/mp4")]), calls=[call() | SIGNED]), loop(response(parts=[blob()]), calls=[call() | SIGNED])),
    ("thinking_twice", thinking(thinkingLevel="LOW", thinkingBudget=5), thinking(thinkingLevel="LOW")),
    ("thinking_level", thinking(thinkingLevel="ULTRA"), thinking(thinkingLevel="minimal")),
    ("signature_missing", loop(response()), loop(response(), calls=[call() | SIGNED])),
    (
        "signature_missing",  # on the first of parallel calls, and on no other
        loop(response(), response(), calls=[call(), call() | SIGNED]),
        loop(response(), response(), calls=[call() | SIGNED, call()]),
    ),
    (
        "signature_missing",  # in every step
        request(user("Hi"), model(call() | SIGNED), user(response()), model(call()), user(response())),
        request(user("Hi"), model(call() | SIGNED), user(response()), model(call() | SIGNED), user(response())),
    ),
    (
        "signature_missing",  # of the current turn
        request(user("Hi"), model(call()), user(response())),
        request(user("Hi"), model(call()), user(response()), model("Done"), user("And now?")),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "broken", "legal"), CASES_3, ids=[f"{n}-{case[0]}" for n, case in enumerate(CASES_3)])
def test_the_newer_models_ask_for_more(rule, broken, legal):
    assert rule in rules(broken, PATH_3)
    assert rules(legal, PATH_3) == []


@pytest.mark.parametrize("word", [DUMMY, "context_engineering_is_the_way_to_go"])
def test_the_vendors_words_for_no_signature_are_taken_also_in_base64(word):
    for dummy in (word, base64.b64encode(word.encode()).decode()):
        assert rules(loop(response(), calls=[call() | {"thoughtSignature": dummy}]), PATH_3) == []


def test_a_request_needs_a_key():
    assert rules(request(), headers={}) == ["key_missing"]
    assert rules(request(), PATH + "?key=k", {}) == []


def nested(levels):
    inner = {"type": "STRING"}
    for _ in range(levels):
        inner = {"type": "ARRAY", "items": inner}
    return schema(inner)


def test_a_schema_that_is_too_deep_is_refused():
    assert "too_deep" in rules(nested(100))
    assert rules(nested(90)) == []


def deep(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return loop(response(), calls=[call(args={"a": value})])


def test_arguments_that_are_too_deep_are_refused():
    assert "too_deep" in rules(deep(100))
    assert rules(deep(90)) == []


def test_every_violation_has_its_place_and_its_source():
    for _, broken, _ in CASES:
        for one in rules_gemini.check(broken, HEADERS, PATH):
            assert one.source
            assert one.message
    [one] = rules_gemini.check(request(user("Hi", {"text": "x", "kind": 1})), HEADERS, PATH)
    assert one.path == "contents[0].parts[1].kind"


def test_no_rule_is_without_a_case():
    tested = {case[0] for case in CASES + CASES_3} | {"key_missing", "too_deep", "signature_elsewhere"}
    assert set(rules_gemini.SOURCES) == tested


# Signatures have to come back where they were: with a server that gave them out.


class Talk:
    def __init__(self, path=PATH_3):
        self.server, self.path = Gemini(), path
        self.body = tooled()

    def step(self, *calls, **said):
        self.server.check(self.body, HEADERS, self.path)
        made = self.server.plain(Says(calls=calls, **said), self.body)
        content = made["candidates"][0]["content"]
        asked = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        answers = [response(one["name"], **({"id": one["id"]} if "id" in one else {})) for one in asked]
        self.body["contents"] = [*self.body["contents"], content, user(*answers)]
        return content

    def changed(self, change):
        body = copy.deepcopy(self.body)
        change(body["contents"][1]["parts"])
        return [one.rule for one in self.server.check(body, HEADERS, self.path)]

    def rules(self):
        return self.changed(lambda parts: None)


@pytest.mark.requirement("WIRE-05")
def test_signatures_that_come_back_where_they_were_are_legal():
    talk = Talk()
    content = talk.step(Call("read_file", {"path": "a", "n": 2**53 + 1}), Call("read_file", {"path": "b"}), text="So")
    assert ["thoughtSignature" in part for part in content["parts"]] == [False, True, False]
    assert talk.rules() == []
    talk.step(Call("read_file", {"path": "c"}), thinking="Hm")
    assert talk.rules() == []
    talk.server = Gemini()
    assert talk.rules() == []


@pytest.mark.requirement("WIRE-05")
def test_signatures_that_are_missing_altered_or_elsewhere_are_refused():
    talk = Talk()
    talk.step(Call("read_file", {"path": "a"}), Call("read_file", {"path": "b"}))
    assert talk.changed(lambda parts: parts[0].pop("thoughtSignature")) == ["signature_missing"]
    signature = talk.body["contents"][1]["parts"][0]["thoughtSignature"]
    altered = ("B" if signature[0] == "A" else "A") + signature[1:]
    assert talk.changed(lambda parts: parts[0].update(thoughtSignature=altered)) == ["signature_corrupted"]
    moved = talk.changed(lambda parts: parts[1].update(thoughtSignature=parts[0].pop("thoughtSignature")))
    assert set(moved) == {"signature_elsewhere", "signature_missing"}
    assert talk.changed(lambda parts: parts[0]["functionCall"]["args"].update(path="c")) == ["signature_elsewhere"]


def test_earlier_models_sign_only_what_they_thought():
    talk = Talk(PATH)
    content = talk.step(Call("read_file", {"path": "a"}))
    assert "thoughtSignature" not in content["parts"][0]
    assert "id" not in content["parts"][0]["functionCall"]
    content = talk.step(Call("read_file", {"path": "a"}), thinking="Hm")
    assert "thoughtSignature" in content["parts"][0]
    assert talk.rules() == []
