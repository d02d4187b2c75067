"""Arguments that were repaired, coerced or normalised: the final ones are what is asked about, recorded and run."""

from __future__ import annotations

import datetime
import json

import pytest

from callslip import Runtime, tool
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.result import Status
from callslip.errors import ConfigError
from callslip.ports.model import Proposal
from callslip.ports.policy import Verdict
from callslip.runtime import payloads
from callslip.runtime.parts import Data
from callslip.testing.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("ARGS-02")]

EVENING = int(datetime.datetime(2026, 2, 27, 23, 30, tzinfo=datetime.UTC).timestamp() * 1000)
RAW = '{"check_in": "tomorrow", "nights": "2", "note": null}'
DIFF = ('check_in: "tomorrow" → "2026-03-01"', 'nights: "2" → 2', "note: removed (was null)")


class Desk:
    """A policy that keeps what it was asked, and a tool that keeps what it was given."""

    def __init__(self, decision="allow"):
        self.decision, self.judged, self.booked = decision, [], []

    def decide(self, question):
        self.judged.append(dict(question.arguments))
        return Verdict(decision=self.decision, rules=("r",), reason="because")

    def tools(self, risk="write"):
        @tool(risk=risk, local_effect=True, quiet=0, normalise={"check_in": "relative_date"})
        async def book(check_in: datetime.date, nights: int, note: str = "none") -> str:
            """Book."""
            self.booked.append((check_in, nights, note))
            return "booked"

        return [book]


async def dispatch(runtime, raw=RAW):
    return await runtime.dispatch([Proposal(tool="book", arguments=raw)], session="s", step="1")


async def events(runtime, kind):
    return [one.record.event for one in await runtime.parts.ledger.read("s") if isinstance(one.record.event, kind)]


async def test_the_final_arguments_go_everywhere_and_the_raw_text_is_kept():
    desk = Desk()
    async with Runtime(
        tools=desk.tools(), policy=desk, clock=FakeClock(now=EVENING), timezone="Europe/Oslo"
    ) as runtime:
        (result,) = (await dispatch(runtime)).results
        assert result.status is Status.SUCCESS
        final = {"check_in": "2026-03-01", "nights": 2}
        assert desk.booked == [(datetime.date(2026, 3, 1), 2, "none")]
        assert desk.judged == [final]
        (t1,) = await events(runtime, ToolDispatch)
        assert t1.changed == DIFF
        assert await payloads.load(runtime.parts.blobs, t1.arguments) == final
        (proposed,) = await events(runtime, FunctionCall)
        assert await payloads.load(runtime.parts.blobs, proposed.arguments) == RAW


@pytest.mark.requirement("ARGS-01")
@pytest.mark.parametrize(("risk", "status"), [("read", Status.SUCCESS), ("write", Status.INVALID_ARGUMENTS)])
async def test_a_repair_is_recorded_by_name_and_only_made_for_a_tool_that_reads(risk, status):
    desk = Desk()
    async with Runtime(tools=desk.tools(risk), policy=desk) as runtime:
        (result,) = (await dispatch(runtime, "{'check_in': '2026-03-01', 'nights': 2}")).results
        assert result.status is status
        assert [t1.changed for t1 in await events(runtime, ToolDispatch)] == [("single_quotes",)] * (risk == "read")
        assert len(desk.booked) == (risk == "read")


async def test_a_day_in_words_is_that_of_the_proposal_however_late_it_is_approved():
    desk, clock = Desk("ask"), FakeClock(now=EVENING, auto=60)
    async with Runtime(tools=desk.tools(), policy=desk, clock=clock, timezone="Europe/Oslo") as runtime:
        (wait,) = (await dispatch(runtime)).waits
        (question,) = await events(runtime, ApprovalRequested)
        assert await payloads.load(runtime.parts.blobs, question.arguments) == {"check_in": "2026-03-01", "nights": 2}
        clock.advance(3 * 86_400)
        await runtime.approve(wait.id)
        (result,) = (await dispatch(runtime)).results
        assert result.status is Status.SUCCESS
        assert desk.booked == [(datetime.date(2026, 3, 1), 2, "none")]
        assert len(await events(runtime, ApprovalRequested)) == 1


async def test_what_a_person_has_put_there_is_run_to_the_letter():
    desk = Desk("ask")
    tools = desk.tools()

    @tool(risk="write", local_effect=True, quiet=0, normalise={"path": "path"})
    async def put(path: str) -> str:
        """Put."""
        desk.booked.append(path)
        return "put"

    async with Runtime(tools=[*tools, put], policy=desk, clock=FakeClock(auto=60)) as runtime:
        call = [{"name": "put", "arguments": {"path": "./a"}}]
        (wait,) = (await runtime.dispatch(call, session="s", step="1")).waits
        await runtime.edit(wait.id, {"path": "./b//c"})
        (result,) = (await runtime.dispatch(call, session="s", step="1")).results
        assert result.status is Status.SUCCESS
        assert desk.booked == ["./b//c"]
        (t1,) = await events(runtime, ToolDispatch)
        assert t1.changed == ()


async def test_the_diff_is_as_private_as_the_arguments(tmp_path):
    desk = Desk()
    async with Runtime(tools=desk.tools(), policy=desk, clock=FakeClock(now=EVENING), state=tmp_path / "s") as runtime:
        runtime.configure(data=Data(encrypt=True))
        await dispatch(runtime, json.dumps({"check_in": "in 8 days", "nights": "77"}))
        (t1,) = await events(runtime, ToolDispatch)
        assert t1.changed == ('check_in: "in 8 days" → "2026-03-07"', 'nights: "77" → 77')
        stored = b"".join(text for _, _, text in await runtime.parts.ledger.raw("s"))
        assert b"tool_dispatch" in stored
        assert b"in 8 days" not in stored


def test_a_zone_that_is_not_there_is_refused_before_anything_begins():
    with pytest.raises(ConfigError, match="Atlantis"):
        Runtime(timezone="Atlantis").parts  # noqa: B018


def test_a_form_that_is_not_there_is_refused_before_anything_begins():
    from callslip.errors import ToolDefinitionError

    @tool(normalise={"day": "relative_day"})
    def book(day: str) -> None: ...

    with pytest.raises(ToolDefinitionError, match=r"book: day can't be normalised by 'relative_day'"):
        Runtime(tools=[book]).parts  # noqa: B018
