"""What is tried again is told in one line: while it happens, and afterwards."""

import click
import pytest

from callslip.cli.live import LiveView
from callslip.cli.timeline import Timeline
from callslip.core.event import Record, Stored
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.model_failed import ModelFailed
from callslip.core.payload import inline
from callslip.core.result import Effect
from callslip.runtime.live import ModelText, Recorded

pytestmark = [pytest.mark.requirement("RESI-02"), pytest.mark.requirement("WIRE-06")]

CALL = FunctionCall(call_id="c", step="1.1", position=0, tool="fetch", arguments=inline(b"{}"))
TOOL = AttemptFailed(
    call_id="c", attempt=1, nonce="n", effect=Effect.NONE, code="unavailable", transient=True, retry_at=4000
)
MODEL = ModelFailed(step="1.1", attempt=2, model="m", code="model_unavailable", message="status 429.", retry_at=4000)


def stored(event):
    return Stored(seq=1, digest=b"", record=Record(at=1000, by="o", epoch=1, run="r", event=event))


def recorded(event):
    return Recorded(session="s", seq=1, record=stored(event).record)


def test_while_it_happens(capsys):
    view = LiveView(as_json=False)
    view(recorded(CALL))
    view(recorded(TOOL))
    view(ModelText(session="s", text="Hel"))
    view(recorded(MODEL))
    assert not view.streamed, "what was shown of it is void"
    lines = click.unstyle(capsys.readouterr().err).splitlines()
    assert any("fetch" in line and "effect none; tried again in 3.0 s" in line for line in lines)
    assert "asked again in 3.0 s (request 2 failed): status 429." in lines[-1]
    assert lines[-2].endswith("Hel"), "what broke off has a line of its own"


def test_afterwards():
    timeline = Timeline()
    timeline.tell(stored(CALL))
    assert "tried again in 3.0 s" in timeline.tell(stored(TOOL)).detail
    told = timeline.tell(stored(MODEL))
    assert (told.subject, told.deed) == ("m", "failed")
    assert told.detail == "step 1.1, asked again in 3.0 s (request 2 failed): status 429."
