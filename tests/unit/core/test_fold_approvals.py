"""What the log may say of approvals, and what follows of it."""

from __future__ import annotations

import pytest

from callslip.core import crash
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.payload import inline
from callslip.core.principal import Proof
from callslip.errors import LogBroken
from callslip.testing.log_builder import LogBuilder


def log():
    return LogBuilder().user().step("t", "t")


def asked(**changes):
    return log().ask(**changes)


OTHER = inline(b'{"n":9}')


@pytest.mark.requirement("APPR-02")
class TestWhatCanNotBe:
    @pytest.mark.parametrize(
        "made",
        [
            pytest.param(lambda: asked().dispatch(), id="dispatched-while-asked"),
            pytest.param(lambda: asked().dispatch(approval="grant_1"), id="on-a-grant-while-asked"),
            pytest.param(lambda: asked().dispatch(approval="appr_0"), id="on-an-approval-nobody-gave"),
            pytest.param(lambda: asked().decide("denied").dispatch(approval="appr_0"), id="against-a-denial"),
            pytest.param(lambda: asked().decide("denied").dispatch(), id="against-a-denial-without-naming-it"),
            pytest.param(lambda: asked(expires_at=1).lapse().dispatch(approval="appr_0"), id="after-it-expired"),
            pytest.param(lambda: asked().decide().dispatch(approval="appr_1"), id="on-another-approval"),
            pytest.param(lambda: asked().decide().dispatch(1, approval="appr_0"), id="on-the-approval-of-another-call"),
            pytest.param(lambda: log().dispatch(approval="appr_0"), id="on-one-nobody-asked-for"),
            pytest.param(
                lambda: asked().decide().dispatch(approval="appr_0", arguments_digest="x"), id="other-arguments"
            ),
            pytest.param(lambda: asked(approvers=2).decide(closes=False).dispatch(approval="appr_0"), id="one-of-two"),
            pytest.param(
                lambda: asked(approvers=2).decide().dispatch(approval="appr_0"), id="one-of-two-though-closed"
            ),
            pytest.param(
                lambda: asked(approvers=2).decide(closes=False).decide(closes=False), id="the-same-person-twice"
            ),
            pytest.param(lambda: asked(approvers=2).decide(edited=OTHER, closes=False), id="an-edit-for-two"),
            pytest.param(lambda: asked().decide("denied", edited=OTHER), id="a-denial-that-edits"),
            pytest.param(lambda: asked().decide(binding="x"), id="another-question"),
            pytest.param(lambda: asked().decide().decide(by="ben"), id="decided-twice"),
            pytest.param(lambda: asked().decide(approval="appr_9"), id="a-question-nobody-asked"),
            pytest.param(lambda: log().decide(), id="nobody-was-asked"),
            pytest.param(lambda: asked().lapse(), id="expired-though-it-never-does"),
            pytest.param(lambda: asked(expires_at=1).decide().lapse(), id="expired-after-its-answer"),
            pytest.param(lambda: asked().ask(approval="appr_x"), id="asked-twice"),
            pytest.param(lambda: asked().decide().ask(1, approval="appr_0"), id="asked-under-an-id-used-before"),
            pytest.param(lambda: log().dispatch().ask(), id="asked-while-it-may-run"),
            pytest.param(lambda: log().refuse().ask(), id="asked-after-its-answer"),
            pytest.param(lambda: log().ask(approvers=0), id="nobody-need-approve"),
            pytest.param(lambda: log().ask(approval="grant_1"), id="an-approval-named-like-a-grant"),
        ],
    )
    def test_the_log_is_refused(self, made):
        with pytest.raises(LogBroken, match="Nothing was executed"):
            made().state()

    def test_only_a_stranger_may_decide_and_only_the_owner_asks(self):
        made = asked()
        question = next(one.record.event for one in made.records if isinstance(one.record.event, ApprovalRequested))
        with pytest.raises(LogBroken, match="an outsider may not append"):
            log().add(question, outsider=True).state()

    def test_what_is_right_is_accepted(self):
        """The control of all of the above."""
        made = asked().decide().dispatch(approval="appr_0").settle()
        made.ask(1, approval="appr_b", approvers=2).decide(position=1, approval="appr_b", closes=False)
        made.decide(position=1, approval="appr_b", by="ben").dispatch(1, approval="appr_b").settle(1)
        assert made.state().open_calls() == []


