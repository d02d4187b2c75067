"""Who may use what, against a reference that is slow and plain (PARA-02, PARA-03, PARA-04).

The reference knows claims as what they mean, paths as tuples, and asks of each caller by itself whether it may go. The
same story is told to the rules (with time, and limits by time), to the authority of one process (with cancellations,
in a real event loop), and to the table of many processes.
"""

import asyncio
import contextlib
import itertools
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import Phase, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from callslip.authorities.memory import MemoryAuthority
from callslip.authorities.rules import PATIENCE, Ticket, decide
from callslip.authorities.table import Table
from callslip.core.claim import Claim, Kind
from callslip.ports.authority import Capacity, Holder
from callslip.ports.ledger import Owner

LIMITS = {"one": (1, None), "two": (2, None), "rate": (None, 2), "both": (1, 3)}
"""Of each slot: how many at once, and how many calls in ``PER`` seconds. A slot that isn't here has no limit."""
PER = 8
PATHS = [(), ("a",), ("b",), ("a", "x"), ("a", "y"), ("a", "x", "deep"), ("b", "x")]

PATH_CLAIMS = st.tuples(st.sampled_from(["file", "tree"]), st.sampled_from(PATHS), st.booleans())
NAMED_CLAIMS = st.tuples(st.just("named"), st.sampled_from(["browser", "terminal"]), st.booleans())
SLOT_CLAIMS = st.tuples(st.just("slot"), st.sampled_from([*LIMITS, "free"]), st.just(False))
WANTED = st.lists(PATH_CLAIMS | NAMED_CLAIMS | SLOT_CLAIMS, min_size=1, max_size=3, unique=True)
TIMELESS = WANTED.filter(lambda wanted: not any(name in ("rate", "both") for _, name, _ in wanted))


def as_claim(kind, name, shared):
    """As the code under test sees it."""
    if kind in ("named", "slot"):
        return Claim(text=name, kind=Kind(kind), shared=shared, ids=(name,))
    names = ["/".join(("root", *name[:length])) for length in range(len(name) + 1)]
    return Claim(text=names[-1], kind=Kind(kind), shared=shared, ids=(names[-1],), above=tuple(names[:-1]))


def capacities(*, timed):
    return {
        name: Capacity(at_once=at_once, calls=calls if timed else None, per=float(PER))
        for name, (at_once, calls) in LIMITS.items()
        if at_once is not None or timed
    }


def clash(one, other):
    """Whether two claims can't be held at once, from what they mean."""
    (kind, name, shared), (other_kind, other_name, other_shared) = one, other
    if (shared and other_shared) or "slot" in (kind, other_kind):
        return False
    if "named" in (kind, other_kind):
        return kind == other_kind and name == other_name
    return (
        name == other_name
        or (kind == "tree" and other_name[: len(name)] == name)
        or (other_kind == "tree" and name[: len(other_name)] == other_name)
    )


class Caller:
    def __init__(self, number, wanted, since):
        self.number, self.wanted, self.since = number, wanted, since
        self.holds = False

    def clashes(self, other):
        return any(clash(mine, theirs) for mine in self.wanted for theirs in other.wanted)

    @property
    def slots(self):
        return {name for kind, name, _ in self.wanted if kind == "slot" and name in LIMITS}


class Reference:
    """Everybody in the line; each question is answered from scratch."""

    def __init__(self):
        self.line = []
        self.now = Fraction(0)
        self.calls = {name: [] for name in LIMITS}
        """When each slot was used."""

    def earlier(self, caller):
        return [other for other in self.line if other.number < caller.number and not other.holds]

    def patient(self, caller):
        return self.now - caller.since >= PATIENCE

    def file_blocked(self, caller):
        return any(other.holds and caller.clashes(other) for other in self.line) or any(
            caller.clashes(other) and (self.patient(other) or self.file_blocked(other))
            for other in self.earlier(caller)
        )

    def slot_blocked(self, caller, slot):
        at_once, calls = LIMITS[slot]
        if at_once is not None and sum(other.holds and slot in other.slots for other in self.line) >= at_once:
            return True
        if calls is not None and self.tokens(slot) < 1:
            return True
        return any(slot in other.slots and self.patient(other) for other in self.earlier(caller))

    def tokens(self, slot):
        calls = LIMITS[slot][1]
        left, at = Fraction(calls), Fraction(0)
        for used in [*self.calls[slot], self.now]:
            left, at = min(Fraction(calls), left + (used - at) * calls / PER) - 1, used
        return left + 1

    def may_go(self, caller):
        return not self.file_blocked(caller) and not any(self.slot_blocked(caller, slot) for slot in caller.slots)

    def grant(self, caller):
        """It was granted by the code under test: it must have been allowed to, in every respect."""
        assert self.may_go(caller), "who has to wait does not"
        for other in self.earlier(caller):
            assert other.wanted != caller.wanted, "first come, first served"
            assert other.slots or not caller.clashes(other), "nobody passes by who waits for the same, readers neither"
            if self.patient(other):
                assert not caller.clashes(other), "patience ends"
                assert not other.slots & caller.slots, "patience ends"
        for slot in caller.slots:
            self.calls[slot].append(self.now)
        caller.holds = True

    def waiting(self):
        return [caller for caller in self.line if not caller.holds]

    def check(self):
        holders = [caller for caller in self.line if caller.holds]
        for one, other in itertools.combinations(holders, 2):
            assert not one.clashes(other), "two hold what can't be held at once"
        for slot, (at_once, calls) in LIMITS.items():
            assert at_once is None or sum(slot in caller.slots for caller in holders) <= at_once
            used = self.calls[slot]
            for first, last in itertools.combinations(range(len(used)) if calls is not None else (), 2):
                assert last - first + 1 <= calls + (used[last] - used[first]) * calls / PER
        for caller in self.waiting():
            assert not self.may_go(caller), "nobody told the one that may go"


