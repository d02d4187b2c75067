"""What a log proves after it was moved, copied or put back: the crash table for copies, row by row."""

from __future__ import annotations

import pytest

from callslip.core import crash, erasure, fold
from callslip.core.event import draft
from callslip.core.events.blob_erased import BlobErased
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.session_imported import SessionImported
from callslip.core.events.session_sealed import SessionSealed
from callslip.core.events.user_message import UserMessage
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.payload import Payload
from callslip.core.result import Effect, Status
from callslip.core.wait import WaitKind
from callslip.errors import LogBroken, Sealed
from callslip.testing.log_builder import LogBuilder

pytestmark = pytest.mark.requirement("LEDG-06")

RECOVERIES = ["idempotent", "probe", "evidence", "never"]
LATER = 10_000_000


def one_call() -> LogBuilder:
    return LogBuilder().user().step("t")


def rest(log: LogBuilder) -> LogBuilder:
    return log.add(RunEnded(status="waiting"))


def seal(log: LogBuilder, **changes) -> LogBuilder:
    state = log.state()
    made = {"prefix_seq": state.seq, "prefix_digest": state.digest.hex()} | changes
    return log.add(SessionSealed(actor="op", reason="moving", destination="there", **made), outsider=True)


def taken_in(log: LogBuilder, *, proven: bool = False) -> LogBuilder:
    """Imported without a seal, or with it."""
    if proven:
        seal(log)
    return log.add(SessionImported(actor="op", reason="", how="imported", proven=proven), outsider=True)


def judged(log: LogBuilder, now: int = LATER) -> crash.Conclusion:
    return crash.judge(log.call_state(), now=now)


class TestACopy:
    """A log that came without its seal: its silence proves nothing."""

    def test_no_dispatch_is_parked_though_its_run_had_the_marker(self):
        conclusion = judged(taken_in(one_call()).crash())
        assert isinstance(conclusion, crash.Park)
        assert conclusion.code == "no_marker"

    def test_an_approval_that_was_not_used_is_void(self):
        log = taken_in(one_call().ask().decide())
        assert log.call_state().asked is None
        assert not log.call_state().approved
        assert judged(log.crash()).code == "no_marker"

    def test_a_question_to_a_person_is_void(self):
        log = taken_in(one_call().ask())
        assert not log.call_state().pending
        assert judged(log.crash()).code == "no_marker"

    @pytest.mark.parametrize("recovery", RECOVERIES)
    def test_an_attempt_that_did_nothing_says_nothing_of_a_later_one(self, recovery):
        log = taken_in(one_call().dispatch(recovery=recovery).fail(effect="none")).crash()
        assert judged(log) == judged(taken_in(one_call().dispatch(recovery=recovery)).crash())
        assert judged(log) != crash.GateAgain()

    def test_a_verdict_that_it_did_not_happen_is_of_then(self):
        never = one_call().dispatch().park().resolve("did_not_happen")
        assert judged(never) == crash.GateAgain()
        assert judged(taken_in(never).crash()).code == "unknown_outcome"
        undispatched = LogBuilder(marker=False).user().step("t").park().resolve("did_not_happen")
        assert judged(taken_in(undispatched).crash()).code == "no_marker"

    @pytest.mark.parametrize("verdict", ["happened", "give_up"])
    def test_any_other_verdict_holds(self, verdict):
        log = taken_in(one_call().dispatch().park().resolve(verdict)).crash()
        assert judged(log) == crash.SettleByVerdict()

    def test_a_verdict_given_after_the_import_counts(self):
        log = taken_in(one_call()).crash().park(code="no_marker").resolve("did_not_happen")
        assert judged(log) == crash.GateAgain()
        log.dispatch()  # and nothing contradicts it

    def test_what_is_parked_stays_parked(self):
        assert judged(taken_in(one_call().dispatch().park()).crash()) == crash.AwaitVerdict()

    def test_a_client_still_has_what_it_was_given(self):
        assert judged(taken_in(one_call().dispatch(client=True)).crash()) == crash.AwaitClient()

    def test_a_response_is_reused(self):
        assert judged(taken_in(one_call().dispatch().settle()).crash()) == crash.Reuse()

    @pytest.mark.parametrize("recovery", ["idempotent", "probe", "evidence"])
    @pytest.mark.parametrize("seen", ["lock_free", "rebooted", None])
    def test_a_dispatch_counts_from_the_import_whatever_was_seen_of_its_process(self, recovery, seen):
        """T1 at 1,000,000 with 60 s; imported 600 s later: a later attempt may have begun in that very moment."""
        log = one_call().dispatch(recovery=recovery, quiet_ms=5000)
        if seen is not None:
            log.crash(ended=seen)
        began = log.now if seen is None else log.now - 1000
        log.now = began + 600_000
        taken_in(log)
        until = log.now + 60_000 + 5000
        assert crash.judge(log.call_state(), now=until - 1) == crash.WaitUntil(
            at=until, reason="its earlier attempt may still take effect"
        )
        assert not isinstance(crash.judge(log.call_state(), now=until), crash.WaitUntil)

    def test_a_deadline_that_is_later_than_that_counts(self):
        log = one_call().dispatch(recovery="idempotent", quiet_ms=0)
        log.now -= 30_000  # imported by a clock that is behind
        taken_in(log)
        assert crash.quiet_until(log.call_state()) == log.call_state().dispatch.deadline

    def test_a_taker_on_the_same_host_does_not_find_the_process_gone(self):
        """Another state folder has no lock of it, and a lock that isn't there would look free."""
        log = taken_in(one_call().dispatch(recovery="idempotent")).crash(ended="lock_free")
        assert log.call_state().ended_how == "copy"

    def test_an_attempt_made_after_the_import_is_judged_as_ever(self):
        log = taken_in(one_call().dispatch(recovery="idempotent")).crash()
        log.now += 200_000
        log.fail().dispatch(recovery="idempotent", local=True).crash(ended="lock_free")
        assert log.call_state().ended_how == "lock_free"
        assert judged(log, now=log.now) == crash.Again()

    def test_calls_proposed_in_a_run_that_does_not_promise_are_parked_too(self):
        log = taken_in(rest(LogBuilder().user())).crash(marker=False).step("t")
        assert judged(log).code == "no_marker"

    def test_its_run_has_ended_and_nobody_owns_it(self):
        state = taken_in(one_call()).state()
        assert not state.run_open
        with pytest.raises(LogBroken, match="no run is open"):
            taken_in(one_call()).dispatch().state()


