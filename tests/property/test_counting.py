"""What is counted as the log is folded is what a recount of the whole log finds, however it was killed and resumed."""

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from callslip.core import fold, repeat
from callslip.core.budget import Budget, Budgets, SessionBudget, before_call
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.model_replied import ModelReplied, Usage
from callslip.core.events.model_requested import ModelRequested
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.run_started import RunStarted
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.payload import Payload, inline
from callslip.core.result import Effect, Status
from callslip.core.tool import Risk
from callslip.sessions import checkpoint
from callslip.testing.log_builder import LogBuilder

TOOLS = ("t", "u", "tool_search")
LIMITS = ("", "turn.tokens", "turn.calls", "turn.money", "session.tokens", "loop")

small = st.integers(0, 5)
moves = st.lists(
    st.one_of(
        st.tuples(
            st.just("step"),
            st.lists(st.tuples(st.sampled_from(TOOLS), st.integers(0, 1), st.integers(0, 3)), max_size=4),
            small,
            st.none() | small,
        ),
        st.tuples(st.just("say"), st.booleans()),
        st.tuples(st.just("end"), st.sampled_from(LIMITS), st.integers(0, 3000)),
        st.tuples(st.just("die"), st.integers(0, 3000)),
    ),
    max_size=25,
)


class Story:
    """A log made of moves; nothing of it knows how anything is counted."""

    def __init__(self) -> None:
        self.log = LogBuilder().user("begin")
        self.turn, self.count, self.fresh = 0, 0, True

    def play(self, listed) -> LogBuilder:
        for kind, *how in listed:
            self.log.now += 1000
            getattr(self, kind)(*how)
        return self.log

    def say(self, steer: bool) -> None:
        self.log.user("more", steer=steer)
        self.fresh = self.fresh or not steer

    def end(self, limit: str, after: int) -> None:
        self.log.add(RunEnded(status="stopped", limit=limit)).crash(after_ms=after)

    def die(self, after: int) -> None:
        self.log.crash(after_ms=after)

    def step(self, calls, tokens: int, cost: int | None) -> None:
        if self.fresh:
            self.turn, self.count, self.fresh = self.turn + 1, 0, False
        self.count += 1
        name, log = f"{self.turn}.{self.count}", self.log
        seen = tuple(message.seq for message in log.state().queued)
        log.add(ModelRequested(step=name, turn=self.turn, model="m", visible=(), consumed=seen))
        usage = Usage(input_tokens=tokens, output_tokens=tokens, cost_micros=cost)
        log.add(ModelReplied(step=name, text="", finish="calls" if calls else "stop", calls=len(calls), usage=usage))
        log._step, log._dispatches = name, {}
        for position, (tool, argument, _) in enumerate(calls):
            large = Payload(blob="sha256:" + f"{argument}" * 64, size=5000)
            log.add(
                FunctionCall(
                    call_id=log.call_id(position), step=name, position=position, tool=tool,
                    arguments=large if argument else inline(b'"{}"'),
                )
            )  # fmt: skip
        for position, (_, _, outcome) in enumerate(calls):
            if outcome == 0:
                log.refuse(position, code="no")
            elif outcome == 1:
                log.dispatch(position, risk=Risk.READ).settle(position, structured=inline(b"1"))
            elif outcome == 2:
                log.dispatch(position, risk=Risk.WRITE).settle(position, structured=inline(b"1"))
            else:
                log.dispatch(position).settle(
                    position, status=Status.FATAL_ERROR, effect=Effect.NONE, error_code="boom"
                )
        self.fresh = not calls  # an answer ends the turn


