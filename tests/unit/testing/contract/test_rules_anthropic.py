"""Every rule of Anthropic's has a request that breaks it, and one beside it that is legal."""

from __future__ import annotations

import base64
import copy

import pytest

from callslip.testing.contract import rules_anthropic
from callslip.testing.contract.anthropic import Anthropic
from callslip.testing.contract.says import Call, Says

HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"0" * 16).decode()
JPEG = base64.b64encode(b"\xff\xd8\xff" + b"0" * 16).decode()
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOL = {"name": "read_file", "input_schema": SCHEMA}
LATER = {"name": "later", "input_schema": SCHEMA, "defer_loading": True}
REFERENCE = {"type": "tool_reference", "tool_name": "later"}
OLD = "claude-sonnet-4-5"
OPUS_4_6 = "claude-opus-4-6"
NEW = "claude-opus-5-5"
CLOSED = {**SCHEMA, "additionalProperties": False}


def user(*blocks):
    return {"role": "user", "content": list(blocks) if not (blocks and isinstance(blocks[0], str)) else blocks[0]}


def assistant(*blocks):
    return {**user(*blocks), "role": "assistant"}


def text(said="Hello"):
    return {"type": "text", "text": said}


def use(identity="toolu_1", **more):
    return {"type": "tool_use", "id": identity, "name": "read_file", "input": {}, **more}


def result(identity="toolu_1", **more):
    return {"type": "tool_result", "tool_use_id": identity, "content": "done", **more}


def image(data=PNG, media_type="image/png", **source):
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data, **source}}


def request(*messages, model="claude-opus-4-5", **more):
    return {"model": model, "max_tokens": 4096, "messages": list(messages) or [user("Hello")], **more}


def tooled(*messages, **more):
    return request(*(messages or (user("Hello"),)), **{"tools": [TOOL], **more})


def loop(*results, calls=("toolu_1",), **more):
    return tooled(user("Hello"), assistant(*(use(call) for call in calls)), user(*results), **more)


def tool(**more):
    return tooled(tools=[{**TOOL, **more}])


def schema(given, **more):
    return tool(input_schema={"type": "object", **given}, **more)


def strict(given):
    return tool(strict=True, input_schema={"type": "object", "additionalProperties": False, "properties": {"a": given}})


def rules(body, headers=HEADERS):
    return [one.rule for one in rules_anthropic.check(body, headers)]


def optional(count):
    return {"type": "object", "additionalProperties": False, "properties": {f"p{n}": {} for n in range(count)}}


def unions(count):
    names = [f"p{n}" for n in range(count)]
    kinds = {name: {"type": ["string", "null"]} for name in names}
    return {"type": "object", "additionalProperties": False, "properties": kinds, "required": names}


