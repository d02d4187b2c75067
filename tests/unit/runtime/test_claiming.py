"""Calls that want the same take turns, and whoever is told to end waits in no line."""

import asyncio
import contextlib

import pytest

from callslip import Runtime, tool
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.ports.authority import Capacity, Holder
from callslip.ports.model import Proposal, Reply
from callslip.providers.scripted import Scripted
from callslip.runtime.live import Waiting

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("PARA-02", "PARA-03")]


class Bench:
    """A tool that works until it is let go, and what happened in which order."""

    def __init__(self):
        self.order = []
        self.go = asyncio.Event()
        self.gates = {}
        self.begun = asyncio.Event()
        self.watched = []
        bench = self

        @tool(risk="write", claims=["file:{path}"])
        async def edit(path: str, n: int) -> int:
            """Edit a file."""
            bench.order.append(f"begin {n}")
            bench.begun.set()
            await bench.gates.get(n, bench.go).wait()
            bench.order.append(f"end {n}")
            return n

        @tool(risk="read", claims=["slot:few"])
        async def ask(n: int) -> int:
            """Ask a service that takes few calls."""
            bench.order.append(f"begin {n}")
            await bench.go.wait()
            return n

        self.edit, self.ask = edit, ask

    def runtime(self, state=None, **settings):
        return Runtime(tools=[self.edit, self.ask], state=state, watch=self.watched.append, **settings)


def edit(n, path="a.txt"):
    return Proposal(tool="edit", arguments={"path": path, "n": n})


async def until(wanted):
    for _ in range(500):
        if wanted():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came to that")


async def events(runtime, kind, session="s"):
    found = [one.record.event for one in await runtime.parts.ledger.read(session)]
    return [event for event in found if isinstance(event, kind)]


@pytest.fixture
def bench():
    return Bench()


async def test_two_sessions_take_turns_and_the_log_says_who_waited_for_whom(bench):
    async with bench.runtime() as rt:
        first = asyncio.ensure_future(rt.dispatch([edit(1)], session="one", step="1"))
        await bench.begun.wait()
        second = asyncio.ensure_future(rt.dispatch([edit(2, "./a.txt")], session="two", step="1"))
        await until(lambda: any(isinstance(one, Waiting) for one in bench.watched))
        bench.go.set()
        await asyncio.gather(first, second)
        assert bench.order == ["begin 1", "end 1", "begin 2", "end 2"]
        (held,), (waited,) = [await events(rt, ToolDispatch, name) for name in ("one", "two")]
        assert (held.waited_ms, held.waited_for) == (0, ())
        assert waited.waited_ms > 0
        assert waited.waited_for == (held.call_id,)
        assert waited.claims == ("file:./a.txt",)
        assert rt.parts.authority.standing() == []
    (told,) = [one for one in bench.watched if isinstance(one, Waiting)]
    assert told.reason == "edit waits for edit of session one"


@pytest.mark.parametrize("where", [None, "state"], ids=["in memory", "shared"])
async def test_a_claim_that_outlives_its_call_is_told_when_the_runtime_is_closed(bench, tmp_path, where):
    rt = bench.runtime(None if where is None else tmp_path / where)
    holder = Holder(session="s", call_id="call_1", tool="edit")
    async with contextlib.AsyncExitStack() as stack:
        claim = rt.parts.claim("desk")
        await stack.enter_async_context(rt.parts.authority.holding([claim], holder, lambda before: None))
        with pytest.warns(ResourceWarning, match=r"still held what they had claimed: call_1 \(edit\)"):
            await rt.aclose()


async def test_two_processes_take_turns(bench, tmp_path):
    other = Bench()
    other.go.set()
    async with bench.runtime(tmp_path / "state") as one, other.runtime(tmp_path / "state") as two:
        first = asyncio.ensure_future(one.dispatch([edit(1)], session="one", step="1"))
        await bench.begun.wait()
        second = asyncio.ensure_future(two.dispatch([edit(2)], session="two", step="1"))
        await until(lambda: len(one.parts.authority.standing()) == 2)
        assert other.order == []
        bench.go.set()
        await asyncio.gather(first, second)
        assert other.order == ["begin 2", "end 2"]
        assert two.parts.authority.standing() == []


@pytest.mark.requirement("PARA-05")
async def test_a_stop_ends_the_waiting_and_the_call_never_starts(bench):
    async with bench.runtime() as rt:
        first = asyncio.ensure_future(rt.dispatch([edit(1)], session="one", step="1"))
        await bench.begun.wait()
        second = asyncio.ensure_future(rt.dispatch([edit(2)], session="two", step="1"))
        await until(lambda: len(rt.parts.authority.standing()) == 2)
        await rt.stop("two")
        (result,) = (await second).results
        assert result.error_code == "cancelled"
        assert await events(rt, ToolDispatch, "two") == []
        assert len(rt.parts.authority.standing()) == 1
        bench.go.set()
        await first
    assert bench.order == ["begin 1", "end 1"]


