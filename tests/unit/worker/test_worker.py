"""A worker: which sessions it drives, when, and how it comes to an end."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3

import pytest

from callslip import worker as worker_module
from callslip.core.events.approval_expired import ApprovalExpired
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.model_replied import ModelReplied
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.run_started import RunStarted
from callslip.core.events.user_message import UserMessage
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.wait import WaitKind
from callslip.providers.scripted import Scripted, calling
from callslip.runtime.parts import Limits
from callslip.testing.clock import FakeClock
from callslip.testing.suites.ledger_drafts import ME, owned
from callslip.worker import Worker

pytestmark = pytest.mark.anyio

ASK = calling(("ask_client", {"question": "?"}))


async def once(runtime, told=None):
    """Let a worker do what there is to do."""
    tell = (lambda session, what: told.append((session, what))) if told is not None else None
    return await Worker(runtime, on_session=tell).serve(asyncio.Event(), once=True)


async def log(runtime, kind, session="s"):
    return [s.record.event for s in await runtime.parts.ledger.read(session) if isinstance(s.record.event, kind)]


async def until(condition):
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it never came")


@pytest.mark.requirement("RECO-02")
class TestWhichSessions:
    async def test_one_that_waits_is_left_alone_until_it_is_answered_elsewhere(self, process):
        first = process(Scripted([ASK, "Thank you."]))
        assert (await first.run("hello", session="s")).status == "waiting"
        told: list = []
        serving = process(Scripted([ASK, "Thank you."]))
        assert await once(serving, told) == 0
        outsider = process()
        (wait,) = await outsider.waits()
        await outsider.submit(wait.id, "yes")
        assert await once(serving, told) == 1
        assert told == [("s", "driving"), ("s", "finished")]
        assert (await outsider.state("s")).last_status == "finished"
        assert await once(serving, told) == 0

    async def test_a_message_wakes_a_finished_session(self, process):
        model = Scripted(["One.", "Two."])
        await process(model).run("first", session="s")
        await process().send("s", "second")
        assert await once(process(model)) == 1
        assert model.requests[-1].messages[-1].text == "second"

    async def test_a_session_left_by_a_dead_owner_goes_on(self, process, die, world):
        first = process(Scripted([calling(("slow", {"name": "x"}), ("put", {"text": "a"})), "done"]))
        running = asyncio.create_task(first.run("hello", session="s"))
        await until(lambda: world.begun.is_set() and world.effects["put"])
        serving = process(Scripted([ASK, "done"]))
        assert await once(serving) == 0  # its owner lives
        settled = first.parts.ledger.append

        async def dead(*args, **how):
            raise asyncio.CancelledError

        first.parts.ledger.append = dead
        die(first)
        world.gate.set()
        with pytest.raises(asyncio.CancelledError):
            await running
        first.parts.ledger.append = settled
        assert await once(serving) == 1
        (_, second) = await log(serving, RunStarted)
        assert second.parent_ended == "lock_free"
        responses = await log(serving, FunctionResponse)
        assert sorted((r.status.value, r.error_code) for r in responses) == [
            ("fatal_error", "interrupted"), ("success", None),
        ]  # fmt: skip
        assert world.effects == {"put": 1, "slow x": 1}

    async def test_a_session_is_driven_when_its_time_has_come_and_not_before(self, process, die, world):
        clock = FakeClock(auto=1)
        first = process(Scripted([calling(("send", {"text": "a"})), "done"]), clock=clock)
        append = first.parts.ledger.append

        async def failing(session, drafts, **how):
            if any(isinstance(draft.record.event, FunctionResponse) for draft in drafts):
                raise asyncio.CancelledError
            return await append(session, drafts, **how)

        first.parts.ledger.append = failing
        with pytest.raises(asyncio.CancelledError):
            await first.run("hello", session="s")
        die(first)
        serving = process(Scripted([calling(("send", {"text": "a"})), "done"]), clock=clock)
        assert await once(serving) == 1  # it sees that the old attempt may still arrive, and waits
        (wait,) = await serving.waits()
        assert (wait.kind, world.effects["send"]) == ("time", 1)
        clock.advance((wait.wake_at - clock.now()) / 1000 - 1)
        assert await once(serving) == 0
        clock.advance(1)
        assert await once(serving) == 1
        assert (await serving.state("s")).last_status == "finished"
        assert world.effects["send"] == 2
        assert await serving.waits() == []

    async def test_a_dispatchers_session_keeps_its_live_owner(self, process, die, world):
        first = process()
        await first.dispatch([{"name": "ask_client", "input": {"question": "?"}}], session="s", step="1")
        (wait,) = await first.waits()
        await process().submit(wait.id, "yes")
        serving = process(Scripted([]))
        assert await once(serving) == 0
        die(first)
        assert await once(serving) == 1

    async def test_a_woken_session_that_still_waits_is_driven_once(self, process):
        both = calling(("ask_client", {"question": "1?"}), ("ask_client", {"question": "2?"}))
        first = process(Scripted([both, "Thank you."]))
        await first.run("hello", session="s")
        one, two = await first.waits()
        told: list = []
        serving = process(Scripted([both, "Thank you."]))
        await first.submit(two.id, "yes")
        assert await once(serving, told) == 1
        assert await once(serving, told) == 0
        assert told == [("s", "driving"), ("s", "waiting")]
        (response,) = await log(first, FunctionResponse)
        assert response.call_id == two.call_id
        await first.submit(one.id, "yes")
        assert await once(serving, told) == 1
        assert told[-1] == ("s", "finished")

    async def test_an_answer_that_is_late_is_still_waited_for(self, process):
        """Only time passes by itself; what a wait for somebody else's word does when it is late is its own matter."""
        clock = FakeClock(auto=1)
        serving = process(Scripted([]), clock=clock)
        for kind in WaitKind:
            ledger, session = serving.parts.ledger, f"s-{kind}"
            await ledger.claim(session, ME, expected_epoch=0, at=1)
            late = WaitOpened(wait_id="w", kind=kind, reason="r", wake_at=clock.now() - 1)
            await ledger.append(session, owned(late, RunEnded(status="waiting")), epoch=1)
        working = Worker(serving)
        assert len(await ledger.heads(ready_at=clock.now())) == len(WaitKind)
        assert {head.session for head in await working._ready()} == {"s-time", "s-background"}

    async def test_a_question_that_nobody_answered_in_time_ends_and_its_session_goes_on(self, process, world):
        clock, limits = FakeClock(auto=1), Limits(poll=0.01, grace=0.05, approval_expires=3600)
        model = Scripted([calling(("put", {"text": "a"})), "Then not."])
        asking = process(model, clock=clock, limits=limits, policy={"write": "ask"})
        assert (await asking.run("hello", session="s")).reason == "approval"
        clock.advance(3599)
        assert await once(asking) == 0
        clock.advance(1)
        told: list = []
        assert await once(asking, told) == 1
        assert told == [("s", "driving"), ("s", "finished")]
        assert len(await log(asking, ApprovalExpired)) == 1
        assert world.effects == {}

    async def test_a_question_in_a_broken_log_does_not_end_the_worker(self, process, tmp_path):
        clock, limits = FakeClock(auto=1), Limits(poll=0.01, grace=0.05, approval_expires=3600)
        put = Scripted([calling(("put", {"text": "a"}))])
        await process(put, clock=clock, limits=limits, policy={"write": "ask"}).run("hello", session="broken")
        with contextlib.closing(sqlite3.connect(tmp_path / "state" / "ledger.db")) as connection, connection:
            connection.execute("update records set text = cast(text || ' ' as blob) where seq = 2")
        serving = process(Scripted(["One.", "Two."]), clock=clock)
        await serving.run("hello", session="s")
        await serving.send("s", "again")
        clock.advance(3600)
        told: list = []
        assert await once(serving, told) == 1
        assert told == [("s", "driving"), ("s", "finished")]

    async def test_a_run_that_failed_here_is_tried_again_after_its_pause(self, process):
        clock = FakeClock(auto=5)
        first = process(Scripted(["One."]), clock=clock)
        await first.run("hello", session="s")
        await first.send("s", "again")
        serving, told = process(Scripted([]), clock=clock), []
        working = Worker(serving, on_session=lambda session, what: told.append(what))
        assert await working.serve(asyncio.Event(), once=True) == 1
        (head,) = await first.sessions()
        assert (head.status, head.owner, head.woken) == ("failed", None, False)
        clock.advance(worker_module.BACK_OFF / 2)
        assert await working.serve(asyncio.Event(), once=True) == 1
        clock.advance(worker_module.BACK_OFF / 2)
        assert await working.serve(asyncio.Event(), once=True) == 2
        assert [what.split(":")[0] for what in told] == ["driving", "model_unavailable"] * 2

    async def test_one_that_failed_here_and_went_on_elsewhere_is_forgotten(self, process):
        clock = FakeClock(auto=5)
        first = process(Scripted(["One.", "Two."]), clock=clock)
        await first.run("hello", session="s")
        await first.send("s", "again")
        working = Worker(process(Scripted([]), clock=clock))
        assert await working.serve(asyncio.Event(), once=True) == 1
        assert (await first.resume("s")).status == "finished"
        clock.advance(worker_module.BACK_OFF)
        assert await working.serve(asyncio.Event(), once=True) == 1
        assert not working._failed

    async def test_what_only_waits_is_not_even_looked_at(self, process, monkeypatch):
        first = process(Scripted([ASK, "Thank you."]))
        await first.run("hello", session="s")
        serving = process(Scripted([]))
        rows: list = []
        for name in ("heads", "waits"):
            whole = getattr(serving.parts.ledger, name)

            async def counted(*asked, whole=whole, **narrowed):
                found = await whole(*asked, **narrowed)
                if "ready_at" in narrowed or "due_at" in narrowed:  # the audit follows in its own way
                    rows.extend(found)
                return found

            monkeypatch.setattr(serving.parts.ledger, name, counted)
        assert await once(serving) == 0
        assert rows == []


