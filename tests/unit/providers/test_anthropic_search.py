import pytest

from callslip.core.message import AssistantReply, Attachment, CallMessage, ResultMessage, ToolResults
from callslip.ports.model import Searching, ToolView
from callslip.providers import anthropic_search
from callslip.providers.anthropic import Anthropic, MessagesFormat
from callslip.providers.anthropic_hosts import is_anthropics_own
from callslip.providers.options import Options

pytestmark = pytest.mark.requirement("DEFR-07")
SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
MARK = {"type": "ephemeral"}


def view(name, schema=None):
    return ToolView(name=name, description="", input_schema=schema or SCHEMA)


def answered(number, tool, content, **more):
    return (
        CallMessage(call_id=f"call_{number}", provider_id=f"toolu_{number}", tool=tool, arguments={}),
        ResultMessage(call_id=f"call_{number}", provider_id=f"toolu_{number}", tool=tool, content=content, **more),
    )


def step(*pairs):
    return (
        AssistantReply(text="", calls=tuple(call for call, _ in pairs)),
        ToolResults(results=tuple(result for _, result in pairs)),
    )


@pytest.fixture
def body(ask):
    form = MessagesFormat("claude-opus-4-8", Options(native_search="on"))

    def make(*messages, tools=(), found=(), deferred=(), form=form, **changes):
        request = ask(
            tools=(view("tool_search"), view("read"), *tools),
            searching=Searching(tool="tool_search", found=found, deferred=deferred),
            **({"messages": messages} | changes if messages else changes),
        )
        return form.exchange(request).body

    return make


def named(tools):
    return [(tool["name"], tool.get("defer_loading", False), tool.get("cache_control")) for tool in tools]


def test_what_may_be_found_stands_behind_the_rest_by_name(body):
    made = body(deferred=(view("z"), view("a.b"), view("k")))
    tools = named(made["tools"])
    assert tools[:2] == [("tool_search", False, None), ("read", False, MARK)]
    assert [(name[:3], deferred, mark) for name, deferred, mark in tools[2:]] == [
        ("a_b", True, None),
        ("k", True, None),
        ("z", True, None),
    ]
    # Strict tools have limits that all of a request share.
    assert [tool["strict"] for tool in made["tools"]] == [True, True, False, False, False]


def test_a_result_is_references_and_its_words_follow_all_results(body):
    made = body(
        *step(answered(1, "tool_search", "Found: k.", found=("k",)), answered(2, "read", "text")),
        tools=(view("k"),),
        found=("k",),
        deferred=(view("z"),),
    )
    results = made["messages"][-1]["content"]
    assert results[0] == {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": [{"type": "tool_reference", "tool_name": "k"}],
    }
    assert (results[1]["tool_use_id"], results[1]["content"]) == ("toolu_2", "text")
    assert results[2]["type"] == "text"
    assert results[2]["text"].endswith("The result of tool_search:\nFound: k.")
    assert named(made["tools"]) == [
        ("tool_search", False, None),
        ("read", False, MARK),
        ("k", True, None),
        ("z", True, None),
    ]


def test_a_definition_is_the_same_before_it_is_found_and_after(body):
    odd = {"type": "object", "properties": {"a b": {"type": "string"}, "n": {"type": ["integer", "null"]}}}
    before = body(deferred=(view("k.v", odd), view("z")))
    after = body(
        *step(answered(1, "tool_search", "Found.", found=("k.v",))),
        tools=(view("k.v", odd),),
        found=("k.v",),
        deferred=(view("z"),),
    )
    assert before["tools"] == after["tools"]


def test_what_is_beside_a_search_is_shown_beside_its_reference(body):
    png = Attachment(name="a.png", media_type="image/png", data=b"\x89PNG")
    pair = answered(1, "tool_search", "Found: k.", found=("k",), attachments=(png,))
    content = body(*step(pair), tools=(view("k"),), found=("k",))["messages"][-1]["content"]
    assert [block["type"] for block in content] == ["tool_result", "text", "text", "image"]


