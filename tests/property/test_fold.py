"""Any legal history can be folded and judged; anything else is refused; and what is concluded can be written."""

import copy

import msgspec
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from callslip.core import crash, fold
from callslip.core.event import draft
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.call_parked import CallParked
from callslip.core.events.call_resolved import CallResolved
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.run_started import RunStarted
from callslip.core.events.stop_requested import StopRequested
from callslip.core.events.tool_dispatch import Evidence
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.result import Effect, Status
from callslip.core.tool import Recovery, Risk
from callslip.core.wait import WaitKind
from callslip.errors import LogBroken
from callslip.testing.log_builder import LogBuilder

_EVIDENCE = Evidence(target="f", before="1", after="2")


_ENDS = ("still_running", "lock_free", "elsewhere", "rebooted", "released")


class Call(msgspec.Struct):
    """What the test itself knows of a call."""

    marker: bool
    recovery: Recovery | None = None
    risk: Risk = Risk.WRITE
    client: bool = False
    local: bool = False
    quiet: int = 0
    dispatched_at: int = 0
    attempts: int = 0
    tried: int = 0
    failed: Effect | None = None
    parked: str = ""
    verdict: str = ""
    verdict_seq: int = 0
    ended_at: int | None = None
    ended_how: str = ""
    answered: bool = False

    @property
    def open_attempt(self):
        return self.attempts > 0 and self.failed is not Effect.NONE and self.verdict != "did_not_happen"

    @property
    def may_dispatch(self):
        if self.answered or self.verdict not in ("", "did_not_happen"):
            return False
        if not self.attempts:
            return self.marker or self.verdict == "did_not_happen"
        return not self.open_attempt or (self.failed is not None and self.recovery is Recovery.IDEMPOTENT)