CASES = [
    ("field_required", {"model": OLD, "messages": [user("Hi")]}, request()),
    ("field_shape", request(max_tokens="4096"), request(max_tokens=0)),
    ("field_shape", request(stream="yes"), request(stream=True)),
    ("field_shape", request(stop_sequences=[" "]), request(stop_sequences=["END"])),
    ("field_shape", request(output_config={"format": {"type": "json"}}), request(output_config={})),
    ("extra_field", request(parallel_tool_calls=False), request(metadata={"user_id": "u"})),
    ("extra_field", request(metadata={"user": "u"}), request(metadata={})),
    ("extra_field", request(output_config={"depth": 1}), request(output_config={"effort": "low"})),
    ("effort", request(output_config={"effort": "minimal"}), request(output_config={"effort": "max"})),
    ("system_shape", request(system=[image()]), request(system=[text()])),
    ("empty_text", request(system=[text("")]), request(system="")),
    ("sampling", request(model=NEW, temperature=0.2), request(model=NEW, temperature=1)),
    ("sampling", request(model="claude-opus-4-7", top_k=5), request(model=OPUS_4_6, top_k=5)),
    ("sampling_both", request(model=OLD, temperature=0.2, top_p=0.9), request(model=OLD, temperature=0.2)),
    ("sampling_range", request(model=OLD, temperature=1.5), request(model=OLD, temperature=1.0)),
    (
        "sampling_with_thinking",
        request(model=OLD, temperature=0.5, thinking={"type": "enabled", "budget_tokens": 1024}),
        request(model=OLD, temperature=1, thinking={"type": "enabled", "budget_tokens": 1024}),
    ),
    (
        "cache_breakpoints",
        request(user(*({**text(), "cache_control": {"type": "ephemeral"}} for _ in range(5)))),
        request(user(*({**text(), "cache_control": {"type": "ephemeral"}} for _ in range(4)))),
    ),
    (
        "cache_shape",
        request(cache_control={"type": "persistent"}),
        request(cache_control={"type": "ephemeral", "ttl": "1h"}),
    ),
    ("lone_surrogate", request(user("a\ud800")), request(user("a\U0001f600"))),
    # tools
    ("tools_shape", tooled(tools={"read_file": SCHEMA}), tooled()),
    ("tools_shape", tool(strict="yes"), tool(description="Reads.")),
    ("tool_extra", tool(parameters=SCHEMA), tool(eager_input_streaming=True)),
    ("tool_name", tool(name="read.file"), tool(name="r" * 128)),
    ("tool_name", tool(name="r" * 129), tool(name="read-file_1")),
    ("duplicate_tool", tooled(tools=[TOOL, TOOL]), tooled(tools=[TOOL, {**TOOL, "name": "other"}])),
    ("schema_shape", tool(input_schema={"properties": {}}), tool(input_schema={"type": "object"})),
    ("schema_root_union", schema({"anyOf": [SCHEMA]}), schema({"properties": {"a": {"anyOf": [{}]}}})),
    ("schema_property_key", schema({"properties": {"a b": {}}}), schema({"properties": {"a-b.c": {}}})),
    ("schema_property_key", schema({"properties": {"a": {"properties": {"é": {}}}}}), schema({"default": {"é": 1}})),
    ("schema_invalid", schema({"properties": {"a": {"type": "text"}}}), schema({"properties": {"a": {"type": "null"}}})),
    ("tool_choice_shape", tooled(tool_choice={"type": "required"}), tooled(tool_choice={"type": "auto"})),
    (
        "tool_choice_shape",
        tooled(tool_choice={"type": "none", "disable_parallel_tool_use": True}),
        tooled(tool_choice={"type": "any", "disable_parallel_tool_use": True}),
    ),
    ("tool_choice_without_tools", request(tool_choice={"type": "any"}), request(tool_choice={"type": "auto"})),
    (
        "tool_choice_unknown_tool",
        tooled(tool_choice={"type": "tool", "name": "write_file"}),
        tooled(tool_choice={"type": "tool", "name": "read_file"}),
    ),
    (
        "tool_choice_with_thinking",
        tooled(model=OPUS_4_6, tool_choice={"type": "any"}, thinking={"type": "adaptive"}),
        tooled(model=OPUS_4_6, tool_choice={"type": "any"}, thinking={"type": "disabled"}),
    ),
    (
        "tool_choice_forced",
        tooled(model=NEW, tool_choice={"type": "any"}),
        tooled(model=NEW, tool_choice={"type": "auto"}),
    ),
    ("tools_needed", loop(result(), tools=[]), loop(result())),
    # strict schemas
    ("strict_open_object", tool(strict=True), tool(strict=True, input_schema=CLOSED)),
    ("strict_keyword", strict({"type": "integer", "minimum": 1}), strict({"type": "integer"})),
    ("strict_keyword", strict({"type": "array", "minItems": 2}), strict({"type": "array", "minItems": 1})),
    ("strict_enum", strict({"enum": [{"a": 1}]}), strict({"enum": ["a", 1, None]})),
    ("strict_format", strict({"type": "string", "format": "regex"}), strict({"type": "string", "format": "uuid"})),
    ("strict_reference", strict({"$ref": "https://example.org/a"}), strict({"type": "string"})),
    (
        "strict_recursion",
        tool(
            strict=True,
            input_schema={
                **CLOSED,
                "properties": {"path": {"$ref": "#/$defs/n"}},
                "$defs": {"n": {"type": "array", "items": {"$ref": "#/$defs/n"}}},
            },
        ),
        tool(
            strict=True,
            input_schema={
                **CLOSED,
                "properties": {"path": {"$ref": "#/$defs/n"}},
                "$defs": {"n": {"type": "array", "items": {"type": "string"}}},
            },
        ),
    ),
    (
        "strict_too_many_tools",
        tooled(tools=[{"name": f"t{n}", "strict": True, "input_schema": CLOSED} for n in range(21)]),
        tooled(tools=[{"name": f"t{n}", "strict": True, "input_schema": CLOSED} for n in range(20)]),
    ),
    (
        "strict_too_many_optional",
        tool(strict=True, input_schema=optional(25)),
        tool(strict=True, input_schema=optional(24)),
    ),
    ("strict_too_many_unions", tool(strict=True, input_schema=unions(17)), tool(strict=True, input_schema=unions(16))),
    (
        "strict_open_object",
        request(output_config={"format": {"type": "json_schema", "schema": SCHEMA}}),
        request(output_config={"format": {"type": "json_schema", "schema": CLOSED}}),
    ),
    # messages
    ("messages_shape", request(messages=[]), request()),
    ("messages_shape", request({"role": "user"}), request(user("Hello"))),
    ("messages_shape", request(messages=["Hello"]), request(user("Hello"), user("again"))),
    ("message_role", request(user("Hello"), {"role": "tool", "content": "x"}, user("?")), request()),
    ("message_extra", request({**user("Hello"), "name": "anna"}), request(user("Hello"))),
    ("first_role", request(assistant("Hello"), user("Hi")), request(user("Hi"), assistant("Hello"), user("Hi"))),
    (
        "system_first",
        request({"role": "system", "content": "Be brief"}, user("Hi"), model=NEW),
        request(user("Hi"), {"role": "system", "content": "Be brief"}, model=NEW),
    ),
    (
        "system_place",
        request(user("Hi"), {"role": "system", "content": "Be brief"}, user("Hi"), model=NEW),
        request(user("Hi"), {"role": "system", "content": "Be brief"}, assistant("Hi"), user("Hi"), model=NEW),
    ),
    (
        "system_unsupported",
        request(user("Hi"), {"role": "system", "content": "Be brief"}, model="claude-sonnet-5"),
        request(user("Hi"), {"role": "system", "content": "Be brief"}, model="claude-opus-4-8"),
    ),
    ("empty_content", request(user("Hi"), assistant(""), user("Hi")), request(user("Hi"), assistant(""), model=OLD)),
    ("empty_content", request(user()), request(user(text()))),
    ("empty_text", request(user(text(""))), request(user(text("x")))),
    ("blank_text", request(user(" \n")), request(user(text(" "), text("real")))),
    (
        "trailing_whitespace",
        request(user("Hi"), assistant("So "), model=OLD),
        request(user("Hi"), assistant("So "), user("?"), model=OLD),
    ),
    ("prefill", request(user("Hi"), assistant("So"), model=OPUS_4_6), request(user("Hi"), assistant("So"), model=OLD)),
    ("block_type", request(user({"type": "input_text", "text": "x"})), request(user(text("x")))),
    ("block_shape", request(user({"type": "text"})), request(user(text()))),
    ("block_extra", request(user({**text(), "id": "1"})), request(user({**text(), "citations": None}))),
    (
        "block_role",
        request(user("Hi"), assistant(text(), image()), user("Hi")),
        request(user("Hi"), assistant(text()), user(image())),
    ),
    # media
    ("image_source", request(user(image(type="data"))), request(user(image()))),
    ("image_source", request(user(image(detail="high"))), request(user({"type": "image", "source": {"type": "url", "url": "https://x"}}))),
    ("image_type", request(user(image(media_type="image/bmp"))), request(user(image()))),
    ("image_type_false", request(user(image(JPEG))), request(user(image(JPEG, "image/jpeg")))),
    ("image_data", request(user(image("data:image/png;base64," + PNG))), request(user(image()))),
    ("image_too_large", request(user(image(PNG + "A" * 10 * 1024 * 1024))), request(user(image(PNG + "AAAA")))),
    ("too_many_images", request(user(*[image()] * 101)), request(user(*[image()] * 100))),
    (
        "document_source",
        request(user({"type": "document", "source": {"type": "base64", "media_type": "text/html", "data": "AAAA"}})),
        request(user({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "A"}})),
    ),
    # calls and results
    ("unanswered_call", tooled(user("Hi"), assistant(use()), user("no")), loop(result())),
    ("unanswered_call", loop(result("a"), calls=("a", "b")), loop(result("b"), result("a"), calls=("a", "b"))),
    (
        "unanswered_call",  # split over two messages
        tooled(user("Hi"), assistant(use("a"), use("b")), user(result("a")), user(result("b"))),
        tooled(user("Hi"), assistant(use("a"), use("b")), user(result("a"), result("b")), user("go on")),
    ),
    ("orphan_result", tooled(user(result())), loop(result())),
    (
        "orphan_result",
        tooled(user("Hi"), assistant(use()), user(result()), user(result())),
        tooled(user("Hi"), assistant(use()), user(result()), assistant(use("b")), user(result("b"))),
    ),
    ("duplicate_result", loop(result(), result()), loop(result())),
    ("result_not_first", loop(text(), result()), loop(result(), text())),
    (
        "duplicate_call_id",
        tooled(user("Hi"), assistant(use()), user(result()), assistant(use()), user(result())),
        tooled(user("Hi"), assistant(use()), user(result()), assistant(use("2")), user(result("2"))),
    ),
    ("call_id", loop(result("a:1"), calls=("a:1",)), loop(result("a-1_"), calls=("a-1_",))),
    ("call_id", loop(result(""), calls=("",)), loop(result("0"), calls=("0",))),
    (
        "call_name",
        tooled(user("Hi"), assistant(use(name="a.b")), user(result())),
        tooled(user("Hi"), assistant(use(name="gone")), user(result())),
    ),
    (
        "call_input",
        tooled(user("Hi"), assistant(use(input="{}")), user(result())),
        tooled(user("Hi"), assistant(use(input={"a": 1})), user(result())),
    ),
    (
        "call_caller",
        tooled(user("Hi"), assistant(use(caller={"type": "bogus"})), user(result())),
        tooled(user("Hi"), assistant(use(caller={"type": "direct"})), user(result())),
    ),
    ("result_shape", loop(result(is_error="true")), loop(result(is_error=False))),
    ("result_shape", loop(result(content={"a": 1})), loop({"type": "tool_result", "tool_use_id": "toolu_1"})),
    ("result_content", loop(result(content=[use("x")])), loop(result(content=[text(), image()]))),
    ("empty_text", loop(result(content=[text("")])), loop(result(content=[]))),
    ("image_type", loop(result(content=[image(media_type="image/tiff")])), loop(result(content=[image()]))),
    ("error_empty", loop(result(is_error=True, content="")), loop(result(is_error=False, content=""))),
    ("error_empty", loop(result(is_error=True, content=[])), loop(result(is_error=True))),
    ("error_not_text", loop(result(is_error=True, content=[image()])), loop(result(is_error=True, content=[text()]))),
    # how thinking is asked for
    ("thinking_shape", request(thinking={"type": "on"}), request(thinking={"type": "disabled"})),
    ("thinking_shape", request(model=OLD, thinking={"type": "enabled"}), request(thinking=None)),
    (
        "thinking_shape",
        request(model=NEW, thinking={"type": "adaptive", "budget_tokens": 2000}),
        request(model=NEW, thinking={"type": "adaptive", "display": "omitted"}),
    ),
    (
        "thinking_budget",
        request(model=OLD, thinking={"type": "enabled", "budget_tokens": 1023}),
        request(model=OLD, thinking={"type": "enabled", "budget_tokens": 1024}),
    ),
    (
        "thinking_budget",
        request(model=OLD, thinking={"type": "enabled", "budget_tokens": 4096}),
        request(model=OLD, thinking={"type": "enabled", "budget_tokens": 4095}),
    ),
    (
        "thinking_mode",
        request(model="claude-opus-4-7", thinking={"type": "enabled", "budget_tokens": 1024}),
        request(model=OPUS_4_6, thinking={"type": "enabled", "budget_tokens": 1024}),
    ),
    (
        "thinking_mode",
        request(model=OLD, thinking={"type": "adaptive"}),
        request(model=OPUS_4_6, thinking={"type": "adaptive"}),
    ),
    (
        "thinking_mode",
        request(model=NEW, thinking={"type": "disabled"}),
        request(model="claude-opus-5", thinking={"type": "disabled"}),
    ),
    (
        "thinking_mode",
        request(model=NEW, thinking={"type": "between_tools"}),
        request(model="claude-sonnet-5-5", thinking={"type": "between_tools"}),
    ),
    (
        "thinking_binding_beta",
        request(model=NEW, thinking={"type": "adaptive", "block_binding": {}}),
        request(model=NEW, thinking={"type": "adaptive"}),
    ),
    (
        "sampling_with_thinking",
        request(model=OPUS_4_6, thinking={"type": "adaptive"}, top_k=5),
        request(model=OPUS_4_6, top_k=5),
    ),
    (
        "sampling_with_thinking",
        request(model=OPUS_4_6, thinking={"type": "adaptive"}, top_p=0.9),
        request(model=OPUS_4_6, thinking={"type": "adaptive"}, top_p=0.95),
    ),
    (
        "image_data",
        request(user(image(data=base64.b64encode(b"no image at all").decode()))),
        request(user(image())),
    ),
    (
        "document_source",
        request(user({"type": "document", "source": {"type": "tape", "data": "x"}})),
        request(user({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}})),
    ),
    (
        "document_source",
        request(user({"type": "document", "source": {"type": "text", "media_type": "text/plain"}})),
        request(user({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}})),
    ),
    (
        "deferred_shape",
        tooled(tools=[TOOL, {**LATER, "defer_loading": "yes"}]),
        tooled(tools=[TOOL, {**LATER, "defer_loading": False}]),
    ),
    ("all_deferred", tooled(tools=[LATER]), tooled(tools=[TOOL, LATER])),
    (
        "deferred_cached",
        tooled(tools=[TOOL, {**LATER, "cache_control": {"type": "ephemeral"}}]),
        tooled(tools=[{**TOOL, "cache_control": {"type": "ephemeral"}}, LATER]),
    ),
    (
        "too_many_deferred",
        tooled(tools=[TOOL, *({**LATER, "name": f"later_{number}"} for number in range(10_001))]),
        tooled(tools=[TOOL, *({**LATER, "name": f"later_{number}"} for number in range(10_000))]),
    ),
    (
        "deferred_unsupported",
        tooled(tools=[TOOL, LATER], model="claude-opus-4-1"),
        tooled(tools=[TOOL, LATER], model="claude-haiku-4-5"),
    ),
    (
        "reference_shape",
        loop(result(content=[{"type": "tool_reference", "name": "later"}]), tools=[TOOL, LATER]),
        loop(result(content=[REFERENCE]), tools=[TOOL, LATER]),
    ),
    (
        "reference_unknown",
        loop(result(content=[REFERENCE])),
        loop(result(content=[REFERENCE]), tools=[TOOL, {**LATER, "defer_loading": False}]),
    ),
    (
        "reference_mixed",
        loop(result(content=[text(), REFERENCE]), tools=[TOOL, LATER]),
        loop(result(content=[REFERENCE]), text(), tools=[TOOL, LATER]),
    ),
    (
        "error_not_text",
        loop(result(content=[REFERENCE], is_error=True), tools=[TOOL, LATER]),
        loop(result(is_error=True), tools=[TOOL, LATER]),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "broken", "legal"), CASES, ids=[f"{n}-{case[0]}" for n, case in enumerate(CASES)])
