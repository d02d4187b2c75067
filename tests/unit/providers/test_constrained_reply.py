import json

import pytest

from callslip.ports.model import Delta, Proposal
from callslip.providers.constrained import ConstrainedFormat
from callslip.providers.options import Options, Price

ENVELOPE = '{"reply": {"calls": [{"tool": "WIRE", "arguments": {"path": "a"}}]}}'
OTHER = {"index": 0, "id": "x", "type": "function", "function": {"name": "pay", "arguments": "{}"}}


@pytest.fixture
def exchange(ask):
    def make(price=None, constrain="json_schema", **changes):
        return ConstrainedFormat("m", Options(price=price, constrain=constrain)).exchange(ask(**changes))

    return make


@pytest.fixture
def both(exchange):
    """The reply to a text, and what was shown of it: once plain, once streamed in pieces of a few characters."""

    def read(text, reason="stop", *, broken=False, size=3, calls=(), **changes):
        made = exchange(**changes)
        text = text.replace("WIRE", made.offered.tools[0].wire if made.offered.tools else "read")
        message = {"content": text, "tool_calls": list(calls)}
        plain = made.whole({"model": "x", "choices": [{"message": message, "finish_reason": reason}]})
        assembly, shown = made.assembly(), []
        for at in range(0, len(text), size):
            shown += assembly.add("message", {"model": "x", "choices": [{"delta": {"content": text[at : at + size]}}]})
        last = {"delta": {"tool_calls": list(calls)}, "finish_reason": reason}
        shown += assembly.add("message", {"model": "x", "choices": [last]})
        streamed = assembly.reply(broken=broken)
        if not broken:
            assert streamed == plain
        return streamed, "".join(delta.text for delta in shown)

    return read


@pytest.mark.requirement("WIRE-01")
def test_calls(both):
    reply, shown = both(ENVELOPE)
    assert reply.proposals == (Proposal(tool="files.read", arguments={"path": "a"}),)
    assert (reply.finish, reply.text, shown, reply.model) == ("calls", "", "", "x")


@pytest.mark.parametrize("branch", ["answer", "no_tool_fits"])
def test_an_answer(both, branch):
    reply, shown = both(json.dumps({"reply": {branch: f"So: {ENVELOPE}"}}))
    assert (reply.finish, reply.proposals) == ("stop", ())
    assert reply.text == shown
    assert shown.startswith("So: {")


@pytest.mark.requirement("CALL-08")
@pytest.mark.parametrize("text", ['{"reply": {"answer": " "}}', "", " ", "<think>Hm</think>"])
def test_nothing_said(both, text):
    reply, _ = both(text)
    assert (reply.finish, reply.proposals) == ("empty", ())


@pytest.mark.requirement("WIRE-04", "CALL-05")
@pytest.mark.parametrize(
    "text",
    [f"I call {ENVELOPE}", f"{ENVELOPE}\nDone.", f"{ENVELOPE}{ENVELOPE}", f"```json\n{ENVELOPE}\n```\nThere."],
)
def test_words_around_an_envelope_make_no_call(both, text):
    reply, _ = both(text)
    assert (reply.finish, reply.proposals) == ("cut", ())


@pytest.mark.requirement("WIRE-04", "CALL-05")
def test_no_prefix_is_a_call(both):
    for size in range(1, len(ENVELOPE)):
        reply, shown = both(ENVELOPE[:size], size=7)
        assert (reply.finish, reply.proposals, reply.text, shown) == ("cut", (), "", "")


@pytest.mark.requirement("WIRE-04", "CALL-05")
@pytest.mark.parametrize(
    ("reason", "finish"), [("length", "length"), ("content_filter", "filtered"), (None, "cut"), ("odd", "cut")]
)
def test_a_whole_envelope_of_a_reply_that_is_not_known_to_be_whole(exchange, reason, finish):
    assembly = exchange().assembly()
    assembly.add("message", {"choices": [{"delta": {"content": ENVELOPE}, "finish_reason": reason}]})
    reply = assembly.reply()
    assert (reply.finish, reply.proposals, reply.text) == (finish, (), "")


