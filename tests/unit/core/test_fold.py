"""Folding: what is known after each event, and what can't be true."""

from __future__ import annotations

import msgspec
import pytest

from callslip.core import fold
from callslip.core.events.call_resolved import CallResolved
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.model_replied import ModelReplied
from callslip.core.events.model_requested import ModelRequested, VisibleTool
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.run_started import RunStarted
from callslip.core.events.session_started import SessionStarted, WorkspaceIdentity
from callslip.core.events.stop_requested import StopRequested
from callslip.core.events.user_message import UserMessage
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.payload import inline
from callslip.core.result import Status
from callslip.core.state import StepItem, UserItem
from callslip.core.wait import WaitKind
from callslip.errors import LogBroken
from callslip.testing.log_builder import LogBuilder


def log(*tools: str) -> LogBuilder:
    return LogBuilder().user().step(*tools)


def asked(step: str = "1.2", **fields) -> ModelRequested:
    return ModelRequested(step=step, turn=1, model="m", **fields)


def replied(step: str = "1.1") -> ModelReplied:
    return ModelReplied(step=step, text="", finish="stop", calls=0)


def proposed(call_id: str, position: int, step: str = "1.1") -> FunctionCall:
    return FunctionCall(call_id=call_id, step=step, position=position, tool="t", arguments=inline(b'"{}"'))


def opened(wait_id: str = "w", kind: WaitKind = WaitKind.TIME) -> WaitOpened:
    return WaitOpened(wait_id=wait_id, kind=kind, reason="r")


def closed(wait_id: str = "w", how: str = "elapsed") -> WaitClosed:
    return WaitClosed(wait_id=wait_id, how=how, actor="clock")


@pytest.mark.requirement("LEDG-06")
class TestImpossibleOrders:
    @pytest.mark.parametrize(
        ("made", "seq"),
        [
            pytest.param(lambda: LogBuilder(start=False).user(), 1, id="no-beginning"),
            pytest.param(lambda: LogBuilder().add(SessionStarted(requester="x")), 3, id="begins-twice"),
            pytest.param(lambda: LogBuilder().crash().add(opened(), epoch=1), 4, id="a-stale-owner-wrote"),
            pytest.param(lambda: log().add(opened(), outsider=True), 6, id="an-outsider-opens-a-wait"),
            pytest.param(lambda: log().add(RunEnded(status="idle"), outsider=True), 6, id="an-outsider-ends-the-run"),
            pytest.param(lambda: log("t").dispatch().settle(outsider=True), 8, id="an-outsider-answers-what-ran-here"),
            pytest.param(lambda: log("t").settle(outsider=True), 7, id="an-outsider-answers-what-never-ran"),
            pytest.param(lambda: log("t").add(asked()), 7, id="asked-while-a-call-is-open"),
            pytest.param(lambda: log().add(asked(consumed=(3,))), 6, id="a-message-shown-twice"),
            pytest.param(lambda: log().add(asked(consumed=(99,))), 6, id="a-message-that-never-came"),
            pytest.param(lambda: log().add(replied()), 6, id="a-second-reply"),
            pytest.param(lambda: log().add(replied("9.9")), 6, id="a-reply-to-nothing"),
            pytest.param(lambda: LogBuilder().add(replied()), 3, id="a-reply-before-any-question"),
            pytest.param(lambda: log("t").add(proposed("call-1.1-0", 1)), 7, id="one-id-for-two-calls"),
            pytest.param(lambda: log("t").add(proposed("x", 0)), 7, id="a-position-twice"),
            pytest.param(lambda: log("t").add(proposed("x", 2)), 7, id="a-position-left-out"),
            pytest.param(lambda: log("t").add(proposed("x", 1, "1.2")), 7, id="a-call-of-another-step"),
            pytest.param(lambda: log().add(asked()).add(proposed("x", 0, "1.2")), 7, id="a-call-before-its-reply"),
            pytest.param(lambda: log("t").dispatch().settle().park(), 9, id="parked-after-its-response"),
            pytest.param(lambda: log("t").dispatch().fail(code="a").settle().fail(code="b"), 10, id="failed-after-it"),
            pytest.param(lambda: log("t").park().resolve("give_up").resolve("happened"), 9, id="two-verdicts"),
            pytest.param(
                lambda: log().add(
                    CallResolved(call_id="nobody", verdict="give_up", reason="r", actor="op"), outsider=True
                ),
                6,
                id="a-verdict-on-no-call",
            ),
            pytest.param(lambda: log().add(closed()), 6, id="closes-what-is-not-open"),
            pytest.param(lambda: log().add(opened()).add(opened()), 7, id="opens-twice"),
        ],
    )
    def test_the_event_is_named(self, made, seq):
        with pytest.raises(LogBroken) as broken:
            made().state()
        assert broken.value.seq == seq
        assert "Nothing was executed" in str(broken.value)

    @pytest.mark.parametrize("missing", range(1, 8))
    def test_a_hole_is_found_wherever_it_is(self, missing):
        records = log("t").dispatch().settle().records
        with pytest.raises(LogBroken) as broken:
            fold.fold("s", [one for one in records if one.seq != missing])
        assert broken.value.seq == missing + 1

    def test_two_records_in_one_place(self):
        records = log().records
        with pytest.raises(LogBroken):
            fold.fold("s", [*records, records[-1]])


