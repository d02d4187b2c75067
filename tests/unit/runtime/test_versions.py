"""Compare and swap on what is kept elsewhere: the version a call was made for is the one it changes, or it is not made."""

# ruff: noqa: A002 - arguments are named as services name them

from __future__ import annotations

import asyncio
import subprocess
import sys

import httpx2
import msgspec
import pytest
from approving import Rules, asked, events
from tickets import Tickets, change

from callslip import Conflict, Context, Runtime, ToolFailed, failpoint, tool
from callslip.core import approval
from callslip.core.breaker import BreakerRules
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.breaker_opened import BreakerOpened
from callslip.core.events.call_parked import CallParked
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.fault import one_request
from callslip.core.result import Effect, Status
from callslip.core.retry import Retry
from callslip.core.version import Version
from callslip.errors import ToolDefinitionError
from callslip.gate.catalogue import Catalogue
from callslip.runtime.parts import Limits
from callslip.testing.clock import FakeClock
from callslip.testing.fakes import FakeTool

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("PARA-02")]

SEVEN = "ticket:7"


@pytest.fixture
def service():
    with Tickets(t7=3, t8=3) as made:
        yield made


def runtime(service, *, clock=None, declared=None, **settings):
    tools = [service.tool(**(declared or {}))]
    return Runtime(tools=tools, clock=clock or FakeClock(auto=60), **settings)


async def dispatch(rt, call=None, session="s", step="1"):
    return (await rt.dispatch([call or change()], session=session, step=step)).results[0]


class TestOneCall:
    async def test_the_version_is_recorded_and_the_service_compares_it_as_well(self, service):
        async with runtime(service) as rt:
            outcome = await dispatch(rt, change(if_version=3))
            (t1,) = await events(rt, ToolDispatch)
        assert (outcome.status, outcome.result.structured) == (Status.SUCCESS, 4)
        assert t1.version == Version(of=SEVEN, value=3)
        assert service.asked == [("GET", "7", ""), ("PUT", "7", '"3"')]

    async def test_what_was_made_for_another_version_is_refused_before_anything_happens(self, service):
        async with runtime(service) as rt:
            outcome = await dispatch(rt, change(if_version=2))
            assert not await events(rt, ToolDispatch)
            (response,) = await events(rt, FunctionResponse)
        assert (response.lane, outcome.status, outcome.error_code) == (
            "refused",
            Status.FATAL_ERROR,
            "version_conflict",
        )
        assert (outcome.effect, outcome.retryable, outcome.layer) == (Effect.NONE, False, "tool")
        assert outcome.error_message == (
            "ticket:7 has version 3 now, and this call was made for version 2. Nothing was executed. "
            "Read it again and decide anew."
        )
        assert service.changes() == []

    @pytest.mark.parametrize("given", [{}, {"if_version": None}])
    async def test_who_names_no_version_changes_the_one_there_is(self, service, given):
        async with runtime(service) as rt:
            assert (await dispatch(rt, change(**given))).ok
        assert service.changes() == [("7", '"3"')]

    async def test_where_there_is_nothing_yet_nothing_is_what_it_is_made_for(self, service):
        async with runtime(service) as rt:
            outcome = await dispatch(rt, change(id="9"))
            (t1,) = await events(rt, ToolDispatch)
            late = await dispatch(rt, change(id="10", if_version=1), step="2")
        assert (outcome.result.structured, t1.version) == (1, Version(of="ticket:9", value=None))
        assert service.changes() == [("9", "*")]
        assert late.error_message.startswith("ticket:10 is not there, and this call was made for version 1. ")

    async def test_a_tool_without_versions_has_none_and_is_asked_for_none(self, service):
        seen = []

        @tool(risk="write")
        async def note(context: Context) -> None:
            """Note."""
            seen.append(context.version)

        async with Runtime(tools=[note]) as rt:
            await dispatch(rt, {"name": "note", "arguments": {}})
            (t1,) = await events(rt, ToolDispatch)
        assert (seen, t1.version) == ([None], None)

    async def test_an_executor_that_can_not_say_a_version_is_not_bound(self):
        with pytest.raises(ToolDefinitionError, match="can't say which"):
            Catalogue([FakeTool("set", versioned=True, claims=("a",))])


