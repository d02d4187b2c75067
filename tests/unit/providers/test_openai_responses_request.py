import pytest

from callslip.core.message import AssistantReply, CallMessage, ResultMessage, ToolResults, UserText
from callslip.ports.model import ToolView
from callslip.providers.http_model import encode
from callslip.providers.openai_responses import OpenAIResponses, ResponsesFormat
from callslip.providers.openai_responses_request import Settings, body_of, offer, reasons
from callslip.providers.options import Options
from callslip.schema.shape.dialect import OPENAI


@pytest.fixture
def body(ask):
    def make(*messages, settings=None, **changes):
        request = ask(**({"messages": messages} | changes if messages else changes))
        settings = settings or Settings(model="m")
        return body_of(request, settings, offer(request, settings))

    return make


def options(**values):
    return Settings(model="m", options=Options(**values))


@pytest.mark.requirement("WIRE-02")
def test_the_frame(body, ask):
    (tool,) = offer(ask(), Settings(model="m")).tools
    assert body() == {
        "model": "m",
        "instructions": "Be brief.",
        "input": [{"type": "message", "role": "user", "content": "Hello"}],
        "tools": [
            {
                "type": "function",
                "name": tool.wire,
                "description": "Read a file",
                "parameters": {"type": "object", "properties": {}},
                "strict": False,
            }
        ],
        "tool_choice": "auto",
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }


@pytest.mark.requirement("WIRE-03")
def test_strict_is_always_said(body):
    tools = (
        ToolView(name="t", description="", input_schema={"type": "object", "properties": {"a": {"type": "string"}}}),
    )
    own = Settings(model="m", own=True, dialect=OPENAI)
    assert body(tools=tools, settings=own)["tools"][0]["strict"] is True
    own = Settings(model="m", own=True, dialect=OPENAI, options=Options(strict=False))
    (tool,) = body(tools=tools, settings=own)["tools"]
    assert tool["strict"] is False
    assert "description" not in tool
    assert body(tools=tools)["tools"][0]["strict"] is False


@pytest.mark.requirement("WIRE-03")
@pytest.mark.parametrize("choice", ["auto", "none", "required"])
def test_tool_choice(body, choice):
    assert body(tool_choice=choice)["tool_choice"] == choice


@pytest.mark.requirement("WIRE-03")
def test_one_tool_is_chosen_by_the_name_it_goes_by(body):
    made = body(tool_choice="required", only="files.read")
    assert made["tool_choice"] == {"type": "function", "name": made["tools"][0]["name"]}


def test_without_tools_nothing_about_tools_is_sent(body):
    made = body(tools=(), tool_choice="required", settings=options(parallel=True))
    assert set(made) == {"model", "instructions", "input", "store", "include"}


@pytest.mark.requirement("WIRE-02")
@pytest.mark.parametrize("name", ["python", "tool_search", "web_search", "web", "a.b", "x" * 65])
def test_names_that_the_api_keeps_or_refuses_go_by_an_alias(body, name):
    made = body(tools=(ToolView(name=name, description="", input_schema={"type": "object"}),))
    assert made["tools"][0]["name"] != name
    assert len(made["tools"][0]["name"]) <= 64
    assert "python_repl" in str(body(tools=(ToolView(name="python_repl", description="", input_schema={}),)))


@pytest.mark.requirement("WIRE-03")
def test_options_are_sent_only_when_set(body):
    made = body(
        settings=options(parallel=False, max_output_tokens=100, temperature=0.5, effort="off", images=True), stream=True
    )
    assert made["parallel_tool_calls"] is False
    assert made["max_output_tokens"] == 100
    assert made["temperature"] == 0.5
    assert made["reasoning"] == {"effort": "none"}
    assert made["stream"] is True
    assert {"parallel_tool_calls", "max_output_tokens", "temperature", "reasoning", "stream"}.isdisjoint(body())


def test_fewer_tokens_than_the_api_takes_are_the_fewest_it_takes(body):
    assert body(settings=options(max_output_tokens=1))["max_output_tokens"] == 16


def test_blank_instructions_are_none(body):
    assert "instructions" not in body(system=" ")


@pytest.mark.parametrize(
    ("model", "asked"),
    [
        ("gpt-5.6", True),
        ("o3", True),
        ("gpt-oss-120b", True),
        ("grok-4.6", True),
        ("my-gpt-4", True),
        ("gpt-4o-mini", False),
        ("gpt-4.1", False),
        ("openai/gpt-4o", False),
        ("ft:gpt-4o:mine::1", False),
        ("gpt-3.5-turbo", False),
        ("chatgpt-4o-latest", False),
        ("gpt-5-chat-latest", False),
    ],
)
def test_models_without_reasoning_are_not_asked_for_it(ask, model, asked):
    assert reasons(model) is asked
    made = ResponsesFormat(model, Options(), own=True).exchange(ask()).body
    assert ("include" in made) is asked
    assert made["store"] is False


def test_asking_for_reasoning_can_be_set(ask):
    assert "include" in ResponsesFormat("gpt-4o", Options(), own=True, encrypted=True).exchange(ask()).body
    assert "include" not in ResponsesFormat("o3", Options(), own=True, encrypted=False).exchange(ask()).body


def test_the_address_says_whose_server_it_is_unless_told():
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}

    def is_own(base_url, **settings):
        model = OpenAIResponses("o3", base_url=base_url, api_key=None, **settings)
        (tool,) = model.offered([ToolView(name="t", description="", input_schema=schema)])
        return tool.shaped.strict

    assert is_own("https://api.openai.com/v1")
    assert not is_own("http://127.0.0.1:1/v1")
    assert is_own("http://127.0.0.1:1/v1", own=True)
    assert not is_own("https://api.openai.com/v1", own=False)


def test_the_key_is_a_bearers():
    wire = ResponsesFormat("m", Options(), own=True)
    assert wire.headers("k") == {"authorization": "Bearer k"}
    assert wire.headers(None) == {}
    assert (wire.name, wire.model) == ("openai_responses", "m")


def test_the_same_request_gives_the_same_bytes_and_earlier_items_never_change(body):
    call = CallMessage(call_id="call_1", provider_id="p", tool="gone.tool", arguments="{}")
    result = ResultMessage(call_id="call_1", provider_id="p", tool="gone.tool", content="ok")
    messages = (UserText(text="a"), AssistantReply(text="b", calls=(call,)), ToolResults(results=(result,)))
    first, again = body(*messages), body(*messages)
    assert encode(first) == encode(again)
    longer = body(*messages, UserText(text="c"))
    assert longer["input"][: len(first["input"])] == first["input"]
    assert list(longer) == list(first)