class TestAMovedLog:
    """With its seal, a log is whole, and everything in it counts as it stands."""

    def test_what_was_not_dispatched_is_gated_again(self):
        assert judged(taken_in(rest(one_call()), proven=True).crash()) == crash.GateAgain()

    def test_an_approval_holds(self):
        log = taken_in(rest(one_call().ask().decide()), proven=True).crash()
        assert log.call_state().approved

    def test_an_attempt_that_did_nothing_and_a_verdict_count(self):
        log = rest(one_call().dispatch().fail(effect="none"))
        assert judged(taken_in(log, proven=True).crash()) == crash.GateAgain()
        log = rest(one_call().dispatch().park().resolve("did_not_happen"))
        assert judged(taken_in(log, proven=True).crash()) == crash.GateAgain()

    def test_a_dispatch_is_elsewhere_and_its_own_deadline_counts(self):
        log = rest(one_call().dispatch(recovery="idempotent", quiet_ms=700))
        log.now += 600_000
        taken_in(log, proven=True)
        assert log.call_state().ended_how == "elsewhere"
        assert crash.quiet_until(log.call_state()) == log.call_state().dispatch.deadline + 700

    def test_what_was_seen_of_its_process_counts(self):
        log = rest(one_call().dispatch(recovery="idempotent").crash(ended="rebooted"))
        assert taken_in(log, proven=True).call_state().ended_how == "rebooted"

    def test_it_can_leave_again(self):
        log = taken_in(rest(one_call()), proven=True)
        assert log.state().sealed is None
        assert seal(log).state().sealed is not None


class TestTheSeal:
    @pytest.mark.parametrize("more", [UserMessage(text="more"), WaitClosed(wait_id="w", how="x", actor="y")])
    def test_nothing_from_outside_follows(self, more):
        log = seal(rest(LogBuilder().user()))
        with pytest.raises(LogBroken, match="follows after the session was sealed"):
            log.add(more, outsider=True).state()

    def test_no_run_follows(self):
        with pytest.raises(LogBroken, match="run_started follows"):
            seal(rest(LogBuilder().user())).crash().state()

    def test_whoever_tries_is_told_where_it_went(self):
        state = seal(rest(LogBuilder().user())).state()
        more = draft(UserMessage(text="more"), at=1, by="x", epoch=0, run="")
        with pytest.raises(Sealed, match=r"sealed by op and went to there: moving. Nothing was written"):
            fold.rehearse(state, [more])

    def test_an_erasure_may_follow(self):
        log = seal(rest(LogBuilder().user()))
        gone = BlobErased(actor="op", reason="asked", addresses=("sha256:" + "0" * 64,))
        state = log.add(gone, outsider=True).state()
        assert state.sealed is not None

    def test_a_run_that_is_open_cant_be_sealed(self):
        with pytest.raises(LogBroken, match="while a run of it was open"):
            seal(LogBuilder().user()).state()

    @pytest.mark.parametrize("other", [{"prefix_seq": 1}, {"prefix_digest": "00"}])
    def test_a_seal_of_another_log_does_not_fit(self, other):
        with pytest.raises(LogBroken, match="it seals the log at record"):
            seal(rest(LogBuilder().user()), **other).state()

    def test_only_a_sealed_log_can_be_claimed_to_be_whole(self):
        log = rest(one_call()).add(SessionImported(actor="x", reason="", how="imported", proven=True), outsider=True)
        with pytest.raises(LogBroken, match="no seal says so"):
            log.state()

    def test_an_owner_may_not_take_a_log_in(self):
        with pytest.raises(LogBroken):
            LogBuilder().user().add(SessionImported(actor="x", reason="", how="imported"), outsider=True).add(
                RunEnded(status="idle")
            ).state()


