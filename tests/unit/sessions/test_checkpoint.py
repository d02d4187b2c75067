"""Checkpoints: the same state with and without, and never believed when they don't fit the log."""

from __future__ import annotations

import msgspec
import pytest

from callslip import Runtime, tool
from callslip.core.state import SessionState
from callslip.ports.ledger import Checkpoint
from callslip.providers.scripted import Scripted, calling
from callslip.sessions import checkpoint
from callslip.sessions.project import project
from callslip.testing.log_builder import LogBuilder

pytestmark = pytest.mark.anyio


def made_log(steps: int = 4) -> LogBuilder:
    log = LogBuilder()
    for turn in range(1, steps + 1):
        log.user(f"question {turn}").step("a", "b", step=f"{turn}.1", turn=turn)
        log.dispatch(0, recovery="idempotent").settle(0).dispatch(1).fail(1, effect="none").refuse(1)
        log.step(step=f"{turn}.2", turn=turn)
    return log


def facts(state: SessionState) -> dict:
    """Everything but where the conversation is kept."""
    known = msgspec.json.decode(msgspec.json.encode(state))
    return {**known, "items": None, "segments": None, "checkpoint_seq": None}


class CountingReads:
    """Keeps where each read began."""

    def __init__(self, ledger):
        self.ledger = ledger
        self.after = []

    def __getattr__(self, name):
        return getattr(self.ledger, name)

    async def read(self, session, *, after=0, limit=None):
        self.after.append(after)
        return await self.ledger.read(session, after=after, limit=limit)


@pytest.mark.requirement("STAT-06")
class TestWithAndWithout:
    @pytest.mark.parametrize("at", [2, 3, 5, 9, 12, 13, 25, 48])
    async def test_the_same_state_and_the_same_conversation(self, parts, keep, at):
        log = made_log()
        head = LogBuilder()
        head.records, head.texts = log.records[:at], log.texts[:at]
        await keep(head)
        await checkpoint.save_state(parts, head.state())
        await keep(log, after=at)
        parts.ledger = CountingReads(parts.ledger)
        with_it = await checkpoint.load_state(parts, "s")
        assert parts.ledger.after == [at]
        assert facts(with_it) == facts(log.state())
        assert await project(parts, with_it) == await project(parts, log.state())

    async def test_closed_turns_move_into_segments_and_the_latest_one_stays(self, parts):
        state = made_log(3).state()
        whole = await checkpoint.load_items(parts, state)
        await checkpoint.save_state(parts, state)
        assert (len(state.segments), state.items) == (1, whole[-3:])
        assert await checkpoint.load_items(parts, state) == whole
        await checkpoint.save_state(parts, state)
        assert len(state.segments) == 1
        state.items = [*state.items, *whole[:3]]
        await checkpoint.save_state(parts, state)
        assert (len(state.segments), state.items) == (2, whole[:3])
        assert await checkpoint.load_items(parts, state) == [*whole, *whole[:3]]

    async def test_a_long_session_gets_one_by_itself_and_goes_on_from_it(self, tmp_path, monkeypatch):
        monkeypatch.setattr(checkpoint, "EVERY", 20)

        @tool(risk="read")
        async def look() -> int:
            """Look."""
            return 1

        model = Scripted([calling(("look", {})), calling(("look", {})), "one", "two"])
        async with Runtime(tools=[look], model=model, state=tmp_path / "s") as runtime:
            await runtime.run("x", session="s")
            assert await runtime.parts.ledger.load_checkpoint("s") is None
            await runtime.run("y", session="s")
            kept = await runtime.parts.ledger.load_checkpoint("s")
            assert kept.seq >= 20
        model = Scripted([*[""] * 4, "three"])
        async with Runtime(tools=[look], model=model, state=tmp_path / "s") as runtime:
            assert (await runtime.state("s")).segments
            assert (await runtime.run("z", session="s")).text == "three"
        texts = [getattr(message, "text", None) for message in model.requests[0].messages]
        assert [text for text in texts if text] == ["x", "one", "y", "two", "z"]


class TestNeverBelieved:
    async def state_beside(self, parts, keep, kept: Checkpoint) -> SessionState:
        log = made_log()
        await keep(log)
        await parts.ledger.save_checkpoint("s", kept)
        state = await checkpoint.load_state(parts, "s")
        assert msgspec.json.encode(state) == msgspec.json.encode(log.state())
        return state

    def body(self, state: SessionState) -> bytes:
        return checkpoint._FORMAT + checkpoint._state_encoder.encode(state)

    async def test_of_another_log(self, parts, keep):
        other = LogBuilder().user("another").state()
        await self.state_beside(parts, keep, Checkpoint(seq=other.seq, digest=other.digest, body=self.body(other)))

    async def test_ahead_of_the_log(self, parts, keep):
        ahead = made_log(9).state()
        await self.state_beside(parts, keep, Checkpoint(seq=ahead.seq, digest=ahead.digest, body=self.body(ahead)))

    async def test_the_body_of_another_position(self, parts, keep):
        here, there = made_log(2).state(), made_log(1).state()
        await self.state_beside(parts, keep, Checkpoint(seq=here.seq, digest=here.digest, body=self.body(there)))

    async def test_the_body_of_another_session(self, parts, keep):
        here = made_log(2).state()
        other = msgspec.structs.replace(here, session="t")
        await self.state_beside(parts, keep, Checkpoint(seq=here.seq, digest=here.digest, body=self.body(other)))

    @pytest.mark.parametrize("body", [b"", b"1", b"9{}", b"2", b"2{", b"2{}", b"2[]", b"2\xff\xfe", b"2null"])
    async def test_damaged_or_of_another_version(self, parts, keep, body):
        here = made_log(2).state()
        await self.state_beside(parts, keep, Checkpoint(seq=here.seq, digest=here.digest, body=body))

    async def test_a_segment_that_is_gone_is_made_good_by_the_log(self, parts, keep):
        log = made_log(1)
        await keep(log)
        whole = log.state().items
        state = msgspec.structs.replace(log.state(), segments=("sha256:" + "0" * 64,), items=[])
        assert await checkpoint.load_items(parts, state) == whole != []


async def test_a_ledger_that_keeps_none_is_read_from_its_beginning(parts, keep):
    log = made_log(1)
    await keep(log)

    class Plain:
        def __init__(self, ledger):
            for name in ("claim", "append", "decide", "read", "heads", "waits", "version", "aclose"):
                setattr(self, name, getattr(ledger, name))

    parts.ledger = Plain(parts.ledger)
    await checkpoint.save_state(parts, log.state())
    assert (await checkpoint.load_state(parts, "s")).seq == len(log.records)