def test_too_many_are_left_out_until_they_are_found(body, monkeypatch):
    monkeypatch.setattr(anthropic_search, "MOST_DEFERRED", 3)
    found = step(answered(1, "tool_search", "Found.", found=("k",)))
    some = body(*found, tools=(view("k"),), found=("k",), deferred=(view("a"), view("z")))
    assert [tool["name"] for tool in some["tools"][2:]] == ["a", "k", "z"]
    many = body(*found, tools=(view("k"),), found=("k",), deferred=(view("a"), view("b"), view("z")))
    assert [tool["name"] for tool in many["tools"][2:]] == ["k"]


def test_what_is_too_large_is_left_out_until_it_is_found(body, monkeypatch):
    monkeypatch.setattr(anthropic_search, "MOST_BYTES", 1000)
    assert len(body(deferred=(view("a"),))["tools"]) == 3
    large = ToolView(name="a", description="x" * 1000, input_schema=SCHEMA)
    assert len(body(deferred=(large,))["tools"]) == 2
    found = step(answered(1, "tool_search", "Found.", found=("a",)))
    assert len(body(*found, tools=(large,), found=("a",))["tools"]) == 3


def test_a_definition_is_made_once_and_anew_when_the_tool_has_changed(body, monkeypatch):
    form = MessagesFormat("claude-opus-4-8", Options(native_search="on"))
    made = [body(deferred=(view("a"),), form=form)["tools"][-1] for _ in range(2)]
    assert made[0] is made[1]
    changed = {"type": "object", "properties": {"y": {"type": "string"}}}
    assert "y" in body(deferred=(view("a", changed),), form=form)["tools"][-1]["input_schema"]["properties"]


def test_a_call_of_what_was_found_has_its_own_name_and_arguments(ask):
    odd = {"type": "object", "properties": {"a b": {"type": "string"}}}
    request = ask(
        messages=step(answered(1, "tool_search", "Found.", found=("k.v",))),
        tools=(view("tool_search"), view("k.v", odd)),
        searching=Searching(tool="tool_search", found=("k.v",), deferred=()),
    )
    exchange = MessagesFormat("claude-opus-4-8", Options(native_search="on")).exchange(request)
    definition = exchange.body["tools"][-1]
    (key,) = definition["input_schema"]["properties"]
    call = {"type": "tool_use", "id": "toolu_2", "name": definition["name"], "input": {key: "x"}}
    reply = exchange.whole({"type": "message", "role": "assistant", "content": [call], "stop_reason": "tool_use"})
    assert [(one.tool, one.arguments) for one in reply.proposals] == [("k.v", {"a b": "x"})]


@pytest.mark.parametrize(
    ("model", "knows"),
    [
        ("claude-haiku-4-5-20251001", True),
        ("claude-opus-4-8", True),
        ("anthropic/claude-sonnet-4.5", True),
        ("claude-fable-5-2", True),
        ("claude-opus-4-1", False),
        ("claude-sonnet-4-20250514", False),
        ("claude-3-7-sonnet-20250219", False),
        ("claude", False),
        ("kimi-k3", False),
    ],
)
def test_which_models_are_known_to_search(model, knows, body):
    made = body(deferred=(view("z"),), form=MessagesFormat(model, Options(), own=True))
    assert len(made["tools"]) == (3 if knows else 2)
    assert len(body(deferred=(view("z"),), form=MessagesFormat(model, Options(), own=False))["tools"]) == 2


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("https://api.anthropic.com/v1", True),
        ("https://api.anthropic.com.evil.example/v1", False),
        ("http://127.0.0.1:8000/v1", False),
        ("http://[", False),
    ],
)
def test_whose_server_it_is(url, own, body):
    assert is_anthropics_own(url) is own


def test_by_default_the_address_decides(body):
    for url, own, tools in (
        ("https://api.anthropic.com/v1", None, 3),
        ("http://127.0.0.1:1/v1", None, 2),
        ("http://127.0.0.1:1/v1", True, 3),
        ("https://api.anthropic.com/v1", False, 2),
    ):
        made = Anthropic("claude-opus-4-8", base_url=url, api_key="k", own=own)
        assert len(body(deferred=(view("z"),), form=made._wire)["tools"]) == tools
