"""Whatever happens to a session, Anthropic's server takes its history (WIRE-01, WIRE-02, WIRE-05).

The server is the contract's, without a socket: it signs what it "thinks", binds it to what came before as newer models
do, and looks at every request. Between steps anything may change: tools, system prompt, model, provider, settings.
"""

import json

import pytest
from hypothesis import given, settings, strategies as st

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
from callslip.ports.model import Request, ToolView
from callslip.providers.anthropic import MessagesFormat
from callslip.providers.http_model import encode
from callslip.providers.options import Options
from callslip.testing.contract import anthropic as contract
from callslip.testing.contract.says import Call, Says

MODELS = (
    "claude-3-haiku-20240307", "claude-3-7-sonnet-20250219", "claude-sonnet-4-5", "claude-haiku-4-5-20251001",
    "claude-opus-4-6", "claude-opus-4-8", "claude-sonnet-5", "claude-fable-5", "claude-fable-5-1", "claude-opus-5-5",
    "claude-sonnet-5-5", "claude-haiku-5-5", "claude-latest", "kimi-k3",
)  # fmt: skip
SCHEMAS = (
    {"type": "object"},
    {"type": "object", "properties": {"path": {"type": "string"}, "n": {"type": ["integer", "null"]}}, "required": ["path"]},
    {"type": "object", "properties": {"ä b": {"type": "integer", "minimum": 3}}, "additionalProperties": {"type": "string"}},
    {"type": "object", "properties": {"tree": {"$ref": "#/$defs/t"}}, "$defs": {"t": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#/$defs/t"}}]}}},
    {"anyOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"type": "object", "properties": {"b": {"enum": [1, "x"]}}}]},
)  # fmt: skip
TOOLS = tuple(
    ToolView(name=name, description=description, input_schema=schema)
    for name, description, schema in zip(
        ["files.read", "read", "a" * 90, "prüfen", "list"],
        ["Read a file", "", "x", "Prüft", "Lists"],
        SCHEMAS,
        strict=True,
    )
)
IMAGE = Attachment(name="a.png", media_type="image/png", data=b"\x89PNG\r\n\x1a\n" + b"x" * 9)
FILES = (
    IMAGE,
    Attachment(name="b.pdf", media_type="application/pdf", data=b"%PDF-1.7 ..."),
    Attachment(name="c.bmp", media_type="image/bmp", data=b"BM.."),
    Attachment(name="", media_type="image/png", data=b""),
)
TEXTS = st.sampled_from(["Looking.", "", " ", "Done.\n", "\ud800x", "a\0b", "Ünïcode 🎉 "])
ARGUMENTS = st.sampled_from(
    [{}, {"path": "a"}, {"n": 2**60}, '{"path":"x"}', '{"path":', "{}{}", "", "null", "[1]", '{"n": NaN}', "\ud800"]
)
IDS = st.sampled_from(["", "null", "toolu_1", "toolu_1", "a.b:c", "call_9", "x" * 80, "é"])
OPTIONS = st.builds(
    Options,
    effort=st.sampled_from(["", "", "off", "low", "high"]),
    temperature=st.sampled_from([None, 0.0, 1.7]),
    parallel=st.sampled_from([None, True, False]),
    strict=st.sampled_from([None, False]),
    images=st.sampled_from([True, True, False]),
    max_output_tokens=st.sampled_from([None, None, 300, 4000]),
)


def results_of(draw, calls):
    return ToolResults(
        results=tuple(
            ResultMessage(
                call_id=call.call_id,
                provider_id=call.provider_id,
                tool=call.tool,
                content=draw(TEXTS),
                is_error=draw(st.booleans()),
                attachments=tuple(draw(st.lists(st.sampled_from(FILES), max_size=2))),
            )
            for call in draw(st.permutations(calls))
        )
    )


def said_elsewhere(draw, step):
    """A reply of another provider, with whatever it gave as ids and arguments."""
    calls = tuple(
        CallMessage(
            call_id=f"call_{step}_{place}",
            provider_id=draw(IDS),
            tool=draw(st.sampled_from(["gone", "read", "files.read"])),
            arguments=draw(ARGUMENTS),
        )
        for place in range(draw(st.integers(0, 2)))
    )
    kept = draw(st.sampled_from([None, Kept(model="openai_chat:gpt", items=({"reasoning_content": "x"},))]))
    return AssistantReply(text=draw(TEXTS), calls=calls, kept=kept)


def said_here(draw, server, wire, request, step):
    """What the server answers, as the session keeps it."""
    exchange = wire.exchange(request)
    body = json.loads(encode(exchange.body))
    headers = wire.headers("key")
    violations = server.check(body, headers, "/v1/messages")
    assert violations == [], [(one.rule, one.path, one.message) for one in violations]
    assert encode(exchange.body) == encode(wire.exchange(request).body), "the same request gives the same bytes"
    names = [tool["name"] for tool in body.get("tools", ())] if request.tools else []
    calls = tuple(
        Call(draw(st.sampled_from(names)), draw(st.sampled_from([{}, {"path": "é", "n": 2**60}])))
        for _ in range(draw(st.integers(0, 3)) if names else 0)
    )
    thinks = body.get("thinking", {}).get("type") in ("enabled", "adaptive")
    says = Says(
        text=draw(st.sampled_from(["Looking.", " ", "", "x\n"])),
        calls=calls,
        thinking=draw(st.sampled_from(["Hm.", "", contract.says_anthropic.REDACTED])) if thinks else "",
    )
    if draw(st.booleans()):
        assembly = exchange.assembly()
        for name, data in server.events(says, body):
            assembly.add(name, data)
        reply = assembly.reply(broken=False)
    else:
        reply = exchange.whole(server.plain(says, body))
    assert reply.finish == ("calls" if calls else "stop" if says.text.strip() else "empty")
    made = tuple(
        CallMessage(call_id=f"call_{step}_{place}", provider_id=one.provider_id, tool=one.tool, arguments=one.arguments)
        for place, one in enumerate(reply.proposals)
    )
    kept = (
        Kept(model=f"anthropic:{wire.model}", items=tuple(json.loads(json.dumps(reply.kept)))) if reply.kept else None
    )
    return AssistantReply(text=reply.text, calls=made, kept=kept)


@pytest.mark.requirement("WIRE-01")
@pytest.mark.requirement("WIRE-02")
@pytest.mark.requirement("WIRE-05")
@settings(max_examples=150)
@given(st.data())
def test_no_history_is_refused(data):
    draw = data.draw
    server = contract.Anthropic()
    history = [UserText(text="Begin")] if draw(st.booleans()) else []
    model, options, tools, system = draw(st.sampled_from(MODELS)), draw(OPTIONS), TOOLS, "Be brief."
    for step in range(draw(st.integers(1, 6))):
        if draw(st.integers(0, 3)) == 0:
            model = draw(st.sampled_from(MODELS))
        if draw(st.integers(0, 3)) == 0:
            options = draw(OPTIONS)
        if draw(st.integers(0, 3)) == 0:
            tools = tuple(draw(st.lists(st.sampled_from(TOOLS), unique_by=lambda tool: tool.name)))
        if draw(st.integers(0, 5)) == 0:
            system = draw(st.sampled_from(["", " ", "Be long.", "\ud800"]))
        request = Request(
            system=system,
            messages=tuple(history),
            tools=tools,
            tool_choice=draw(st.sampled_from(["auto", "auto", "none", "required"])),
            only=draw(st.sampled_from(["", tools[0].name])) if tools else "",
        )
        wire = MessagesFormat(model, options)
        reply = (
            said_elsewhere(draw, step) if draw(st.integers(0, 4)) == 0 else said_here(draw, server, wire, request, step)
        )
        history.append(reply)
        if reply.calls:
            if draw(st.integers(0, 4)) == 0:
                history.append(UserText(text=draw(TEXTS)))
            history.append(results_of(draw, list(reply.calls)))
        history += draw(
            st.sampled_from(
                [[], [], [UserText(text="And?")], [Notice(text="Cut.")], [UserText(text=" "), Notice(text="x")]]
            )
        )
        if draw(st.integers(0, 9)) == 0:
            history = [UserText(text="A summary of all before."), *history[-draw(st.integers(0, 1)) or len(history) :]]
            history = [one for one in history if not isinstance(one, ToolResults)]
            history = [one for one in history if not (isinstance(one, AssistantReply) and one.calls)]
