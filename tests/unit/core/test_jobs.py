"""Jobs in the background, by the log alone: what the crash table concludes, and what can't be true (SPEC-06)."""

from __future__ import annotations

import pytest

from callslip.core import crash
from callslip.core.events.background_started import BackgroundStarted
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.payload import inline
from callslip.core.result import Effect, Status
from callslip.core.wait import WaitKind
from callslip.errors import LogBroken
from callslip.testing.log_builder import LogBuilder

pytestmark = [pytest.mark.requirement("SPEC-06"), pytest.mark.requirement("RECO-01")]

LATER = 10_000_000
RECOVERIES = ["idempotent", "probe", "never"]


def dispatched(recovery="never", **more) -> LogBuilder:
    return LogBuilder().user().step("t").dispatch(recovery=recovery, background=True, **more)


def job(recovery="never", *, poll_after_ms=1000, until=None) -> LogBuilder:
    return dispatched(recovery).job(poll_after_ms=poll_after_ms, until=until)


def judged(log: LogBuilder, now: int = LATER) -> crash.Conclusion:
    return crash.judge(log.call_state(), now=now)


class TestTheTable:
    @pytest.mark.parametrize(
        ("recovery", "conclusion"), [("idempotent", crash.Again), ("probe", crash.AskProbe), ("never", crash.Park)]
    )
    def test_a_start_of_which_nothing_is_known_is_as_any_dispatch(self, recovery, conclusion):
        assert isinstance(judged(dispatched(recovery).crash()), conclusion)

    @pytest.mark.parametrize("recovery", RECOVERIES)
    @pytest.mark.parametrize("ended", ["lock_free", "rebooted", "elsewhere", "still_running"])
    def test_a_job_that_is_known_is_asked_after_whoever_started_it(self, recovery, ended):
        assert judged(job(recovery).crash(ended=ended)) == crash.PollJob()

    def test_it_is_left_alone_until_it_is_due(self):
        log = job(poll_after_ms=1000).crash(after_ms=0)
        assert judged(log, now=log.now + 999) == crash.AwaitJob()
        assert judged(log, now=log.now + 1000) == crash.PollJob()

    def test_each_poll_moves_that(self):
        log = job().polled(again_ms=5000).crash(after_ms=0)
        assert judged(log, now=log.now + 4999) == crash.AwaitJob()
        assert judged(log, now=log.now + 5000) == crash.PollJob()

    def test_it_is_due_when_its_time_is_over(self):
        log = job(poll_after_ms=60_000, until=1_000_500)
        assert judged(log, now=1_000_499) == crash.AwaitJob()
        assert judged(log, now=1_000_500) == crash.PollJob()

    @pytest.mark.parametrize("code", ["tool_gone", "job_overdue"])
    def test_parked_for_want_of_an_answer_it_is_asked_after_at_each_resume(self, code):
        log = job(poll_after_ms=10**9).park(code=code).crash()
        assert judged(log) == crash.PollJob()

    @pytest.mark.parametrize("code", ["unknown_outcome", "attempts_exhausted", "verdict_refused"])
    def test_parked_for_anything_else_it_waits_for_its_verdict(self, code):
        assert judged(job().park(code=code).crash()) == crash.AwaitVerdict()

    @pytest.mark.parametrize("code", ["tool_gone", "job_overdue"])
    def test_a_call_without_a_job_gains_nothing_by_those_codes(self, code):
        assert judged(dispatched().park(code=code).crash()) == crash.AwaitVerdict()

    def test_verdicts(self):
        parked = lambda: job().park(code="job_overdue")  # noqa: E731
        assert judged(parked().resolve("happened")) == crash.SettleByVerdict()
        assert judged(parked().resolve("give_up")) == crash.SettleByVerdict()
        assert judged(parked().resolve("did_not_happen")) == crash.GateAgain()

    def test_started_anew_it_is_another_job(self):
        log = job("idempotent", poll_after_ms=1).polled().park(code="tool_gone").resolve("did_not_happen")
        log.add(WaitClosed(wait_id="job-0", how="settled", actor="callslip"))
        log.dispatch(recovery="never", background=True)
        call = log.call_state()
        assert (call.job, call.polled, call.polls) == (None, None, 0)
        assert isinstance(judged(log.crash()), crash.Park)
        assert log.job(poll_after_ms=5).call_state().job.attempt == 2

    def test_answered_it_is_over(self):
        assert judged(job().settle().crash()) == crash.Reuse()