class TestWhatFollows:
    def test_an_edit_is_what_is_approved(self):
        made = asked().decide(edited=OTHER, changes=("n: 0 → 9",))
        call = made.call_state()
        assert call.arguments() == OTHER
        assert call.arguments(decided=False) == call.call.arguments
        assert call.edits == ("n: 0 → 9",)
        made.dispatch(approval="appr_0", arguments=OTHER, arguments_digest="d").settle().refuse(1)
        assert list(made.state().items[-1].edits.values()) == [("n: 0 → 9",)]

    @pytest.mark.requirement("APPR-02")
    def test_a_later_attempt_names_the_same_approval(self):
        made = asked().decide().dispatch(approval="appr_0").fail(effect="none").dispatch(approval="appr_0").settle()
        assert made.call_state().response is not None

    @pytest.mark.requirement("APPR-02")
    def test_a_verdict_that_it_did_not_happen_uses_the_approval_up(self):
        made = asked().decide().dispatch(approval="appr_0").park().resolve("did_not_happen")
        call = made.call_state()
        assert call.asked is None
        assert not call.approved
        with pytest.raises(LogBroken):
            made.dispatch(approval="appr_0").state()

    def test_a_new_question_voids_the_answers_to_the_one_before(self):
        made = asked().decide().ask(approval="appr_new", edited=("n: 1 → 0",))
        call = made.call_state()
        assert call.pending
        assert call.edits == ("n: 1 → 0",)
        assert call.arguments() == call.asked.arguments

    def test_who_ended_a_wait_is_remembered(self):
        answered = asked().decide("denied", by="ben").state().answered["appr_0"]
        assert (answered.how, answered.actor) == ("denied", "ben")

    @pytest.mark.requirement("RECO-06")
    def test_other_arguments_have_another_key_only_once_it_is_ruled_out_that_it_happened(self):
        ruled_out = asked().decide().dispatch(approval="appr_0").fail(effect="none").ask(approval="appr_n")
        ruled_out.decide(approval="appr_n", edited=OTHER)
        ruled_out.dispatch(approval="appr_n", arguments=OTHER, arguments_digest="d", idempotency_key="k2")
        assert ruled_out.call_state().dispatch.idempotency_key == "k2"
        same = asked().decide().dispatch(approval="appr_0").fail(effect="none")
        with pytest.raises(LogBroken, match="another idempotency key"):
            same.dispatch(approval="appr_0", idempotency_key="k2").state()


class TestTheCrashTable:
    def judge(self, made):
        return crash.judge(made.call_state(), now=made.now)

    def test_asked_and_not_answered_waits_also_after_a_crash(self):
        assert self.judge(asked().crash()) == crash.AwaitApproval()

    def test_answered_goes_to_the_gate(self):
        for made in (asked().decide(), asked().decide("denied"), asked(expires_at=1).lapse()):
            assert self.judge(made.crash()) == crash.GateAgain()

    def test_one_of_two_still_waits(self):
        assert self.judge(asked(approvers=2).decide(closes=False)) == crash.AwaitApproval()

    def test_asked_in_a_run_without_the_marker_is_unknown(self):
        made = LogBuilder(marker=False).user().step("t").ask()
        assert isinstance(self.judge(made), crash.Park)

    def test_asked_again_after_a_verdict(self):
        made = asked().decide().dispatch(approval="appr_0").park().resolve("did_not_happen")
        assert self.judge(made) == crash.GateAgain()
        assert self.judge(made.ask(approval="appr_n")) == crash.AwaitApproval()

    def test_dispatched_is_judged_as_any_dispatch(self):
        assert isinstance(self.judge(asked().decide().dispatch(approval="appr_0").crash()), crash.Park)


def test_a_decision_that_is_no_word_can_not_even_be_read():
    with pytest.raises(TypeError):
        ApprovalDecided(call_id="c", approval_id="a", binding="b", proof=Proof(principal="x"))
