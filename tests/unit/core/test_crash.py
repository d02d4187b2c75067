"""The crash table, row by row: what the log says, what the tool declared, what must be concluded."""

from __future__ import annotations

import pytest

from callslip.core import crash
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.run_started import RunStarted
from callslip.core.events.tool_dispatch import Evidence
from callslip.core.result import Effect, Status
from callslip.core.version import Version
from callslip.errors import LogBroken
from callslip.testing.log_builder import LogBuilder

pytestmark = pytest.mark.requirement("RECO-01")

LATER = 10_000_000
EVIDENCE = Evidence(target="notes.txt", before="aaa", after="bbb")
RECOVERIES = ["idempotent", "probe", "evidence", "never"]


def one_call(**builder: bool) -> LogBuilder:
    return LogBuilder(**builder).user().step("t")


def judged(log: LogBuilder, now: int = LATER) -> crash.Conclusion:
    return crash.judge(log.call_state(), now=now)


def test_no_dispatch_in_a_run_with_the_marker_is_gated_again():
    assert judged(one_call().crash()) == crash.GateAgain()


def test_no_dispatch_without_the_marker_is_unknown_and_parked():
    conclusion = judged(one_call(marker=False).crash())
    assert isinstance(conclusion, crash.Park)
    assert conclusion.code == "no_marker"


def test_the_marker_of_a_later_run_proves_nothing_about_an_earlier_one():
    assert isinstance(judged(one_call(marker=False).crash(marker=True)), crash.Park)


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_a_response_is_reused(recovery):
    assert judged(one_call().dispatch(recovery=recovery).settle().crash()) == crash.Reuse()


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_a_refused_response_is_settled(recovery):
    assert judged(one_call().refuse().crash()) == crash.Reuse()


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_a_failed_attempt_without_effect_is_dispatched_again_never_parked(recovery):
    assert judged(one_call().dispatch(recovery=recovery).fail(effect="none").crash()) == crash.GateAgain()


def test_only_dispatched_idempotent_runs_again():
    assert judged(one_call().dispatch(recovery="idempotent").crash()) == crash.Again()


def test_unknown_effect_idempotent_runs_again():
    assert judged(one_call().dispatch(recovery="idempotent").fail().crash()) == crash.Again()


def test_an_idempotent_call_is_not_repeated_for_ever():
    log = one_call()
    for _ in range(crash.MAX_ATTEMPTS):
        log.dispatch(recovery="idempotent").fail().crash()
    conclusion = judged(log)
    assert isinstance(conclusion, crash.Park)
    assert conclusion.code == "attempts_exhausted"