class TestWhatIsKnown:
    def test_position_digest_and_epoch(self):
        made = log("t").crash()
        state = made.state()
        assert (state.seq, state.digest, state.epoch) == (7, made.records[-1].digest, 2)
        assert (state.run, state.run_open, state.outsider_seq) == ("run2", True, 3)

    def test_a_message_waits_until_a_request_shows_it(self):
        made = LogBuilder().user("one").user("two", steer=True)
        assert [(m.text, m.steer) for m in made.state().queued] == [("one", False), ("two", True)]
        made.step()
        assert made.state().queued == []
        assert made.state().items[:2] == [UserItem(text="one"), UserItem(text="two")]

    def test_a_step_becomes_an_item_when_all_its_calls_are_answered(self):
        made = log("a", "b").dispatch(1).settle(1)
        assert not any(isinstance(item, StepItem) for item in made.state().items)
        assert [call.call.tool for call in made.state().open_calls()] == ["a"]
        (item,) = made.refuse(0).state().items[1:]
        assert [call.tool for call in item.calls] == ["a", "b"]
        assert [response.status for response in item.responses] == [Status.PERMISSION_DENIED, Status.SUCCESS]

    def test_an_unchanged_visible_set_is_not_repeated(self):
        made = log("t").refuse().add(asked())
        assert [tool.name for tool in made.state().step.visible] == ["t"]
        other = (VisibleTool(name="x", version="1"),)
        assert made.add(replied("1.2")).add(asked("1.3", visible=other)).state().step.visible == other

    def test_only_tools_that_succeeded_count_as_called(self):
        made = log("a", "b").dispatch(0, tool="a").settle(0).dispatch(1, tool="b")
        assert made.settle(1, status=Status.FATAL_ERROR).state().succeeded == {"a"}

    def test_steps_and_turns_are_counted(self):
        state = log("t").refuse().step(step="1.2").state()
        assert (state.turn, state.steps_in_turn) == (1, 2)
        state = log().user().step(step="2.1", turn=2).state()
        assert (state.turn, state.steps_in_turn) == (2, 1)

    @pytest.mark.parametrize(
        ("status", "stop", "turn_open"),
        [("finished", False, False), ("stopped", True, False), ("stopped", False, True), ("waiting", False, True),
         ("failed", False, True)],
    )  # fmt: skip
    def test_how_a_run_ends_says_whether_its_turn_is_over(self, status, stop, turn_open):
        made = log("t").refuse()
        if stop:
            made.add(StopRequested(actor="me"), outsider=True)
        state = made.add(RunEnded(status=status)).state()
        assert (state.turn_open, state.run_open, state.last_status) == (turn_open, False, status)

    def test_a_stop_where_nothing_is_open_takes_back_what_was_not_read(self):
        made = LogBuilder().user("one").add(RunEnded(status="stopped")).user("two")
        state = made.add(StopRequested(actor="me", unread=True), outsider=True).state()
        assert (state.queued, state.stop, state.items) == ([], False, [])

    @pytest.mark.parametrize(
        "made", [lambda: log().user(), lambda: log("t").refuse().add(RunEnded(status="stopped")).user(), lambda: log().add(RunEnded(status="finished"))]
    )  # fmt: skip
    def test_it_takes_nothing_back_that_a_request_may_just_be_reading_or_that_is_not_there(self, made):
        with pytest.raises(LogBroken, match="takes back"):
            made().add(StopRequested(actor="me", unread=True), outsider=True).state()

    def test_a_dispatchers_steps_keep_their_place_in_the_log_and_make_no_conversation(self):
        made = LogBuilder().step("t", step="7", model=fold.CALLER).refuse()
        state = made.state()
        assert state.steps == {"7": (3, 6)}
        assert (state.items, state.turn_open) == ([], False)

    def test_an_accepted_workspace_is_known_until_the_next_run_takes_it(self):
        made = log().add(opened("w", WaitKind.WORKSPACE)).add(closed("w", "accepted"), outsider=True)
        assert made.state().workspace_accepted
        here = WorkspaceIdentity(path="/", device=1, inode=2)
        made.add(RunStarted(owner="o", host="h", boot="b", process=1, workspace=here))
        state = made.state()
        assert (state.workspace_accepted, state.workspace) == (None, here)

    def test_a_new_run_sees_the_owner_before_it_as_ended_unless_something_of_it_still_runs(self):
        made = log("t").dispatch().crash(ended="still_running")
        assert made.call_state().ended_seen_at is None
        made.crash(ended="lock_free")
        assert (made.call_state().ended_seen_at, made.call_state().ended_how) == (made.now, "lock_free")
        made.crash()
        assert made.call_state().ended_seen_at == made.now - 1000


class TestRehearsal:
    """Drafts tried on a copy: refused before they are written, and the state stays as it was."""

    def drafts(self, event):
        return [fold.Draft(record=fold.Record(at=1, by="me", epoch=1, event=event, run="r"), text=b"")]

    @pytest.mark.parametrize("event", [closed("nobody"), asked(), replied()])
    def test_what_could_not_be_read_back_is_refused(self, event):
        state = log("t").dispatch().state()
        with pytest.raises(LogBroken):
            fold.rehearse(state, self.drafts(event))

    def test_nothing_of_the_state_is_changed(self):
        made = log("a", "b").dispatch(0).settle(0).dispatch(1).add(opened()).user("more")
        state, before = made.state(), msgspec.json.encode(made.state())
        answer = made.settle(1).records[-1].record.event
        for event in (answer, closed(), opened("w2"), UserMessage(text="x"), RunEnded(status="idle")):
            fold.rehearse(state, self.drafts(event))
            assert msgspec.json.encode(state) == before
