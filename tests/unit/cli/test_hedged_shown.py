"""That a read was asked twice is told: while it happens, afterwards, and in the statistics."""

from __future__ import annotations

import asyncio
import json

import click
import msgspec
import pytest
from click.testing import CliRunner

from callslip import Context, Runtime, tool
from callslip.cli.live import LiveView
from callslip.cli.main import cli
from callslip.cli.timeline import Timeline
from callslip.core.event import Record, Stored
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.hedging import Hedged
from callslip.core.payload import inline
from callslip.core.result import Effect, Status
from callslip.ports.model import Proposal
from callslip.runtime.live import Recorded
from callslip.testing.clock import FakeClock

pytestmark = [pytest.mark.requirement("RESI-01"), pytest.mark.requirement("OBSV-02")]

CALL = FunctionCall(call_id="c", step="1.1", position=0, tool="look", arguments=inline(b"{}"))
ANSWER = FunctionResponse(
    call_id="c", lane="settled", status=Status.SUCCESS, effect=Effect.NONE, attempt=1, nonce="n", duration_ms=310,
    hedged=Hedged(after_ms=200, answered="second"),
)  # fmt: skip
HALF = msgspec.structs.replace(ANSWER, hedged=Hedged(after_ms=200, answered="first", failed="ConnectionResetError"))
FAILED = AttemptFailed(
    call_id="c", attempt=1, nonce="n", effect=Effect.NONE, code="unavailable", retry_at=4000,
    hedged=Hedged(after_ms=200, answered="neither", failed="timeout"),
)  # fmt: skip
BEATEN = LateOutcome(call_id="c", attempt=1, nonce="n", ok=True, beaten=True)

SAID = [
    (ANSWER, "success, 310 ms, asked twice, the second answered"),
    (HALF, "asked twice, the first answered; the other one had failed (ConnectionResetError)"),
    (FAILED, "effect none; asked twice, and the other one failed, too (timeout); tried again in 3.0 s"),
    (BEATEN, "the other execution of attempt 1 came to its end after all"),
]


def stored(event):
    return Stored(seq=1, digest=b"", record=Record(at=1000, by="o", epoch=1, run="r", event=event))


@pytest.mark.parametrize(("event", "said"), SAID)
def test_while_it_happens(event, said, capsys):
    view = LiveView(as_json=False)
    for one in (CALL, event):
        view(Recorded(session="s", seq=1, record=stored(one).record))
    shown = " ".join(click.unstyle(capsys.readouterr().err).split())
    assert said in shown


@pytest.mark.parametrize(("event", "said"), SAID)
def test_afterwards(event, said):
    timeline = Timeline()
    timeline.tell(stored(CALL))
    assert said in timeline.tell(stored(event)).detail


@tool(risk="read", timeout=10, hedge_after=0.2)
async def look(context: Context) -> str:
    """Take a second the first time."""
    slow.append(1)
    if len(slow) == 1:
        await context.sleep(1)
    return "here"


slow = []


def test_in_the_statistics(tmp_path):
    async def fill():
        async with Runtime(tools=[look], clock=FakeClock(auto=0.5), state=tmp_path / "state") as runtime:
            for step in "12":
                await runtime.dispatch([Proposal(tool="look", arguments={})], session="s", step=step)

    slow.clear()
    asyncio.run(fill())
    state = ["--state", str(tmp_path / "state")]
    in_full = CliRunner().invoke(cli, ["stats", *state, "--tool", "look"]).output
    assert "asked twice       1 (answered by the second 1)" in click.unstyle(in_full)
    table = CliRunner().invoke(cli, ["stats", *state], terminal_width=200).output
    heading, row = (line for line in table.splitlines() if "WHY THEY FAIL" in line or line.startswith("look"))
    assert row.index("1, 1 by the second") == heading.index("ASKED TWICE"), "it is no reason why calls fail"
    (found,) = json.loads(CliRunner().invoke(cli, ["stats", *state, "--json"]).output)["tools"]
    assert (found["calls"], found["attempts"], found["hedged"], found["won_by_second"]) == (2, 2, 1, 1)
