"""Histories that have broken other frameworks, one by one; whoever reads them next, the request is legal.

A history is made by one provider's replies (``by``), and every strict server is then asked with it.
"""

import json
import re

import pytest

from callslip.core import canon
from callslip.core.events.context_compacted import ContextCompacted
from callslip.core.payload import Payload, inline
from callslip.core.result import BlobRef, Effect, Status
from callslip.testing.contract.says import Call, Says

from .made_history import LONG, PNG, SENT, Made

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("WIRE-01", "WIRE-02", "CALL-05", "CALL-06")]

FIVE = ["openai_chat", "openai_responses", "anthropic", "gemini", "mistral"]
HISTORIES = {}


def history(make):
    HISTORIES[make.__name__] = make
    return make


def wire(name, tool):
    """The tool's name as this provider's models know it."""
    made = Made(0)
    exchange = made.models[name]._wire.exchange(made.request(stream=False))
    return exchange.offered.wire(tool)


async def turn(made, by, *calls, text="", thinking="", say="Do it."):
    if say:
        made.log.user(say)
        made.turn, made.step = made.turn + 1, 0
    reply = await made.say(by, Says(text=text, calls=calls, thinking=thinking))
    assert [proposal.tool for proposal in reply.proposals] or not calls
    return reply


@history
async def a_call_refused_and_then_an_answer(made, by):
    await turn(made, by, Call(wire(by, "read_file"), {"q": "a"}))
    made.log.refuse(0)
    await turn(made, by, text="I may not.", say="")


@history
async def three_calls_that_end_in_reverse_order(made, by):
    await turn(made, by, *(Call(wire(by, "read_file"), {"q": word}) for word in "abc"))
    made.log.dispatch(0).dispatch(1).dispatch(2)
    for position in (2, 1, 0):
        made.log.settle(position, structured=inline(canon.canonical(f"result {position}")))


@history
async def one_id_for_two_calls_and_again_in_the_next_step(made, by):
    for say in ("Do it.", ""):
        await turn(made, by, *(Call(wire(by, "read_file"), {"q": word}, "call_1") for word in "ab"), say=say)
        made.log.dispatch(0).dispatch(1).settle(1).settle(0)


@history
async def an_id_that_others_forbid(made, by):
    await turn(made, by, Call(wire(by, "read_file"), {"q": "a"}, "toolu_01_of|somebody.else"))
    made.log.dispatch(0).settle(0)


@history
async def compacted_in_the_middle_of_a_turn(made, by):
    for say in ("Do it.", "", ""):
        await turn(made, by, Call(wire(by, "read_file"), {"q": "a"}), thinking="Hm.", say=say)
        made.log.dispatch(0).settle(0)
    made.log.add(ContextCompacted(summary=inline(canon.canonical("They read a file.")), keep=1))


@history
async def a_crash_between_two_results(made, by):
    await turn(made, by, *(Call(wire(by, "read_file"), {"q": word}) for word in "ab"), thinking="Hm.")
    made.log.dispatch(0).dispatch(1).settle(0)
    made.log.crash().park(1).resolve("happened", 1).settle(1)


@history
async def an_image_among_three_results(made, by):
    await turn(made, by, *(Call(wire(by, "read_file"), {"q": word}) for word in "abc"))
    address = await made.parts.of(made.log.session).blobs.put(PNG)
    shot = BlobRef(address=address, size=len(PNG), media_type="image/png", name="shot.png")
    made.log.dispatch(0).dispatch(1).dispatch(2).settle(0).settle(1, evidence=(shot,)).settle(2)


@history
async def thoughts_beside_their_calls(made, by):
    await turn(made, by, Call(wire(by, "read_file"), {"q": "a"}), Call(wire(by, "a_b"), {"x": "b"}), thinking="Hm.")
    made.log.dispatch(0).dispatch(1).settle(0).settle(1)


@history
async def a_new_message_while_an_approved_call_waits(made, by):
    await turn(made, by, Call(wire(by, "read_file"), {"q": "a"}), thinking="Hm.")
    made.log.ask(0).decide("approved", 0).user("Wait, use the other file.", steer=True)
    made.log.dispatch(0).settle(0)


@history
async def a_result_of_anything_at_all(made, by):
    await turn(made, by, *(Call(wire(by, "read_file"), {"q": str(n)}) for n in range(3)))
    made.log.dispatch(0).dispatch(1).dispatch(2)
    for position, value in enumerate(
        ("\ud800 alone, and \0", "x" * 5_000_000, b"\xff\xfe raw".decode("utf-8", "replace"))
    ):
        text = canon.canonical(canon.scrub(value))
        address = await made.parts.of(made.log.session).blobs.put(text)
        held = inline(text) if len(text) < 1000 else Payload(blob=address, size=len(text))
        made.log.settle(position, structured=held)


@history
async def an_empty_result(made, by):
    await turn(made, by, *(Call(wire(by, "read_file"), {"q": str(n)}) for n in range(3)))
    made.log.dispatch(0).dispatch(1).dispatch(2)
    for position, value in enumerate(("", "   ", None)):
        made.log.settle(position, structured=inline(canon.canonical(value)))


@history
async def a_tool_that_nobody_has(made, by):
    await turn(made, by, Call("delete_everything", {}))
    made.log.refuse(0, status=Status.INVALID_ARGUMENTS, code="not_found")