class TestTheWaitOfACopy:
    def wait(self, kind=WaitKind.COPY):
        return WaitOpened(wait_id="w", kind=kind, reason="look first")

    def test_an_outsider_may_open_it_and_no_other(self):
        log = taken_in(one_call()).add(self.wait(), outsider=True)
        assert set(log.state().waits) == {"w"}
        for kind in WaitKind:
            if kind is not WaitKind.COPY:
                with pytest.raises(LogBroken, match="an outsider may not append wait_opened"):
                    taken_in(one_call()).add(self.wait(kind), outsider=True).state()

    def test_who_accepted_it_is_kept(self):
        closed = WaitClosed(wait_id="w", how="accepted", actor="op")
        log = taken_in(one_call()).add(self.wait(), outsider=True).add(closed, outsider=True)
        assert log.state().copy_accepted == closed
        assert taken_in(log).state().copy_accepted is None, "and is of that copy alone"


def payload(digit: str, kind: str = "sha256") -> Payload:
    return Payload(blob=f"{kind}:{digit * 64}", size=9)


def answered(result: Payload, position: int = 0) -> dict:
    return {"structured": result, "position": position}


@pytest.mark.requirement("LEDG-08")
class TestErasures:
    def closed(self, kind: str = "sha256") -> LogBuilder:
        log = LogBuilder().user().step("t", "t").dispatch().settle(structured=payload("a", kind))
        return log.dispatch(1).settle(1, structured=payload("b", kind))

    def erase(self, *addresses: str, whole: bool = False) -> BlobErased:
        return BlobErased(actor="op", reason="asked", addresses=addresses, whole=whole)

    def results(self, state) -> list[Payload]:
        return [response.structured for item in state.items[1:] for response in item.responses]

    def test_what_was_erased_is_shown_as_erased_and_the_rest_stays(self):
        log = self.closed().add(self.erase(payload("a").blob), outsider=True)
        assert self.results(log.state()) == [erasure.NOTHING, payload("b")]
        assert log.state().erased == {payload("a").blob: len(log.records)}

    def test_what_was_encrypted_goes_as_a_whole(self):
        log = self.closed("sealed").add(self.erase(whole=True), outsider=True)
        assert self.results(log.state()) == [erasure.NOTHING, erasure.NOTHING]
        assert self.results(self.closed().add(self.erase(whole=True), outsider=True).state()) == [
            payload("a"),
            payload("b"),
        ]

    def test_the_same_payload_named_again_afterwards_is_there(self):
        log = self.closed().add(self.erase(payload("a").blob), outsider=True)
        log.step("t", step="1.2").dispatch().settle(structured=payload("a"))
        assert self.results(log.state()) == [erasure.NOTHING, payload("b"), payload("a")]
        state = log.state()
        assert erasure.gone(state, payload("a").blob, 5)
        assert not erasure.gone(state, payload("a").blob, len(log.records))

    @pytest.mark.parametrize("whole", [True, False])
    def test_what_an_open_call_needs_stays(self, whole):
        arguments = payload("c", "sealed")
        log = LogBuilder().user().step("t").dispatch(arguments=arguments)
        named = () if whole else (arguments.blob,)
        with pytest.raises(LogBroken, match="is open and needs what was erased"):
            log.add(self.erase(*named, whole=whole), outsider=True).state()

    def test_but_not_of_a_session_that_has_left_and_that_one_cant_come_in_any_more(self):
        log = rest(LogBuilder().user().step("t").dispatch(arguments=payload("c", "sealed")))
        log = seal(log).add(self.erase(whole=True), outsider=True)
        assert log.state().erased_whole
        proven = SessionImported(actor="op", reason="", how="imported", proven=True)
        with pytest.raises(LogBroken, match="was erased after the session had left"):
            log.add(proven, outsider=True).state()

    def test_a_record_is_shown_as_of_now(self):
        log = self.closed()
        response = log.records[-3].record.event
        assert isinstance(response, FunctionResponse)
        before, after = log.state(), log.add(self.erase(payload("a").blob), outsider=True).state()
        assert erasure.by_now(before, 7, response) == response
        shown = erasure.by_now(after, 7, response)
        assert shown.structured == erasure.NOTHING
        assert shown.call_id == response.call_id
        assert erasure.by_now(after, 99, response) == response

    def test_segments_that_hold_it_are_void(self):
        state = self.closed().state()
        state.segments = ("sha256:" + "1" * 64,)
        log = self.closed().add(self.erase(payload("a").blob), outsider=True)
        fold.apply(state, log.records[-1])
        assert state.segments == ("",)

    def test_a_failed_call_keeps_its_status(self):
        log = LogBuilder().user().step("t").dispatch().settle(status=Status.FATAL_ERROR, effect=Effect.NONE)
        log.add(self.erase(whole=True), outsider=True)
        assert log.state().items[-1].responses[0].status is Status.FATAL_ERROR