def test_the_one_is_refused_and_the_other_is_not(rule, broken, legal):
    assert rule in rules(broken)
    assert rules(legal) == []


def test_a_request_needs_a_key_and_a_version():
    assert rules(request(), {"anthropic-version": "2023-06-01"}) == ["key_missing"]
    assert rules(request(), {"authorization": "Bearer k", "anthropic-version": "2023-06-01"}) == []
    assert rules(request(), {"x-api-key": "k"}) == ["version_missing"]


def test_a_request_of_more_than_32_mb_is_too_large():
    assert rules(request(), {**HEADERS, "content-length": str(32 * 1024 * 1024 + 1)}) == ["request_too_large"]
    assert rules(request(), {**HEADERS, "content-length": str(32 * 1024 * 1024)}) == []


@pytest.mark.untraced
def test_100_001_messages_are_too_many():
    many = [user("Hi")] * 100_001
    assert rules(request(messages=many)) == ["too_many_messages"]
    assert rules(request(messages=many[1:])) == []


def test_every_violation_has_its_place_and_its_source():
    for _, broken, _ in CASES:
        for one in rules_anthropic.check(broken, HEADERS):
            assert one.source
            assert one.message
    [one] = rules_anthropic.check(loop(result(content=[text("")])), HEADERS)
    assert one.path == "messages[2].content[0].content[0]"


