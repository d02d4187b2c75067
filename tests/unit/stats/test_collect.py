"""Read the log for the statistics: which sessions, how much of them, and what of those that are broken."""

from __future__ import annotations

import sqlite3

import pytest

from callslip import Runtime, tool
from callslip.errors import NotFound
from callslip.ports.model import Proposal
from callslip.runtime.parts import Data
from callslip.stats import collect as collecting
from callslip.stats.collect import collect

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("OBSV-02")]


@tool(risk="read")
async def find(name: str) -> str:
    """Find."""
    return name


async def filled(runtime, *sessions, steps=3):
    for session in sessions:
        for step in range(steps):
            await runtime.dispatch([Proposal(tool="find", arguments={"name": "Ada"})], session=session, step=f"{step}")


class OnlyReads:
    """A ledger that gives no stored bytes."""

    def __init__(self, ledger):
        self.heads, self.read = ledger.heads, ledger.read


@pytest.mark.parametrize("state", [False, True], ids=["memory", "sqlite"])
@pytest.mark.parametrize("bare", [False, True], ids=["stored bytes", "records"])
async def test_all_sessions_are_read_page_by_page(state, bare, tmp_path, monkeypatch):
    monkeypatch.setattr(collecting, "PAGE", 7)
    async with Runtime(tools=[find], state=tmp_path / "state" if state else None) as runtime:
        await filled(runtime, "a", "b")
        ledger = runtime.parts.ledger
        found = await collect(OnlyReads(ledger) if bare else ledger)
        heads = await ledger.heads()
    assert (found.sessions, found.records) == (2, sum(head.seq for head in heads))
    assert [(row.tool, row.calls, row.succeeded) for row in found.tools] == [("find", 6, 6)]


async def test_some_sessions_and_one_that_is_not_there():
    async with Runtime(tools=[find]) as runtime:
        await filled(runtime, "a", "b")
        assert (await collect(runtime.parts.ledger, ["b", "b"])).tools[0].calls == 3
        with pytest.raises(NotFound, match="callslip sessions"):
            await collect(runtime.parts.ledger, ["c"])


async def test_a_session_without_news_since_is_not_even_read():
    async with Runtime(tools=[find]) as runtime:
        await filled(runtime, "a")
        later = runtime.parts.clock.now() + 60_000
        found = await collect(runtime.parts.ledger, since=later)
    assert (found.sessions, found.records, found.since) == (0, 0, later)


async def test_encrypted_sessions_are_counted_without_their_keys(tmp_path):
    runtime = Runtime(tools=[find], state=tmp_path / "state")
    runtime.configure(data=Data(encrypt=True))
    async with runtime:
        await filled(runtime, "a")
    for key in (tmp_path / "state" / "keys").rglob("*"):
        if key.is_file():
            key.unlink()
    async with Runtime(tools=[find], state=tmp_path / "state") as runtime:
        assert (await collect(runtime.parts.ledger)).tools[0].succeeded == 3


async def test_a_broken_session_hides_none_of_the_others(tmp_path):
    async with Runtime(tools=[find], state=tmp_path / "state") as runtime:
        await filled(runtime, "a", "b")
    with sqlite3.connect(tmp_path / "state" / "ledger.db") as raw:
        raw.execute("update records set text = cast(text || ' ' as blob) where no = 1 and seq = 7")
    raw.close()
    async with Runtime(tools=[find], state=tmp_path / "state") as runtime:
        found = await collect(runtime.parts.ledger)
    assert len(found.unread) == 1
    assert found.sessions == 2
    assert sum(row.succeeded for row in found.tools) >= 3
