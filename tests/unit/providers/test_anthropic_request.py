import pytest

from callslip.core.message import AssistantReply, CallMessage, Notice, ResultMessage, ToolResults, UserText
from callslip.errors import StillWaiting, UsageError
from callslip.ports.model import ToolView
from callslip.providers.anthropic import MessagesFormat
from callslip.providers.anthropic_request import GONE
from callslip.providers.http_model import encode
from callslip.providers.options import Options

OLD, BUDGET, ADAPTIVE, UNASKED = "claude-3-haiku-20240307", "claude-sonnet-4-5", "claude-opus-4-6", "claude-sonnet-5"
BINDS, OTHER = "claude-opus-5-5", "kimi-k3"
MARK = {"type": "ephemeral"}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


@pytest.fixture
def body(ask):
    def make(*messages, model=BUDGET, options=None, **changes):
        request = ask(**({"messages": messages} | changes if messages else changes))
        return MessagesFormat(model, options or Options()).exchange(request).body

    return make


def step(number, content="ok"):
    """A call with its result."""
    call = CallMessage(call_id=f"call_{number}", provider_id="", tool="gone.tool", arguments={})
    result = ResultMessage(call_id=f"call_{number}", provider_id="", tool="gone.tool", content=content)
    return AssistantReply(text="", calls=(call,)), ToolResults(results=(result,))


