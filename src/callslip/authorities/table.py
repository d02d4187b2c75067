"""The line of all processes on this machine, in a file of its own (:class:`~callslip.machine_file.MachineFile`).

Every change is one short transaction that also decides who is next; whoever waits only looks for its own grant, and
decides when time alone has made a place (``due``).
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from callslip.authorities.rules import Bucket, Ticket, decide
from callslip.core.claim import Claim
from callslip.errors import LedgerUnavailable
from callslip.machine_file import MachineFile
from callslip.ports.authority import Capacity, Holder
from callslip.ports.ledger import Owner

_LEAST = 1e-6
_VERSION = 1
_SCHEMA = """
create table if not exists ticket (
    number integer primary key autoincrement,
    granted integer not null, -- since when, or 0 while it waits
    since real not null,
    owner text not null,
    holder blob not null,
    claims blob not null
);
create table if not exists bucket (name text primary key, calls real not null, at real not null);
create table if not exists watch (one integer primary key, due real, swept real not null);
insert or ignore into watch values (1, null, 0);
"""
_PURPOSE = "where processes agree on who uses what"
_WITHOUT = "Nothing is held by this call."
_DELETED = "End all that runs here, and begin again."
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_CLAIMS = msgspec.json.Decoder(tuple[Claim, ...])
_HOLDER = msgspec.json.Decoder(Holder)
_OWNER = msgspec.json.Decoder(Owner)
_encode = msgspec.json.Encoder().encode


class Look(NamedTuple):
    """What one who waits sees."""

    granted: bool
    due: float | None
    """When time alone will let somebody go on, so that it is worth deciding."""
    earlier: int
    """How many came before and wait as well."""


def now() -> float:
    """Seconds since the kernel's start, the same in every process, whatever is done to the clock."""
    return time.clock_gettime(_CLOCK)


class Table:
    """One connection to the line. ``patience`` is how many seconds a busy one is waited for.

    Raises:
        LedgerUnavailable: the file can't be used. Nothing is held. Busy: another process is in it.
    """

    def __init__(
        self,
        path: Path,
        capacities: Mapping[str, Capacity],
        *,
        patience: float,
        clock: Callable[[], float] = now,
    ) -> None:
        self.path = path
        self._now = clock
        self._capacities = capacities
        self._file = MachineFile(
            path, _SCHEMA, version=_VERSION, patience=patience, purpose=_PURPOSE, without=_WITHOUT, deleted=_DELETED,
            prepare=self._void_if_older,
        )  # fmt: skip
        self._db = self._file.db

    def _void_if_older(self, db: sqlite3.Connection) -> None:
        """Where the kernel gives no boot id: what is in the future was written before the machine started anew."""
        (swept,) = db.execute("select swept from watch").fetchone()
        if swept > self._now():
            for statement in ("delete from ticket", "delete from bucket", "update watch set swept = 0"):
                db.execute(statement)

    def close(self) -> None:
        self._file.close()

    def enter(self, owner: Owner, holder: Holder, claims: Sequence[Claim]) -> Ticket:
        """Take a place in the line; granted at once if possible."""
        with self._file.told(), self._file.transaction():
            self._file.check()
            at = self._now()
            row = (at, _text(owner), _encode(holder), _encode(claims))
            number = self._db.execute(
                "insert into ticket (granted, since, owner, holder, claims) values (0, ?, ?, ?, ?)", row
            ).lastrowid
            assert number is not None
            granted = number in self._decide(at)
            return Ticket(number=number, holder=holder, claims=tuple(claims), since=at, granted=granted)

    def leave(self, numbers: Sequence[int]) -> None:
        with self._file.told(), self._file.transaction():
            self._db.executemany("delete from ticket where number = ?", [(number,) for number in numbers])
            self._decide(self._now())

    def drop(self, ended: Sequence[Owner]) -> None:
        """Those owners are gone, and what they held is free."""
        with self._file.told(), self._file.transaction():
            self._db.executemany("delete from ticket where owner = ?", [(_text(owner),) for owner in ended])
            self._decide(self._now())

    def decide(self) -> None:
        """Time has passed: see who is next, unless somebody else just did."""
        with self._file.told(), self._file.transaction():
            (due,) = self._db.execute("select due from watch").fetchone()
            if due is not None and due <= self._now():
                self._decide(self._now())

    def look(self, number: int) -> Look:
        """Whether the place has been granted by now.

        Raises:
            LedgerUnavailable: the place is gone.
        """
        with self._file.told():
            self._file.check()
            found = self._db.execute(
                "select granted, due, (select count(*) from ticket where number < ?1 and not granted) "
                "from ticket, watch where number = ?1",
                (number,),
            ).fetchone()
        if found is None:
            raise LedgerUnavailable(
                f"A place in the line of {self.path.name} is gone: something else has emptied it. Nothing is held. "
                "Resume to try again."
            )
        return Look(bool(found[0]), found[1], found[2])

    def line(self) -> list[Ticket]:
        """Everybody, in order."""
        with self._file.told():
            return self._line()

    def sweepable(self, every: float) -> list[Owner]:
        """The owners of everybody in the line; none if somebody has looked at them not long ago."""
        with self._file.told():
            at = self._now()
            (swept,) = self._db.execute("select swept from watch").fetchone()
            if at - swept < every:
                return []
            taken = self._db.execute("update watch set swept = ? where swept = ?", (at, swept)).rowcount
            return self._owners() if taken else []

    def owners(self) -> list[Owner]:
        """The owners of everybody in the line."""
        with self._file.told():
            return self._owners()

    def _owners(self) -> list[Owner]:
        return [_OWNER.decode(row[0]) for row in self._db.execute("select distinct owner from ticket")]

    def _line(self) -> list[Ticket]:
        rows = self._db.execute("select number, granted, since, holder, claims from ticket order by number").fetchall()
        return [
            Ticket(
                number=number,
                holder=_HOLDER.decode(holder),
                claims=_CLAIMS.decode(claims),
                since=since,
                granted=bool(granted),
                held_since=max(granted, since) if granted else None,
            )
            for number, granted, since, holder, claims in rows
        ]

    def _decide(self, at: float) -> set[int]:
        """Grant to whoever is next. When all stand granted, an old ``due`` stays: whoever waits next finds it past."""
        if not self._db.execute("select exists (select 1 from ticket where not granted)").fetchone()[0]:
            return set()
        rows = self._db.execute("select name, calls, at from bucket").fetchall()
        before = {name: Bucket(calls, when) for name, calls, when in rows}
        decision = decide(self._line(), self._capacities, before, at)
        granted = {ticket.number for ticket in decision.granted}
        since = max(at, _LEAST)
        self._db.executemany("update ticket set granted = ? where number = ?", [(since, number) for number in granted])
        changed = [(name, one.left, one.at) for name, one in decision.buckets.items() if before.get(name) != one]
        self._db.executemany("insert or replace into bucket values (?, ?, ?)", changed)
        due = None if decision.again is None else at + decision.again
        self._db.execute("update watch set due = ?1 where due is not ?1", (due,))
        return granted


def _text(owner: Owner) -> str:
    return _encode(owner).decode()
