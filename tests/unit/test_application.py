"""The model of a runtime, changed while it is open."""

from __future__ import annotations

import asyncio

import pytest

from callslip import Runtime, tool
from callslip.core.message import AssistantReply, ToolResults, UserText
from callslip.errors import ConfigError
from callslip.providers.scripted import Scripted, calling

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("WIRE-01")]


class Closing(Scripted):
    """Counts how often it is closed."""

    closed = 0
    fails = False

    async def aclose(self):
        self.closed += 1
        if self.fails:
            raise OSError("the connection was gone")


class Gated(Scripted):
    """Answers once it may."""

    def __init__(self, replies, name):
        super().__init__(replies, name)
        self.asked, self.go = asyncio.Event(), asyncio.Event()

    async def reply(self, request, on_delta=None):
        self.asked.set()
        await self.go.wait()
        return await super().reply(request, on_delta)


@tool(risk="read")
def price(item: str) -> int:
    """Get a price."""
    return 250


async def test_the_next_run_asks_the_other_one_and_it_reads_all_that_was_said():
    first = Scripted([calling(("price", {"item": "tea"})), "2.50"], "openai:a")
    second = Scripted([], "anthropic:b")
    second._replies = ("",) * 2 + ("Still 2.50.",)  # a script counts the replies of the whole history
    async with Runtime(tools=[price], model=first) as runtime:
        await runtime.run("What is tea?", session="s")
        runtime.use_model(second)
        assert (await runtime.run("And now?", session="s")).text == "Still 2.50."
        assert runtime.settings.model is second
    assert len(first.requests) == 2
    kinds = [type(message) for message in second.requests[0].messages]
    assert kinds == [UserText, AssistantReply, ToolResults, AssistantReply, UserText]


async def test_a_run_that_is_under_way_keeps_its_model():
    first, second = Gated(["from the first"], "openai:a"), Scripted(["", "from the second"], "anthropic:b")
    async with Runtime(model=first) as runtime:
        running = asyncio.ensure_future(runtime.run("hi", session="s"))
        await first.asked.wait()
        runtime.use_model(second)
        first.go.set()
        assert (await running).text == "from the first"
        assert (await runtime.run("again", session="s")).text == "from the second"


async def test_a_turn_that_was_paused_goes_on_with_the_other_one():
    first, second = Gated(["never said"], "openai:a"), Scripted(["from the second"], "anthropic:b")
    async with Runtime(model=first) as runtime:
        running = asyncio.ensure_future(runtime.run("hi", session="s"))
        await first.asked.wait()
        runtime.pause("s")
        assert (await running).status == "stopped"
        runtime.use_model(second)
        assert (await runtime.resume("s")).text == "from the second"


async def test_all_of_them_are_closed_with_the_runtime_each_once():
    models = [Closing(["x"], f"openai:{name}") for name in "abc"]
    models[0].fails = True  # which must leave none of the others open
    runtime = Runtime(model=models[0])
    await runtime.run("hi", session="s")
    for model in (*models[1:], models[0], models[2]):
        runtime.use_model(model)
    assert [model.closed for model in models] == [0, 0, 0]
    with pytest.raises(OSError, match="the connection was gone"):
        await runtime.aclose()
    assert [model.closed for model in models] == [1, 1, 1]
    await runtime.aclose()
    assert [model.closed for model in models] == [1, 1, 1]


async def test_by_its_name_with_its_server():
    async with Runtime(model="openai:a") as runtime:
        assert await runtime.sessions() == []  # it is open
        runtime.use_model("anthropic:b", base_url="http://127.0.0.1:1")
        assert runtime.settings.model.name == "anthropic:b"


@pytest.mark.parametrize("name", ["nobody:x", "openai", "", "openai:"])
async def test_a_name_that_means_nothing_changes_nothing(name):
    model = Closing(["still here"], "openai:a")
    async with Runtime(model=model) as runtime:
        with pytest.raises(ConfigError, match=r"can't be built|is empty"):
            runtime.use_model(name)
        assert (await runtime.run("hi", session="s")).text == "still here"
    assert model.closed == 1


async def test_before_the_first_use_it_is_the_models_place_as_well():
    async with Runtime() as runtime:
        runtime.use_model(Scripted(["here"]))
        assert (await runtime.run("hi", session="s")).text == "here"
