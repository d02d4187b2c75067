"""Who takes a session of this process, and who waits for whom. Deterministic: each await is let go of by hand."""

from __future__ import annotations

import asyncio

import pytest

from callslip.errors import Busy, UsageError
from callslip.sessions.holding import Holding

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("LEDG-03")]


class Drive:
    def __init__(self, session):
        self.session = session
        self.trails = []
        self.paused = False
        self.refreshing, self.ending = Gate(), Gate()

    async def refresh(self):
        await self.refreshing.passed()

    async def end_idle(self):
        await self.ending.passed()

    def pause(self):
        self.paused = True


class Gate:
    """Open unless it is shut."""

    def __init__(self):
        self._open = asyncio.Event()
        self._open.set()
        self.reached = asyncio.Event()
        self.error = None

    async def passed(self):
        self.reached.set()
        await self._open.wait()
        if self.error is not None:
            raise self.error

    def shut(self):
        self._open.clear()
        self.reached.clear()

    def let(self):
        self._open.set()


@pytest.fixture
async def taking():
    return Gate()


@pytest.fixture
def taken():
    return []


@pytest.fixture
async def holding(taking, taken):
    async def take(session, others, create):
        taken.append((session, others, create))
        await taking.passed()
        return Drive(session)

    return Holding(take)


async def test_two_dispatches_that_come_at_once_share_what_one_of_them_takes(holding, taking, taken):
    taking.shut()
    both = [asyncio.ensure_future(holding.hold("s")) for _ in range(3)]
    await taking.reached.wait()
    taking.let()
    one, other, third = await asyncio.gather(*both)
    assert one is other is third
    assert (one.users, taken) == (3, [("s", frozenset(), True)])


async def test_nobody_lets_go_of_what_a_dispatch_is_about_to_use(holding):
    held = await holding.hold("s")
    await holding.leave(held)
    held.drive.refreshing.shut()
    second = asyncio.ensure_future(holding.hold("s"))
    await held.drive.refreshing.reached.wait()
    with pytest.raises(Busy):
        await holding.release("s")
    with pytest.raises(Busy):
        async with holding.driving("s", create=False):
            pass
    held.drive.refreshing.let()
    assert await second is held
    assert holding.active == {"s"}


async def test_who_comes_while_it_is_let_go_of_waits_and_takes_it_anew(holding, taken):
    held = await holding.hold("s")
    await holding.leave(held)
    held.drive.ending.shut()
    releasing = asyncio.ensure_future(holding.release("s"))
    await held.drive.ending.reached.wait()
    second = asyncio.ensure_future(holding.hold("s"))
    await asyncio.sleep(0)
    assert len(taken) == 1
    held.drive.ending.let()
    assert await releasing
    assert await second is not held
    assert taken == [("s", frozenset(), True)] * 2


async def test_a_broken_one_is_let_go_of_by_the_last_and_by_nobody_else(holding, taken):
    first, second = await holding.hold("s"), await holding.hold("s")
    assert first is second
    first.broken = True
    await holding.leave(first)
    with pytest.raises(Busy, match="could not be written to"):
        await holding.hold("s")
    await holding.leave(second)
    assert (holding.held, holding.active) == ({}, set())
    fresh = await holding.hold("s")
    first.users = 1
    await holding.leave(first)  # says nothing of the one that came after it
    assert holding.held == {"s": fresh}
    assert holding.active == {"s"}


async def test_one_that_could_not_be_read_again_is_left(holding):
    held = await holding.hold("s")
    held.drive.refreshing.error = RuntimeError("no disk")
    with pytest.raises(RuntimeError):
        await holding.hold("s")
    assert held.users == 1


async def test_what_could_not_be_taken_is_not_this_processs(holding, taking):
    taking.error = Busy("another process has it")
    for take in (holding.hold("s"), holding.driving("s", create=True).__aenter__()):
        with pytest.raises(Busy):
            await take
    assert (holding.held, holding.driven, holding.active) == ({}, {}, set())


async def test_driving_lets_go_of_what_was_held_and_of_what_it_drove(holding):
    held = await holding.hold("s")
    await holding.leave(held)
    async with holding.driving("s", create=False) as drive:
        assert drive is not held.drive
        assert (holding.held, list(holding.driven), holding.active) == ({}, ["s"], {"s"})
    assert (holding.driven, holding.active) == ({}, set())


@pytest.mark.parametrize("drives", [True, False])
async def test_what_is_being_taken_while_all_is_closed_begins_nothing_and_is_waited_for(holding, taking, drives):
    taking.shut()
    take = holding.driving("s", create=True).__aenter__() if drives else holding.hold("s")
    late = asyncio.ensure_future(take)
    await taking.reached.wait()
    closing = asyncio.ensure_future(holding.settled())
    await asyncio.sleep(0)
    assert not closing.done()
    with pytest.raises(UsageError, match="being closed"):
        await holding.hold("other")
    taking.let()
    with pytest.raises(UsageError, match="Nothing was executed"):
        await late
    assert await closing is not drives
    assert (holding.held, holding.driven, holding.active) == ({}, {}, set())
    holding.opened()
    assert (await holding.hold("s")).users == 1


async def test_closing_pauses_what_is_under_way_and_waits_for_it(holding):
    held = await holding.hold("s")
    with holding.under_way():
        closing = asyncio.ensure_future(holding.settled())
        await asyncio.sleep(0)
        assert held.drive.paused
        await holding.leave(held)
        await asyncio.sleep(0)
        assert not closing.done()
    assert await closing
    assert holding.active == set()
