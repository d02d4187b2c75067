"""A model that goes round in circles is told so, then stopped; one that learns is left alone."""

from __future__ import annotations

import pytest

from callslip import Runtime, ToolFailed, tool
from callslip.core.events.function_response import FunctionResponse
from callslip.core.message import ToolResults
from callslip.core.repeat import MORE
from callslip.providers.scripted import Scripted, calling
from callslip.runtime.parts import Data, Limits

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("ARGS-05")]

WRONG = ("add", {"a": "one", "b": 2})
RIGHT = ("add", {"a": 1, "b": 2})


async def responses(runtime, session="s"):
    log = await runtime.parts.ledger.read(session)
    return [one.record.event for one in log if isinstance(one.record.event, FunctionResponse)]


async def codes(runtime):
    return [one.error_code for one in await responses(runtime)]


def shown(model) -> str:
    """The latest result that the model was shown."""
    results = [one for one in model.requests[-1].messages if isinstance(one, ToolResults)]
    return results[-1].results[-1].content


class Lock:
    """A tool that fails until it is let in, and what opens it."""

    def __init__(self) -> None:
        self.open = False
        self.tried = 0

    def tools(self):
        @tool(risk="write")
        async def enter(door: str) -> str:
            """Enter."""
            self.tried += 1
            if not self.open:
                raise ToolFailed("The door is locked.", code="locked", effect="none")
            return "inside"

        @tool(risk="write")
        async def unlock(door: str) -> str:
            """Unlock."""
            self.open = True
            return "unlocked"

        @tool(risk="read")
        async def look(door: str) -> str:
            """Look."""
            return "It is locked."

        return [enter, unlock, look]


ENTER, UNLOCK, LOOK = (("enter", {"door": "1"}), ("unlock", {"door": "1"}), ("look", {"door": "1"}))


