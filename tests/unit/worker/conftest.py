"""Runtimes of several processes over one state folder, and a worker among them."""

from __future__ import annotations

import asyncio
import os
from collections import Counter

import pytest

from callslip import Runtime, tool
from callslip.ledgers import owner_lock
from callslip.runtime.parts import Limits


class World:
    """What the tools did."""

    def __init__(self) -> None:
        self.effects: Counter[str] = Counter()
        self.gate = asyncio.Event()
        self.begun = asyncio.Event()

    def tools(self):
        world = self

        @tool(risk="write", recovery="never", client_owned=True)
        async def ask_client(question: str) -> str:
            """Ask the client."""
            raise AssertionError("a client's tool never runs here")

        @tool(risk="write", recovery="idempotent", local_effect=True)
        async def put(text: str) -> str:
            """Put a text away."""
            world.effects["put"] += 1
            return text

        @tool(risk="write", recovery="idempotent", quiet=60)
        async def send(text: str) -> str:
            """Send a text far away."""
            world.effects["send"] += 1
            return text

        @tool(risk="read")
        async def slow(name: str) -> str:
            """Take a while."""
            world.effects[f"slow {name}"] += 1
            world.begun.set()
            await world.gate.wait()
            return name

        @tool(risk="write", recovery="never")
        async def lose() -> str:
            """Pay, and lose the answer."""
            world.effects["lose"] += 1
            raise ConnectionError("the line is dead")

        return [ask_client, put, send, slow, lose]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
async def process(tmp_path, world, monkeypatch):
    """Make a runtime that stands for a process of its own: another owner, the same state folder."""
    made = []
    monkeypatch.setattr(owner_lock, "descendants", lambda owner: [])

    def start(model=None, **changed) -> Runtime:
        runtime = Runtime(
            tools=world.tools(),
            model=model,
            state=tmp_path / "state",
            **({"limits": Limits(poll=0.01, grace=0.05)} | changed),
        )
        made.append(runtime)
        return runtime

    yield start
    for runtime in made:
        await runtime.aclose()
    assert owner_lock.MARK not in os.environ


@pytest.fixture
def die():
    """End a process as ``kill -9`` does: its lock becomes free, and nothing is written any more."""

    def kill(runtime) -> None:
        runtime._sessions.held.clear()
        runtime._sessions.active.clear()
        runtime.parts.owners.close()

    return kill