@pytest.mark.requirement("RESI-01")
@pytest.mark.requirement("RESI-02")
class TestAfterAFailure:
    def failed(self, effect, recovery="idempotent", risk="write", **said):
        log = one_call().dispatch(recovery=recovery, risk=risk, local=True)
        return log.fail(effect=effect, ended=True, **said)

    @pytest.mark.parametrize("recovery", RECOVERIES)
    def test_what_did_nothing_waits_for_its_time_and_then_meets_the_gate(self, recovery):
        log = self.failed("none", recovery, transient=True, retry_at=5_000_000_000_000)
        assert judged(log, now=4_999_999_999_999) == crash.WaitUntil(at=5_000_000_000_000, reason=crash.RETRY)
        assert judged(log, now=5_000_000_000_000) == crash.GateAgain()
        assert judged(log.crash(), now=4_999_999_999_999) == crash.WaitUntil(at=5_000_000_000_000, reason=crash.RETRY)

    def test_what_may_have_happened_waits_for_its_time_and_is_repeated(self):
        log = self.failed("unknown", transient=True, retry_at=5_000_000_000_000)
        assert judged(log, now=4_999_999_999_999) == crash.WaitUntil(at=5_000_000_000_000, reason=crash.RETRY)
        assert judged(log, now=5_000_000_000_000) == crash.Again()

    def test_its_old_attempt_must_have_ended_all_the_same(self):
        log = one_call().dispatch(recovery="idempotent").fail(transient=True, retry_at=1)
        assert judged(log) == crash.WaitUntil(at=None, reason="its earlier attempt may still take effect")

    def test_undeclared_it_is_never_repeated_however_passing_the_fault(self):
        conclusion = judged(self.failed("unknown", "never", transient=True, retry_at=1))
        assert isinstance(conclusion, crash.Park)
        assert conclusion.code == "unknown_outcome"

    def test_the_last_attempt_is_the_last(self):
        assert judged(self.failed("none", last=True)) == crash.GiveUp()
        assert judged(self.failed("unknown", risk="read", transient=True, last=True)) == crash.GiveUp()
        assert judged(self.failed("unknown", transient=True, last=True)).code == "attempts_exhausted"
        assert judged(self.failed("unknown", transient=False, last=True)).code == "unknown_outcome"

    def test_a_parked_repeat_says_what_is_known_of_all_its_attempts(self):
        log = one_call().dispatch(recovery="idempotent").fail(effect="unknown").dispatch(recovery="idempotent")
        log.fail(effect="unknown", code="refused", transient=False, last=True)
        parked = judged(log.crash())
        assert log.call_state().unclear == (1,)
        assert parked.reason == (
            "its latest attempt, 2, failed (refused); attempt 1 may have taken effect, whatever the latest says. "
            "Look at what it changes"
        )
        log.park().resolve("did_not_happen").dispatch(recovery="idempotent").fail(effect="unknown", transient=False)
        assert log.call_state().unclear == (), "a person has said what became of the first two"

    def test_one_that_was_tried_too_often_says_so_too(self):
        log = one_call()
        for _ in range(crash.MAX_ATTEMPTS):
            log.dispatch(recovery="idempotent").fail(effect="unknown")
        reason = judged(log.crash()).reason
        assert reason.startswith("5 attempts ended without an answer; attempts 1 to 4 may have taken effect")

    def test_what_certainly_did_nothing_is_not_doubted(self):
        log = one_call().dispatch(recovery="idempotent").fail(effect="none").dispatch(recovery="idempotent")
        log.fail(effect="unknown", code="lost", transient=False, last=True)
        assert log.call_state().unclear == ()
        assert judged(log.crash()).reason == "its attempt failed (lost), and nothing tells whether it took effect"

    def test_attempts_are_counted_from_the_log_and_a_verdict_begins_anew(self):
        log = one_call()
        for _ in range(3):
            log.dispatch().fail(effect="none").crash()
        assert crash.judge(log.call_state(), now=LATER, most=4) == crash.GateAgain()
        assert crash.judge(log.call_state(), now=LATER, most=3) == crash.GiveUp()
        log.dispatch().crash().park().resolve("did_not_happen")
        assert log.call_state().tried == 0
        log.dispatch().fail(effect="none")
        assert crash.judge(log.call_state(), now=LATER, most=2) == crash.GateAgain()


def test_only_dispatched_probe_is_asked():
    assert judged(one_call().dispatch(recovery="probe").crash()) == crash.AskProbe()


def test_probe_answers():
    assert crash.after_probe(happened=True) == crash.Reuse()
    assert crash.after_probe(happened=False) == crash.Again()
    assert isinstance(crash.after_probe(happened=None), crash.Park)


def test_a_failed_probe_can_be_asked_again_at_the_next_resume():
    log = one_call().dispatch(recovery="probe").crash().park(code="probe_failed").crash()
    assert judged(log) == crash.AskProbe()


@pytest.mark.parametrize("risk", ["write", "dangerous"])
def test_only_dispatched_never_is_parked(risk):
    conclusion = judged(one_call().dispatch(recovery="never", risk=risk).crash())
    assert isinstance(conclusion, crash.Park)
    assert conclusion.code == "unknown_outcome"


@pytest.mark.parametrize("risk", ["write", "dangerous"])
def test_unknown_effect_never_is_parked(risk):
    assert isinstance(judged(one_call().dispatch(recovery="never", risk=risk).fail().crash()), crash.Park)


