"""What is still to be told, to whom, and how far the log has been read: ``notify.db`` in the state folder.

Its commits are not synced one by one: what a power cut takes from it is read from the log once more and told once more,
under the same ids. Nothing that the log knows depends on it. Used by one thread at a time.

When something was tried is kept with the pause after it, never the moment it is due: a clock that was set back makes
things due at once, not in a day.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from callslip.errors import StateRefused
from callslip.machine_file import to_wal
from callslip.notify.backoff import GIVE_UP
from callslip.notify.channel import Parcel
from callslip.notify.notice import Notice

Body = tuple[str, str, bytes]
"""Place of an endpoint, id of a notice, its text."""
FILE = "notify.db"
_FORMAT = 1
_KEPT = 2 * GIVE_UP
"""Milliseconds for which a notice that was told or given up is remembered."""
_BUSY_SECONDS = 5

_DUE = """
select n.no, n.id, n.body, n.attempts from notice n join endpoint e using (place)
where n.place = :place and n.state = 'waiting'
  and (e.pause = 0 or :now >= e.tried_at + e.pause or :now < e.tried_at)
  and (n.pause = 0 or :now >= n.tried_at + n.pause or :now < n.tried_at)
order by n.attempts, n.no limit 1
"""
"""What was tried least comes first: a notice that an endpoint never takes must not keep the others back."""


T = TypeVar("T")


class InThread(Protocol):
    """Runs a function that uses the outbox where it keeps nobody waiting."""

    def __call__(self, function: Callable[[], T], /) -> Awaitable[T]: ...


class Due(msgspec.Struct, frozen=True, kw_only=True):
    """A notice whose time has come."""

    no: int
    parcel: Parcel
    attempts: int


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How an endpoint does."""

    waiting: int
    given_up: int
    """In the last two days."""
    failures: int
    """In a row."""
    gone: bool
    """It wants no more, until its settings change."""
    trouble: str
    """Why the latest attempt failed; empty after a success."""


