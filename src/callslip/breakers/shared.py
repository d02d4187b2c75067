"""The breakers of all processes that share a state folder.

A breaker that is closed costs no write: successes are counted here and handed in with the next failure, or after
:data:`HANDED_IN` seconds. So one process may miss the latest successes of another, and open a breaker that much too
early. That a breaker has opened is seen by the others within :data:`SEEN_WITHIN` seconds; how often something failed,
and who tries an open breaker, is decided in the file.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from callslip.breakers import showing
from callslip.breakers.good import Good
from callslip.breakers.memory import MemoryBreakers
from callslip.breakers.table import Row, Table
from callslip.core import breaker
from callslip.core.breaker import NEW, Breaker, BreakerRules, Heard, Open
from callslip.errors import LedgerUnavailable
from callslip.machine_file import Busy, leave_to_parent, of_boot, remove_old
from callslip.ports.breakers import Barred, Opened, Pass, Seen
from callslip.ports.owners import Liveness, Owners

HANDED_IN: Final = 5.0
"""Seconds for which successes may wait before the other processes are told."""
LOOKED_AT: Final = 1.0
"""Seconds between two looks whether whoever tries an open breaker is alive."""
SEEN_WITHIN: Final = 0.05
"""Seconds after which what another process has changed is seen here, at the latest. What a file says of itself costs as
much as a tenth of a call."""
_PATIENCE = 0.05
"""Seconds that a call may wait for other processes here. They are in the file for a tenth of a millisecond."""
_ALIVE = frozenset({Liveness.ALIVE, Liveness.ELSEWHERE})
_MANY = 1000
T = TypeVar("T")
_log = logging.getLogger(__name__)


class SharedBreakers:
    """Implements ``Breakers`` over a file. ``clock`` gives seconds that never step back, the same in every process.

    The file is opened at the first use. If it can't be used, this process says so once and goes on by itself.
    """

    def __init__(
        self,
        path: Path,
        owners: Owners,
        rules: BreakerRules,
        clock: Callable[[], float],
        *,
        seen_within: float = SEEN_WITHIN,
    ) -> None:
        self._seen_within = seen_within
        self._path = path
        self._owners = owners
        self._rules = rules
        self._time = clock
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._table: Table | None = None
        self._alone: MemoryBreakers | None = None
        self._version = -1
        self._look_at = 0.0
        self._rows: dict[str, Row] = {}
        self._good = Good()
        self._owed: list[tuple[Pass, Heard, float]] = []
        """Ends of calls that could not be handed in yet."""
        self._looked: dict[str, float] = {}
        self._gone: dict[str, str] = {}
        """By breaker: the process that was seen to have ended while it tried it. It does not come back."""

    def enter(self, key: str, seconds: float) -> Pass | Barred:
        alone = self._look(key)
        if alone is not None:
            return alone.enter(key, seconds)
        row = self._rows.get(key)
        if row is None or row.state.opened is None:
            return Pass(key)
        now = self._time()
        found = breaker.may(row.state, now)
        if isinstance(found, Open) and not self._is_gone(key, row, now):
            return showing.barred(key, found, now)
        return self._try(key, seconds, now)

    def leave(self, way: Pass, heard: Heard) -> Opened | None:
        if heard is Heard.NOTHING and not way.trial:
            return None
        alone = self._ready()
        if alone is not None:
            return alone.leave(way, heard)
        now = self._time()
        row = self._rows.get(way.key)
        quiet = row is None or (row.state.opened is None and not row.state.timeouts)
        if heard is not Heard.SUCCESS or not quiet:
            return self._hand_in(way, heard, now)
        self._good.add(way.key, now)
        assert self._good.since is not None
        if now - self._good.since >= HANDED_IN or len(self._good) > _MANY:
            self._change(self._tidy)
        return None

    def barred(self, key: str) -> Barred | None:
        alone = self._look(key)
        if alone is not None:
            return alone.barred(key)
        row = self._rows.get(key)
        if row is None or row.state.opened is None:
            return None
        now = self._time()
        found = breaker.may(row.state, now)
        if not isinstance(found, Open) or self._is_gone(key, row, now):
            return None
        return showing.barred(key, found, now)

    def seen(self) -> list[Seen]:
        alone = self._look()
        if alone is not None:
            return alone.seen()
        now = self._time()
        if len(self._good):
            self._change(self._tidy)
        rows = {key: self._rows[key] for key in sorted(self._rows)}
        live = {key: row for key, row in rows.items() if not breaker.is_idle(row.state, self._rules, now)}
        return [showing.seen(key, self._known(key, row, now), self._rules, now) for key, row in live.items()]

    def reset(self, key: str | None) -> list[str]:
        alone = self._look()
        if alone is not None:
            return alone.reset(key)

        def forget(rows: dict[str, Row]) -> list[str]:
            self._tidy(rows)
            keys = sorted(rows) if key is None else [key] if key in rows else []
            for one in keys:
                # The number stays: whoever still tries the old one must not be taken for who tries the next.
                rows[one] = Row(Breaker(trials=rows[one].state.trials))
            return keys

        done = self._change(forget)
        if done is None:
            raise LedgerUnavailable(
                f"{self._path.name} is in use by another process at this moment. Nothing was reset. Try again."
            )
        return done

    def close(self) -> None:
        if self._table is None or os.getpid() != self._process:
            return
        if len(self._good) or self._owed:
            self._change(self._tidy)
        table, self._table = self._table, None
        if table is not None:
            table.close()

    # What is known here

    def _ready(self) -> MemoryBreakers | None:
        """See to it that the file is open; what to use instead where it can't be."""
        if os.getpid() != self._process:  # a forked child is somebody of its own
            leave_to_parent(self._table)
            self._begin()
        if self._table is not None or self._alone is not None:
            return self._alone
        try:
            boot = self._owners.me().boot
            remove_old(self._path, boot)
            self._table = Table(of_boot(self._path, boot), patience=_PATIENCE)
        except Exception as error:  # noqa: BLE001 - whatever it is: no call fails because nobody can say whether others do
            self._go_alone(error)
        else:
            self._change(self._void_if_older)
        return self._alone

    def _look(self, key: str | None = None) -> MemoryBreakers | None:
        """Take in what others have changed: at once if the breaker is known to be open, else now and then."""
        alone = self._ready()
        ticks = time.monotonic()
        row = self._rows.get(key) if key is not None else None
        if alone is not None or (
            key is not None and ticks < self._look_at and (row is None or row.state.opened is None)
        ):
            return alone
        self._look_at = ticks + self._seen_within
        try:
            assert self._table is not None
            version = self._table.version()
            if version != self._version:
                self._version, self._rows = version, self._table.rows()
        except Busy:
            return None
        except Exception as error:  # noqa: BLE001 - as above
            self._go_alone(error)
        if self._owed:
            self._change(self._tidy)
        return self._alone

    def _go_alone(self, error: Exception) -> None:
        _log.warning("Breakers are not shared with other processes from here on: %s", error)
        self._alone = MemoryBreakers(self._rules, self._time)
        table, self._table = self._table, None
        if table is not None:
            table.close()

    def _is_gone(self, key: str, row: Row, now: float) -> bool:
        """Whether the process that tried it has ended, and says nothing any more. Looked at now and then."""
        if row.by is None or not row.state.trial or row.by.id == self._owners.me().id:
            return False
        if self._gone.get(key) == row.by.id:  # a call asks more than once, and must hear the same
            return True
        if now - self._looked.get(key, -LOOKED_AT) < LOOKED_AT:
            return False
        self._looked[key] = now
        if self._owners.liveness(row.by) in _ALIVE:
            return False
        self._gone[key] = row.by.id
        return True

    def _known(self, key: str, row: Row, now: float) -> Breaker:
        """As it stands for whoever calls now: what a process tries that has ended, nobody tries."""
        if not self._is_gone(key, row, now):
            return row.state
        return breaker.after(row.state, self._rules, Heard.NOTHING, now, trial=row.state.trial)

    def _try(self, key: str, seconds: float, now: float) -> Pass | Barred:
        """Be the one who tries it, unless somebody was quicker."""
        known = self._rows[key]

        def work(rows: dict[str, Row]) -> Pass | Barred:
            row = rows[key]
            if row == known and row.state.trial:  # the one whom we saw gone, or whose time is over
                row = Row(breaker.after(row.state, self._rules, Heard.NOTHING, now, trial=row.state.trial))
            found = breaker.may(row.state, now)
            if isinstance(found, Open):
                return showing.barred(key, found, now)
            if row.state.opened is None:
                return Pass(key)
            state = breaker.trying(row.state, now, seconds)
            rows[key] = Row(state, self._owners.me())
            return Pass(key, state.trial)

        done = self._change(work, key)
        if done is None:  # somebody else is in the file, most likely to try it
            assert known.state.opened is not None
            return Barred(key=key, open_for=now - known.state.opened, again_in=None, reason=known.state.reason)
        return done

    # What others are told

    def _hand_in(self, way: Pass, heard: Heard, now: float) -> Opened | None:
        """Tell the others how the call ended, and what succeeded before it."""
        told: list[Opened] = []

        def work(rows: dict[str, Row]) -> bool:
            self._gain(rows, way.key, now)
            made = self._ended(rows, way, heard, now)
            told.extend([] if made is None else [made])
            return True

        if self._change(work, way.key) is None:
            self._owed.append((way, heard, now))
            return None
        self._good.take(way.key)
        return told[0] if told else None

    def _gain(self, rows: dict[str, Row], key: str, now: float) -> None:
        row = rows.get(key, Row(NEW))
        rows[key] = Row(breaker.counted(row.state, self._rules, self._good.of(key), now), row.by)

    def _ended(self, rows: dict[str, Row], way: Pass, heard: Heard, now: float) -> Opened | None:
        before = rows.get(way.key, Row(NEW))
        state = breaker.after(before.state, self._rules, heard, now, trial=way.trial)
        rows[way.key] = Row(state, before.by if state.trial else None)
        return showing.opened(way.key, before.state, state, now)

    def _tidy(self, rows: dict[str, Row]) -> bool:
        """Hand in all there is, and drop what says nothing any more."""
        now = self._time()
        for key in self._good.keys():  # noqa: SIM118 - it is no dictionary
            self._gain(rows, key, now)
        for way, heard, at in self._owed:
            self._ended(rows, way, heard, at)
        for key in [key for key, row in rows.items() if breaker.is_idle(row.state, self._rules, now)]:
            del rows[key]
        return True

    def _void_if_older(self, rows: dict[str, Row]) -> bool:
        """Where the kernel gives no boot id: what is in the future was written before the machine started anew."""
        now = self._time()
        latest = breaker.part(now)
        states = [row.state for row in rows.values()]
        if any((one.opened or 0) > now or any(bucket.at > latest for bucket in one.counts) for one in states):
            rows.clear()
        return True

    def _change(self, work: Callable[[dict[str, Row]], T], key: str | None = None) -> T | None:
        """Change the file, and know here what it says now; ``None`` when another process is in it.

        ``key``: only this row is looked at. What is handed in is forgotten once it is there.
        """
        if self._table is None:
            return None
        seen: dict[str, Row] = {}

        def kept(rows: dict[str, Row]) -> T:
            result = work(rows)
            seen.update(rows)
            return result

        try:
            result = self._table.change(kept, None if key is None else [key])
        except Busy:
            return None
        except LedgerUnavailable as error:
            self._go_alone(error)
            return None
        if key is None:
            self._rows = seen
            self._owed.clear()
            for one in self._good.keys():  # noqa: SIM118 - it is no dictionary
                self._good.take(one)
        else:
            self._rows[key] = seen[key]
        return result