@pytest.mark.requirement("WIRE-04", "CALL-05")
def test_a_broken_connection(both):
    reply, _ = both(ENVELOPE, broken=True)
    assert (reply.finish, reply.proposals) == ("cut", ())


@pytest.mark.parametrize("reason", ["length", "odd"])
def test_of_a_cut_answer_the_text_is_kept_and_not_its_json(both, reason):
    reply, shown = both('{"reply": {"answer": "It was\\na dark', reason=reason)
    assert reply.text == shown == "It was\na dark"
    assert reply.proposals == ()


@pytest.mark.parametrize("text", ["Plain.", "```python\nprint(1)\n```", "<think>Hm {</think>Plain."])
def test_a_server_that_constrained_nothing_may_answer_in_plain_text(both, text):
    reply, shown = both(text)
    assert (reply.finish, reply.text) == ("stop", text.rpartition("</think>")[2])
    assert shown == reply.text


@pytest.mark.requirement("CALL-01")
@pytest.mark.parametrize("text", ["", "Well.", ENVELOPE])
def test_native_calls_were_not_asked_for(both, text):
    reply, _ = both(text, reason="tool_calls", calls=[OTHER])
    assert "pay" not in [one.tool for one in reply.proposals]
    assert reply.finish == {"": "empty", "Well.": "stop"}.get(text, "calls")


def test_native_calls_are_not_shown(exchange):
    assert exchange().assembly().add("message", {"choices": [{"delta": {"tool_calls": [OTHER]}}]}) == []


@pytest.mark.requirement("WIRE-03")
@pytest.mark.parametrize("changes", [{"tool_choice": "none"}, {"tools": ()}])
def test_where_no_call_was_asked_for_an_envelope_is_text(both, changes):
    reply, shown = both(ENVELOPE, **changes)
    assert (reply.finish, reply.proposals) == ("stop", ())
    assert reply.text == shown
    assert "calls" in shown


@pytest.mark.parametrize("constrain", ["json_object", "text"])
def test_a_server_that_knows_no_schema_is_read_alike(both, constrain):
    assert both(ENVELOPE, constrain=constrain)[0].finish == "calls"
    assert both(f"So: {ENVELOPE}", constrain=constrain)[0].finish == "cut"


def test_a_name_that_nobody_has_is_the_gates_to_refuse(both):
    reply, _ = both('{"reply": {"calls": [{"tool": "nobody", "arguments": "{"}]}}')
    assert reply.proposals == (Proposal(tool="nobody", arguments="{"),)


def test_the_shaping_of_arguments_is_undone(both, ask):
    (tool,) = ask().tools
    schema = {
        "type": "object",
        "properties": {"path": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["path"],
    }
    schema["additionalProperties"] = False
    text = '{"reply": {"calls": [{"tool": "WIRE", "arguments": {"path": "a", "n": null}}]}}'
    reply, _ = both(text, tools=(type(tool)(name="files.read", description="", input_schema=schema),))
    assert reply.proposals[0].arguments == {"path": "a"}


def test_usage_has_its_price(exchange):
    body = {
        "choices": [{"message": {"content": "Hi", "reasoning_content": "Hm"}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5},
    }
    reply = exchange(price=Price(input=2, output=4)).whole(body)
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cost_micros) == (10, 5, 40)
    assert reply.kept == ()


def test_json_that_is_no_completion(exchange):
    assert exchange().whole({"candidates": []}) is None


@pytest.mark.parametrize("odd", [None, 1, "x", [], {}, {"content": 1}, {"content": [1, {"text": 2}]}])
def test_odd_types_raise_nothing(exchange, odd):
    assert exchange().whole({"choices": [{"message": odd}]}).proposals == ()
    assembly = exchange().assembly()
    assert assembly.add("message", {"choices": [{"delta": odd}, odd], "usage": odd}) in ([], [Delta(text="x")])
    assert assembly.reply().proposals == ()