class Histories(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.log = LogBuilder()
        self.state = fold.empty("s")
        self.marker = True
        self.calls = []
        self.steps = 0
        self.waits = 0
        self.take()

    def take(self):
        for stored in self.log.records[self.state.seq :]:
            fold.apply(self.state, stored)

    # What may happen

    @rule(moves=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 10**6)), min_size=4, max_size=12))
    def act(self, moves):
        """Each move picks a call and, of all that may legally happen to it, one thing."""
        for which, choice in moves:
            if choice % 6 == 0:
                self.next_run(_ENDS[choice // 6 % 5], choice // 30 % 4 > 0, (0, 100, 1000)[choice // 120 % 3])
                continue
            if all(call.answered for call in self.calls):
                self.step(1 + choice % 3)
            place = which % len(self.calls)
            legal = list(self.legal(self.calls[place]))
            if legal:
                legal[choice % len(legal)](place, self.calls[place], choice // 16)
                self.take()
                self.every_call_is_judged_as_the_table_says()

    def legal(self, call):
        if call.may_dispatch:
            yield self.dispatch
            yield self.dispatch
        if call.attempts and not call.answered:
            yield self.settle
            if call.failed is None:
                yield self.fail
                yield self.fail
        if not call.answered and not call.open_attempt:
            yield self.refuse
        if not call.answered and not call.parked:
            yield self.park
        if call.parked and not call.verdict and not call.answered:
            yield self.resolve
            yield self.resolve
        if call.verdict and not call.answered:
            yield self.settle_by_verdict

    def step(self, many):
        self.steps += 1
        self.log.step(*["t"] * many, step=f"1.{self.steps}")
        self.calls = [Call(marker=self.marker) for _ in range(many)]
        self.take()

    def dispatch(self, place, call, choice):
        if not call.attempts:
            call.recovery, call.risk = list(Recovery)[choice % 4], list(Risk)[choice // 4 % 3]
            call.client, call.local = choice // 12 % 4 == 0, choice // 48 % 2 == 0
            call.quiet = choice // 96 % 2 * 500
        self.log.dispatch(
            place,
            recovery=call.recovery,
            risk=call.risk,
            client=call.client,
            local=call.local,
            quiet_ms=call.quiet,
            evidence=_EVIDENCE if call.recovery is Recovery.EVIDENCE else None,
        )
        call.attempts += 1
        call.tried += 1
        call.dispatched_at = self.log.now
        call.failed = call.ended_at = None
        call.parked = call.verdict = call.ended_how = ""

    def fail(self, place, call, choice):
        call.failed = (Effect.NONE, Effect.UNKNOWN)[choice % 2]
        self.log.fail(place, effect=call.failed)

    def settle(self, place, call, choice):
        self.log.settle(place, outsider=call.client)
        call.answered = True

    def refuse(self, place, call, choice):
        self.log.refuse(place)
        call.answered = True

    def park(self, place, call, choice):
        call.parked = ("unknown_outcome", "probe_failed", "still_running", "tool_gone")[choice % 4]
        self.log.park(place, code=call.parked)

    def resolve(self, place, call, choice):
        call.verdict = ("happened", "did_not_happen", "give_up")[choice % 3]
        self.log.resolve(call.verdict, place)
        call.verdict_seq = len(self.log.records)
        if call.verdict == "did_not_happen":
            call.tried = 0

    def settle_by_verdict(self, place, call, choice):
        self.log.settle(place, attempt=None, nonce=None, resolved=call.verdict_seq)
        call.answered = True

    def next_run(self, ended, marker=True, after=0):
        """The owner has died, or let go, and another one begins."""
        self.log.crash(ended=ended, marker=marker, after_ms=after)
        self.marker = marker
        for call in self.calls:
            if call.attempts and not call.answered and call.ended_at is None and ended != "still_running":
                call.ended_at, call.ended_how = self.log.now, ended
        self.take()

    @rule()
    def end(self):
        """Between two runs only outsiders speak."""
        self.log.add(RunEnded(status="waiting")).user("meanwhile")
        self.take()
        assert not self.accepts(WaitOpened(wait_id="w", kind=WaitKind.TIME, reason="r"))
        assert not self.accepts(RunEnded(status="waiting"))
        self.next_run("released")

    @rule(event=st.sampled_from(["stop", "user", "wait", "late"]))
    def beside(self, event):
        if event == "user":
            self.log.user("more")
        elif event == "wait":
            self.waits += 1
            self.log.add(WaitOpened(wait_id=f"w{self.waits}", kind=WaitKind.TIME, reason="r"))
            self.log.add(WaitClosed(wait_id=f"w{self.waits}", how="elapsed", actor="clock"), outsider=True)
        elif event == "late":
            self.log.add(LateOutcome(call_id=self.log.call_id(0), attempt=1, nonce="n", ok=True), outsider=True)
        else:
            self.log.add(StopRequested(actor="me"), outsider=True)
        self.take()

    # What may not

    def illegal(self, place, call):
        """Events that contradict what is known of the call."""
        call_id, fresh = self.log.call_id(place), self.log
        response = FunctionResponse(call_id=call_id, lane="settled", status=Status.SUCCESS, effect=Effect.DONE)
        refused = msgspec.structs.replace(response, lane="refused", status=Status.FATAL_ERROR, effect=Effect.NONE)
        yield response
        yield msgspec.structs.replace(response, attempt=call.attempts + 1, nonce="guessed")
        yield msgspec.structs.replace(response, resolved=10_000)
        yield AttemptFailed(call_id=call_id, attempt=9, nonce="guessed", effect=Effect.NONE, code="c")
        yield msgspec.structs.replace(response, call_id="call-unheard-of", attempt=1, nonce="n")
        if not call.parked or call.verdict or call.answered:
            yield CallResolved(call_id=call_id, verdict="happened", reason="r", actor="a")
        if call.open_attempt or call.answered:
            yield refused
        yield WaitOpened(wait_id="new", kind=WaitKind.PARKED, reason="r", call_id="call-unheard-of")
        if call.answered:
            yield CallParked(call_id=call_id, reason="r", code="c")
            yield WaitOpened(wait_id="new", kind=WaitKind.PARKED, reason="r", call_id=call_id)
        trial = copy.deepcopy(fresh)
        attempts = {"attempt": call.attempts + 2} if call.may_dispatch else {}
        recovery = call.recovery or Recovery.NEVER
        yield trial.dispatch(place, recovery=recovery, **attempts).records[-1].record.event
        if call.attempts:
            yield copy.deepcopy(fresh).dispatch(place, idempotency_key="another").records[-1].record.event

    @precondition(lambda self: self.calls)
    @rule(data=st.data())
    def contradict(self, data):
        place = data.draw(st.integers(0, len(self.calls) - 1))
        before = msgspec.json.encode(self.state)
        for event in self.illegal(place, self.calls[place]):
            if self.accepts(event):
                raise AssertionError(f"the fold takes {event}")
        assert msgspec.json.encode(self.state) == before, "a rehearsal leaves no trace"

    @rule()
    def out_of_place(self):
        last = self.log.records[-1]
        run = RunStarted(owner="o", host="h", boot="b", process=1)
        for wrong in (last, msgspec.structs.replace(last, seq=last.seq + 2)):
            with pytest.raises(LogBroken) as caught:
                fold.apply(copy.deepcopy(self.state), wrong)
            assert caught.value.seq == wrong.seq
        assert not self.accepts(run, epoch=self.log.epoch - 1)
        assert not self.accepts(run, epoch=0)

    def accepts(self, *events, epoch=None):
        epoch = self.log.epoch if epoch is None else epoch
        try:
            fold.rehearse(self.state, [draft(event, at=1, by="o", epoch=epoch, run="r") for event in events])
        except LogBroken:
            return False
        return True

    # What must hold

    @invariant()
    def a_fold_at_once_is_the_same(self):
        assert msgspec.json.encode(self.log.state()) == msgspec.json.encode(self.state)

    @invariant()
    def every_call_is_judged_as_the_table_says(self):
        for place, call in enumerate(self.calls):
            folded = self.state.calls[self.log.call_id(place)]
            for now in (
                self.log.now,
                self.log.now + 499,
                self.log.now + 501,
                self.log.now + 60_100,
                self.log.now + 10**6,
            ):
                self.check(place, call, crash.judge(folded, now=now), now)

    def check(self, place, call, conclusion, now):
        dangerous = isinstance(conclusion, crash.Again | crash.AskProbe | crash.CompareEvidence)
        assert isinstance(conclusion, crash.Reuse) == call.answered
        if isinstance(conclusion, crash.GateAgain):
            assert not call.open_attempt
            assert call.attempts or call.marker or call.verdict == "did_not_happen"
            assert call.tried < crash.MAX_ATTEMPTS or call.verdict == "did_not_happen"
        if isinstance(conclusion, crash.Again):
            assert call.recovery is Recovery.IDEMPOTENT
            assert call.tried < crash.MAX_ATTEMPTS
        if isinstance(conclusion, crash.GiveUp):
            assert call.failed is Effect.NONE
            assert call.tried >= crash.MAX_ATTEMPTS
        if isinstance(conclusion, crash.AskProbe):
            assert call.recovery is Recovery.PROBE
        if isinstance(conclusion, crash.CompareEvidence):
            assert call.recovery is Recovery.EVIDENCE
        if isinstance(conclusion, crash.Settle):
            assert call.risk is Risk.READ
            assert conclusion.effect is Effect.UNKNOWN
        if dangerous:
            assert call.open_attempt
            assert not call.client
            assert self.has_ended(call, now)
        if call.open_attempt and call.recovery is Recovery.NEVER and call.risk is not Risk.READ:
            assert isinstance(
                conclusion,
                crash.Reuse | crash.Park | crash.AwaitVerdict | crash.AwaitClient | crash.SettleByVerdict,
            )
        if isinstance(conclusion, crash.AwaitClient):
            assert call.client
        self.can_be_written(place, call, conclusion)

    def has_ended(self, call, now):
        if call.ended_at is None:
            return False
        if call.ended_how == "elsewhere":
            return now >= call.dispatched_at + 60_000 + call.quiet
        return now >= call.ended_at + (0 if call.local else call.quiet)

    def can_be_written(self, place, call, conclusion):
        """Whatever the table concludes, the log takes: recovery can't get stuck on its own fold."""
        state = self.state.calls[self.log.call_id(place)]
        trial = copy.copy(self.log)
        trial.records, trial.texts = list(self.log.records), list(self.log.texts)
        trial._dispatches = dict(self.log._dispatches)
        at = len(trial.records)
        match conclusion:
            case crash.GateAgain():
                trial.dispatch(place)
            case crash.Again():
                if state.failed is None:
                    trial.fail(place)
                trial.dispatch(place, recovery=call.recovery, risk=call.risk)
            case crash.Settle() | crash.AskProbe() | crash.CompareEvidence():
                trial.settle(place)
            case crash.SettleByVerdict():
                trial.settle(place, attempt=None, nonce=None, resolved=state.resolved_seq)
            case crash.Park():
                trial.park(place)
            case _:
                return
        assert self.accepts(*(stored.record.event for stored in trial.records[at:]))


TestHistories = pytest.mark.requirement("RECO-01")(pytest.mark.requirement("LEDG-06")(Histories.TestCase))
TestHistories.settings = settings(max_examples=300, stateful_step_count=25)
