"""PARA-04: who comes to the line, in the model's order."""

import asyncio

import pytest

from callslip.runtime.order import Order

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("PARA-04")]


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_later_call_waits_until_every_earlier_one_has_come():
    order, told = Order(), []
    for place, name in enumerate("abc"):
        order.comes(name, place)

    async def late():
        await order.earlier("c")
        told.append("c")

    task = asyncio.ensure_future(late())
    await settle()
    order.came("b")
    await settle()
    assert told == []
    order.came("a")
    await task
    assert told == ["c"]


async def test_the_first_one_and_strangers_wait_for_nobody():
    order = Order()
    order.comes("a", 0)
    order.comes("b", 1)
    await order.earlier("a")
    await order.earlier("stranger")
    order.came("nobody")


async def test_giving_up_holds_nobody_up():
    order = Order()
    for place, name in enumerate("abc"):
        order.comes(name, place)
    waiting = [asyncio.ensure_future(order.earlier(name)) for name in "bc"]
    await settle()
    waiting[0].cancel()
    await settle()
    order.came("b")
    order.came("a")
    await waiting[1]