def test_a_lost_read_is_answered_as_timeout_once_its_deadline_has_passed():
    log = one_call().dispatch(recovery="never", risk="read").crash()
    late, early = judged(log, now=LATER), judged(log, now=log.now)
    assert late == crash.Settle(status=Status.TIMEOUT, code="timeout", effect=Effect.UNKNOWN)
    assert early == crash.Settle(status=Status.FATAL_ERROR, code="interrupted", effect=Effect.UNKNOWN)


def test_evidence_is_compared():
    log = one_call().dispatch(recovery="evidence", evidence=EVIDENCE, local=True).crash()
    assert judged(log) == crash.CompareEvidence()
    call = log.call_state()
    assert crash.after_evidence(call, "bbb") == crash.Reuse()
    assert crash.after_evidence(call, "aaa") == crash.Again()
    assert isinstance(crash.after_evidence(call, "ccc"), crash.Park)


def test_evidence_that_was_never_taken_parks():
    assert isinstance(judged(one_call().dispatch(recovery="evidence", local=True).crash()), crash.Park)


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_a_call_its_client_owns_still_waits_for_it(recovery):
    assert judged(one_call().dispatch(recovery=recovery, client=True).crash()) == crash.AwaitClient()


def test_a_parked_call_waits_for_its_verdict():
    assert judged(one_call().dispatch().crash().park().crash()) == crash.AwaitVerdict()


def test_verdicts():
    parked = lambda: one_call().dispatch().crash().park()  # noqa: E731
    assert judged(parked().resolve("happened")) == crash.SettleByVerdict()
    assert judged(parked().resolve("give_up")) == crash.SettleByVerdict()
    assert judged(parked().resolve("did_not_happen")) == crash.GateAgain()


def test_a_call_parked_without_dispatch_may_be_settled_by_verdict():
    log = one_call(marker=False).crash().park(code="no_marker").resolve("happened")
    assert judged(log) == crash.SettleByVerdict()
    seq = log.call_state().resolved_seq
    settled = log.settle(resolved=seq)
    assert settled.call_state().response is not None


@pytest.mark.parametrize("recovery", ["idempotent", "probe", "evidence"])
class TestTheOldAttemptMustHaveEnded:
    def log(self, recovery: str, **dispatch: object) -> LogBuilder:
        return one_call().dispatch(recovery=recovery, quiet_ms=500, evidence=EVIDENCE, **dispatch)

    def test_a_request_that_was_sent_may_still_arrive(self, recovery):
        log = self.log(recovery).crash()
        assert judged(log, now=log.now) == crash.WaitUntil(
            at=log.now + 500, reason="its earlier attempt may still take effect"
        )
        assert not isinstance(judged(log, now=log.now + 500), crash.WaitUntil)

    def test_a_local_effect_ended_with_its_process(self, recovery):
        log = self.log(recovery, local=True).crash()
        assert not isinstance(judged(log, now=log.now), crash.WaitUntil)

    def test_elsewhere_the_deadline_and_the_quiet_period_must_pass(self, recovery):
        log = self.log(recovery)
        deadline = log.now + 60_000
        log.crash(ended="elsewhere")
        assert isinstance(judged(log, now=deadline + 499), crash.WaitUntil)
        assert not isinstance(judged(log, now=deadline + 500), crash.WaitUntil)

    def test_nothing_has_ended_while_a_child_of_the_owner_lives(self, recovery):
        log = self.log(recovery, local=True).crash(ended="still_running")
        conclusion = judged(log)
        assert isinstance(conclusion, crash.WaitUntil)
        assert conclusion.at is None
        assert not isinstance(judged(log.crash(ended="lock_free")), crash.WaitUntil)

    def test_in_the_same_run_only_this_process_can_know(self, recovery):
        assert isinstance(judged(self.log(recovery, local=True).fail()), crash.WaitUntil)
        assert not isinstance(judged(self.log(recovery, local=True).fail(ended=True)), crash.WaitUntil)

    def test_its_quiet_period_holds_there_too_except_for_a_safe_repeat(self, recovery):
        log = self.log(recovery).fail(ended=True)
        at_once = not isinstance(judged(log, now=log.now), crash.WaitUntil)
        assert at_once == (recovery == "idempotent")
        assert not isinstance(judged(log, now=log.now + 500), crash.WaitUntil)

    def test_who_released_the_session_last_need_not_be_who_made_the_attempt(self, recovery):
        log = self.log(recovery, local=True)
        log.crash(ended="still_running").add(RunEnded(status="waiting")).now += 1000
        log.epoch += 1
        log.add(RunStarted(owner="third", host="h", boot="b", process=3, parent_ended="released"))
        assert isinstance(judged(log), crash.WaitUntil)