class Story(RuleBasedStateMachine):
    """Callers come, leave and give up; what is told to whom is checked after each."""

    wanted = WANTED

    def __init__(self):
        super().__init__()
        self.reference = Reference()
        self.numbers = itertools.count(1)

    def came(self, wanted):
        caller = Caller(next(self.numbers), wanted, self.reference.now)
        self.reference.line.append(caller)
        return caller

    def gone(self, data, *, holding):
        """One of those that hold, or wait."""
        caller = data.draw(st.sampled_from([one for one in self.reference.line if one.holds is holding]))
        self.reference.line.remove(caller)
        return caller

    def told(self, numbers):
        """These were granted."""
        for caller in self.reference.line:
            if caller.number in numbers:
                self.reference.grant(caller)

    def some_hold(self):
        return any(caller.holds for caller in self.reference.line)

    def some_wait(self):
        return bool(self.reference.waiting())

    @invariant()
    def all_is_well(self):
        self.reference.check()


class Rules(Story):
    """The pure decision, with time."""

    def __init__(self):
        super().__init__()
        self.line, self.buckets, self.again = [], {}, None

    def decide(self):
        decision = decide(self.line, capacities(timed=True), self.buckets, float(self.reference.now))
        self.buckets, self.again = decision.buckets, decision.again
        for ticket in decision.granted:
            ticket.granted = True
        self.told({ticket.number for ticket in decision.granted})
        return decision.granted

    @rule(wanted=WANTED)
    def enter(self, wanted):
        caller = self.came(wanted)
        claims = tuple(as_claim(*one) for one in wanted)
        holder = Holder(session="s", call_id=str(caller.number), tool="t")
        self.line.append(Ticket(number=caller.number, holder=holder, claims=claims, since=float(caller.since)))
        self.decide()

    @precondition(Story.some_hold)
    @rule(data=st.data())
    def leave(self, data):
        number = self.gone(data, holding=True).number
        self.line = [ticket for ticket in self.line if ticket.number != number]
        self.decide()

    @precondition(Story.some_wait)
    @rule(data=st.data())
    def give_up(self, data):
        number = self.gone(data, holding=False).number
        self.line = [ticket for ticket in self.line if ticket.number != number]
        self.decide()

    @rule(quarters=st.integers(1, 16) | st.integers(100, 140))
    def time_passes(self, quarters):
        again = self.again
        self.reference.now += Fraction(quarters, 4)
        granted = self.decide()
        if granted:
            assert again is not None, "nobody would have decided at this time"
            assert quarters / 4 >= again - 1e-6, "it would have been decided too late"

    @precondition(lambda self: self.again is not None)
    @rule()
    def until_it_is_worth_deciding(self):
        self.reference.now += Fraction(self.again).limit_denominator(1000)
        self.decide()
        assert self.again is None or self.again > 0, "a busy loop"