class TestFailures:
    @pytest.mark.parametrize(
        ("call", "code"),
        [(WRONG, "invalid_arguments"), (("nope", {}), "unknown_tool"), (("add", "{"), "truncated"), (ENTER, "locked")],
    )
    async def test_the_fourth_is_not_made_and_after_the_fifth_the_run_ends(self, world, call, code):
        lock = Lock()
        model = Scripted([calling(call)] * 10)
        async with Runtime(tools=[*world.tools(), *lock.tools()], model=model) as runtime:
            out = await runtime.run("Go", session="s")
            assert await codes(runtime) == [code] * 3 + ["loop"] * MORE
            assert (out.status, out.limit) == ("stopped", "loop")
            assert out.reason.startswith(
                f"the model made the same call in 5 steps, which failed in the same way ({code})"
            )
            assert lock.tried == (3 if call is ENTER else 0)
            assert f"failed in the same way each time ({code})" in (await responses(runtime))[3].error_message
            assert (await responses(runtime))[3].lane == "refused"
            again = await runtime.resume("s")
            assert again.limit == "loop"
            assert (await codes(runtime))[5:] == [code] * 3 + ["loop"] * MORE, "a resume lets it try again"

    async def test_the_model_is_told_its_fault_again(self, world):
        model = Scripted([*[calling(WRONG)] * 4, "I give up."])
        async with Runtime(tools=world.tools(), model=model) as runtime:
            out = await runtime.run("Go", session="s")
            assert (out.status, out.text) == ("finished", "I give up.")
            refused = (await responses(runtime))[-1]
            assert (refused.error_code, refused.status.value) == ("loop", "invalid_arguments")
            assert [error.field for error in refused.field_errors] == ["a"]
            assert "It still fails: " in refused.error_message
            assert '"error_code": "loop"' in shown(model)

    async def test_one_that_corrects_itself_is_left_alone(self, world):
        model = Scripted([*[calling(WRONG)] * 3, calling(RIGHT), calling(RIGHT), "ok"])
        async with Runtime(tools=world.tools(), model=model) as runtime:
            assert (await runtime.run("Go", session="s")).status == "finished"
            assert await codes(runtime) == ["invalid_arguments"] * 3 + [None] * 2

    async def test_what_the_gate_refused_is_judged_anew(self, world):
        @tool(risk="read", requires=("look",))
        async def describe(what: str) -> str:
            """Describe."""
            return what

        first = ("describe", {"what": "door"})
        model = Scripted([*[calling(first)] * 4, calling(LOOK), calling(first), "ok"])
        async with Runtime(tools=[describe, *Lock().tools()], model=model) as runtime:
            await runtime.run("Go", session="s")
            assert await codes(runtime) == ["call_first"] * 3 + ["loop", None, None]

    async def test_once_something_has_changed_it_may_be_tried_again(self, world):
        lock = Lock()
        model = Scripted([*[calling(ENTER)] * 4, calling(LOOK), calling(UNLOCK), calling(ENTER), "in"])
        async with Runtime(tools=lock.tools(), model=model) as runtime:
            await runtime.run("Go", session="s")
            assert await codes(runtime) == ["locked"] * 3 + ["loop", None, None, None]
        assert lock.tried == 4

    async def test_several_in_one_reply_count_once(self, world):
        lock = Lock()
        model = Scripted([calling(*[ENTER] * 6), calling(*[ENTER] * 6), calling(ENTER), calling(ENTER), "ok"])
        async with Runtime(tools=lock.tools(), model=model) as runtime:
            await runtime.run("Go", session="s")
            assert await codes(runtime) == ["locked"] * 13 + ["loop"]

    @pytest.mark.parametrize("spelled", [(1, "1", 1.0), ("1", 1, "1"), (1, 1.0, 1)])
    async def test_arguments_that_are_read_as_the_same_are_the_same(self, spelled):
        made = []

        @tool(risk="read")
        async def look(n: int, m: int = 0) -> str:
            """Look."""
            made.append(n)
            raise ToolFailed("There is none.", code="none")

        spellings = [{"n": one} for one in (*spelled, *spelled)]
        model = Scripted([calling(("look", one)) for one in spellings])
        async with Runtime(tools=[look], model=model) as runtime:
            out = await runtime.run("Go", session="s")
            answers = await responses(runtime)
            assert [one.error_code for one in answers] == ["none"] * 3 + ["loop"] * MORE
        assert (made, out.limit) == ([1, 1, 1], "loop")
        assert {one.same_as for one in answers[3:]} == {answers[2].call_id}

    async def test_a_default_that_is_given_is_another_call_than_one_that_is_left_out(self):
        """Nothing is filled in: what a default stands for is the function's own, and may change."""

        @tool(risk="read")
        async def look(n: int, m: int = 0) -> str:
            """Look."""
            raise ToolFailed("There is none.", code="none")

        model = Scripted([*[calling(("look", {"n": 1})), calling(("look", {"n": 1, "m": 0}))] * 3, "ok"])
        async with Runtime(tools=[look], model=model) as runtime:
            await runtime.run("Go", session="s")
            assert await codes(runtime) == ["none"] * 6

    async def test_people_are_not_asked_again_for_the_same_in_other_words(self, world):
        @tool(risk="dangerous")
        async def blow(n: int) -> str:
            """Blow."""
            return ""

        model = Scripted([*[calling(("blow", {"n": one})) for one in (1, "1", 1, "1")], "ok"])
        async with Runtime(tools=[blow], model=model) as runtime:
            out = await runtime.run("Go", session="s")
            while out.waits:
                await runtime.deny(out.waits[0].id, reason="no")
                out = await runtime.resume("s")
            assert await codes(runtime) == ["approval_denied"] * 3 + ["loop"]

    async def test_one_that_a_person_changed_is_not_the_models(self):
        @tool(risk="dangerous")
        async def blow(n: int) -> str:
            """Blow."""
            raise ToolFailed("No.", code="no")

        model = Scripted([*[calling(("blow", {"n": 1}))] * 3, calling(("blow", {"n": 2})), "ok"])
        async with Runtime(tools=[blow], model=model) as runtime:
            out = await runtime.run("Go", session="s")
            while out.waits:
                (wait,) = out.waits
                done = runtime.approve(wait.id) if wait.arguments == {"n": 2} else runtime.edit(wait.id, {"n": 2})
                await done
                out = await runtime.resume("s")
            assert await codes(runtime) == ["no"] * 4, "n=2 was never the model's until now"

    async def test_in_a_protected_log_too_and_for_the_next_process(self, tmp_path):
        @tool(risk="read")
        async def look(n: int) -> str:
            """Look."""
            raise ToolFailed("There is none.", code="none")

        replies = [*[calling(("look", {"n": one})) for one in (1, "1", 1, "1")], "ok"]
        made = {"tools": [look], "state": tmp_path / "s"}
        async with Runtime(model=Scripted(replies[:2]), **made) as one:
            one.configure(data=Data(encrypt=True))
            with pytest.raises(Exception, match="reply 3 was asked for"):
                await one.run("Go", session="s")
        async with Runtime(model=Scripted(replies), **made) as other:
            other.configure(data=Data(encrypt=True))
            await other.resume("s")
            assert await codes(other) == ["none"] * 3 + ["loop"]

    async def test_others_of_the_same_tool_are_made(self, world):
        other = ("enter", {"door": "2"})
        model = Scripted([*[calling(ENTER)] * 3, calling(ENTER, other), "ok"])
        async with Runtime(tools=Lock().tools(), model=model) as runtime:
            await runtime.run("Go", session="s")
            assert sorted((await codes(runtime))[3:]) == ["locked", "loop"]

    async def test_a_steer_lets_it_try_again(self, world):
        model = Scripted([*[calling(ENTER)] * 5, calling(ENTER), "ok"])
        lock = Lock()
        async with Runtime(tools=lock.tools(), model=model) as runtime:
            assert (await runtime.run("Go", session="s")).limit == "loop"
            await runtime.send("s", "It should be open now.", steer=True)
            await runtime.resume("s")
        assert lock.tried == 4

    async def test_people_are_not_asked_over_and_over(self, world):
        model = Scripted([*[calling(("explode", {}))] * 4, "ok"])
        async with Runtime(tools=world.tools(), model=model) as runtime:
            out = await runtime.run("Go", session="s")
            asked = 0
            while out.waits:
                asked += 1
                await runtime.deny(out.waits[0].id, reason="no")
                out = await runtime.resume("s")
            assert (asked, out.status) == (3, "finished")
            assert await codes(runtime) == ["approval_denied"] * 3 + ["loop"]

    async def test_it_is_a_setting(self, world):
        lock = Lock()
        model = Scripted([*[calling(ENTER)] * 6, "ok"])
        async with Runtime(tools=lock.tools(), model=model, limits=Limits(same_failures=0)) as runtime:
            assert (await runtime.run("Go", session="s")).status == "finished"
        assert lock.tried == 6

    async def test_it_is_remembered_by_the_next_process(self, world, tmp_path):
        replies = [*[calling(ENTER)] * 4, "ok"]
        lock = Lock()
        async with Runtime(tools=lock.tools(), model=Scripted(replies[:2]), state=tmp_path / "s") as one:
            with pytest.raises(Exception, match="reply 3 was asked for"):
                await one.run("Go", session="s")
        async with Runtime(tools=lock.tools(), model=Scripted(replies), state=tmp_path / "s") as other:
            await other.resume("s")
            assert (await codes(other))[-1] == "loop"
        assert lock.tried == 3