class TestHowItWorks:
    async def test_it_serves_until_it_is_told_to_stop(self, process):
        model = Scripted(["One.", "Two."])
        first = process(model)
        await first.run("hello", session="s")
        stop, told = asyncio.Event(), []
        serving = process(model)
        working = Worker(serving, on_session=lambda session, what: told.append(what))
        task = asyncio.create_task(working.serve(stop))
        await first.send("s", "again")
        await until(lambda: "finished" in told)
        assert not task.done()
        stop.set()
        assert await task == 1

    @pytest.mark.requirement("ORCH-04")
    async def test_it_drains_what_is_in_the_world_settles_and_nothing_new_begins(self, process, world):
        model = Scripted(["ok", calling(("slow", {"name": "x"}), ("slow", {"name": "y"})), "never asked"])
        first = process(model)
        await first.run("hello", session="s")
        await first.send("s", "again")
        stop, told = asyncio.Event(), []
        serving = process(model)
        working = Worker(serving, on_session=lambda session, what: told.append(what))
        task = asyncio.create_task(working.serve(stop))
        await until(lambda: world.effects["slow y"])
        stop.set()
        await asyncio.sleep(0.05)
        assert not task.done()
        world.gate.set()
        assert await task == 1
        assert told == ["driving", "stopped"]
        assert len(await log(first, FunctionResponse)) == 2
        assert len(model.requests) == 2
        assert (await first.state("s")).turn_open
        assert await once(process(Scripted([""] * 2 + ["done"]))) == 1, "the next worker goes on"
        assert (await first.sessions())[0].status == "finished"

    async def test_so_many_at_a_time(self, process, world):
        model = Scripted(["ok", calling(("slow", {"name": "x"})), "done"])
        first = process(model)
        for n in range(5):
            await first.run("hello", session=f"s{n}")
            await first.send(f"s{n}", "again")
        serving = process(model)
        most, driving = 0, set()

        def tell(session, what):
            nonlocal most
            driving.add(session) if what == "driving" else driving.discard(session)
            most = max(most, len(driving))
            if len(driving) == 2:
                world.gate.set()

        assert await Worker(serving, concurrency=2, on_session=tell).serve(asyncio.Event(), once=True) == 5
        assert most == 2
        assert {head.status for head in await first.sessions()} == {"finished"}

    async def test_a_session_that_fails_is_not_tried_again_at_once_unless_it_changed(self, process):
        clock = FakeClock(auto=5)
        first = process(Scripted(["One."]), clock=clock)
        await first.run("hello", session="s")
        await first.send("s", "again")
        told: list = []
        serving = process(Scripted([]), clock=clock)
        working = Worker(serving, on_session=lambda session, what: told.append(what))
        assert await working.serve(asyncio.Event(), once=True) == 1
        assert told[0] == "driving"
        assert told[1].startswith("model_unavailable: ")
        await first.send("s", "and again")
        assert await working.serve(asyncio.Event(), once=True) == 2  # something new: it may be otherwise now
        head = (await first.sessions())[0]
        assert working._backs_off(head)
        clock.advance(worker_module.BACK_OFF)
        assert working._backs_off(head)  # the second failure doubled the pause
        clock.advance(worker_module.BACK_OFF)
        assert not working._backs_off(head)

    async def test_of_two_workers_one_drives(self, process):
        model = Scripted(["One.", "Two."])
        first = process(model)
        await first.run("hello", session="s")
        await first.send("s", "again")
        drives = await asyncio.gather(*[once(process(model)) for _ in range(3)])
        assert sum(drives) >= 1
        assert len(model.requests) == 2
        assert len(await log(first, UserMessage)) == len(await log(first, ModelReplied)) == 2

    async def test_a_dead_owner_changes_nothing_and_is_found_all_the_same(self, process, die, monkeypatch):
        monkeypatch.setattr(worker_module, "SWEEP", 0.05)
        first = process()
        await first.dispatch([{"name": "ask_client", "input": {"question": "?"}}], session="s", step="1")
        stop, told = asyncio.Event(), []
        serving = process(Scripted([]))
        task = asyncio.create_task(Worker(serving, on_session=lambda session, what: told.append(what)).serve(stop))
        await asyncio.sleep(0.1)
        assert told == []
        die(first)
        await until(lambda: "waiting" in told)
        stop.set()
        await task


@pytest.mark.requirement("LEDG-08")
async def test_a_worker_erases_what_is_kept_no_longer_and_nothing_else(tmp_path):
    from callslip import Runtime
    from callslip.runtime.parts import Data

    clock = FakeClock(auto=1)
    days = 86_400
    data = Data(encrypt=True, keep_days=30)
    runtime = Runtime(model=Scripted(["One.", "Two."]), state=tmp_path / "s", clock=clock)
    runtime.configure(data=data)
    async with runtime:
        await runtime.run("a secret of old", session="old")
        clock.advance(20 * days)
        await runtime.run("a secret of late", session="late")
        clock.advance(11 * days)
        await once(runtime)
        said = {session: (await log(runtime, UserMessage, session))[0].text for session in ("old", "late")}
    assert said == {"old": "[erased]", "late": "a secret of late"}