class TestTheServiceSaysNo:
    async def test_it_ends_in_the_same_words_nothing_is_tried_again_and_nobody_is_to_blame(self, service):
        service.before_put = lambda: service.revisions.update({"7": 9})
        rules = BreakerRules(least=1, rate=0.1)
        async with runtime(service, declared={"recovery": "idempotent"}, breakers=rules) as rt:
            outcome = await dispatch(rt, change(if_version=3))
            service.before_put, service.revisions["7"] = (lambda: None), 3
            refused = await dispatch(rt, change(if_version=9), step="2")
            assert not await events(rt, AttemptFailed)
            assert not await events(rt, BreakerOpened)
            (settled, _) = await events(rt, FunctionResponse)
        assert (settled.lane, outcome.effect, outcome.error_code) == ("settled", Effect.NONE, "version_conflict")
        assert (outcome.status, outcome.retryable, outcome.layer) == (refused.status, refused.retryable, refused.layer)
        swapped = refused.error_message.translate(str.maketrans("39", "93"))
        assert outcome.error_message == swapped
        assert len(service.changes()) == 1

    async def test_one_that_does_not_say_which_version_it_has(self, service):
        @tool(risk="write", claims=["a"], version=lambda: "x")
        async def put() -> None:
            """Put."""
            raise Conflict

        @tool(risk="write")
        async def plain() -> None:
            """Put."""
            raise Conflict({"no": "version"})

        async with Runtime(tools=[put, plain]) as rt:
            one = await dispatch(rt, {"name": "put", "arguments": {}})
            other = await dispatch(rt, {"name": "plain", "arguments": {}}, step="2")
        assert one.error_message.startswith("a has changed by now, and this call was made for version x. Nothing")
        assert other.error_message.startswith("What this call would change has another version by now. Nothing")
        assert one.effect == other.effect == Effect.NONE