class InProcess(Story):
    """The authority of one process, in an event loop."""

    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.authority = MemoryAuthority(capacities(timed=False), monotonic=lambda: 0.0)
        self.tasks, self.doors, self.granted = {}, {}, set()

    async def _call(self, number, wanted):
        holder = Holder(session="s", call_id=str(number), tool="t")
        claims = [as_claim(*one) for one in wanted]
        async with self.authority.holding(claims, holder, lambda _: None):
            self.granted.add(number)
            await self.doors[number].wait()

    async def _settle(self):
        for _ in range(6):
            await asyncio.sleep(0)

    def settle(self):
        self.loop.run_until_complete(self._settle())
        granted, self.granted = self.granted, set()
        self.told(granted)

    @rule(wanted=st.lists(TIMELESS, min_size=1, max_size=3))
    def enter(self, wanted):
        for one in wanted:
            number = self.came(one).number
            self.doors[number] = asyncio.Event()
            self.tasks[number] = self.loop.create_task(self._call(number, one))
        self.settle()

    @precondition(Story.some_hold)
    @rule(data=st.data())
    def leave(self, data):
        self.doors[self.gone(data, holding=True).number].set()
        self.settle()

    @precondition(Story.some_hold)
    @rule(data=st.data())
    def be_cancelled(self, data):
        self.tasks[self.gone(data, holding=True).number].cancel()
        self.settle()

    @precondition(Story.some_wait)
    @rule(data=st.data())
    def give_up(self, data):
        self.tasks[self.gone(data, holding=False).number].cancel()
        self.settle()

    @precondition(lambda self: self.some_hold() and self.some_wait())
    @rule(data=st.data(), after=st.integers(0, 4))
    def give_up_while_it_is_granted(self, data, after):
        """One leaves, and one that waits is cancelled at a step of the loop in which it may just be granted."""
        waits = data.draw(st.sampled_from(self.reference.waiting()))
        self.doors[self.gone(data, holding=True).number].set()

        async def both():
            for _ in range(after):
                await asyncio.sleep(0)
            self.tasks[waits.number].cancel()
            await self._settle()

        self.loop.run_until_complete(both())
        self.reference.line.remove(waits)
        self.granted.discard(waits.number)
        self.settle()

    @invariant()
    def the_line_is_the_same(self):
        standing = {(int(one.holder.call_id), one.granted) for one in self.authority.standing()}
        assert standing == {(caller.number, caller.holds) for caller in self.reference.line}

    def teardown(self):
        async def end():
            for task in self.tasks.values():
                task.cancel()
            await asyncio.gather(*self.tasks.values(), return_exceptions=True)

        self.loop.run_until_complete(end())
        assert self.authority.standing() == []
        assert not self.authority._ids
        assert not self.authority._above
        assert not self.authority._woken
        self.loop.close()


class ManyProcesses(Story):
    """The table, as two processes see it."""

    def __init__(self):
        super().__init__()
        self.stack = contextlib.ExitStack()
        memory = Path("/dev/shm")
        folder = self.stack.enter_context(tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None))
        self.tables = [
            Table(Path(folder) / "t.db", capacities(timed=False), patience=1, clock=lambda: 1.0) for _ in range(2)
        ]
        self.owners = [Owner(id=f"own_{n}", host="h", boot="b", process=n) for n in range(3)]
        self.owned = {}

    def see(self):
        held = {caller.number for caller in self.reference.line if caller.holds}
        lines = [table.line() for table in self.tables]
        assert lines[0] == lines[1]
        assert [ticket.number for ticket in lines[0]] == [caller.number for caller in self.reference.line]
        granted = {ticket.number for ticket in lines[0] if ticket.granted}
        assert held <= granted
        assert granted == {
            n for n in [caller.number for caller in self.reference.line] if self.tables[0].look(n).granted
        }
        self.told(granted - held)

    @rule(wanted=TIMELESS, table=st.integers(0, 1), owner=st.integers(0, 2))
    def enter(self, wanted, table, owner):
        caller = self.came(wanted)
        holder = Holder(session="s", call_id=str(caller.number), tool="t")
        claims = [as_claim(*one) for one in wanted]
        ticket = self.tables[table].enter(self.owners[owner], holder, claims)
        assert ticket.number == caller.number
        self.owned[ticket.number] = owner
        self.see()
        assert ticket.granted == caller.holds

    @precondition(lambda self: self.reference.line)
    @rule(data=st.data(), table=st.integers(0, 1))
    def leave(self, data, table):
        caller = data.draw(st.sampled_from(self.reference.line))
        self.reference.line.remove(caller)
        self.tables[table].leave([caller.number])
        self.see()

    @rule(table=st.integers(0, 1), owner=st.integers(0, 2))
    def die(self, table, owner):
        self.reference.line = [caller for caller in self.reference.line if self.owned[caller.number] != owner]
        self.tables[table].drop([self.owners[owner]])
        self.see()

    def teardown(self):
        for table in self.tables:
            table.close()
        self.stack.close()


_SEARCHING = settings.get_current_profile_name() == "search"


def _told(examples, steps):
    """Shrinking a story takes minutes, so it is done when somebody searches for one."""
    phases = settings.default.phases if _SEARCHING else (Phase.explicit, Phase.generate)
    return settings(max_examples=examples * (10 if _SEARCHING else 1), stateful_step_count=steps, phases=phases)


_requirements = pytest.mark.requirement("PARA-02", "PARA-03", "PARA-04")
TestRules = _requirements(Rules.TestCase)
TestRules.settings = _told(100, 40)
TestInProcess = _requirements(InProcess.TestCase)
TestInProcess.settings = _told(60, 40)
TestManyProcesses = _requirements(ManyProcesses.TestCase)
TestManyProcesses.settings = _told(40, 40)