THINKING_RULES = (
    {"thinking_block_shape", "thinking_signature", "thinking_altered", "thinking_missing", "thinking_dropped"}
    | {"thinking_moved", "thinking_prefix", "thinking_disabled", "final_thinking"}
)  # fmt: skip


def test_no_rule_is_without_a_case():
    tested = {case[0] for case in CASES} | THINKING_RULES
    tested |= {"key_missing", "version_missing", "request_too_large", "too_many_messages"}
    assert set(rules_anthropic.SOURCES) == tested


# What was thought has to come back: with a server that gave it out.


class Talk:
    """A conversation with a server, as a client that keeps everything would lead it."""

    def __init__(self, model=NEW, **more):
        self.server = Anthropic()
        self.body = tooled(user("Hello"), model=model, **more)

    def step(self, **said):
        """One reply with a call, and its result."""
        made = self.server.plain(Says(calls=(Call("read_file", {"path": "a"}),), **said), self.body)
        call = made["content"][-1]["id"]
        self.body["messages"] += [{"role": "assistant", "content": made["content"]}, user(result(call))]
        return made

    def rules(self, body=None):
        return [one.rule for one in self.server.check(body or self.body, HEADERS, "/v1/messages")]

    def changed(self, place, change):
        """The same with one message changed."""
        body = copy.deepcopy(self.body)
        change(body["messages"][place])
        return self.rules(body)