@pytest.mark.requirement("WIRE-02")
def test_the_frame(body):
    made = body()
    assert made == {
        "model": BUDGET,
        "max_tokens": 16_384,
        "tools": [
            {
                "name": made["tools"][0]["name"],
                "description": "Read a file",
                "input_schema": made["tools"][0]["input_schema"],
                "strict": made["tools"][0]["strict"],
                "cache_control": MARK,
            }
        ],
        "tool_choice": {"type": "auto"},
        "system": [{"type": "text", "text": "Be brief.", "cache_control": MARK}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello", "cache_control": MARK}]}],
    }
    assert made["tools"][0]["name"].startswith("files_read_")
    assert made["tools"][0]["input_schema"]["type"] == "object"


def test_headers_say_the_version_and_whose_key():
    assert MessagesFormat(BUDGET, Options()).headers("k") == {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    assert MessagesFormat(BUDGET, Options()).headers(None) == {"anthropic-version": "2023-06-01"}
    binds = MessagesFormat(BINDS, Options())
    assert binds.headers("k")["anthropic-beta"] == "thinking-binding-controls-2026-08-01"
    assert (binds.name, binds.model) == ("anthropic", BINDS)


@pytest.mark.requirement("WIRE-03")
def test_a_number_of_tokens_is_always_said(body):
    assert body(model=OLD)["max_tokens"] == 4096
    assert body(options=Options(max_output_tokens=7))["max_tokens"] == 7
    assert body(model=OLD, options=Options(max_output_tokens=9000))["max_tokens"] == 9000


@pytest.mark.requirement("WIRE-03")
def test_strict_is_said_where_the_word_is_known(body):
    tools = (ToolView(name="t", description="", input_schema=SCHEMA),)
    assert body(tools=tools)["tools"][0]["strict"] is True
    assert body(tools=tools)["tools"][0]["input_schema"]["additionalProperties"] is False
    assert body(tools=tools, options=Options(strict=False))["tools"][0]["strict"] is False
    assert "description" not in body(tools=tools)["tools"][0]
    for model in (OLD, OTHER, "claude-latest"):
        assert "strict" not in body(tools=tools, model=model)["tools"][0]


@pytest.mark.requirement("WIRE-03")
def test_the_limits_of_strict_tools_hold_for_all_together(body):
    tools = tuple(ToolView(name=f"t{number}", description="", input_schema=SCHEMA) for number in range(23))
    assert [tool["strict"] for tool in body(tools=tools)["tools"]] == [True] * 20 + [False] * 3


@pytest.mark.requirement("WIRE-03")
@pytest.mark.parametrize(
    ("asked", "model", "made"),
    [
        ({"tool_choice": "auto"}, BUDGET, {"type": "auto"}),
        ({"tool_choice": "none"}, BUDGET, {"type": "none"}),
        ({"tool_choice": "none", "only": "files.read"}, BUDGET, {"type": "none"}),
        ({"tool_choice": "required"}, BUDGET, {"type": "any"}),
        ({"tool_choice": "required"}, OTHER, {"type": "any"}),
        ({"tool_choice": "required", "only": "files.read"}, BUDGET, {"type": "tool"}),
        # Newer models refuse to be forced.
        ({"tool_choice": "required"}, BINDS, {"type": "auto"}),
        ({"tool_choice": "required", "only": "files.read"}, "claude-fable-5", {"type": "auto"}),
    ],
)
def test_tool_choice(body, asked, model, made):
    sent = body(model=model, **asked)
    expected = made | ({"name": sent["tools"][0]["name"]} if made["type"] == "tool" else {})
    assert sent["tool_choice"] == expected


@pytest.mark.requirement("WIRE-03")
@pytest.mark.parametrize("parallel", [True, False])
def test_parallel_calls_are_switched_inside_the_choice(body, parallel):
    made = body(options=Options(parallel=parallel), tool_choice="required")
    assert made["tool_choice"] == {"type": "any", "disable_parallel_tool_use": not parallel}
    # "none" knows no such field.
    assert body(options=Options(parallel=parallel), tool_choice="none")["tool_choice"] == {"type": "none"}


@pytest.mark.requirement("WIRE-03")
def test_a_forced_tool_and_thinking_never_meet(body):
    high = Options(effort="high")
    assert body(options=high)["thinking"]["type"] == "enabled"
    assert "thinking" not in body(options=high, tool_choice="required")
    assert body(options=high, model=UNASKED, tool_choice="required")["thinking"] == {"type": "disabled"}
    assert body(options=high, tool_choice="none")["thinking"]["type"] == "enabled"
    assert body(options=high, model=BINDS, tool_choice="required")["thinking"]["type"] == "adaptive"


def test_without_tools_nothing_about_tools_is_sent(body):
    made = body(tools=(), tool_choice="required", options=Options(parallel=False))
    assert set(made) == {"model", "max_tokens", "system", "messages"}


@pytest.mark.requirement("WIRE-02")
def test_a_history_with_calls_always_has_tools(body):
    made = body(*step(1), *step(2), tools=(), tool_choice="required")
    (tool,) = made["tools"]
    assert (tool["description"], tool["input_schema"]) == (GONE, {"type": "object"})
    assert tool["name"] == made["messages"][1]["content"][0]["name"]
    assert made["tool_choice"] == {"type": "none"}


def test_options_are_sent_only_when_set(body):
    made = body(options=Options(temperature=0.5, effort="high"), model=ADAPTIVE, stream=True, tool_choice="required")
    assert made["temperature"] == 0.5
    assert made["output_config"] == {"effort": "high"}
    assert made["stream"] is True
    assert {"temperature", "thinking", "output_config", "stream"}.isdisjoint(body())


@pytest.mark.parametrize(
    ("model", "effort", "given", "sent"),
    [
        (BUDGET, "", 1.7, 1.0),
        (BUDGET, "", 0.0, 0.0),
        (BUDGET, "high", 0.5, None),
        ("claude-opus-4-7", "", 0.5, None),
        ("claude-latest", "", 0.5, None),
        (OTHER, "", 0.5, 0.5),
    ],
)
def test_temperature_ends_at_one_and_is_left_out_where_it_is_refused(body, model, effort, given, sent):
    assert body(model=model, options=Options(temperature=given, effort=effort)).get("temperature") == sent


def test_a_blank_system_prompt_is_none(body):
    assert "system" not in body(system=" \n")


def marks(made):
    """Where the breakpoints are."""
    found = [
        place
        for place, message in enumerate(made["messages"])
        for block in message["content"]
        if MARK in block.values()
    ]
    return ["tools"] * str(made.get("tools")).count("ephemeral") + ["system"] * str(made.get("system")).count("ephemeral") + found  # fmt: skip


def test_at_most_four_breakpoints_and_each_at_the_end(body):
    made = body(UserText(text="a"), *step(1), *step(2), *step(3))
    assert marks(made) == ["tools", "system", 4, 6]
    assert made["messages"][6]["content"][-1]["cache_control"] == MARK
    assert marks(body(tools=(), system="")) == [0]
    two = tuple(ToolView(name=name, description="", input_schema={"type": "object"}) for name in "ab")
    assert ["cache_control" in tool for tool in body(tools=two)["tools"]] == [False, True]


def unmarked(messages):
    return [
        {
            "role": message["role"],
            "content": [{key: value for key, value in block.items() if key != "cache_control"} for block in message["content"]],
        }
        for message in messages
    ]  # fmt: skip


def test_the_same_request_gives_the_same_bytes_and_a_longer_one_begins_with_them(body):
    history = (UserText(text="a"), *step(1), Notice(text="n"), *step(2))
    first = body(*history)
    assert encode(first) == encode(body(*history))
    longer = body(*history, AssistantReply(text="Done"), UserText(text="b"))
    assert unmarked(longer["messages"])[: len(first["messages"])] == unmarked(first["messages"])
    assert (longer["tools"], longer["system"], list(longer)) == (first["tools"], first["system"], list(first))


@pytest.mark.requirement("CALL-05")
def test_an_unanswered_call_and_an_orphan_result_are_not_sent(body):
    said, answered = step(1)
    with pytest.raises(StillWaiting):
        body(said)
    with pytest.raises(UsageError):
        body(answered)
    with pytest.raises(UsageError):
        body(said, answered, answered)


@pytest.mark.requirement("WIRE-05")
def test_a_loop_that_another_model_began_goes_on_without_a_budget(body):
    high = Options(effort="high")
    assert "thinking" not in body(UserText(text="a"), *step(1), options=high)
    assert body(UserText(text="a"), *step(1), UserText(text="b"), AssistantReply(text="x"), UserText(text="c"), options=high)["thinking"]["type"] == "enabled"  # fmt: skip
    assert body(UserText(text="a"), *step(1), options=high, model=ADAPTIVE)["thinking"] == {"type": "adaptive"}