class TestResults:
    async def test_the_same_result_again_and_again(self, world):
        model = Scripted([calling(LOOK)] * 30)
        limits = Limits(same_results=6)
        async with Runtime(tools=Lock().tools(), model=model, limits=limits) as runtime:
            out = await runtime.run("Go", session="s")
            made = await responses(runtime)
            assert [one.repeated for one in made] == [0, 0, 3, 4, 5, 6, 0, 0]
            assert [one.error_code for one in made] == [None] * 6 + ["loop"] * 2
            assert (out.status, out.limit) == ("stopped", "loop")
            assert "gave the same result" in out.reason
        told = [one for one in model.requests[3].messages if isinstance(one, ToolResults)][-1].results[0].content
        assert told.startswith("It is locked.\n(This call has now given the same result 3 times in this turn.")

    async def test_a_result_that_changes_is_no_repetition(self, world):
        count = iter(range(100))

        @tool(risk="read")
        async def status() -> int:
            """Status."""
            return next(count)

        model = Scripted([*[calling(("status", {}))] * 20, "ok"])
        async with Runtime(tools=[status], model=model, limits=Limits(same_results=3)) as runtime:
            assert (await runtime.run("Go", session="s")).status == "finished"
            assert {one.repeated for one in await responses(runtime)} == {0}

    async def test_writing_in_between_makes_it_worth_looking_again(self, world):
        model = Scripted([*[calling(LOOK), calling(UNLOCK)] * 8, "ok"])
        async with Runtime(tools=Lock().tools(), model=model, limits=Limits(same_results=3)) as runtime:
            assert (await runtime.run("Go", session="s")).status == "finished"


async def test_a_dispatchers_failures_are_guarded_and_its_reads_are_not(world):
    lock = Lock()
    async with Runtime(tools=lock.tools(), limits=Limits(same_results=2)) as runtime:

        async def call(name, arguments, step):
            batch = await runtime.dispatch([{"name": name, "input": arguments}], session="s", step=step)
            return batch.results[0].error_code

        assert [await call(*ENTER, f"e{n}") for n in range(6)] == ["locked"] * 3 + ["loop"] * 3
        assert [await call(*LOOK, f"l{n}") for n in range(6)] == [None] * 6