def drop_thinking(message):
    del message["content"][0]


@pytest.mark.requirement("WIRE-05")
@pytest.mark.parametrize("model", [NEW, OPUS_4_6])
def test_thinking_that_comes_back_as_it_was_is_legal(model):
    talk = Talk(model, thinking={"type": "adaptive"})
    talk.step(thinking="First")
    assert talk.rules() == []
    talk.step(thinking="Second", text="Let me see")
    talk.step()
    assert talk.rules() == []


@pytest.mark.requirement("WIRE-05")
def test_thinking_that_is_altered_foreign_or_missing_is_refused():
    talk = Talk(OPUS_4_6, thinking={"type": "adaptive"})
    talk.step(thinking="First")
    assert talk.changed(1, lambda it: it["content"][0].update(thinking="Second")) == ["thinking_altered"]
    foreign = "signature-of-somebody-else"
    assert "thinking_signature" in talk.changed(1, lambda it: it["content"][0].update(signature=foreign))
    assert "thinking_signature" in talk.changed(1, lambda it: it["content"][0].update(signature=""))
    assert "thinking_block_shape" in talk.changed(1, lambda it: it["content"][0].pop("signature"))
    assert talk.changed(1, drop_thinking) == ["thinking_dropped"]
    assert "final_thinking" in talk.changed(1, lambda it: it["content"].reverse())


