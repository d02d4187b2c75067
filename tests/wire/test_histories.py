"""No history draws a 400: whatever happened to a session, its next request is legal for every provider (bars: Wire)."""

import collections
import json

import pytest
from hypothesis import given, settings, strategies as st

from .made_history import Made

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("WIRE-01", "WIRE-02", "CALL-05", "CALL-06", "RSLT-04")]

HAPPENED = {
    "ApprovalDecided", "AttemptFailed", "CallParked", "CallResolved", "ContextCompacted", "FunctionResponse",
    "RunStarted", "SessionForked", "ToolDispatch", "UserMessage", "WaitOpened",
}  # fmt: skip


async def played(seed):
    made = Made(seed)
    await made.play()
    return made


def said(made, seed):
    first = made.broken[0]
    rules = [f"{one.rule} at {one.path}: {one.message}" for one in first.violations]
    return f"seed {seed}, {first.format}: {rules}\n{json.dumps(first.body)[:6000]}"


@given(seed=st.integers(min_value=0))
@settings(max_examples=300, deadline=None, derandomize=True)
async def test_no_history_draws_a_400(seed):
    made = await played(seed)
    assert not made.broken, said(made, seed)


@pytest.mark.slow
@pytest.mark.parametrize("thousand", range(10))
async def test_ten_thousand_histories_draw_no_400(thousand):
    for seed in range(thousand * 1000, (thousand + 1) * 1000):
        made = await played(seed)
        assert not made.broken, said(made, seed)


@pytest.mark.untraced
async def test_everything_happens_in_them():
    seen, replies = collections.Counter(), collections.Counter()
    for seed in range(60):
        for log in (await played(seed)).logs.values():
            for stored in log.records:
                event = stored.record.event
                seen[type(event).__name__] += 1
                if type(event).__name__ == "ModelReplied":
                    replies[event.finish, event.kept is not None] += 1
    assert set(seen) >= HAPPENED
    assert replies["calls", True] > 10
    assert replies["calls", False] > 10
    assert replies["length", False] > 3