@pytest.mark.requirement("PARA-05")
async def test_a_pausing_run_leaves_the_call_to_the_next_one(bench, tmp_path):
    reply = Reply(text="", proposals=(edit(2),), finish="calls")
    async with bench.runtime(tmp_path / "state", model=Scripted([reply, "Done."])) as rt:
        first = asyncio.ensure_future(rt.dispatch([edit(1)], session="one", step="1"))
        await bench.begun.wait()
        run = asyncio.ensure_future(rt.run("Edit.", session="two"))
        await until(lambda: len(rt.parts.authority.standing()) == 2)
        rt.pause("two")
        assert (await run).status == "stopped"
        assert await events(rt, ToolDispatch, "two") == []
        assert await events(rt, FunctionResponse, "two") == []
        bench.go.set()
        await first
        assert (await rt.resume("two")).text == "Done."
        assert [one.status for one in await events(rt, RunEnded, "two")] == ["stopped", "finished"]
    assert bench.order == ["begin 1", "end 1", "begin 2", "end 2"]


@pytest.mark.requirement("PARA-04")
async def test_who_has_waited_is_judged_again(bench):
    said = {"decision": "allow"}

    class Policy:
        def decide(self, request):
            from callslip.ports.policy import Verdict

            return Verdict(decision=said["decision"], rules=("r",), reason="today")

    async with bench.runtime(policy=Policy()) as rt:
        first = asyncio.ensure_future(rt.dispatch([edit(1)], session="one", step="1"))
        await bench.begun.wait()
        second = asyncio.ensure_future(rt.dispatch([edit(2)], session="two", step="1"))
        await until(lambda: len(rt.parts.authority.standing()) == 2)
        said["decision"] = "deny"
        bench.go.set()
        await first
        (result,) = (await second).results
        assert result.status.value == "permission_denied"
    assert bench.order == ["begin 1", "end 1"]


@pytest.mark.parametrize("capacities", [{"few": Capacity(at_once=2)}, {"tool.ask": Capacity(at_once=2)}])
async def test_only_so_many_at_once(bench, capacities):
    async with bench.runtime(capacities=capacities) as rt:
        calls = [Proposal(tool="ask", arguments={"n": n}) for n in range(5)]
        batch = asyncio.ensure_future(rt.dispatch(calls, session="s", step="1"))
        await until(lambda: len(rt.parts.authority.standing()) == 5)
        for _ in range(5):
            await asyncio.sleep(0)
        assert bench.order == ["begin 0", "begin 1"]
        bench.go.set()
        assert [one.result.structured for one in (await batch).results] == [0, 1, 2, 3, 4]
    assert bench.order == [f"begin {n}" for n in range(5)]


async def test_a_service_without_limits_takes_all(bench):
    bench.go.set()
    async with bench.runtime() as rt:
        calls = [Proposal(tool="ask", arguments={"n": n}) for n in range(5)]
        assert len((await rt.dispatch(calls, session="s", step="1")).results) == 5


class SlowBlobs:
    """A store whose answers take a while."""

    def __init__(self, blobs):
        self._blobs = blobs

    def __getattr__(self, name):
        return getattr(self._blobs, name)

    def of(self, session):
        return SlowBlobs(self._blobs.of(session))

    async def get(self, address):
        await asyncio.sleep(0.05)
        return await self._blobs.get(address)


@pytest.mark.requirement("PARA-04")
async def test_the_models_order_holds_however_long_each_is_judged():
    order = []

    @tool(risk="write", claims=["file:{path}"])
    async def put(path: str, text: str) -> int:
        """Write a file."""
        order.append(len(text))
        return len(text)

    async with Runtime(tools=[put]) as rt:
        rt.parts.blobs = SlowBlobs(rt.parts.blobs)
        large, small = ({"path": "a", "text": "x" * size} for size in (100_000, 1))
        calls = [Proposal(tool="put", arguments=given) for given in (large, small)]
        await rt.dispatch(calls, session="s", step="1")
        assert order == [100_000, 1]
        first, second = await events(rt, ToolDispatch)
    assert (first.attempt, second.attempt) == (1, 1)


@pytest.mark.requirement("PARA-05")
async def test_a_path_that_leads_elsewhere_meanwhile_is_claimed_anew(bench, tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "link").symlink_to("a.txt")
    async with bench.runtime(workspace=tmp_path) as rt:
        first = asyncio.ensure_future(rt.dispatch([edit(1, "a.txt")], session="one", step="1"))
        await bench.begun.wait()
        bench.begun.clear()
        bench.gates[2] = asyncio.Event()
        second = asyncio.ensure_future(rt.dispatch([edit(2, "b.txt")], session="two", step="1"))
        await bench.begun.wait()
        linked = asyncio.ensure_future(rt.dispatch([edit(3, "link")], session="three", step="1"))
        await until(lambda: len(rt.parts.authority.standing()) == 3)
        (tmp_path / "link").unlink()
        (tmp_path / "link").symlink_to("b.txt")
        bench.go.set()
        await first
        await until(lambda: sum(one.granted for one in rt.parts.authority.standing()) == 1)
        for _ in range(20):
            await asyncio.sleep(0)
        assert "begin 3" not in bench.order
        bench.gates[2].set()
        await asyncio.gather(second, linked)
    assert bench.order[-3:] == ["end 2", "begin 3", "end 3"]