def test_thinking_of_turns_that_are_over_may_be_left_out():
    talk = Talk(OPUS_4_6, thinking={"type": "adaptive"})
    talk.step(thinking="First")
    talk.body["messages"] += [assistant("Done."), user("And now?")]
    assert talk.changed(1, drop_thinking) == []


def test_another_model_needs_no_thinking_of_the_first():
    talk = Talk(OPUS_4_6, thinking={"type": "adaptive"})
    talk.step(thinking="First")
    talk.body["model"] = "claude-opus-5"
    assert talk.rules() == []
    assert talk.changed(1, drop_thinking) == []


def test_with_a_budget_the_turn_has_to_begin_with_thinking():
    talk = Talk(OLD, thinking={"type": "enabled", "budget_tokens": 1024})
    talk.step()
    assert talk.rules() == ["thinking_missing"]
    talk.body["messages"].append(user("Never mind"))
    assert talk.rules() == []


def test_without_thinking_none_may_stand_at_the_end():
    talk = Talk(OLD, thinking={"type": "enabled", "budget_tokens": 1024})
    made = talk.server.plain(Says("So", thinking="First"), talk.body)
    prefilled = {**talk.body, "messages": [user("Hello"), {"role": "assistant", "content": made["content"]}]}
    assert talk.rules(prefilled) == []
    assert talk.rules({**prefilled, "thinking": {"type": "disabled"}}) == ["thinking_disabled"]


