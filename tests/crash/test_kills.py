"""kill -9 at every boundary a call meets, and at random instants: nothing lost, nothing done twice undeclared."""

from collections import Counter
from pathlib import Path

import pytest

from callslip.failpoint import AUDIT, NAMES
from callslip.testing import crash_target
from callslip.testing.crash import Harness, Survey, boundary_cases, random_case
from callslip.testing.crash_verdict import examine
from callslip.testing.effects import SENT, Arrival
from callslip.testing.log_builder import LogBuilder

TARGET = Path(crash_target.__file__)
RANDOM = 50

_EACH = {
    "claim.before", "reply.before", "commit.before", "commit.after", "run.ending", "blob.written", "blob.renamed", *AUDIT,
}  # fmt: skip
_OWN = _EACH | {
    "dispatch.before", "dispatch.after", "effect.before", "effect.after", "settle.before", "settle.after", SENT,
}  # fmt: skip
REACHED = {
    "idempotent": _OWN,
    "probe": _OWN | {"recover.before"},
    "evidence": _OWN | {"recover.before"},
    "never_write": _OWN | {"resolve.before"},
    "never_read": _OWN,
    "client": _EACH | {"dispatch.before", "submit.before"},
    "approved": _OWN | {"ask.before", "ask.after", "decide.before", "decide.after", "resolve.before"},
}
"""Which boundaries each kind of tool can meet at all."""


@pytest.mark.requirement("RECO-01")
@pytest.mark.requirement("RECO-02")
@pytest.mark.requirement("RECO-03")
@pytest.mark.requirement("RECO-05")
@pytest.mark.requirement("RECO-06")
@pytest.mark.requirement("LEDG-02")
@pytest.mark.timeout(300)
def test_every_boundary_of_every_kind_of_tool_and_random_instants(memory_folder):
    with Harness(TARGET, "scenario", memory_folder, workers=2) as harness:
        report = harness.check(crash_target.VARIANTS, each=1, random=RANDOM, seed=1)
    assert report.faults == []
    hit = {name: set(variants) for name, variants in report.boundaries.items()}
    for variant, wanted in REACHED.items():
        assert {name for name in hit if variant in hit[name]} == wanted
    assert set(hit) >= set(NAMES) - {"poll.before", "poll.after"}  # those are met by jobs: test_kills_outside.py
    assert sum(report.instants.values()) >= RANDOM
    assert report.kills >= 50
    rows = Counter()
    for row, count in report.conclusions.items():
        rows[row.split(":")[0]] += count
    assert rows.keys() >= {
        "no T1",
        "T1 only, idempotent",
        "T1 only, probe, happened",
        "T1 only, probe, did not happen",
        "T1 only, evidence, happened",
        "T1 only, evidence, did not happen",
        "T1 only, never",
        "T1 only, never, reads",
        "T1 only, client",
    }


def test_the_cases_depend_on_the_seed_alone():
    import random

    survey = Survey(variant="v", clean={"commit.before": 9, SENT: 2}, recovery={"recover.before": 2}, seconds=0.1)
    for make in (lambda dice: boundary_cases(survey, dice, each=10), lambda dice: random_case(survey, dice)):
        assert make(random.Random(7)) == make(random.Random(7))
    hits = {case.kills[-1].hit for case in boundary_cases(survey, random.Random(1), each=10) if len(case.kills) == 1}
    assert hits == set(range(1, 10)), "every hit has its turn"


class TestTheJudgeItself:
    """A judge that finds no fault proves nothing before it has found some."""

    def log(self, recovery="never", **t1):
        return LogBuilder().user().step("t").dispatch(recovery=recovery, **t1)

    def done(self, log):
        from callslip.core.events.run_ended import RunEnded

        return log.step(step="1.2").add(RunEnded(status="finished"))

    def faults(self, log, *arrivals, known=None):
        effects = [Arrival("w", "t", "key-0", attempt, "", "") for attempt in arrivals]
        return examine("s", log.records, effects, known or {}).faults

    def test_nothing_wrong(self):
        assert self.faults(self.done(self.log().settle()), 1) == []

    def test_an_undeclared_repeat(self):
        log = self.done(self.log().fail(effect="none").dispatch().settle())
        faults = self.faults(log, 1, 2)
        assert faults
        assert all("undeclared repeat" in fault for fault in faults)

    def test_a_declared_repeat_is_none(self):
        log = self.done(self.log("idempotent").crash().fail().dispatch(recovery="idempotent").settle())
        assert self.faults(log, 1, 2) == []

    def test_one_attempt_twice(self):
        assert "took effect 2 times" in self.faults(self.done(self.log("idempotent").settle()), 1, 1)[0]

    def test_an_effect_without_its_dispatch(self):
        assert "without its T1" in self.faults(self.done(self.log().settle()), 1, 2)[0]

    def test_a_result_without_its_effect(self):
        assert "nothing took effect" in self.faults(self.done(self.log().settle()))[0]

    def test_a_fact_that_was_known_and_is_lost(self):
        assert "is lost" in self.faults(self.done(self.log().settle()), 1, known={3: "another"})[0]

    def test_words_said_twice(self):
        assert "user's words" in self.faults(self.done(self.log().settle().user()), 1)[0]

    def test_a_session_that_did_not_end(self):
        assert "did not come to its end" in self.faults(self.log(), 1)[0]

    @pytest.mark.parametrize(
        ("recovery", "arrived", "then"),
        [
            ("never", True, lambda log: log.settle()),
            ("probe", False, lambda log: log.settle()),
            ("probe", True, lambda log: log.fail(effect="none").dispatch(recovery="probe").settle()),
            (
                "evidence",
                True,
                lambda log: log.park().resolve("happened").settle(attempt=None, nonce=None, resolved=10),
            ),
            ("idempotent", True, lambda log: log.settle()),
        ],
    )
    def test_another_conclusion_than_the_tables(self, recovery, arrived, then):
        log = self.done(then(self.log(recovery).crash()))
        assert any("must be" in fault for fault in self.faults(log, *[1] * arrived))

    def asked(self):
        return LogBuilder().user().step("approved").ask(tool="approved").decide()

    def test_an_approved_call(self):
        log = self.done(self.asked().dispatch(approval="appr_0", tool="approved").settle())
        assert self.faults(log, 1) == []

    def test_a_call_that_nobody_approved(self):
        log = self.done(LogBuilder().user().step("approved").dispatch(tool="approved").settle())
        assert "without an approval" in self.faults(log, 1)[0]

    def test_a_log_that_contradicts_itself(self):
        assert "contradicts" in self.faults(self.log().settle().settle(), 1)[0]