class TestFailClosed:
    """Logs that can't be true: refused, naming the event."""

    @pytest.mark.requirement("LEDG-06")
    @pytest.mark.parametrize(
        ("log", "seq"),
        [
            pytest.param(lambda: one_call().settle(), 7, id="settled-response-naming-no-dispatch"),
            pytest.param(lambda: one_call().dispatch().settle(nonce="other"), 8, id="another-nonce"),
            pytest.param(lambda: one_call().dispatch().settle().settle(), 9, id="two-responses"),
            pytest.param(lambda: one_call().dispatch().refuse(), 8, id="refused-while-unconcluded"),
            pytest.param(lambda: one_call().dispatch().fail().refuse(), 9, id="refused-while-unknown"),
            pytest.param(lambda: one_call().dispatch().dispatch(), 8, id="two-dispatches-in-flight"),
            pytest.param(
                lambda: one_call().dispatch(recovery="probe").fail().dispatch(recovery="probe"), 9,
                id="unknown-effect-repeated-though-not-idempotent",
            ),
            pytest.param(lambda: one_call(marker=False).crash().dispatch(), 8, id="no-marker-and-no-verdict"),
            pytest.param(lambda: one_call().dispatch().crash().park().resolve("happened").dispatch(), 11,
                         id="dispatched-against-the-verdict"),
            pytest.param(lambda: one_call().dispatch().settle(resolved=99), 8, id="verdict-that-is-not-there"),
            pytest.param(lambda: one_call().resolve("happened"), 7, id="verdict-on-a-call-that-is-not-parked"),
            pytest.param(
                lambda: one_call().dispatch(recovery="idempotent").fail()
                .dispatch(recovery="idempotent", idempotency_key="other"), 9, id="another-key",
            ),
            pytest.param(
                lambda: one_call().dispatch(recovery="idempotent", version=Version(of="it", value=1)).fail()
                .dispatch(recovery="idempotent", version=Version(of="it", value=2)), 9, id="another-version",
            ),
            pytest.param(lambda: one_call().dispatch(attempt=3), 7, id="attempt-out-of-order"),
            pytest.param(lambda: one_call().settle(status=Status.PENDING_APPROVAL), 7, id="pending-is-no-event"),
        ],
    )  # fmt: skip
    def test_the_event_is_named(self, log, seq):
        with pytest.raises(LogBroken) as broken:
            log().state()
        assert broken.value.seq == seq
        assert f"Event {seq} " in str(broken.value)

    @pytest.mark.requirement("PARA-02")
    def test_what_has_not_happened_may_be_dispatched_for_another_version(self):
        one, two = (Version(of="it", value=number) for number in (1, 2))
        one_call().dispatch(version=one).fail(effect="none").dispatch(version=two).state()
        one_call().dispatch(recovery="idempotent", version=one).fail().dispatch(
            recovery="idempotent", version=one
        ).state()

    def test_concluded_dispatches_may_be_refused(self):
        one_call().dispatch().fail(effect="none").refuse().state()
        one_call().dispatch().crash().park().resolve("did_not_happen").refuse().state()


def test_a_late_outcome_changes_nothing():
    log = one_call().dispatch(recovery="never", risk="read").settle(status=Status.TIMEOUT, effect=Effect.NONE)
    before = log.call_state().response
    log.add(LateOutcome(call_id=log.call_id(), attempt=1, nonce="nonce-0-1", ok=True), outsider=True)
    after = log.call_state()
    assert after.response == before
    assert after.late == 1
