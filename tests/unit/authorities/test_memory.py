"""The line of one process: cancellations, endings, and what is left afterwards (PARA-02, PARA-04)."""

import asyncio
import contextlib

import pytest

from callslip.authorities.memory import MemoryAuthority
from callslip.authorities.resources import Resources
from callslip.errors import LedgerUnavailable
from callslip.ports.authority import Capacity, Grant, Holder

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("PARA-02", "PARA-04")]

ME = Holder(session="s", call_id="c", tool="t")


def ignore(_):
    pass


@pytest.fixture
def claims(tmp_path):
    resources = Resources(tmp_path)
    return lambda *texts: [resources.claim(text) for text in texts]


def left(authority):
    return [
        authority.standing(), dict(authority._ids), dict(authority._above), dict(authority._woken), authority._timer,
    ]  # fmt: skip


NOTHING = [[], {}, {}, {}, None]


async def steps(count):
    for _ in range(count):
        await asyncio.sleep(0)


async def test_nothing_claimed_is_nothing_held(claims):
    authority = MemoryAuthority()
    async with authority.holding([], ME, ignore) as grant:
        assert grant == Grant(waited=False)
        assert authority.standing() == []


@pytest.mark.parametrize("after", range(8))
@pytest.mark.parametrize("leaves_at", range(4))
async def test_a_cancellation_at_whatever_step_leaves_nothing(claims, after, leaves_at):
    authority = MemoryAuthority({"one": Capacity(at_once=1)})
    wanted = claims("file:a", "slot:one")

    async def call(go):
        async with authority.holding(wanted, ME, ignore):
            await go.wait()

    goes = [asyncio.Event() for _ in range(3)]
    tasks = [asyncio.create_task(call(go)) for go in goes]
    await steps(leaves_at)
    goes[0].set()
    await steps(after)
    tasks[1].cancel()
    goes[2].set()
    await asyncio.wait_for(tasks[2], 60)
    await asyncio.gather(*tasks, return_exceptions=True)
    assert left(authority) == NOTHING


async def test_whoever_fails_while_it_holds_or_is_told_gives_back(claims):
    authority = MemoryAuthority()

    def fail(_):
        raise ValueError("told")

    with pytest.raises(ValueError, match="held"):
        async with authority.holding(claims("file:a"), ME, ignore):
            with pytest.raises(ValueError, match="told"):
                async with authority.holding(claims("file:a"), ME, fail):
                    pass
            raise ValueError("held")
    assert left(authority) == NOTHING


async def test_a_timer_does_not_outlive_the_one_that_waits(claims):
    authority = MemoryAuthority({"rare": Capacity(calls=1, per=1000.0)})

    async def call():
        async with authority.holding(claims("slot:rare"), ME, ignore):
            pass

    await call()
    waits = asyncio.create_task(call())
    await steps(3)
    assert authority._timer is not None
    waits.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await waits
    assert left(authority) == NOTHING


async def test_whoever_waits_when_it_closes_is_told(claims):
    authority = MemoryAuthority()
    async with authority.holding(claims("file:a"), ME, ignore):

        async def call():
            async with authority.holding(claims("file:a"), ME, ignore):
                pytest.fail("never granted")

        waits = asyncio.create_task(call())
        await steps(3)
        authority.close()
        with pytest.raises(LedgerUnavailable, match="being closed"):
            await waits
    assert left(authority) == NOTHING


async def test_one_that_claims_the_same_thing_twice_does_not_wait_for_itself(claims):
    authority = MemoryAuthority()
    async with authority.holding(
        claims("file:a", "read file:a", "tree:.", "browser", "read browser"), ME, ignore
    ) as grant:
        assert not grant.waited
    assert left(authority) == NOTHING


async def test_who_held_it_is_told_once(claims):
    authority = MemoryAuthority()
    told = []

    async def call():
        async with authority.holding(claims("file:a"), ME, told.append) as grant:
            return grant

    first = Holder(session="s", call_id="first", tool="t")
    async with authority.holding(claims("file:a"), first, ignore):
        waits = asyncio.create_task(call())
        await steps(3)
        assert told == [(first,)]
    assert await waits == Grant(waited=True, waited_for=(first,))
    assert told == [(first,)]