class Outbox:
    """The file, or memory where there is no state folder.

    Raises:
        sqlite3.DatabaseError: it is damaged or can't be opened. StateRefused: a newer Callslip wrote it.
    """

    def __init__(self, path: Path | None) -> None:
        if path is not None and not path.exists():
            # SQLite would create it by the umask; it may hold arguments of calls.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        self._db = sqlite3.connect(
            path or ":memory:", isolation_level=None, check_same_thread=False, timeout=_BUSY_SECONDS
        )
        try:
            self._prepare()
        except BaseException:
            self._db.close()
            raise

    def _prepare(self) -> None:
        to_wal(self._db, _BUSY_SECONDS)
        self._db.execute("pragma synchronous = normal")
        self._db.execute("pragma secure_delete = on").fetchone()
        have = self._db.execute("pragma user_version").fetchone()[0]
        if have > _FORMAT:
            raise StateRefused(
                f"{FILE} has format {have}; this Callslip knows up to {_FORMAT}. Nobody is told anything. "
                "Use the newer Callslip that wrote it, or remove the file: what waits now is told again."
            )
        if not have:
            script = Path(__file__).with_name("outbox.sql").read_text()
            self._db.executescript(f"begin immediate; {script} pragma user_version = {_FORMAT}; commit;")

    def close(self) -> None:
        self._db.close()

    # How far the log was read

    def change(self) -> int | None:
        """The latest change of the log that was taken in; ``None`` before the first."""
        row = self._db.execute("select change from follower").fetchone()
        return None if row is None else int(row[0])

    def begin(self, change: int, positions: Mapping[str, int]) -> None:
        """Take everything up to here as known to everybody."""
        with self._db:
            self._db.execute("begin immediate")
            self._db.execute("delete from seen")
            self._db.executemany("insert into seen values (?, ?)", positions.items())
            self._db.execute("insert or replace into follower values (1, ?)", (change,))

    def at_most(self, positions: Mapping[str, int]) -> None:
        """No session was seen beyond its end: an older copy of the log ends sooner, and goes on from there."""
        with self._db:
            self._db.execute("begin immediate")
            self._db.executemany("update seen set seq = ?2 where session = ?1 and seq > ?2", positions.items())

    def seen(self, session: str) -> int:
        """Up to where a session was read."""
        row = self._db.execute("select seq from seen where session = ?", (session,)).fetchone()
        return 0 if row is None else int(row[0])

    def take_in(self, session: str, seq: int, change: int | None, bodies: Iterable[Body], *, now: int) -> None:
        """Queue what records gave, and remember that they were read, in one commit."""
        with self._db:
            self._db.execute("begin immediate")
            self._queue(bodies, now)
            self._db.execute("insert or replace into seen values (?, ?)", (session, seq))
            if change is not None:
                self._db.execute("insert or replace into follower values (1, ?)", (change,))

    # Endpoints

    def fresh(self, settings: Mapping[str, str]) -> set[str]:
        """Of these endpoints (place and fingerprint of each), those that are new, or were gone and have other
        settings now.
        """
        known = {
            place: (gone, fingerprint)
            for place, fingerprint, gone in self._db.execute("select place, settings, gone from endpoint")
        }
        return {
            place for place, fingerprint in settings.items()
            if place not in known or (known[place][0] and known[place][1] != fingerprint)
        }  # fmt: skip

    def know(self, settings: Mapping[str, str], bodies: Iterable[Body], *, now: int) -> None:
        """Take these as the endpoints there are, forget the others with what waits for them, and queue what the fresh
        ones are to hear first; in one commit.
        """
        with self._db:
            self._db.execute("begin immediate")
            fresh = self.fresh(settings)
            known = [place for (place,) in self._db.execute("select place from endpoint")]
            for place in {*known, *fresh} - (settings.keys() - fresh):
                self._db.execute("delete from endpoint where place = ?", (place,))
                self._db.execute("delete from notice where place = ?", (place,))
            for place, fingerprint in settings.items():
                self._db.execute(
                    "insert into endpoint (place, settings) values (?1, ?2) "
                    "on conflict (place) do update set settings = ?2",
                    (place, fingerprint),
                )
            self._queue(bodies, now)

    def _queue(self, bodies: Iterable[Body], now: int) -> None:
        self._db.executemany(
            "insert or ignore into notice (place, id, body, queued_at) "
            "select place, ?2, ?3, ?4 from endpoint where place = ?1 and not gone",
            [(*body, now) for body in bodies],
        )

    def due(self, place: str, *, now: int) -> Due | None:
        """The next notice for an endpoint, if one may be tried now."""
        row = self._db.execute(_DUE, {"place": place, "now": now}).fetchone()
        if row is None:
            return None
        return Due(no=row[0], parcel=Parcel(id=row[1], body=row[2]), attempts=row[3])

    def delivered(self, place: str, no: int, *, now: int) -> None:
        with self._db:
            self._db.execute("begin immediate")
            self._db.execute("update notice set state = 'delivered', body = x'' where no = ?", (no,))
            self._db.execute(
                "update endpoint set failures = 0, pause = 0, trouble = '', tried_at = ? where place = ?", (now, place)
            )
            self._db.execute("delete from notice where state <> 'waiting' and queued_at < ?", (now - _KEPT,))

    def failed(self, place: str, no: int, trouble: str, *, now: int, pause: int, own_pause: int) -> int:
        """Leave the endpoint alone for ``pause`` and this notice for ``own_pause`` milliseconds.

        Returns how many notices are given up: they have waited for a day.
        """
        with self._db:
            self._db.execute("begin immediate")
            self._db.execute(
                "update notice set attempts = attempts + 1, tried_at = ?, pause = ? where no = ?", (now, own_pause, no)
            )
            self._db.execute(
                "update endpoint set failures = failures + 1, tried_at = ?, pause = ?, trouble = ? where place = ?",
                (now, pause, trouble, place),
            )
            return self._db.execute(
                "update notice set state = 'given_up', body = x'' "
                "where place = ? and state = 'waiting' and queued_at <= ?",
                (place, now - GIVE_UP),
            ).rowcount

    def gone(self, place: str) -> int:
        """Tell this endpoint no more. Returns how many notices it will not hear of."""
        with self._db:
            self._db.execute("begin immediate")
            self._db.execute("update endpoint set gone = 1, trouble = 'it answered 410' where place = ?", (place,))
            return self._db.execute(
                "update notice set state = 'given_up', body = x'' where place = ? and state = 'waiting'", (place,)
            ).rowcount

    def standing(self, place: str) -> Standing | None:
        row = self._db.execute(
            "select (select count(*) from notice n where n.place = e.place and state = 'waiting'), "
            "(select count(*) from notice n where n.place = e.place and state = 'given_up'), failures, gone, trouble "
            "from endpoint e where place = ?",
            (place,),
        ).fetchone()
        if row is None:
            return None
        return Standing(waiting=row[0], given_up=row[1], failures=row[2], gone=bool(row[3]), trouble=row[4])

    # Alarms

    def alarm(self, notice: Notice) -> None:
        """Hand over a notice from any process."""
        self._db.execute(
            "insert or ignore into alarm (id, notice) values (?, ?)", (notice.id, msgspec.json.encode(notice))
        )

    def alarms(self) -> Sequence[tuple[int, Notice]]:
        rows = self._db.execute("select no, notice from alarm order by no limit 1000").fetchall()
        return [(no, msgspec.json.decode(notice, type=Notice)) for no, notice in rows]

    def take_alarms(self, last: int, bodies: Iterable[Body], *, now: int) -> None:
        """Queue what the alarms up to this one gave, and forget them, in one commit."""
        with self._db:
            self._db.execute("begin immediate")
            self._queue(bodies, now)
            self._db.execute("delete from alarm where no <= ?", (last,))


def set_aside(path: Path) -> Path:
    """Move a damaged file out of the way; what it knew is read from the log again."""
    aside = path.with_name(path.name + ".damaged")
    path.replace(aside)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    return aside
