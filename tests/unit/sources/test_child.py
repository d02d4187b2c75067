"""Tools in a process of their own: what goes in and out, and that all of it ends (RESI-03)."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import process_tools
import pytest

from callslip import Runtime, tool
from callslip.core.breaker import BreakerRules
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.result import Effect, Status
from callslip.core.retry import Retry
from callslip.errors import ToolDefinitionError
from callslip.runtime.live import Partial, Progress
from callslip.runtime.parts import Limits
from callslip.sources.child_supervisor import descendants, marked
from callslip.testing.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("RESI-03"), pytest.mark.usefixtures("nothing_left")]

LONG = 10_000.0
"""Seconds by which every deadline has passed."""


def call(made, **arguments):
    return {"name": made.spec.name, "input": arguments}


async def one(made, *, watch=None, secrets=(), **arguments):
    seen = {} if watch is None else {"watch": watch}
    async with Runtime(tools=[made], secrets=secrets, **seen) as runtime:
        batch = await runtime.dispatch([call(made, **arguments)], session="s", step="1")
        log = [stored.record.event for stored in await runtime.parts.ledger.read("s")]
    return batch.results[0], log


def of(log, kind):
    return [event for event in log if isinstance(event, kind)]


async def there(path):
    while not path.exists():
        await asyncio.sleep(0.005)
    return path.read_text()


def gone(pid):
    try:
        return b") Z " in Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return True


class TestInAndOut:
    async def test_arguments_and_result_cross_and_the_process_is_another(self):
        outcome, _ = await one(process_tools.add, a=20_000_000_000_000_000_000, b=-1)
        assert outcome.result.structured["sum"] == 19_999_999_999_999_999_999
        assert outcome.result.structured["pid"] != os.getpid()

    async def test_arguments_have_the_functions_types_in_there(self):
        outcome, _ = await one(process_tools.later, day="2026-02-28")
        assert outcome.result.structured == "2026-03-01"

    async def test_a_function_declared_apart_from_its_name(self):
        assert (await one(process_tools.plain_tool, a=21))[0].result.structured == 42

    async def test_pieces_are_seen_as_they_come(self):
        seen = []
        outcome, _ = await one(process_tools.tell, name="a fox", watch=seen.append)
        assert outcome.result.structured == "Once a fox"
        assert [live.text for live in seen if isinstance(live, Partial)] == ["Once ", "a fox"]

    async def test_the_context_works_and_output_goes_to_the_log_alone(self):
        seen = []
        outcome, log = await one(process_tools.talk, watch=seen.append, secrets=["complained"])
        (t1,), (response,) = of(log, ToolDispatch), of(log, FunctionResponse)
        known, at = outcome.result.structured["known"], outcome.result.structured["at"]
        assert known == ["s", t1.call_id, 1, t1.idempotency_key]
        assert outcome.result.summary == "All of it."
        chart, raw = outcome.result.evidence
        assert (chart.address, chart.name, chart.media_type, chart.size) == (at, "chart.txt", "text/plain", 14)
        assert outcome.result.structured["raw"]["$blob"] == raw.address
        assert [(live.message, live.fraction) for live in seen if isinstance(live, Progress)] == [("half", 0.5)]
        assert [live.text for live in seen if isinstance(live, Partial)] == ["a piece"]
        assert response.internal == "stdout:\nprinted by the tool\n\nstderr:\nand [redacted] about\n"

    async def test_output_does_not_stand_in_the_way_and_is_bounded(self):
        outcome, log = await one(process_tools.chatter, megabytes=3)
        assert outcome.result.structured == "done"
        (response,) = of(log, FunctionResponse)
        assert response.internal.endswith("the end of it")
        assert "of 3,145,741 bytes" in response.internal
        assert len(response.internal) < 5000

    async def test_standard_input_is_empty_and_the_group_its_own(self):
        found = (await one(process_tools.environment))[0].result.structured
        assert found["links"]["0"] == os.devnull
        assert found["group"]
        assert found["cwd"] == os.getcwd()


class TestFailures:
    async def test_tool_failed_comes_through(self):
        outcome, _ = await one(process_tools.fail, kind="failed")
        assert (outcome.status, outcome.error_code, outcome.effect) == (Status.NOT_FOUND, "no_such", Effect.DONE)
        assert (outcome.error_message, outcome.retryable) == ("Not there.", True)

    @pytest.mark.requirement("PARA-02")
    async def test_a_version_goes_in_and_a_conflict_comes_out(self):
        outcome, _ = await one(process_tools.change, now="v1")
        assert outcome.result.structured == "changed v1"
        outcome, _ = await one(process_tools.change, now="v2")
        assert (outcome.error_code, outcome.effect) == ("version_conflict", Effect.NONE)
        assert outcome.error_message.startswith("it has version v2 now, and this call was made for version v1. ")

    @pytest.mark.parametrize(
        ("kind", "name", "base"),
        [
            ("os", "FileNotFoundError", "FileNotFoundError"),
            ("own", "HouseRules", "ConnectionError"),
            ("unicode", "UnicodeDecodeError", "Exception"),
            ("exit", "SystemExit", "Exception"),
            ("interrupt", "KeyboardInterrupt", "Exception"),
            ("generator", "GeneratorExit", "Exception"),
        ],
    )
    async def test_other_errors_by_their_name(self, kind, name, base):
        import builtins

        from callslip.clocks.system import SystemClock
        from callslip.ports.context import Context

        context = Context(
            session="s", call_id="c", attempt=1, idempotency_key="k", deadline=0, clock=SystemClock(), until=None,
            on_progress=lambda *_: None, on_partial=lambda _: None,
        )  # fmt: skip
        with pytest.raises(getattr(builtins, base)) as caught:
            await process_tools.fail.run({"kind": kind}, context)
        assert type(caught.value).__name__ == name
        assert any("process_tools.py" in note for note in caught.value.__notes__)

    async def test_the_model_is_told_no_more_than_of_any_error(self):
        outcome, log = await one(process_tools.look_and_fail, kind="os")
        assert (outcome.status, outcome.error_code, outcome.effect) == ("fatal_error", "tool_exception", "none")
        assert "/srv/secret" not in outcome.error_message
        assert "/srv/secret" in of(log, FunctionResponse)[0].internal

    async def test_its_own_cancellation(self):
        outcome, _ = await one(process_tools.fail, kind="cancelled")
        assert outcome.error_code == "parked"

    @pytest.mark.parametrize(("kind", "how"), [("os._exit", "status 7"), ("killed", "SIGKILL")])
    async def test_a_process_that_dies(self, kind, how):
        looked, _ = await one(process_tools.look_and_fail, kind=kind)
        assert (looked.status, looked.error_code, looked.effect) == ("fatal_error", "process_died", "none")
        assert looked.error_message == f"The tool's process ended without a result ({how})."
        wrote, log = await one(process_tools.fail, kind=kind)
        assert wrote.error_code == "parked"  # it may have had its effect
        assert [(event.code, event.effect, event.ended) for event in of(log, AttemptFailed)] == [
            ("process_died", Effect.UNKNOWN, True)
        ]

    @pytest.mark.requirement("RESI-04")
    async def test_one_whose_process_dies_is_left_alone_as_one_that_fails(self):
        clock, dies = FakeClock(auto=1), call(process_tools.look_and_fail, kind="os._exit")
        rules, limits = BreakerRules(least=2), Limits(retry=Retry(attempts=1), poll=0.01)
        made = {"clock": clock, "limits": limits, "breakers": rules}
        async with Runtime(tools=[process_tools.look_and_fail], **made) as runtime:
            found = []
            for step in range(5):
                if step == 3:
                    clock.advance(30)
                batch = await runtime.dispatch([dies], session=f"s{step}", step="1")
                found.append(batch.results[0].error_code)
        assert found == ["process_died", "process_died", "breaker_open", "process_died", "breaker_open"]

    async def test_a_result_that_is_too_large(self):
        outcome, _ = await one(process_tools.large, megabytes=70)
        assert (outcome.error_code, outcome.effect) == ("result_too_large", "done")

    async def test_nonsense_on_the_channel(self):
        outcome, log = await one(process_tools.garble)
        assert outcome.error_code == "parked"
        assert of(log, AttemptFailed)[0].code == "process_died"

    async def test_a_module_that_can_not_be_imported_any_more(self, tmp_path, monkeypatch):
        (tmp_path / "vanishing_tools.py").write_text(
            "from callslip import tool\n\n\n@tool(risk='write', process=True)\ndef act() -> str:\n    '''Act.'''\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        import vanishing_tools

        (tmp_path / "vanishing_tools.py").write_text("raise RuntimeError('/srv/secret')")
        outcome, _ = await one(vanishing_tools.act)
        assert (outcome.status, outcome.error_code, outcome.effect) == ("fatal_error", "process_failed", "none")
        assert "RuntimeError" in outcome.error_message
        assert "/srv/secret" not in outcome.error_message


async def patient(clock, task):
    """Let pass what is waited for while something is told to end, but not the time after which it is left behind."""
    while not task.done():
        if clock.sleepers and clock.until_next() <= Limits().grace:
            clock.advance(clock.until_next())
        await asyncio.sleep(0.005)


class Stage:
    """A call of a process under a clock that stands still, begun."""

    def __init__(self, made, folder, **arguments):
        self.clock = FakeClock()
        self.runtime = Runtime(tools=[made], clock=self.clock, limits=Limits(poll=0.01))
        self.folder = folder
        self.made = made
        self.arguments = {"folder": str(folder), **arguments}

    async def __aenter__(self):
        step = [call(self.made, **self.arguments)]
        self.task = asyncio.ensure_future(self.runtime.dispatch(step, session="s", step="1"))
        self.worker = int(await there(self.folder / "begun"))
        return self

    async def __aexit__(self, *error):
        await self.runtime.aclose()

    async def outcome(self):
        """Let the grace times pass until the call has ended."""
        await patient(self.clock, self.task)
        return (await self.task).results[0]

    async def log(self, kind):
        return of([stored.record.event for stored in await self.runtime.parts.ledger.read("s")], kind)


class TestEnds:
    @pytest.mark.parametrize("made", [process_tools.sleep_deaf, process_tools.spin], ids=["in a C call", "busy"])
    async def test_at_its_deadline_whatever_it_does(self, made, tmp_path):
        async with Stage(made, tmp_path) as stage:
            assert not gone(stage.worker)
            stage.clock.advance(LONG)
            outcome = await stage.outcome()
            assert gone(stage.worker)
            (failed,) = await stage.log(AttemptFailed)
        assert outcome.error_code == "parked"
        assert (failed.code, failed.effect, failed.ended) == ("timeout", Effect.UNKNOWN, True)

    async def test_at_a_stop(self, tmp_path):
        async with Stage(process_tools.sleep_deaf, tmp_path) as stage:
            await stage.runtime.stop("s")
            while stage.clock.sleepers < 2:  # until it was told: then the time to obey is counted
                await asyncio.sleep(0.005)
            stage.clock.advance(LONG)  # the deadline comes second, and changes nothing
            await stage.outcome()
            assert gone(stage.worker)
            (failed,) = await stage.log(AttemptFailed)
        assert failed.code == "cancelled"

    @pytest.mark.parametrize("how", ["deadline", "stop"])
    async def test_what_it_says_as_it_ends_counts(self, how, tmp_path):
        async with Stage(process_tools.heed, tmp_path) as stage:
            if how == "stop":
                await stage.runtime.stop("s")
            else:
                stage.clock.advance(LONG)
            outcome = (await stage.task).results[0]
        assert (tmp_path / "heard").exists()
        if how == "stop":
            assert (outcome.error_code, outcome.effect) == ("undone", "none")
        else:  # why it ended stays, and what it did is known
            assert (outcome.status, outcome.error_code, outcome.effect) == ("timeout", "timeout", "none")

    async def test_an_asynchronous_one_is_cancelled_in_there(self, tmp_path):
        async with Stage(process_tools.heed_async, tmp_path) as stage:
            stage.clock.advance(LONG)
            await stage.task
            assert not await stage.log(LateOutcome)
        assert (tmp_path / "heard").exists()

    async def test_a_result_after_the_deadline_is_late_and_no_result(self, tmp_path):
        async with Stage(process_tools.answer_late, tmp_path) as stage:
            stage.clock.advance(LONG)
            outcome = (await stage.task).results[0]
            while not (late := await stage.log(LateOutcome)):
                await asyncio.sleep(0.005)
            assert not await stage.log(FunctionResponse)
        assert outcome.error_code == "parked"
        assert [(event.ok, event.result.value()) for event in late] == [(True, "late, but done")]

    @pytest.mark.parametrize("bare", [False, True], ids=["", "without its environment"])
    @pytest.mark.parametrize("stay", [False, True], ids=["it returns", "it stays"])
    async def test_with_daemons_that_left_session_and_parents(self, bare, stay, tmp_path):
        async with Stage(process_tools.start_daemon, tmp_path, stay=stay, bare=bare) as stage:
            daemon = int(await there(tmp_path / "daemon"))
            if stay:
                assert not gone(daemon)
                assert os.getsid(daemon) != os.getsid(stage.worker)
                assert daemon not in descendants(stage.worker)
                stage.clock.advance(LONG)
            outcome = await stage.outcome()
            assert gone(daemon)
        assert outcome.error_code == ("parked" if stay else None)

    async def test_even_when_its_supervisor_is_killed(self, tmp_path):
        async with Runtime(tools=[process_tools.kill_supervisor]) as runtime:
            step = [call(process_tools.kill_supervisor, folder=str(tmp_path))]
            batch = await runtime.dispatch(step, session="s", step="1")
        assert batch.results[0].error_code == "parked"
        assert gone(int((tmp_path / "daemon").read_text()))

    async def test_even_when_its_supervisor_is_killed_while_it_is_waited_for(self, tmp_path):
        """The daemon holds the tool's output: the end of the process is seen all the same."""
        async with Stage(process_tools.kill_supervisor_when_told, tmp_path) as stage:
            daemon = int(await there(tmp_path / "daemon"))
            stage.clock.advance(LONG)
            outcome = await stage.outcome()
            assert gone(daemon)
        assert outcome.error_code == "parked"

    async def test_with_a_thread_that_it_left(self):
        assert (await one(process_tools.leave_thread))[0].result.structured == "done"

    async def test_one_that_was_given_up_before_it_began_never_begins(self, tmp_path):
        clock = FakeClock()
        async with Runtime(tools=[process_tools.start_daemon], clock=clock) as runtime:
            step = [call(process_tools.start_daemon, folder=str(tmp_path), stay=True)]
            task = asyncio.ensure_future(runtime.dispatch(step, session="s", step="1"))
            while not clock.sleepers:
                await asyncio.sleep(0)
            clock.advance(LONG)
            await patient(clock, task)
            (outcome,) = (await task).results
        assert (outcome.status, outcome.effect) == (Status.TIMEOUT, Effect.NONE)
        assert not list(tmp_path.iterdir())

    async def test_with_its_owner(self, tmp_path):
        program = f"""
import asyncio, sys
sys.path.insert(0, {str(Path(process_tools.__file__).parent)!r})
import process_tools
from callslip import Runtime

async def main():
    async with Runtime(tools=[process_tools.start_daemon]) as runtime:
        step = [{{"name": "start_daemon", "input": {{"folder": {str(tmp_path)!r}, "stay": True}}}}]
        await runtime.dispatch(step, session="s", step="1")

asyncio.run(main())
"""
        with subprocess.Popen([sys.executable, "-c", program]) as owner:
            worker, daemon = int(await there(tmp_path / "begun")), int(await there(tmp_path / "daemon"))
            mark = next(
                one.decode().partition("=")[2]
                for one in Path(f"/proc/{worker}/environ").read_bytes().split(b"\0")
                if one.startswith(b"CALLSLIP_CALL=")
            )
            assert {worker, daemon} <= set(marked(mark))
            owner.send_signal(signal.SIGKILL)
        while marked(mark):
            await asyncio.sleep(0.005)
        assert gone(worker)
        assert gone(daemon)


