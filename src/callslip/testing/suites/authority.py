"""What every implementation of ``Authority`` must do. ::

    class TestMine(AuthoritySuite):
        def opened(self, place: Path, capacities: Mapping[str, Capacity]) -> Authority:
            return MyAuthority(place, capacities)

``opened`` gives, at each call, what another process on this host would have.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from callslip.authorities.resources import Resources
from callslip.core.claim import Claim
from callslip.errors import LedgerUnavailable
from callslip.ports.authority import Authority, Capacity, Grant, Holder

_TURNS = 200
"""Of the loop, and of the time that an authority needs to tell the next in line, before a test gives up."""


class Caller:
    """One call: asks for claims, and lets go when told."""

    def __init__(self, authority: Authority, name: str, claims: Sequence[Claim], told: list[str]) -> None:
        self.grant: Grant | None = None
        self.before: list[Holder] = []
        self._authority = authority
        self._name = name
        self._claims = claims
        self._told = told
        self._go = asyncio.Event()
        self._task = asyncio.ensure_future(self._call())

    async def _call(self) -> None:
        holder = Holder(session="s", call_id=self._name, tool="t")
        async with self._authority.holding(self._claims, holder, self.before.extend) as grant:
            self.grant = grant
            self._told.append(self._name)
            await self._go.wait()
        self.grant = None

    @property
    def holds(self) -> bool:
        return self.grant is not None

    def check(self) -> None:
        """Raises what it failed with, if it did."""
        if self._task.done() and not self._task.cancelled():
            self._task.result()

    async def leave(self) -> None:
        self._go.set()
        await self._task

    async def cancel(self) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task


class AuthoritySuite:
    """Subclass it, and say how to open one. The tests are asynchronous (anyio on asyncio)."""

    pytestmark = pytest.mark.anyio
    shared: ClassVar[bool] = True
    """Whether others see what is held."""

    def opened(self, place: Path, capacities: Mapping[str, Capacity]) -> Authority:
        """The authority of this place, as one process sees it."""
        raise NotImplementedError

    @pytest.fixture
    def calls(self, tmp_path: Path) -> Iterator[Any]:
        """``calls(name, *claims)`` starts one; ``calls.told`` are those that were granted, in order."""
        self._folder = tmp_path
        (tmp_path / "workspace").mkdir()
        self._opened: list[Authority] = []
        self._callers: list[Caller] = []
        self._resources = Resources(tmp_path / "workspace")
        told: list[str] = []

        def start(name: str, *claims: str, by: Authority | None = None) -> Caller:
            authority = by or self._opened[0]
            self._callers.append(Caller(authority, name, [self._resources.claim(text) for text in claims], told))
            return self._callers[-1]

        start.told = told  # type: ignore[attr-defined]
        self.another({"few": Capacity(at_once=2)})
        yield start
        for authority in self._opened:
            authority.close()

    def another(self, capacities: Mapping[str, Capacity] | None = None) -> Authority:
        """As one more process sees it."""
        self._opened.append(self.opened(self._folder, capacities or {"few": Capacity(at_once=2)}))
        return self._opened[-1]

    async def until(self, wanted: Any) -> None:
        """Wait until it is so; a lost wake-up fails the test."""
        for _ in range(_TURNS):
            if wanted():
                return
            for caller in self._callers:
                caller.check()
            await asyncio.sleep(0.01)
        raise AssertionError("nobody was told")

    async def rests(self) -> None:
        """Let everybody go as far as they can."""
        for _ in range(6):
            await asyncio.sleep(0.01)

    async def test_one_after_the_other_in_the_order_they_came(self, calls: Any) -> None:
        one, two, three = (calls(name, "file:a") for name in ("one", "two", "three"))
        await self.until(lambda: one.holds)
        await self.rests()
        assert calls.told == ["one"]
        assert one.grant == Grant(waited=False)
        assert [holder.call_id for holder in two.before] == ["one"]
        await one.leave()
        await self.until(lambda: two.holds)
        assert two.grant.waited
        assert two.grant.waited_for[0].call_id == "one"
        assert not three.holds
        await two.leave()
        await self.until(lambda: three.holds)
        await three.leave()

    async def test_what_shares_nothing_waits_for_nobody(self, calls: Any) -> None:
        started = [calls(claim, claim) for claim in ("file:a", "file:b", "browser", "slot:few", "tree:c")]
        await self.until(lambda: all(one.holds for one in started))
        assert not any(one.grant.waited for one in started)
        for one in started:
            await one.leave()

    async def test_readers_share_and_a_writer_is_not_passed_by(self, calls: Any) -> None:
        readers = [calls(f"reader {n}", "read file:a") for n in range(2)]
        await self.until(lambda: all(one.holds for one in readers))
        writer = calls("writer", "file:a")
        await self.rests()
        late = calls("late reader", "read file:a")
        await self.rests()
        assert not writer.holds
        assert not late.holds
        for one in readers:
            await one.leave()
        await self.until(lambda: writer.holds)
        assert not late.holds
        await writer.leave()
        await self.until(lambda: late.holds)
        await late.leave()

    async def test_a_tree_holds_what_is_in_it_and_nothing_beside_it(self, calls: Any) -> None:
        tree = calls("tree", "tree:src")
        await self.until(lambda: tree.holds)
        inside, beside = calls("inside", "file:src/new/a.py"), calls("beside", "file:src2/a.py")
        await self.until(lambda: beside.holds)
        await self.rests()
        assert not inside.holds
        await tree.leave()
        await self.until(lambda: inside.holds)
        above = calls("above", "tree:.")
        await self.rests()
        assert not above.holds
        for one in (inside, beside, above):
            await one.leave()

    async def test_all_or_nothing(self, calls: Any) -> None:
        one = calls("one", "file:a")
        await self.until(lambda: one.holds)
        both = calls("both", "file:a", "file:b")
        await self.rests()
        assert not both.holds
        other = calls("other", "file:b")  # it came later, and must not pass by
        await self.rests()
        assert not other.holds
        await one.leave()
        await self.until(lambda: both.holds)
        assert not other.holds
        await both.leave()
        await self.until(lambda: other.holds)
        await other.leave()

    async def test_who_gives_up_bars_nobody(self, calls: Any) -> None:
        one = calls("one", "file:a")
        await self.until(lambda: one.holds)
        two = calls("two", "file:a", "file:b")
        three = calls("three", "file:b")
        await self.rests()
        assert not three.holds
        await two.cancel()
        await self.until(lambda: three.holds)
        await one.cancel()  # one that holds gives it back as well
        four = calls("four", "file:a")
        await self.until(lambda: four.holds)
        for caller in (three, four):
            await caller.leave()

    async def test_only_so_many_at_once(self, calls: Any) -> None:
        started = [calls(str(n), "slot:few") for n in range(4)]
        await self.until(lambda: sum(one.holds for one in started) == 2)
        await self.rests()
        assert calls.told == ["0", "1"]
        await started[1].leave()
        await self.until(lambda: started[2].holds)
        assert not started[3].holds
        for one in started:
            await one.leave()

    async def test_who_waits_for_a_slot_bars_nobody_from_a_file(self, calls: Any) -> None:
        full = [calls(str(n), "slot:few") for n in range(2)]
        await self.until(lambda: all(one.holds for one in full))
        waits = calls("waits", "slot:few", "file:a")
        await self.rests()
        other = calls("other", "file:a")
        await self.until(lambda: other.holds)
        assert not waits.holds
        for one in (*full, other):
            await one.leave()
        await self.until(lambda: waits.holds)
        await waits.leave()

    async def test_a_rate_is_spent_and_comes_back(self, calls: Any) -> None:
        authority = self.another({"slow": Capacity(calls=2, per=0.2)})
        started = [calls(str(n), "slot:slow", by=authority) for n in range(4)]
        await self.until(lambda: sum(one.holds for one in started) == 2)
        await self.until(lambda: all(one.holds for one in started))  # nobody left; time has passed
        assert calls.told == ["0", "1", "2", "3"]
        assert started[3].grant.waited
        for one in started:
            await one.leave()

    async def test_everybody_can_be_looked_at(self, calls: Any) -> None:
        one = calls("one", "file:a", "read file:b")
        await self.until(lambda: one.holds)
        two = calls("two", "file:b")
        await self.until(lambda: bool(two.before))
        standing = self._opened[0].standing()
        assert [(s.holder.call_id, s.claims, s.granted) for s in standing] == [
            ("one", ("file:a", "read file:b"), True),
            ("two", ("file:b",), False),
        ]
        assert all(s.seconds >= 0 for s in standing)
        assert (standing[0].held is not None, standing[1].held, standing[0].gone) == (True, None, False)
        await one.leave()
        await self.until(lambda: two.holds)
        (after,) = self._opened[0].standing()
        assert after.held is not None
        assert 0 <= after.held < after.seconds, "it holds since it was granted, and has asked before"
        await two.leave()
        assert self._opened[0].standing() == []

    async def test_whoever_waits_when_it_is_closed_is_told(self, calls: Any) -> None:
        authority = self.another()
        one = calls("one", "file:a", by=authority)
        await self.until(lambda: one.holds)
        two = calls("two", "file:a", by=authority)
        await self.until(lambda: bool(two.before))
        assert [holder.call_id for holder in authority.close()] == ["one"], "who still held something is named"
        with pytest.raises(LedgerUnavailable):
            await two.leave()
        await one.leave()
        assert list(authority.close()) == []

    async def test_another_process_waits_too(self, calls: Any) -> None:
        if not self.shared:
            pytest.skip("lives in one process")
        one = calls("one", "file:a")
        await self.until(lambda: one.holds)
        two = calls("two", "file:a", by=self.another())
        await self.rests()
        assert not two.holds
        assert [holder.call_id for holder in two.before] == ["one"]
        await one.leave()
        await self.until(lambda: two.holds)
        await two.leave()
