"""Taking a session over: only from an owner that has provably ended, and one taker at a time."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from callslip import Runtime
from callslip.core import fold
from callslip.core.events.run_started import RunStarted
from callslip.core.events.user_message import UserMessage
from callslip.errors import Busy, Fenced, Moved, NotFound, UsageError
from callslip.ledgers.owner_lock import SoleOwner
from callslip.ports.ledger import Owner
from callslip.ports.owners import Liveness
from callslip.ports.trust import Identity
from callslip.sessions.acquire import acquire
from callslip.testing.clock import FakeClock
from callslip.testing.log_builder import LogBuilder

pytestmark = pytest.mark.anyio


class Owners(SoleOwner):
    """Says of every other owner what the test says, once each; the last answer for ever."""

    def __init__(self, *answers: Liveness):
        super().__init__()
        self.answers = list(answers)

    def liveness(self, owner: Owner) -> Liveness:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


async def take(parts, **changed):
    return await acquire(parts, "s", **({"active": frozenset(), "requester": Identity(name="me", uid=7)} | changed))


@pytest.fixture
async def left(parts, keep):
    """A session whose last owner never ended its run."""
    log = LogBuilder().user("hello").step("t").dispatch()
    await keep(log)
    parts.clock = FakeClock(auto=10)
    return log


@pytest.mark.requirement("LEDG-03")
class TestOneOwner:
    async def test_a_live_owner_keeps_its_session(self, parts, left):
        parts.owners = Owners(Liveness.ALIVE)
        with pytest.raises(Busy, match=r"driven by process 1 right now. Nothing was written"):
            await take(parts)
        assert len(await parts.ledger.read("s")) == len(left.records)

    @pytest.mark.parametrize("how", [Liveness.LOCK_FREE, Liveness.REBOOTED, Liveness.ELSEWHERE])
    async def test_how_it_was_seen_to_have_ended_is_a_fact(self, parts, left, how):
        parts.owners = Owners(how)
        drive = await take(parts)
        event = (await parts.ledger.read("s"))[-1].record.event
        assert isinstance(event, RunStarted)
        assert (event.parent_ended, drive.epoch) == (how.value, 2)

    async def test_a_process_it_left_is_waited_for_and_then_said_to_run(self, parts, left):
        parts.owners = Owners(Liveness.STILL_RUNNING, Liveness.STILL_RUNNING, Liveness.LOCK_FREE)
        began = parts.clock.monotonic()
        await take(parts)
        assert parts.clock.monotonic() > began
        assert (await parts.ledger.read("s"))[-1].record.event.parent_ended == "lock_free"

    async def test_one_that_never_ends_is_not_waited_for_for_ever(self, parts, left):
        parts.owners = Owners(Liveness.STILL_RUNNING)
        drive = await take(parts)
        assert (await parts.ledger.read("s"))[-1].record.event.parent_ended == "still_running"
        assert parts.limits.grace <= parts.clock.monotonic() < 2 * parts.limits.grace
        assert drive.state.calls[left.call_id()].ended_seen_at is None

    async def test_the_owner_before_is_fenced(self, parts, left):
        parts.owners = Owners(Liveness.LOCK_FREE)
        old = fold.Draft(record=left.records[-1].record, text=left.texts[-1])
        await take(parts)
        with pytest.raises(Fenced, match="epoch 2 now, not 1"):
            await parts.ledger.append("s", [old], epoch=1)

    async def test_of_many_takers_at_one_instant_one_has_it(self, parts, left):
        class Slow:
            def __init__(self, ledger):
                self.ledger = ledger

            def __getattr__(self, name):
                return getattr(self.ledger, name)

            async def heads(self, session=None):
                found = await self.ledger.heads(session)
                await asyncio.sleep(0)
                return found

        ledger = Slow(parts.ledger)
        takers = [msgspec.structs.replace(parts, ledger=ledger, owners=Owners(Liveness.LOCK_FREE)) for _ in range(5)]
        for one in takers:  # each sees the others alive, and only the first owner dead
            one.owners.liveness = lambda owner: Liveness.LOCK_FREE if owner.id == "own" else Liveness.ALIVE
        taken = await asyncio.gather(*[take(one) for one in takers], return_exceptions=True)
        assert sorted(type(one).__name__ for one in taken) == ["Busy"] * 4 + ["Drive"]
        assert sum(isinstance(s.record.event, RunStarted) for s in await parts.ledger.read("s")) == 2


@pytest.mark.requirement("RECO-03")
class TestThePrefix:
    async def test_a_run_names_the_run_and_the_position_it_was_built_on(self, parts, left):
        parts.owners = Owners(Liveness.LOCK_FREE)
        drive = await take(parts)
        event = (await parts.ledger.read("s"))[-1].record.event
        assert (event.parent, event.anchor_seq, event.anchor_digest) == (
            "run1", len(left.records), left.records[-1].digest.hex(),
        )  # fmt: skip
        assert drive.state.run == drive.run != "run1"

    async def test_what_came_in_before_the_claim_is_part_of_it(self, parts, left):
        parts.owners = Owners(Liveness.LOCK_FREE)
        ledger, claim = parts.ledger, parts.ledger.claim

        async def claiming(*args, **how):
            text = fold.Record(at=1, by="x", epoch=0, event=UserMessage(text="late"), run="")
            made = fold.Draft(record=text, text=msgspec.json.encode(text))
            await ledger.decide("s", [made], expected=len(left.records))
            return await claim(*args, **how)

        ledger.claim = claiming
        drive = await take(parts)
        assert [message.text for message in drive.state.queued] == ["late"]
        assert (await ledger.read("s"))[-1].record.event.anchor_seq == len(left.records) + 1

    async def test_a_new_session_begins_with_its_beginning(self, parts):
        drive = await take(parts)
        kinds = [type(stored.record.event).__name__ for stored in await parts.ledger.read("s")]
        assert kinds == ["SessionStarted", "RunStarted"]
        assert (drive.epoch, drive.state.requester, drive.state.requester_uid) == (1, "me", 7)


async def test_there_must_be_one_to_go_on_with(parts):
    with pytest.raises(NotFound):
        await take(parts, create=False)
    assert await parts.ledger.heads() == []


async def test_a_session_that_many_want_is_given_up_after_a_while(parts, left):
    parts.owners = Owners(Liveness.LOCK_FREE)

    async def moved(*args, **how):
        raise Moved("somebody was quicker")

    parts.ledger.claim = moved
    with pytest.raises(Busy, match="Several processes want session 's' at once"):
        await take(parts)


async def test_a_name_that_could_mislead_is_refused(tmp_path):
    async with Runtime(state=tmp_path / "s") as runtime:
        with pytest.raises(UsageError, match="printable"):
            await runtime.dispatch([{"name": "x", "input": {}}], session="a\nb", step="1")
        assert await runtime.sessions() == []
