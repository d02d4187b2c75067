"""Requests to the model that failed, folded: counted from the log, and forgotten once there is a reply."""

import pytest

from callslip.core.events.model_failed import ModelFailed
from callslip.core.events.run_ended import RunEnded
from callslip.errors import LogBroken
from callslip.testing.log_builder import LogBuilder

pytestmark = pytest.mark.requirement("WIRE-06")


def failed(attempt=1):
    return ModelFailed(step="1.1", attempt=attempt, model="m", code="c", message="m", retry_at=1)


def test_they_are_counted_over_runs():
    log = LogBuilder().user().add(failed())
    since = log.state().model_failing_since
    log.crash(after_ms=1000).add(failed(2))
    state = log.state()
    assert (state.model_failed.attempt, state.model_failing_since) == (2, since)


def test_a_reply_and_a_run_that_failed_begin_the_count_anew():
    assert LogBuilder().user().add(failed()).step("t").state().model_failed is None
    assert LogBuilder().user().add(failed()).add(RunEnded(status="failed")).state().model_failed is None
    assert LogBuilder().user().add(failed()).add(RunEnded(status="waiting")).state().model_failed is not None


@pytest.mark.parametrize(
    "log",
    [
        lambda: LogBuilder().user().add(failed(2)),
        lambda: LogBuilder().user().add(failed()).add(failed()),
        lambda: LogBuilder().user().step("t").add(failed()),
        lambda: LogBuilder().user().add(failed(), outsider=True),
    ],
    ids=["none before", "twice the same", "a call is open", "an outsider"],
)
def test_what_cant_be(log):
    with pytest.raises(LogBroken):
        log().state()
