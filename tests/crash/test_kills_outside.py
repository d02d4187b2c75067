"""kill -9 where calls go on outside: jobs in the background, questions to the user, a turn that is undone."""

from collections import Counter
from pathlib import Path

import pytest

from callslip.core.events.function_call import FunctionCall
from callslip.core.events.revert_started import RevertStarted
from callslip.core.events.run_ended import RunEnded
from callslip.core.result import Effect, Status
from callslip.failpoint import AUDIT
from callslip.testing.crash import Harness
from callslip.testing.crash_verdict import examine
from callslip.testing.effects import SENT, Arrival
from callslip.testing.log_builder import LogBuilder

TARGET = Path(__file__).parent / "programs" / "outside.py"
_EACH = {"claim.before", "reply.before", "commit.before", "commit.after", "run.ending", "blob.written", "blob.renamed"}
_OWN = _EACH | {
    "dispatch.before", "dispatch.after", "effect.before", "effect.after", "settle.before", "settle.after", SENT,
}  # fmt: skip
_JOB = _OWN | {"poll.before", "poll.after"}
REACHED = {
    "job_idempotent": _JOB,
    "job_probe": _JOB | {"recover.before"},
    "job_never": _JOB | {"resolve.before"},
    "question": _EACH | {"dispatch.before", "submit.before"},
    "undone": _OWN | {"recover.before"},
}
"""The start of a job stands between ``effect.before`` and ``settle.after``, its end between ``poll.after`` and a second
``settle.after``."""


@pytest.mark.requirement("CALL-09")
@pytest.mark.requirement("SPEC-06")
@pytest.mark.requirement("RECO-05")
@pytest.mark.requirement("RECO-07")
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("variants", "rows"),
    [
        (
            ["job_idempotent", "job_probe", "job_never"],
            {
                "no T1", "T1 only, idempotent", "T1 only, probe, happened", "T1 only, probe, did not happen",
                "T1 only, never", "the job is known",
            },
        ),
        (["question"], {"no T1", "T1 only, client"}),
        (["undone"], {"no T1", "T1 only, probe, happened", "T1 only, probe, did not happen"}),
    ],
    ids=["jobs", "questions", "undoing"],
)  # fmt: skip
def test_every_boundary_and_random_instants(memory_folder, variants, rows):
    with Harness(TARGET, "scenario", memory_folder, workers=2) as harness:
        report = harness.check(variants, each=1, random=15, seed=3)
    assert report.faults == []
    hit = {name: set(found) for name, found in report.boundaries.items()}
    for variant in variants:
        assert {name for name in hit if variant in hit[name]} - {*AUDIT} == REACHED[variant]
    met = Counter()
    for row, count in report.conclusions.items():
        met[row.split(":")[0]] += count
    assert met.keys() >= rows


class TestTheJudgeItself:
    """A judge that finds no fault proves nothing before it has found some."""

    def job(self, recovery="idempotent"):
        return LogBuilder().user().step("t").dispatch(recovery=recovery, background=True).job()

    def faults(self, log, *arrivals):
        effects = [Arrival("w", "t", key, 1, "", "") for key in arrivals]
        return examine("s", log.records, effects, {}).faults

    def test_a_known_job_that_was_parked(self):
        log = self.job("never").crash().park()
        assert any("the job is known must be" in fault for fault in self.faults(log, "key-0"))

    def undone(self, *undoing):
        log = LogBuilder().user().step("t").dispatch(recovery="probe").settle()
        call_id = log.call_id()
        log.step(step="1.2")
        log.add(RunEnded(status="finished")).run(ended="released")
        log.add(RevertStarted(turn=1, actor="me", prefix_seq=len(log.records)))
        for number, key in enumerate(undoing, start=1):
            log.undo(call_id, f"revert.{number}").dispatch(recovery="probe", idempotency_key=key)
            log.settle() if number == len(undoing) else log.settle(status=Status.FATAL_ERROR, effect=Effect.NONE)
        return log.add(RunEnded(status="finished"))

    def test_a_call_undone_once(self):
        assert self.faults(self.undone("k1"), "key-0", "k1") == []

    def test_a_call_undone_twice_by_two_calls(self):
        faults = self.faults(self.undone("k1", "k2"), "key-0", "k1", "k2")
        assert any("undone 2 times" in fault for fault in faults)

    def test_a_call_that_was_not_undone(self):
        assert any("undone 0 times" in fault for fault in self.faults(self.undone(), "key-0"))

    def test_the_builder_marks_what_undoes(self):
        log = self.undone("k1")
        assert [r.record.event.undoes for r in log.records if isinstance(r.record.event, FunctionCall)][1]
