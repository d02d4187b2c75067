"""A runtime with tools whose every run is counted."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from callslip import Context, Runtime, ToolFailed, tool


class World:
    """What the tools did: how often each effect happened, and the order of things."""

    def __init__(self) -> None:
        self.effects: Counter[str] = Counter()
        self.keys: list[str] = []
        self.order: list[str] = []
        self.happened: dict[str, object] = {}
        self.gate = asyncio.Event()

    def tools(self):
        world = self

        @tool(risk="read")
        async def add(a: int, b: int) -> int:
            """Add two numbers."""
            world.effects["add"] += 1
            return a + b

        @tool(risk="write", recovery="idempotent", local_effect=True)
        async def put(text: str, context: Context) -> str:
            """Put a text away. It fails until it has been tried as often as the text says."""
            world.effects["put"] += 1
            world.keys.append(context.idempotency_key)
            if text.startswith("fail") and context.attempt < int(text[4:]):
                raise ValueError("not this time: /srv/secret/path token=abc")
            return f"{text}@{context.attempt}"

        @tool(risk="write", recovery="never")
        async def pay(cents: int) -> str:
            """Pay."""
            world.effects["pay"] += 1
            if cents == 13:
                raise RuntimeError("connection to bank.internal lost")
            if cents == 14:
                raise ToolFailed("Not enough money.", code="no_money")
            if cents == 15:
                raise ToolFailed("Paid, but the receipt is lost.", code="no_receipt", effect="done")
            return f"paid {cents}"

        @tool(risk="dangerous")
        async def explode() -> str:
            """Explode."""
            world.effects["explode"] += 1
            return "boom"

        @tool(risk="read")
        async def slow(name: str) -> str:
            """Take a while."""
            world.order.append(f"begin {name}")
            await world.gate.wait()
            world.order.append(f"end {name}")
            return name

        @tool(risk="write", recovery="never", client_owned=True)
        async def ask_client(question: str) -> str:
            """Ask the client."""
            raise AssertionError("a client's tool never runs here")

        return [add, put, pay, explode, slow, ask_client]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
async def runtime(world):
    async with Runtime(tools=world.tools()) as made:
        made.parts.draw = lambda: 0.0  # what is tried again is so at once
        yield made
