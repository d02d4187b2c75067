"""Read turns out of logs that a Runtime has written (DEFR-06)."""

from __future__ import annotations

import sqlite3

import pytest

from callslip import Runtime, tool
from callslip.core.routing import Routing
from callslip.errors import LogBroken, NotFound
from callslip.ports.model import Proposal
from callslip.providers.scripted import Scripted, calling
from callslip.runtime import payloads
from callslip.runtime.parts import Data
from callslip.sessions.erase import erase_payloads, erase_session
from callslip.stats.routing import reading
from callslip.stats.routing.cases import cases
from callslip.stats.routing.judge import judge
from callslip.stats.routing.reading import Reading

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("DEFR-06")]
ROUTING = Routing(preselect="off", embedder="off")
LONG = "refund a payment " * 300


@tool(name="pay.refund", risk="read", deferred=True)
async def refund() -> str:
    """Refund a payment."""
    return "done"


@tool(name="mail.send", risk="read", deferred=True)
async def send() -> str:
    """Send an e-mail."""
    return "done"


SCRIPT = [
    calling(("tool_search", {"queries": ["refund a payment", "play chess"]}), ("mail.send", {})),
    calling(("pay.refund", {})),
    "Done.",
]


async def talk(state, *sessions, script=SCRIPT, **changes):
    for session in sessions:
        runtime = Runtime(tools=[refund, send], model=Scripted(script), state=state, routing=ROUTING)
        runtime.configure(**changes)
        async with runtime:
            assert (await runtime.run("Pay Ada back.", session=session)).status == "finished"


async def read(state, sessions=None, since=None):
    async with Runtime(tools=[], state=state) as runtime:

        async def text(payload):
            return await payloads.text(runtime.parts.blobs, payload)

        found = Reading(runtime.parts.ledger, text, sessions, since)
        return [turn async for turn in found.turns()], found


def told(turns):
    return [(turn.session, one.tool, one.how, one.offer and one.offer.words) for turn in turns for one in judge(turn)]


USED = [("mail.send", "missed", None), ("pay.refund", "first", "refund a payment")]


@pytest.mark.parametrize("page", [3, 5_000])
async def test_a_log_is_read_page_by_page(tmp_path, page, monkeypatch):
    monkeypatch.setattr(reading, "PAGE", page)
    await talk(tmp_path / "state", "a", "b")
    turns, found = await read(tmp_path / "state")
    assert sorted(told(turns)) == [(session, *use) for session in "ab" for use in USED]
    assert (found.sessions, found.unread) == (2, [])
    assert turns[0].searches[0].queries[1].nothing
    assert turns[0].ended
    assert [saying.text for saying in turns[0].sayings] == ["Pay Ada back."]


async def test_some_sessions_and_one_that_is_not_there(tmp_path):
    await talk(tmp_path / "state", "a", "b")
    turns, found = await read(tmp_path / "state", ["b", "b"])
    assert ({turn.session for turn in turns}, found.sessions) == ({"b"}, 1)
    with pytest.raises(NotFound, match="callslip sessions"):
        await read(tmp_path / "state", ["c"])


async def test_turns_from_before_are_left_out(tmp_path):
    await talk(tmp_path / "state", "a")
    (turn,), _ = await read(tmp_path / "state")
    assert (await read(tmp_path / "state", since=turn.at))[0]
    turns, found = await read(tmp_path / "state", since=turn.at + 1)
    assert (turns, found.sessions) == ([], 1)
    assert (await read(tmp_path / "state", since=turn.at + 3_600_000))[1].sessions == 0


async def test_where_every_tool_is_shown_there_is_nothing_to_find(tmp_path):
    await talk(tmp_path / "state", "a", script=[calling(("pay.refund", {})), "Done."], routing=Routing(defer="none"))
    assert (await read(tmp_path / "state"))[0] == []


@pytest.mark.parametrize("whole", [True, False])
async def test_of_an_erased_session_no_word_is_left_and_the_figures_stay(tmp_path, whole):
    script = [
        calling(("tool_search", {"queries": [LONG]})),
        calling(("pay.refund", {})),
        calling(("mail.send", {})),
        calling(("tool_search", {"queries": ["select:mail.send"]})),
        calling(("mail.send", {})),
        "Done.",
    ]
    await talk(tmp_path / "state", "a", script=script, data=Data(encrypt=True))
    (turn,), _ = await read(tmp_path / "state")
    assert [case.text for case in cases(turn).cases] == [LONG, "Pay Ada back."]
    async with Runtime(tools=[], state=tmp_path / "state") as runtime:
        stored = await runtime.parts.ledger.read("a")
        call_id = next(
            one.record.event.call_id for one in stored if getattr(one.record.event, "tool", "") == "tool_search"
        )
        if whole:
            await erase_session(runtime.parts, "a", reason="asked", by=runtime.identity())
        else:
            await erase_payloads(runtime.parts, "a", reason="asked", by=runtime.identity(), call_id=call_id)
    (turn,), found = await read(tmp_path / "state")
    assert [(one.tool, one.how) for one in judge(turn)] == [("pay.refund", "first"), ("mail.send", "missed")]
    assert not turn.searches[0].readable
    assert [case.text for case in cases(turn).cases] == ([] if whole else ["Pay Ada back."])
    # That the second search named a tool can't be read any more either.
    assert cases(turn).gone == (("found", "found", "missed") if whole else ("found",))
    assert found.unread == []


async def test_a_broken_session_hides_none_of_the_others_and_counts_up_to_the_break(tmp_path):
    await talk(tmp_path / "state", "a", "b")
    with sqlite3.connect(tmp_path / "state" / "ledger.db") as raw:
        last = raw.execute("select max(seq) from records where no = 1").fetchone()[0]
        raw.execute("update records set text = cast(text || ' ' as blob) where no = 1 and seq = ?", (last,))
    raw.close()
    turns, found = await read(tmp_path / "state")
    assert (len(found.unread), found.sessions, len(turns)) == (1, 2, 2)
    assert len(told(turns)) == 4


async def test_a_payload_that_cannot_be_read_breaks_nothing(tmp_path):
    await talk(tmp_path / "state", "a")
    async with Runtime(tools=[], state=tmp_path / "state") as runtime:

        async def nothing(payload):
            raise LogBroken("It is gone.")

        found = Reading(runtime.parts.ledger, nothing)
        (turn,) = [turn async for turn in found.turns()]
    assert (found.unread, [one.how for one in judge(turn)]) == ([], ["missed", "first"])


async def test_the_steps_of_a_dispatcher_are_one_turn_that_does_not_end(tmp_path):
    calls = [("tool_search", {"queries": ["refund a payment"]}), ("pay.refund", {}), ("mail.send", {})]
    async with Runtime(tools=[refund, send], state=tmp_path / "state", routing=ROUTING) as runtime:
        for step, (name, arguments) in enumerate(calls):
            await runtime.dispatch([Proposal(tool=name, arguments=arguments)], session="a", step=f"{step}")
    (turn,), _ = await read(tmp_path / "state")
    assert [(one.tool, one.how) for one in judge(turn)] == [("pay.refund", "first"), ("mail.send", "missed")]
    assert (turn.steps, turn.ended) == (3, False)