class TestItCanNotBeLookedAt:
    async def test_a_service_that_does_not_answer_refuses_the_call_for_now(self, service):
        service.status = 503
        async with runtime(service) as rt:
            outcome = await dispatch(rt)
            assert not await events(rt, ToolDispatch)
        assert (outcome.status, outcome.error_code, outcome.retryable) == (
            Status.RETRYABLE_ERROR, "version_failed", True,
        )  # fmt: skip
        assert outcome.error_message == (
            "set_ticket could not find out which version there is now (status 503). Nothing was executed."
        )
        assert service.changes() == []

    @pytest.mark.parametrize(
        ("value", "said"),
        [
            (True, "given as bool"),
            (1.5, "given as float"),
            (b"x", "given as bytes"),
            (2**63, "more than 64 bits"),
            ("x" * 1001, "1,001 characters"),
            ("\ud800", "broken Unicode"),
        ],
    )
    async def test_what_is_no_version(self, value, said):
        ran = []

        @tool(risk="write", claims=["a"], version=lambda: value)
        async def put() -> None:
            """Put."""
            ran.append(1)

        async with Runtime(tools=[put]) as rt:
            outcome = await dispatch(rt, {"name": "put", "arguments": {}})
        assert (outcome.status, outcome.error_code, ran) == (Status.FATAL_ERROR, "version_failed", [])
        assert said in outcome.error_message

    @pytest.mark.parametrize(
        ("error", "status", "code"),
        [
            (RuntimeError("/secret/path"), Status.RETRYABLE_ERROR, "version_failed"),
            (asyncio.CancelledError(), Status.RETRYABLE_ERROR, "version_failed"),
            (ToolFailed("There is no such ticket.", not_found=True), Status.NOT_FOUND, "tool_failed"),
            (ToolFailed("Later.", code="later", transient=True), Status.RETRYABLE_ERROR, "later"),
            (ToolFailed("Never.", code="never"), Status.FATAL_ERROR, "never"),
        ],
    )
    async def test_what_it_raises(self, error, status, code):
        async def current():
            raise error

        @tool(risk="write", claims=["a"], version=current)
        async def put() -> None:
            """Put."""
            raise AssertionError

        async with Runtime(tools=[put]) as rt:
            outcome = await dispatch(rt, {"name": "put", "arguments": {}})
            assert not await events(rt, ToolDispatch)
        assert (outcome.status, outcome.error_code, outcome.effect) == (status, code, Effect.NONE)
        assert "/secret" not in outcome.error_message

    async def test_one_that_hangs_has_as_long_as_the_call(self, service):
        async def current():
            await asyncio.Event().wait()

        @tool(risk="write", claims=["a"], version=current, timeout=0.05)
        async def put() -> None:
            """Put."""

        async with Runtime(tools=[put]) as rt:
            outcome = await dispatch(rt, {"name": "put", "arguments": {}})
        assert (outcome.error_code, outcome.retryable) == ("version_failed", True)
        assert "no answer in time" in outcome.error_message

    async def test_a_stop_ends_the_looking(self, service):
        looking = asyncio.Event()

        async def current():
            looking.set()
            await asyncio.Event().wait()

        @tool(risk="write", claims=["a"], version=current)
        async def put() -> None:
            """Put."""

        async with Runtime(tools=[put]) as rt:
            call = asyncio.ensure_future(dispatch(rt, {"name": "put", "arguments": {}}))
            await looking.wait()
            await rt.stop("s")
            assert (await call).error_code == "cancelled"
            assert not await events(rt, ToolDispatch)
            assert rt.parts.authority.standing() == []


PROGRAM = """
import asyncio, sys
from pathlib import Path

url, state, here, session = sys.argv[1:]
sys.path.insert(0, here)
from tickets import Tickets, change
from callslip import Runtime

async def main():
    service = Tickets()
    service.url = url
    async with Runtime(tools=[service.tool()], state=Path(state)) as rt:
        print("ready", flush=True)
        sys.stdin.readline()
        batch = await rt.dispatch([change(text=session, if_version=3)], session=session, step="1")
        print(batch.results[0].error_code or "won", flush=True)

asyncio.run(main())
"""


