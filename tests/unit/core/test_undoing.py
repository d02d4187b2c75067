"""A turn that is undone, by the log alone: what it leaves untouched, and what can't be true (RECO-07)."""

from __future__ import annotations

import pytest

from callslip.core.events.revert_started import RevertStarted
from callslip.core.events.run_ended import RunEnded
from callslip.core.result import Effect, Status
from callslip.core.state import UndoneItem
from callslip.errors import LogBroken
from callslip.testing.log_builder import LogBuilder

pytestmark = pytest.mark.requirement("RECO-07")


def finished() -> LogBuilder:
    log = LogBuilder().user().step("pay").dispatch(recovery="probe").settle().step(step="1.2")
    return log.add(RunEnded(status="finished"))


def stated(log: LogBuilder, turn: int = 1, *, at: int | None = None) -> LogBuilder:
    return log.add(RevertStarted(turn=turn, actor="me", prefix_seq=len(log.records) if at is None else at))


def reverting() -> tuple[LogBuilder, str]:
    log = finished()
    state = log.state()
    call = next(item for item in state.items if getattr(item, "calls", ())).calls[0].call_id
    return stated(log.run(ended="released")), call


def refused(log: LogBuilder, match: str) -> None:
    with pytest.raises(LogBroken, match=match):
        log.state()


class TestItLeavesTheConversationAlone:
    def test_turn_steps_queue_and_stop_stay(self):
        log, call = reverting()
        log.user("later", steer=True)
        before = log.state()
        after = log.undo(call, "revert.1").dispatch().settle().state()
        for name in ("turn", "steps_in_turn", "turn_open", "queued", "stop", "steps"):
            assert getattr(after, name) == getattr(before, name), name
        assert after.queued

    def test_it_stands_in_the_conversation_once(self):
        log, call = reverting()
        items = log.undo(call, "revert.1").dispatch().settle().state().items
        (undone,) = [item for item in items if isinstance(item, UndoneItem)]
        assert items[-1] is undone
        assert undone.call.undoes == call

    def test_the_next_turn_goes_on(self):
        log, call = reverting()
        log.undo(call, "revert.1").dispatch().settle().add(RunEnded(status="finished")).run(ended="released")
        state = log.user("more").step(step="2.1", turn=2).state()
        assert (state.turn, state.steps_in_turn) == (2, 1)


class TestHowFarItIs:
    @pytest.mark.parametrize(
        ("outcome", "status"),
        [
            ({}, "undone"),
            ({"status": Status.FATAL_ERROR, "effect": Effect.DONE}, "undone"),
            ({"status": Status.FATAL_ERROR, "effect": Effect.NONE}, "failed"),
            ({"status": Status.FATAL_ERROR, "effect": Effect.UNKNOWN}, "unknown"),
        ],
    )
    def test_by_what_became_of_its_call(self, outcome, status):
        log, call = reverting()
        log.undo(call, "revert.1").dispatch()
        assert log.state().undone[call].status == "open"
        assert log.settle(**outcome).state().undone[call].status == status

    def test_what_had_no_effect_may_be_tried_again(self):
        log, call = reverting()
        log.undo(call, "revert.1").refuse()
        state = log.undo(call, "revert.2").dispatch().settle().state()
        assert (state.undone[call].status, state.undone[call].tries) == ("undone", 2)

    @pytest.mark.parametrize("effect", [Effect.DONE, Effect.UNKNOWN])
    def test_anything_else_may_not(self, effect):
        log, call = reverting()
        log.undo(call, "revert.1").dispatch().settle(status=Status.FATAL_ERROR, effect=effect)
        refused(log.undo(call, "revert.2"), "a second time")


class TestWhatCantBeTrue:
    def test_a_call_undone_that_nobody_asked_for(self):
        log = finished().run(ended="released")
        refused(log.undo("call-1.1-0", "revert.1"), "nobody has asked")

    def test_of_another_turn_than_was_asked_for(self):
        log, call = reverting()
        refused(log.undo(call, "revert.1", turn=2), "nobody has asked")

    def test_a_statement_about_another_log(self):
        log = finished().run(ended="released")
        refused(stated(log, at=1), "stated of the log at record 1")

    def test_while_the_turn_is_open(self):
        refused(stated(LogBuilder().user().step("pay").dispatch().settle()), "while something is open")

    def test_while_a_call_is_open(self):
        log = LogBuilder().step("pay", step="a", turn=0, model="caller").dispatch()
        refused(stated(log, 0), "while something is open")

    def test_but_it_may_be_stated_again_while_its_own_call_is_open(self):
        log, call = reverting()
        assert stated(log.undo(call, "revert.1")).state().revert is not None

    def test_a_models_call_that_undoes(self):
        refused(LogBuilder().user().step("pay", undoes="call-x"), "not for it")

    def test_a_call_of_a_revert_that_undoes_nothing(self):
        log, _ = reverting()
        refused(log.step("pay", step="revert.1", model="revert"), "not for it")

    def test_rehearsing_one_changes_nothing(self):
        from callslip.core import fold
        from callslip.core.event import draft

        log, call = reverting()
        state, length = log.state(), len(log.records)
        events = [stored.record.event for stored in log.undo(call, "revert.1").records[length:]]
        fold.rehearse(state, [draft(event, at=1, by="x", epoch=1, run="r") for event in events])
        assert state.undone == {}
