"""A log, a book that follows it, and somebody who alters one of the two."""

from __future__ import annotations

import sqlite3

import msgspec
import pytest

from callslip.audit.anchors import Anchors, FilePlace
from callslip.audit.book import FILE, Book
from callslip.audit.entry import GENESIS, read, write
from callslip.audit.follow import Follower
from callslip.audit.kept import kept
from callslip.audit.lines import readable
from callslip.audit.verify import verify
from callslip.blobs.memory import MemoryBlobs
from callslip.core.event import Draft, genesis, link
from callslip.ledgers.sqlite import SqliteLedger
from callslip.ports.ledger import Owner
from callslip.runtime.redact import Redactor
from callslip.testing.clock import FakeClock
from callslip.testing.log_builder import LogBuilder

OWNER = Owner(id="own", host="h", boot="b", process=1)


class Scene:
    """``log`` takes a builder's records into a ledger on disk; ``catch_up`` follows; the rest looks, or does harm."""

    def __init__(self, folder):
        self.folder = folder
        self.ledger_path = folder / "ledger.db"
        self.audit = folder / "audit"
        self.path = self.audit / FILE
        self.anchor_path = folder / "elsewhere" / "anchors"
        self.anchor_path.parent.mkdir()
        self.ledger = SqliteLedger(self.ledger_path)
        self.blobs = MemoryBlobs()
        self.clock = FakeClock()
        self.secrets = []
        self._done = {}
        self._followers = []

    def close(self):
        for follower in self._followers:
            follower.close()
        self.ledger.close()

    def lose_ledger(self):
        """An empty ledger in its place, to be filled with an older state."""
        self.ledger.close()
        for path in self.folder.glob("ledger.db*"):
            path.unlink()
        self._done.clear()
        self.ledger = SqliteLedger(self.ledger_path)

    def follower(self, *, every=None, place=None, clock=None):
        book = Book(self.audit)
        where = FilePlace(self.anchor_path) if place is None and every is not None else place
        anchors = Anchors(book, where, self.clock, every=every) if every is not None else None
        follower = Follower(self.ledger, self.blobs, book, Redactor(self.secrets), clock or self.clock, anchors=anchors)
        self._followers.append(follower)
        return follower

    async def log(self, *builders):
        """Append what each builder has beyond what was appended of it."""
        for builder in builders:
            done = self._done.get(builder.session, 0)
            for stored, text in zip(builder.records[done:], builder.texts[done:], strict=True):
                await self._append(builder.session, stored, Draft(record=stored.record, text=text))
            self._done[builder.session] = len(builder.records)

    async def _append(self, session, stored, draft):
        heads = await self.ledger.heads(session)
        epoch = stored.record.epoch
        if epoch == 0:
            await self.ledger.decide(session, [draft], expected=heads[0].seq)
            return
        known = heads[0].epoch if heads else 0
        if epoch > known:
            await self.ledger.claim(session, OWNER, expected_epoch=known, at=stored.record.at)
        await self.ledger.append(session, [draft], epoch=epoch)

    async def catch_up(self, **how):
        follower = self.follower(**how)
        await follower.catch_up()
        assert follower.failure() == ""
        return follower

    @property
    def entries(self):
        return [one.line.entry for one in readable(self.path)]

    def kinds(self, session="s"):
        return [entry.kind for entry in self.entries if entry.session == session]

    def details(self):
        return [one.values() for one in readable(self.path)]

    @property
    def anchors(self):
        return [one.anchor for one in kept(self.audit, FilePlace(self.anchor_path)) if one.proves]

    async def verify(self, *, anchored=True):
        return await verify(
            self.ledger,
            self.blobs,
            self.audit,
            Redactor(self.secrets),
            anchors=kept(self.audit, FilePlace(self.anchor_path)) if anchored else [],
        )

    async def problems(self, **how):
        return [problem.kind for problem in (await self.verify(**how)).problems]

    # Harm

    def lines(self):
        return self.path.read_bytes().splitlines()

    def write_lines(self, lines):
        self.path.write_bytes(b"".join(line + b"\n" for line in lines))

    def rewrite(self, change, *, keep_index=False):
        """Write the book anew with a chain that is right. ``change`` is given each entry and its detail, and gives both
        back, or nothing to leave it out.
        """
        digest, lines = GENESIS, []
        for text in self.lines():
            one = read(text)
            given = change(one.line.entry, one.detail)
            if given is None:
                continue
            entry = msgspec.structs.replace(given[0], detail_sha256="", detail_size=0)
            line, digest = write(entry, given[1], n=len(lines) + 1, prev=digest)
            lines.append(line)
        self.write_lines(lines)
        if not keep_index:
            self.forget_index()

    def forget_index(self):
        for path in self.audit.glob("index.db*"):
            path.unlink()

    def sql(self, statement, *values):
        connection = sqlite3.connect(self.ledger_path)
        with connection:
            rows = connection.execute(statement, values).fetchall()
        connection.close()
        return rows

    def rechain_log(self, changed, session="s"):
        """Alter records of the log as somebody would who knows how its chain is made."""
        ((no,),) = self.sql("select no from sessions where session = ?", session)
        previous = genesis(session)
        for seq, text in self.sql("select seq, text from records where no = ? order by seq", no):
            made = changed(seq, text)
            previous = link(previous, made)
            self.sql("update records set text = ?, digest = ? where no = ? and seq = ?", made, previous, no, seq)
        self.sql("update sessions set digest = ? where no = ?", previous, no)


@pytest.fixture
def scene(tmp_path):
    scene = Scene(tmp_path)
    yield scene
    scene.close()


@pytest.fixture
def paid():
    """A log in which somebody asks, a call is made, and answered."""

    def make(session="s", **t1):
        return LogBuilder(session).user("Pay 12 euros").step("pay").dispatch(tool="pay", **t1).settle(duration_ms=7)

    return make