@pytest.mark.requirement("WIRE-05")
def test_newer_models_bind_thinking_to_what_came_before():
    talk = Talk()
    talk.step(thinking="First")
    assert talk.rules({**talk.body, "system": "Be brief"}) == ["thinking_prefix"]
    assert talk.rules({**talk.body, "tools": [TOOL, {**TOOL, "name": "other"}]}) == ["thinking_prefix"]
    assert talk.changed(0, lambda it: it.update(content="Hullo")) == ["thinking_prefix"]
    assert talk.changed(0, lambda it: it.update(content=[text("Hello")])) == []
    marked = [{**text("Hello"), "cache_control": {"type": "ephemeral"}}]
    assert talk.changed(0, lambda it: it.update(content=marked)) == []
    dropping = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    beta = {**HEADERS, "anthropic-beta": "thinking-binding-controls-2026-08-01"}
    body = {**talk.body, "system": "Be brief", "thinking": dropping}
    assert talk.server.check(body, beta, "/v1/messages") == []


def test_older_models_do_not():
    talk = Talk("claude-opus-5")
    talk.step(thinking="First")
    assert talk.rules({**talk.body, "system": "Be brief"}) == []


def test_the_row_of_thinking_may_lose_its_start_but_no_link():
    talk = Talk()
    for thought in ("First", "Second", "Third"):
        talk.step(thinking=thought)
        talk.body["messages"].append(user("Go on"))
    assert talk.rules() == []
    assert talk.changed(1, drop_thinking) == []
    assert talk.changed(4, drop_thinking) == ["thinking_moved"]


def test_a_session_may_go_on_with_another_server():
    talk = Talk()
    talk.step(thinking="First")
    talk.server = Anthropic()
    assert talk.rules() == []