class TestItsWait:
    def test_its_time_moves_with_each_poll(self):
        log = job(poll_after_ms=1000)
        assert log.state().waits["job-0"].wake_at == log.now + 1000
        log.polled(again_ms=7000)
        assert log.state().waits["job-0"].wake_at == log.now + 7000
        assert log.call_state().polls == 1

    def test_rehearsing_a_poll_changes_nothing(self):
        from callslip.core import fold
        from callslip.core.event import draft

        log = job()
        state, before = log.state(), log.now + 1000
        event = log.polled().records[-1].record.event
        fold.rehearse(state, [draft(event, at=1, by="x", epoch=1, run="r")])
        assert state.waits["job-0"].wake_at == before
        assert state.calls[log.call_id()].polls == 0


def started(log, **changes):
    facts = {
        "call_id": log.call_id(), "attempt": 1, "nonce": "nonce-0-1", "handle": inline(b"1"), "wait_id": "job-0",
        "poll_at": 1,
    }  # fmt: skip
    return BackgroundStarted(**facts | changes)


class TestWhatCantBeTrue:
    def refused(self, log, match):
        with pytest.raises(LogBroken, match=match):
            log.state()

    def test_a_job_of_a_call_that_starts_none(self):
        self.refused(LogBuilder().user().step("t").dispatch().job(), "not dispatched as a job")

    def test_a_job_started_twice(self):
        log = job()
        self.refused(log.add(started(log)), "is started once")

    def test_a_job_of_another_attempt(self):
        log = dispatched()
        self.refused(log.add(started(log, nonce="other")), "was not dispatched")

    def test_a_job_after_its_attempt_did_nothing(self):
        self.refused(dispatched().fail(effect="none").job(), "not after its attempt was concluded")

    def test_a_job_nobody_waits_for(self):
        log = dispatched()
        self.refused(log.add(started(log)), "nobody waits")

    @pytest.mark.parametrize("changes", [{"kind": WaitKind.TIME}, {"call_id": None}])
    def test_a_job_with_the_wait_of_something_else(self, changes):
        log = dispatched()
        facts = {"wait_id": "job-0", "kind": WaitKind.BACKGROUND, "reason": "r", "call_id": log.call_id()} | changes
        self.refused(log.add(WaitOpened(**facts)).add(started(log)), "nobody waits")

    def test_a_poll_of_no_job(self):
        self.refused(dispatched().polled(), "no job")

    def test_a_poll_after_a_verdict(self):
        self.refused(job().park(code="tool_gone").resolve("give_up").polled(), "no job")

    def test_a_dispatch_of_a_job_that_is_known(self):
        self.refused(job("idempotent").dispatch(recovery="idempotent", background=True), "unconcluded")

    def test_a_failed_attempt_whose_job_is_known(self):
        self.refused(job("idempotent").fail(), "whose job is known")

    def test_a_refusal_of_a_job_that_is_known(self):
        self.refused(job().refuse(), "refused while a dispatch of it is unconcluded")


class TestFromOutside:
    def test_a_job_may_be_ended_from_outside(self):
        log = job().settle(outsider=True)
        assert log.call_state().from_outside

    def test_and_by_its_driver(self):
        assert not job().settle().call_state().from_outside

    def test_a_start_may_not(self):
        with pytest.raises(LogBroken, match="no client owns"):
            dispatched().settle(outsider=True).state()


class TestWords:
    """Only a question is answered in the user's own words, and only by an outsider (CALL-09)."""

    def asked(self, **more):
        return LogBuilder().user().step("t").dispatch(risk="read", client=True, asks_user=True, **more)

    def answer(self, log, **changes):
        return log.settle(**{"outsider": True, "from_user": True, "effect": Effect.NONE} | changes)

    @pytest.mark.requirement("CALL-09")
    def test_the_users_answer(self):
        call = self.answer(self.asked()).call_state()
        assert (call.response.from_user, call.from_outside) == (True, True)

    @pytest.mark.requirement("CALL-09")
    def test_a_question_is_not_asked_again(self):
        assert judged(self.asked().crash()) == crash.AwaitClient()

    @pytest.mark.requirement("CALL-09")
    def test_a_question_taken_back(self):
        log = self.asked().settle(status=Status.RETRYABLE_ERROR, effect=Effect.NONE)
        assert not log.call_state().response.from_user

    @pytest.mark.requirement("CALL-09")
    @pytest.mark.parametrize(
        "changes",
        [
            {"outsider": False},
            {"from_user": False},
            {"status": Status.TIMEOUT},
            {"outsider": False, "from_user": False},
        ],
    )
    def test_anything_else_is_none(self, changes):
        with pytest.raises(LogBroken, match=r"mouth|something else"):
            self.answer(self.asked(), **changes).state()

    @pytest.mark.requirement("CALL-09")
    def test_a_clients_result_is_no_words_of_the_user(self):
        with pytest.raises(LogBroken, match="mouth"):
            self.answer(LogBuilder().user().step("t").dispatch(client=True)).state()