def recount(log: LogBuilder) -> tuple[dict, dict]:
    """Session and turn, from the whole log, the plain way: nothing is carried from record to record but where the turn
    and what was granted begin.
    """
    events = [one.record.event for one in log.records]

    def used(begin: int, granted: dict[str, int]) -> dict[str, int]:
        def of(kind, what):
            since = max(begin, granted.get(what, 0))
            return [one for place, one in enumerate(events) if place >= since and isinstance(one, kind)]

        replies = lambda what: [one.usage for one in of(ModelReplied, what)]  # noqa: E731
        return {
            "calls": len(of(FunctionCall, "calls")),
            "searches": sum(one.tool == "tool_search" for one in of(FunctionCall, "searches")),
            "tokens": sum(one.input_tokens + one.output_tokens for one in replies("tokens")),
            "cost": sum(one.cost_micros or 0 for one in replies("money")),
            "unpriced": sum(one.cost_micros is None and one.input_tokens > 0 for one in replies("money")),
            "log": sum(len(text) for place, text in enumerate(log.texts) if place >= begin),
            "blobs": sum(one.arguments.size for one in of(FunctionCall, "blobs")),
        }

    requests = [(place, one) for place, one in enumerate(events) if isinstance(one, ModelRequested)]
    turn = requests[-1][1].turn if requests else 0
    begin = next((place for place, one in requests if one.turn == turn), 0)
    granted, limit = {}, ""
    for place, one in enumerate(events):
        if isinstance(one, RunEnded):
            limit = one.limit
        elif isinstance(one, RunStarted):
            if limit.startswith("turn."):
                granted[limit[5:]] = place
            limit = ""
    return used(0, {}), used(begin, granted)


def told(spent) -> dict[str, int]:
    return {
        "calls": spent.calls, "searches": spent.searches, "tokens": spent.tokens, "cost": spent.cost_micros,
        "unpriced": spent.unpriced, "log": spent.log_bytes, "blobs": spent.blob_bytes,
    }  # fmt: skip


@pytest.mark.requirement("RESI-06")
@settings(max_examples=300, deadline=None)
@given(moves, st.integers(0, 1000))
def test_what_is_counted_is_what_a_recount_finds(listed, cut):
    log = Story().play(listed)
    counts = log.state().counts
    session, turn = recount(log)
    assert told(counts.session) == session
    assert told(counts.turn) == turn
    # A checkpoint anywhere changes nothing.
    at = cut % (len(log.records) + 1)
    state = checkpoint._state_decoder.decode(checkpoint._state_encoder.encode(fold.fold("s", log.records[:at])))
    for stored in log.records[at:]:
        fold.apply(state, stored)
    assert msgspec.json.encode(state.counts) == msgspec.json.encode(counts)


@pytest.mark.requirement("ARGS-05")
@settings(max_examples=200, deadline=None)
@given(moves)
def test_a_repetition_is_as_often_as_it_was_seen(listed):
    """Each count is at most the number of steps with such an end since the user's last words, and what is kept fits."""
    log = Story().play(listed)
    counts = log.state().counts
    assert len(counts.failures) <= repeat.KEPT
    assert len(counts.results) <= repeat.KEPT
    events = [one.record.event for one in log.records]
    said = max((n for n, one in enumerate(events) if isinstance(one, ModelRequested) and one.consumed), default=0)
    calls = {one.call_id: one for one in events if isinstance(one, FunctionCall)}
    t1s = {one.call_id: one for one in events if isinstance(one, ToolDispatch)}

    def key_of(answer):
        t1 = t1s.get(answer.call_id)
        if t1 is None:
            return repeat.call_key(calls[answer.call_id])
        return repeat.final_key(t1.tool, t1.arguments_digest)

    answers = [one for one in events[said:] if isinstance(one, FunctionResponse)]
    for key, one in counts.failures.items():
        steps = {
            calls[answer.call_id].step for answer in answers
            if answer.error_code == one.same and key_of(answer) == key
        }  # fmt: skip
        assert 1 <= one.count <= len(steps)
        assert one.step in steps


@pytest.mark.requirement("RESI-06")
@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), st.integers(0, 12), st.integers(0, 30))
def test_exactly_the_first_calls_are_made(widths, most_turn, most_session):
    log, made = LogBuilder().user(), 0
    budgets = Budgets(turn=Budget(calls=most_turn), session=SessionBudget(calls=most_session))
    for number, width in enumerate(widths, 1):
        log.step(*["t"] * width, step=f"1.{number}")
        state = log.state()
        proposed = [state.calls[call_id].call for call_id in state.step.calls]
        for position in range(width):
            use = before_call(state.counts, budgets, proposed, position)
            made += use is None
            log.refuse(position)
    assert made == min(sum(widths), most_turn, most_session)
    assert log.state().counts.session.calls == sum(widths)