class TestTwoAtOnce:
    @pytest.mark.parametrize("processes", [1, 2])
    async def test_of_two_made_for_one_version_exactly_one_wins(self, service, tmp_path, processes):
        """Two runtimes over one state folder hold their claims as two processes do."""
        async with runtime(service, state=tmp_path / "s") as one, runtime(service, state=tmp_path / "s") as other:
            two = one if processes == 1 else other
            outcomes = await asyncio.gather(
                dispatch(one, change(text="one", if_version=3), session="one"),
                dispatch(two, change(text="two", if_version=3), session="two"),
            )
        assert sorted(one.error_code or "" for one in outcomes) == ["", "version_conflict"]
        (lost,) = [one for one in outcomes if not one.ok]
        assert lost.error_message.startswith("ticket:7 has version 4 now, and this call was made for version 3.")
        assert service.changes() == [("7", '"3"')]
        assert service.revisions["7"] == 4

    async def test_and_of_two_real_processes(self, service, tmp_path, request):
        here = str(request.path.parent)
        programs = [
            subprocess.Popen(
                [sys.executable, "-c", PROGRAM, service.url, str(tmp_path / "s"), here, name],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            for name in ("one", "two")
        ]  # fmt: skip
        for program in programs:
            assert await asyncio.to_thread(program.stdout.readline) == "ready\n"
        for program in programs:
            program.stdin.write("\n")
            program.stdin.flush()
        said = [(await asyncio.to_thread(program.communicate))[0].strip() for program in programs]
        assert sorted(said) == ["version_conflict", "won"]
        assert service.changes() == [("7", '"3"')]
        assert service.texts["7"] == ("one", "two")[said.index("won")]

    async def test_without_a_version_named_both_change_one_after_the_other(self, service):
        async with runtime(service) as rt:
            await asyncio.gather(*(dispatch(rt, change(text=name), session=name) for name in "ab"))
        assert service.changes() == [("7", '"3"'), ("7", '"4"')]


class _Dies(BaseException):
    """The process ends here."""


class TestACrash:
    @pytest.mark.parametrize("named", [True, False])
    async def test_between_the_look_and_the_dispatch_another_run_looks_anew(self, service, tmp_path, named):
        call = change(if_version=3) if named else change()

        def die(name):
            if name == "dispatch.before":
                failpoint.listen(None)
                raise _Dies

        async with runtime(service, state=tmp_path / "s") as rt:
            failpoint.listen(die)
            with pytest.raises(_Dies):
                await dispatch(rt, call)
            assert not await events(rt, ToolDispatch)
        service.revisions["7"] = 5
        async with runtime(service, state=tmp_path / "s") as rt:
            outcome = await dispatch(rt, call)
            t1s = await events(rt, ToolDispatch)
        if named:
            assert (outcome.error_code, t1s, service.changes()) == ("version_conflict", [], [])
        else:
            assert ([one.version.value for one in t1s], service.changes()) == ([5], [("7", '"5"')])

    async def test_a_repeat_keeps_its_version_and_compares_nothing(self):
        held, looks, seen = {"revision": 1, "keys": set()}, [], []

        def current():
            looks.append(held["revision"])
            return held["revision"]

        @tool(risk="write", recovery="idempotent", claims=["it"], version=current, expects="if_version", quiet=0)
        async def put(context: Context, if_version: int) -> int:
            """Put. The service knows the key of what it has done."""
            seen.append(context.version)
            if context.idempotency_key not in held["keys"]:
                held["keys"].add(context.idempotency_key)
                held["revision"] += 1
                raise ConnectionError("the answer was lost")
            if context.attempt == 2:
                raise ToolFailed("Not now.", transient=True)
            return held["revision"]

        async with Runtime(tools=[put], clock=FakeClock(auto=60)) as rt:
            outcome = await dispatch(rt, {"name": "put", "arguments": {"if_version": 1}})
            t1s = await events(rt, ToolDispatch)
            failed = await events(rt, AttemptFailed)
        assert (outcome.status, outcome.result.structured) == (Status.SUCCESS, 2)
        assert (looks, seen) == ([1], [1, 1, 1])
        assert [one.version for one in t1s] == [Version(of="it", value=1)] * 3
        assert [one.effect for one in failed] == [Effect.UNKNOWN, Effect.UNKNOWN]

    @pytest.mark.parametrize("told", ["conflict", "status 412"])
    async def test_a_service_that_refuses_the_repeat_for_what_the_first_one_did_is_not_believed(self, service, told):
        """It says that this attempt has done nothing, and of the one before it nobody knows."""
        service.loses = 1
        url = service.url

        async def put_raw(id: str, text: str, context: Context, if_version: int | None = None) -> int:
            """Set a ticket's text."""
            headers = {"if-match": f'"{context.version}"'}
            # Plain HTTP: the system's certificates, which take 20 ms to read, are of no use.
            async with httpx2.AsyncClient(timeout=60, verify=False) as client:
                (await client.put(url + id, json={"text": text}, headers=headers)).raise_for_status()
            return 1

        made = service.tool(recovery="idempotent")
        if told != "conflict":
            made = tool(
                name="set_ticket", risk="write", recovery="idempotent", claims=["ticket:{id}"], quiet=0,
                version=made._asks_version.function, expects="if_version", classify=one_request, timeout=300,
            )(put_raw)  # fmt: skip
        async with Runtime(tools=[made], clock=FakeClock(auto=60)) as rt:
            outcome = await dispatch(rt, change(if_version=3))
            failed = await events(rt, AttemptFailed)
            (parked,) = await events(rt, CallParked)
        assert outcome.error_code == "parked"
        assert parked.code == "unknown_outcome"
        assert "; attempt 1 may have taken effect, whatever the latest says. Look what has become of ticket:7" in (
            parked.reason
        )
        assert [one.effect for one in failed] == [Effect.UNKNOWN, Effect.UNKNOWN]
        if told == "conflict":  # what an operator is shown of it
            assert "Nothing was executed" not in failed[-1].internal + failed[-1].message
        if told == "conflict":
            assert failed[-1].message.startswith("ticket:7 has version 4 by now. Whether an earlier attempt")
        assert service.changes() == [("7", '"3"'), ("7", '"3"')]
        assert service.revisions["7"] == 4

    @pytest.mark.parametrize("refusal", [ToolFailed("Not now.", transient=True), Conflict(2), "refused"])
    async def test_nor_is_one_without_a_version_that_tells_of_itself_only(self, refusal):
        @tool(risk="write", recovery="idempotent", quiet=0, classify=one_request)
        async def put(context: Context) -> None:
            """Put."""
            if context.attempt == 1:
                raise ConnectionResetError
            raise ConnectionRefusedError if refusal == "refused" else refusal

        limits = Limits(retry=Retry(attempts=2))
        async with Runtime(tools=[put], clock=FakeClock(auto=60), limits=limits) as rt:
            assert (await dispatch(rt, {"name": "put", "arguments": {}})).error_code == "parked"
            (parked,) = await events(rt, CallParked)
            assert [one.effect for one in await events(rt, AttemptFailed)] == [Effect.UNKNOWN, Effect.UNKNOWN]
        assert "attempt 1 may have taken effect" in parked.reason

    async def test_a_tool_that_knows_better_is_believed(self):
        @tool(risk="write", recovery="idempotent", claims=["it"], version=lambda: 1, quiet=0)
        async def put(context: Context) -> None:
            """Put."""
            if context.attempt == 1:
                raise ConnectionError
            raise ToolFailed("The key says that it was never done.", code="never_done")

        async with Runtime(tools=[put], clock=FakeClock(auto=60)) as rt:
            outcome = await dispatch(rt, {"name": "put", "arguments": {}})
        assert (outcome.error_code, outcome.effect) == ("never_done", Effect.NONE)

    async def test_what_has_certainly_not_happened_is_looked_at_anew(self):
        held = {"revision": 1}

        @tool(risk="write", claims=["it"], version=lambda: held["revision"], quiet=0)
        async def put(context: Context) -> int:
            """Put."""
            if context.attempt == 1:
                held["revision"] = 2  # somebody else's doing
                raise ToolFailed("Not now.", transient=True)
            return context.version

        limits = Limits(retry=Retry(attempts=2))
        async with Runtime(tools=[put], clock=FakeClock(auto=60), limits=limits) as rt:
            assert (await dispatch(rt, {"name": "put", "arguments": {}})).result.structured == 2
            assert [one.version.value for one in await events(rt, ToolDispatch)] == [1, 2]


@pytest.mark.requirement("APPR-03")
class TestAPersonIsAsked:
    @pytest.fixture
    async def rt(self, service):
        async with runtime(service, policy=Rules()) as made:
            yield made

    async def test_the_version_is_a_part_of_the_question(self, rt, service):
        await asked(rt, change())
        (question,) = await events(rt, ApprovalRequested)
        assert question.version == Version(of=SEVEN, value=3)
        other = msgspec.structs.replace(question, version=Version(of=SEVEN, value=4))
        assert approval.altered(other, "s")
        assert not approval.altered(question, "s")

    async def test_a_call_for_another_version_asks_nobody(self, rt, service):
        outcome = await dispatch(rt, change(if_version=2))
        assert outcome.error_code == "version_conflict"
        assert not await events(rt, ApprovalRequested)

    async def test_an_approval_of_one_version_is_none_of_the_next(self, rt, service):
        await rt.approve(await asked(rt, change()))
        service.revisions["7"] = 4
        assert (await dispatch(rt)).status is Status.PENDING_APPROVAL
        (wait,) = await rt.waits()
        assert wait.again == ("ticket:7 has version 4 now; it had version 3 when it was asked about",)
        assert service.changes() == []
        await rt.approve(wait.id)
        assert (await dispatch(rt)).ok
        assert service.changes() == [("7", '"4"')]

    async def test_nor_of_what_is_gone_or_has_come(self, rt, service):
        await rt.approve(await asked(rt, change(), step="1"))
        del service.revisions["7"]
        await dispatch(rt)
        (wait,) = await rt.waits()
        assert wait.again == ("ticket:7 is not there; it had version 3 when it was asked about",)
        await rt.approve(wait.id)
        service.revisions["7"] = 1
        await dispatch(rt)
        (wait,) = await rt.waits()
        assert wait.again == ("ticket:7 has version 1 now; it was not there when it was asked about",)

    async def test_a_call_that_names_its_version_ends_when_it_has_changed(self, rt, service):
        await rt.approve(await asked(rt, change(if_version=3)))
        service.revisions["7"] = 4
        assert (await dispatch(rt, change(if_version=3))).error_code == "version_conflict"
        assert service.changes() == []

    async def test_an_edit_of_the_rest_is_for_the_version_that_was_shown(self, rt, service):
        await rt.edit(await asked(rt, change()), {"id": "7", "text": "by hand"})
        assert (await dispatch(rt)).ok
        assert (service.texts["7"], service.changes()) == ("by hand", [("7", '"3"')])

    async def test_an_edit_does_not_make_up_for_a_version_that_nobody_saw(self, rt, service):
        await rt.edit(await asked(rt, change()), {"id": "7", "text": "by hand"})
        service.revisions["7"] = 4
        await dispatch(rt)
        (wait,) = await rt.waits()
        assert wait.again == ("ticket:7 has version 4 now; it had version 3 when it was asked about",)
        assert (wait.arguments["text"], service.changes()) == ("by hand", [])

    async def test_an_edit_that_names_the_version_there_is_is_for_that_one(self, rt, service):
        wait = await asked(rt, change(if_version=3))
        service.revisions["7"] = 4
        await rt.edit(wait, {"id": "7", "text": "new", "if_version": 4})
        assert (await dispatch(rt, change(if_version=3))).ok
        assert service.changes() == [("7", '"4"')]

    @pytest.mark.parametrize("more", [{}, {"if_version": 3}])
    async def test_an_edit_to_another_thing_is_asked_about_however_its_version_is_numbered(self, rt, service, more):
        await rt.edit(await asked(rt, change(**more)), {"id": "8", "text": "new", **more})
        await dispatch(rt, change(**more))
        (wait,) = await rt.waits()
        assert wait.again == ("it changes ticket:8, not ticket:7",)
        await rt.approve(wait.id)
        assert (await dispatch(rt, change(**more))).ok
        assert service.changes() == [("8", '"3"')]

    async def test_the_look_fails_before_anybody_is_asked(self, rt, service):
        service.status = 500
        assert (await dispatch(rt)).error_code == "version_failed"
        assert not await events(rt, ApprovalRequested)

    async def test_a_repeat_is_as_it_was_approved(self, service):
        service.loses = 1
        async with runtime(service, policy=Rules(), declared={"recovery": "idempotent"}) as rt:
            await rt.approve(await asked(rt, change()))
            assert (await dispatch(rt)).error_code == "parked"
            assert len(await events(rt, ApprovalRequested)) == 1
            assert [one.version.value for one in await events(rt, ToolDispatch)] == [3, 3]
