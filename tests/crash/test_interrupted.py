"""Ctrl-C, once and twice: what was in the world is on record, and no process is left (PARA-05)."""

from __future__ import annotations

import signal
import time

import pytest

from callslip import Runtime
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.ledgers.owner_lock import descendants

pytestmark = [pytest.mark.requirement("PARA-05"), pytest.mark.requirement("RESI-03")]


@pytest.mark.anyio
@pytest.mark.parametrize("presses", [1, 2])
@pytest.mark.parametrize("name", ["here", "elsewhere"])
async def test_what_was_in_the_world_is_on_record(name, presses, processes, tmp_path, nothing_left):
    program = processes.start("interrupted", name)
    while not (tmp_path / "begun").exists():
        time.sleep(0.005)
    for press in range(presses):
        if press:
            time.sleep(0.05)
        program.send_signal(signal.SIGINT)
    assert program.wait(60) != 0
    async with Runtime(state=tmp_path / "state") as runtime:
        log = [one.record.event for one in await runtime.parts.ledger.read("s")]
        owner = next(event.owner for event in log if hasattr(event, "owner"))
        assert not descendants(owner)
    processes.end()
    assert len([event for event in log if isinstance(event, ToolDispatch)]) == 1
    failed = [event for event in log if isinstance(event, AttemptFailed)]
    if presses == 1:
        assert [(one.code, one.effect, one.ended) for one in failed] == [("cancelled", "unknown", True)]
        assert isinstance(log[-1], RunEnded)
    else:  # whoever presses twice does not want to wait: it is as after a kill, and left to the crash table
        assert len(failed) <= 1
        assert not [event for event in log if isinstance(event, FunctionResponse)]