class TestDeclaration:
    def test_another_process_must_find_the_function(self):
        with pytest.raises(ToolDefinitionError, match="top of a module"):

            @tool(risk="read", process=True)
            def inner() -> str:
                """Inside another function."""
                return ""

    def test_a_method_is_none(self):
        with pytest.raises(ToolDefinitionError, match="top of a module"):
            tool(risk="read", process=True)(Stage(process_tools.add, Path()).outcome)

    def test_what_was_typed_in_is_in_no_file(self):
        program = "from callslip import tool\n\n@tool(process=True)\ndef act() -> str:\n    '''Act.'''\n    return ''\n"
        run = subprocess.run([sys.executable, "-"], input=program, capture_output=True, text=True, check=False)
        assert "another process can't import what was typed in" in run.stderr

    def test_the_tool_stays_callable(self):
        assert process_tools.add(1)["pid"] == os.getpid()

    def test_it_imports_what_was_accepted_and_nothing_else(self, tmp_path):
        # Once the runtime has read the files they are altered, and others put where Callslip and Python would be found.
        (tmp_path / "app.py").write_text(
            "import other\nfrom callslip import Runtime, tool\n\n@tool(risk='read', process=True)\ndef act() -> str:\n"
            "    '''Act.'''\n    return other.WORD\n\n@tool(risk='read', process=True)\ndef peek() -> str:\n"
            "    '''Import a file that nobody accepted.'''\n    import new\n    return new.WORD\n\n"
            "rt = Runtime(tools=[act, peek])\n"
        )
        (tmp_path / "other.py").write_text("WORD = 'accepted'\n")
        program = (
            "import asyncio, pathlib, sys\nroot = pathlib.Path(sys.argv[1])\nsys.path.insert(0, str(root))\n"
            "from callslip.project.imports import guard\n"
            "guard().cover(root, {name: (root / name).read_bytes() for name in ('app.py', 'other.py')})\nimport app\n"
            "(root / 'other.py').write_text('WORD = 1 / 0')\n(root / 'app.py').write_text('1 / 0')\n"
            "for name in ('callslip', 'json', 'msgspec', 'new'):\n    (root / f'{name}.py').write_text('WORD = 1 / 0')\n"
            "calls = [{'name': name, 'input': {}} for name in ('act', 'peek')]\n"
            "async def main():\n    async with app.rt as rt:\n"
            "        act, peek = (await rt.dispatch(calls, session='s', step='1')).results\n"
            "        print(act.result.structured, peek.error_message)\n"
            "asyncio.run(main())\n"
        )
        run = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)
        assert run.stdout.startswith("accepted The tool failed unexpectedly (HeldImport)"), run.stdout

    def test_a_program_is_not_run_again_in_there(self, tmp_path):
        program = tmp_path / "program.py"
        program.write_text(
            "from callslip import Runtime, tool\n"
            "import asyncio\n\n"
            "@tool(risk='read', process=True)\ndef act() -> str:\n    '''Act.'''\n    return __name__\n\n"
            "async def main():\n"
            "    async with Runtime(tools=[act]) as rt:\n"
            "        batch = await rt.dispatch([{'name': 'act', 'input': {}}], session='s', step='1')\n"
            "        print(batch.results[0].result and batch.results[0].result.structured, batch.results[0].error_code)\n\n"
            "GUARD:\n    asyncio.run(main())\n"
        )
        text = program.read_text()
        # What would start itself without end is refused in there; whoever waits for it is told.
        for guard, said in (("if __name__ == '__main__'", "callslip_main None"), ("if True", "callslip_main None")):
            program.write_text(text.replace("GUARD", guard))
            run = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
            assert said in run.stdout.splitlines()[-1]
