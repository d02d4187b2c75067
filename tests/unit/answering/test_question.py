"""A question shows what it binds to, and a decision is the same event on both sides of the wire."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, strategies as st

from callslip.answering.decision import SchemaFaults, decision
from callslip.answering.question import Question, check, question
from callslip.core import canon
from callslip.core.events.tool_dispatch import Evidence
from callslip.core.version import Version
from callslip.errors import LogBroken, NotFound, UsageError, WaitConflict

pytestmark = pytest.mark.requirement("APPR-08")


@pytest.fixture
async def asked(world):
    return await question(world.runtime, await world.ask())


class TestChecked:
    @pytest.mark.anyio
    async def test_as_it_is(self, asked):
        check(asked)
        assert asked.arguments_digest == canon.digest(canon.canonical({"amount": 100, "to": "shop"}))

    @pytest.mark.anyio
    @pytest.mark.parametrize(
        "change",
        [
            {"arguments": {"amount": 1, "to": "shop"}}, {"session": "t"}, {"tool": "get"}, {"tool_version": "0"},
            {"executor": "python:evil:pay"}, {"requester": "eve"}, {"rules": ()}, {"rules": ("risk.read",)},
            {"call_id": "call_x"}, {"shown": "0" * 64}, {"binding": "0" * 64}, {"arguments_digest": "0" * 64},
            {"evidence": Evidence(target="file:x", before="", after="1")}, {"version": Version(of="x", value=1)},
        ],
        ids=lambda change: next(iter(change)),
    )  # fmt: skip
    async def test_anything_that_was_altered(self, asked, change):
        with pytest.raises(LogBroken, match="binds to"):
            check(msgspec.structs.replace(asked, **change))
        check(asked)

    @pytest.mark.anyio
    async def test_it_survives_the_wire(self, asked):
        assert msgspec.json.decode(msgspec.json.encode(asked), type=Question) == asked

    @pytest.mark.anyio
    async def test_of_what_is_not_open(self, world):
        with pytest.raises(NotFound):
            await question(world.runtime, "appr_none")
        wait = await world.ask()
        await world.runtime.deny(wait, reason="no")
        with pytest.raises(WaitConflict, match="was denied by"):
            await question(world.runtime, wait)


SIMPLE = Question(
    id="appr_1", session="s", call_id="c", tool="pay", tool_version="1", executor="x", requester="r", rules=("r",),
    reason="", arguments={"amount": 1}, arguments_digest=canon.digest(b'{"amount":1}'), binding="b", shown="", opened_at=0,
    schema={"type": "object", "properties": {"amount": {}}}, advisory=False,
)  # fmt: skip


class TestDecision:
    def test_the_same_words_make_the_same_event(self):
        one, other = (decision(SIMPLE, "denied", reason="no\ud800") for _ in range(2))
        assert one == other
        assert one.event.reason == "no\ufffd"
        assert (one.event.binding, one.event.approval_id, one.event.via) == ("b", "appr_1", "http")

    @given(st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=50))
    def test_edited_arguments_are_the_same_after_the_wire(self, value):
        """The client signs over what it has, the server over what it got."""
        if canon.canonical({"amount": value}) == b'{"amount":1}':
            return
        made = decision(SIMPLE, "approved", arguments={"amount": value})
        sent = canon.canonical({"edited_arguments": {"amount": value}})
        got = msgspec.json.decode(sent)["edited_arguments"]
        assert decision(SIMPLE, "approved", arguments=got) == made

    @pytest.mark.parametrize("size", [10, 4096, 5000])
    def test_large_ones_are_named_by_their_address(self, size):
        made = decision(SIMPLE, "approved", arguments={"amount": "x" * size})
        assert made.event.edited.inline == (size == 10)

    def test_of_several_people(self):
        several = msgspec.structs.replace(SIMPLE, approvers=2)
        with pytest.raises(UsageError, match="can't be edited"):
            decision(several, "approved", arguments={"amount": 2})
        assert decision(several, "approved").event.edited is None

    def test_that_changes_nothing(self):
        for same in ({"amount": 1}, {"amount": 1.0}):
            with pytest.raises(UsageError, match="as such"):
                decision(SIMPLE, "approved", arguments=same)

    def test_that_breaks_the_schema(self):
        strict = msgspec.structs.replace(SIMPLE, schema={"properties": {"amount": {"type": "integer"}}})
        with pytest.raises(SchemaFaults) as caught:
            decision(strict, "approved", arguments={"amount": "x"})
        assert caught.value.errors[0].path == "amount"
        assert decision(strict, "approved", arguments={"amount": 2}).text == b'{"amount":2}'

    def test_what_has_no_json_form(self):
        with pytest.raises(UsageError):
            decision(SIMPLE, "approved", arguments={"amount": "\ud800"})

    def test_a_schema_that_is_none(self):
        broken = msgspec.structs.replace(SIMPLE, schema={"type": "nonsense"})
        with pytest.raises(UsageError, match="schema of pay can't be used"):
            decision(broken, "approved", arguments={"amount": 2})