@history
async def a_tool_that_is_gone(made, by):
    await turn(made, by, Call("gone.tool", {"q": "a"}), thinking="Hm.")
    made.log.dispatch(0).settle(0)


@history
async def a_call_a_person_denied(made, by):
    await turn(made, by, Call(wire(by, "read_file"), {"q": "a"}), thinking="Hm.")
    made.log.ask(0).decide("denied", 0).refuse(0, code="denied")


@history
async def a_tool_named_as_the_providers_own(made, by):
    await turn(made, by, Call(wire(by, "tool_search"), {"q": "a"}))
    made.log.dispatch(0).settle(0)


@history
async def a_name_of_seventy_six_characters(made, by):
    await turn(made, by, Call(wire(by, LONG), {"q": "a"}))
    made.log.dispatch(0).settle(0)


@history
async def a_reply_that_was_too_long(made, by):
    made.log.user("Do it.")
    made.turn += 1
    exchange, body = await made.ask(by)
    said = Says(text="I will", calls=(Call(wire(by, "read_file"), {"q": "a"}),), finish=LENGTH[by])
    reply = exchange.whole(made.servers[by].plain(said, body))
    assert (reply.finish, reply.proposals) == ("length", ())
    made.record(by, reply)


@history
async def arguments_that_are_none(made, by):
    await turn(made, by, Call(wire(by, "read_file"), "{'q': a" if by != "gemini" else {"q": 1}))
    made.log.refuse(0, status=Status.INVALID_ARGUMENTS, code="not_json")


@history
async def a_call_whose_outcome_nobody_knows(made, by):
    await turn(made, by, Call(wire(by, "read_file"), {"q": "a"}))
    made.log.dispatch(0).crash().fail(0, effect="none")
    made.log.settle(0, status=Status.FATAL_ERROR, effect=Effect.NONE, error_code="boom", structured=None)


LENGTH = {
    "openai_chat": "length", "openai_responses": "max_output_tokens", "anthropic": "max_tokens", "gemini": "MAX_TOKENS",
    "mistral": "length",
}  # fmt: skip


@pytest.mark.parametrize("by", FIVE)
@pytest.mark.parametrize("name", HISTORIES)
async def test_the_next_request_is_legal_everywhere(name, by):
    made = Made(0)
    await HISTORIES[name](made, by)
    for server in SENT:
        await made.ask(server)
        assert not made.broken, f"{made.broken[0].violations}\n{json.dumps(made.broken[0].body)[:3000]}"
    made.log.user("And now?")
    for server in SENT:
        await made.ask(server)
        assert not made.broken, f"{made.broken[0].violations}\n{json.dumps(made.broken[0].body)[:3000]}"


async def _asked(name, by, server):
    made = Made(0)
    await HISTORIES[name](made, by)
    _, body = await made.ask(server)
    return body


async def test_three_results_are_one_message_for_anthropic():
    body = await _asked("three_calls_that_end_in_reverse_order", "openai_chat", "anthropic")
    blocks = body["messages"][-1]["content"]
    assert [block["type"] for block in blocks] == ["tool_result"] * 3
    assert ["result 0" in json.dumps(block) for block in blocks] == [True, False, False]


async def test_an_image_stands_behind_all_results_of_chat_completions():
    body = await _asked("an_image_among_three_results", "anthropic", "openai_chat")
    assert [message["role"] for message in body["messages"][-4:]] == ["tool", "tool", "tool", "user"]
    assert "image_url" in json.dumps(body["messages"][-1])


@pytest.mark.parametrize("by", ["openai_responses", "anthropic", "gemini"])
async def test_thoughts_go_back_to_who_thought_them_and_to_nobody_else(by):
    made = Made(0)
    await HISTORIES["thoughts_beside_their_calls"](made, by)
    (kept,) = [stored.record.event.kept for stored in made.log.records if getattr(stored.record.event, "kept", None)]
    sealed = re.findall(r'"(?:encrypted_content|signature|thoughtSignature)": "([^"]+)"', kept.value())
    assert sealed
    for server in FIVE:
        _, body = await made.ask(server)
        assert [one in json.dumps(body) for one in sealed] == [server == by] * len(sealed)


OTHERS = {
    "openai_responses": "gpt-other", "anthropic": "claude-opus-4-6", "gemini": "gemini-3-flash-preview",
}  # fmt: skip


@pytest.mark.parametrize("by", OTHERS)
async def test_another_model_of_the_same_provider_is_not_sent_them_either(by):
    made = Made(0)
    await HISTORIES["thoughts_beside_their_calls"](made, by)
    (kept,) = [stored.record.event.kept for stored in made.log.records if getattr(stored.record.event, "kept", None)]
    sealed = re.findall(r'"(?:encrypted_content|signature|thoughtSignature)": "([^"]+)"', kept.value())
    made.models[by] = made.model(by, OTHERS[by])
    _, body = await made.ask(by)
    assert made.broken == []
    assert not [one for one in sealed if one in json.dumps(body)]


async def test_a_denied_call_is_an_error_for_anthropic():
    body = await _asked("a_call_a_person_denied", "anthropic", "anthropic")
    assert body["messages"][-1]["content"][0]["is_error"] is True


@pytest.mark.parametrize("server", FIVE)
async def test_a_long_name_has_one_alias_at_every_run(server):
    first, second = wire(server, LONG), wire(server, LONG)
    assert first == second != LONG
    assert len(first) <= 64
