"""The ledger in memory and the one in a file, told the same, say the same."""

import asyncio
import pathlib
import tempfile

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from callslip.core.events.run_ended import RunEnded
from callslip.core.events.wait_closed import WaitClosed
from callslip.errors import CallslipError
from callslip.ledgers.memory import MemoryLedger
from callslip.ledgers.sqlite import SqliteLedger
from callslip.ports.ledger import Checkpoint
from callslip.testing.suites.ledger_drafts import ME, OTHER, outside, owned, polled, run, said, waiting

_SESSIONS = st.sampled_from(["a", "b"])
_EVENTS = st.one_of(
    st.text(max_size=20).map(said),
    st.builds(run),
    st.sampled_from([RunEnded(status="finished"), RunEnded(status="waiting")]),
    st.builds(waiting, st.sampled_from(["w1", "w2", "w3"]), wake_at=st.none() | st.integers(0, 20)),
    st.builds(polled, st.sampled_from(["w1", "w2", "w3"]), wake_at=st.integers(0, 20)),
    st.sampled_from(["w1", "w2", "w3"]).map(lambda wait: WaitClosed(wait_id=wait, how="resolved", actor="me")),
)
_NEAR = st.integers(-1, 1)


class Twins(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.both = [MemoryLedger(), SqliteLedger(pathlib.Path(self.folder.name) / "ledger.db")]
        self.now = 0
        self.names = 0

    def teardown(self):
        for ledger in self.both:
            self.runner.run(ledger.aclose())
        self.runner.close()
        self.folder.cleanup()

    def ask(self, method, *args, **kwargs):
        """Both, and what they agree on."""
        ends = []
        for ledger in self.both:
            try:
                ends.append(self.runner.run(getattr(ledger, method)(*args, **kwargs)))
            except CallslipError as error:
                ends.append(type(error))
        if isinstance(ends[0], type):
            assert ends[0] is ends[1]
        else:
            assert _listed(ends[0]) == _listed(ends[1])
        return ends[0]

    def head(self, session):
        heads = self.ask("heads", session)
        return heads[0] if heads else None

    @rule(session=_SESSIONS, owner=st.sampled_from([ME, OTHER]), off=_NEAR)
    def claim(self, session, owner, off):
        self.now += 1
        head = self.head(session)
        self.ask("claim", session, owner, expected_epoch=max(0, (head.epoch if head else 0) + off), at=self.now)

    @rule(session=_SESSIONS, events=st.lists(_EVENTS, max_size=3), off=_NEAR, folded=st.none() | _NEAR)
    def append(self, session, events, off, folded):
        self.now += 1
        head = self.head(session)
        epoch = (head.epoch if head else 1) + (min(0, off))
        seen = None if folded is None else (head.outsider_seq if head else 0) + folded
        if not self.once(session, events):
            return
        self.ask("append", session, owned(*events, epoch=epoch, at=self.now), epoch=epoch, folded=seen)

    @rule(session=_SESSIONS, events=st.lists(_EVENTS, min_size=1, max_size=3), off=_NEAR)
    def decide(self, session, events, off):
        self.now += 1
        head = self.head(session)
        self.ask("decide", session, outside(*events, at=self.now), expected=(head.seq if head else 0) + off)

    def once(self, session, events):
        """A wait is opened once: the fold sees to that, not the ledger."""
        opened = [event.wait_id for event in events if type(event).__name__ == "WaitOpened"]
        there = [row.wait_id for row in self.ask("waits", session)]
        return len({*opened, *there}) == len(opened) + len(there)

    @rule(session=_SESSIONS, off=st.integers(-3, 1), body=st.binary(max_size=10))
    def checkpoint(self, session, off, body):
        log = self.ask("read", session)
        if not log:
            return
        digest = log[off].digest if -len(log) <= off < len(log) else b"?" * 32
        self.ask("save_checkpoint", session, Checkpoint(seq=max(1, len(log) + off), digest=digest, body=body))

    @rule(session=_SESSIONS, after=st.integers(0, 6), limit=st.none() | st.integers(0, 5))
    def read_a_part(self, session, after, limit):
        head = self.head(session)
        if head is not None and after <= head.seq:
            self.ask("read", session, after=after, limit=limit)
            self.ask("raw", session, after=after, limit=limit)

    @rule(session=st.none() | _SESSIONS, after=st.none() | st.integers(0, 20), at=st.none() | st.integers(0, 20))
    def ask_what_changed_and_what_is_due(self, session, after, at):
        self.ask("heads", session, changed_after=after, ready_at=at)
        for wait in (None, "w1", "w4"):
            self.ask("waits", session, wait_id=wait, due_at=at)

    @invariant()
    def everything_is_the_same(self):
        self.ask("heads")
        self.ask("waits")
        for session in ("a", "b"):
            self.ask("read", session)
            self.ask("waits", session)
            self.ask("load_checkpoint", session)


def _listed(end):
    return list(end) if isinstance(end, list | tuple) else end


TestTwins = pytest.mark.requirement("LEDG-01")(pytest.mark.requirement("LEDG-03")(Twins.TestCase))
TestTwins.settings = settings(max_examples=40, stateful_step_count=20)
