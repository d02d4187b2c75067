"""Export, seal, import, restore: a session moves whole, or counts as a copy."""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
import time
from pathlib import Path

import pytest
import zstandard

from callslip import Runtime, tool
from callslip.core.event import Draft, draft, genesis, link
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.run_started import RunStarted
from callslip.core.events.session_imported import SessionImported
from callslip.core.events.session_started import SessionStarted
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.principal import Role
from callslip.errors import Busy, CallslipError, LogBroken, NotAuthorised, NotFound, Sealed, UsageError
from callslip.ledgers.sqlite_reader import SqliteReader
from callslip.ports.trust import Identity
from callslip.providers.scripted import Scripted, calling
from callslip.runtime.parts import Data
from callslip.sessions.export import export_session
from callslip.sessions.export_file import MAGIC, Bounds
from callslip.sessions.import_ import import_session
from callslip.sessions.restore import restore, void_marker
from callslip.sessions.seal import seal
from callslip.sessions.verify import verify
from callslip.testing.clock import FakeClock
from callslip.testing.people import Person

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("LEDG-06")]

ME = Identity(name="op", uid=7)


class Office:
    """State folders with the same tools over them, which count what they do."""

    def __init__(self, folder: Path, *, encrypt: bool):
        self.folder = folder
        self.encrypt = encrypt
        self.paid: list[int] = []
        self.clock = FakeClock(auto=30)
        self._open: list[Runtime] = []

    def __call__(self, name: str, *replies, policy=None) -> Runtime:
        office = self

        @tool(risk="read")
        def look_up(size: int = 10) -> str:
            """Look something up."""
            return "found it " * size

        @tool(risk="write")
        async def pay(cents: int) -> str:
            """Pay."""
            office.paid.append(cents)
            if cents == 13:
                raise TimeoutError("no answer")
            return f"paid {cents}"

        @tool(risk="write", client_owned=True)
        def sign(document: str) -> str:
            """Sign."""

        runtime = Runtime(
            tools=[look_up, pay, sign],
            model=Scripted(list(replies)),
            state=self.folder / name,
            policy=policy,
            clock=self.clock,
        )
        runtime.configure(data=Data(encrypt=self.encrypt))
        self._open.append(runtime)
        return runtime

    async def close(self):
        for runtime in self._open:
            await runtime.aclose()


@pytest.fixture(params=[False, True], ids=["clear", "encrypted"])
async def office(request, tmp_path):
    made = Office(tmp_path, encrypt=request.param)
    yield made
    await made.close()


@pytest.fixture
async def plain(tmp_path):
    made = Office(tmp_path, encrypt=False)
    yield made
    await made.close()


PARKED = (calling(("look_up", {"size": 2000}), ("look_up", {})), calling(("pay", {"cents": 13})), "All done.")


async def moved(office, source, *, to="there", sealed=True, replies=("-", "-", "All done."), **options):
    """Export what ``source`` has, and take it in elsewhere."""
    if sealed:
        await seal(source.parts, "s", by=ME, reason="moving", destination=to)
    path = office.folder / f"{to}.clx"
    await export_session(source.parts, "s", path)
    target = office(to, *replies)
    return target, await import_session(target.parts, path, by=ME, **options)


async def raw(runtime):
    return await runtime.parts.ledger.raw("s")


async def head(runtime):
    (found,) = await runtime.parts.ledger.heads("s")
    return found


def contents(state: Path):
    """Everything that lies in a state folder, but for the ledger's own housekeeping and today's locks."""
    if not state.exists():
        return None
    return {
        path.relative_to(state).as_posix(): path.read_bytes()
        for path in state.rglob("*")
        if path.is_file() and path.parts[-2] != "owners" and not path.name.startswith("ledger.db")
    }


class TestMoving:
    async def test_records_are_byte_for_byte_the_same_and_the_session_goes_on(self, office):
        here = office("here", *PARKED)
        assert (await here.run("Pay, please.", session="s")).status == "waiting"
        there, imported = await moved(office, here)
        records = await raw(here)
        assert (await raw(there))[: len(records)] == records
        assert imported.proven
        assert (imported.records, imported.payloads) == (len(records), 4 if office.encrypt else 1)
        assert imported.wait_id == ""
        (wait,) = await there.waits()
        assert (wait.kind, wait.arguments) == ("parked", {"cents": 13})
        await there.resolve(wait.id, "happened", reason="saw it", result="ok")
        run = await there.resume("s")
        assert (run.status, run.text) == ("finished", "All done.")
        assert office.paid == [13]
        for runtime in (here, there):
            report = await verify(runtime.parts, "s", contents=True)
            assert report.problems == []

    async def test_waits_and_head_stand_as_if_it_had_been_written_there(self, office):
        here = office("here", calling(("sign", {"document": "d"})))
        await here.run("Sign.", session="s")
        before, (wait,) = await head(here), await here.parts.ledger.waits("s")
        there, _ = await moved(office, here)
        after = await head(there)
        assert await there.parts.ledger.waits("s") == [wait]
        assert (after.seq, after.epoch, after.owner) == (before.seq + 2, before.epoch, None)
        assert after.status == "imported"
        assert after.woken, "a worker goes on with it"

    async def test_what_was_not_dispatched_is_not_parked(self, plain):
        """The seal proves that it was not, and a question that was asked is still asked."""
        here = plain("here", calling(("pay", {"cents": 5})), policy={"write": "ask"})
        assert (await here.run("Pay.", session="s")).status == "waiting"
        there, _ = await moved(plain, here, replies=("-", "Paid."))
        (question,) = await there.waits()
        assert question.kind == "approval"
        await there.approve(question.id)
        assert (await there.resume("s")).status == "finished"
        assert plain.paid == [5]

    async def test_the_source_is_closed(self, office):
        here = office("here", *PARKED)
        await here.run("Pay, please.", session="s")
        (wait,) = await here.waits()
        await seal(here.parts, "s", by=ME, reason="moving", destination="the other office")
        before = len(await raw(here))
        for attempt in (
            lambda: here.run("x", session="s"),
            lambda: here.resume("s"),
            lambda: here.send("s", "x"),
            lambda: here.dispatch([{"name": "look_up", "input": {}}], session="s", step="1"),
            lambda: seal(here.parts, "s", by=ME),
        ):
            with pytest.raises(Sealed, match=r"went to the other office: moving\. Nothing was written"):
                await attempt()
        with pytest.raises(NotFound):
            await here.resolve(wait.id, "happened", reason="x")
        assert await here.waits() == []
        assert len(await raw(here)) == before

    async def test_the_ledger_itself_refuses_whoever_has_not_read_the_seal(self, office):
        here = office("here", *PARKED)
        await here.run("Pay, please.", session="s")
        ledger, me, now = here.parts.ledger, here.parts.owners.me(), await head(here)
        await seal(here.parts, "s", by=ME)
        with pytest.raises(Sealed):
            await ledger.claim("s", me, expected_epoch=now.epoch, at=1)
        late = draft(WaitClosed(wait_id="w", how="late", actor="x"), at=1, by="x", epoch=0, run="")
        with pytest.raises(Sealed):
            await ledger.decide("s", [late], expected=now.seq + 1)
        own = draft(RunEnded(status="idle"), at=1, by="x", epoch=now.epoch, run="r")
        with pytest.raises(Sealed):
            await ledger.append("s", [own], epoch=now.epoch)
        assert (await head(here)).status == "sealed"

    async def test_a_session_that_is_driven_or_left_behind_is_not_sealed(self, plain):
        here = plain("here")
        parts = here.parts
        await parts.ledger.claim("s", parts.owners.me(), expected_epoch=0, at=1)
        events = [SessionStarted(requester="x"), RunStarted(owner="o", host="h", boot="b", process=1)]
        await parts.ledger.append("s", [draft(one, at=1, by="x", epoch=1, run="r") for one in events], epoch=1)
        with pytest.raises(Busy, match="has not ended"):
            await seal(parts, "s", by=ME)
        await parts.ledger.append("s", [draft(RunEnded(status="idle"), at=1, by="x", epoch=1, run="r")], epoch=1)
        await parts.ledger.claim("s", parts.owners.me(), expected_epoch=1, at=1)  # and has not begun its run yet
        with pytest.raises(Busy, match="is driven by process"):
            await seal(parts, "s", by=ME)

    async def test_it_can_move_on_and_on(self, office):
        here = office("here", *PARKED)
        await here.run("Pay, please.", session="s")
        there, _ = await moved(office, here)
        further, imported = await moved(office, there, to="further")
        assert imported.proven
        assert [stored.record.event.proven for stored in await further.parts.ledger.read("s")
                if isinstance(stored.record.event, SessionImported)] == [True, True]  # fmt: skip

    async def test_an_export_of_a_read_only_state_folder(self, plain):
        here = plain("here", "Hello.")
        await here.run("Hi.", session="s")
        await here.aclose()
        again = plain("here")
        parts = again.parts
        await parts.ledger.aclose()
        parts.ledger = SqliteReader(plain.folder / "here" / "ledger.db")
        exported = await export_session(parts, "s", plain.folder / "x.clx")
        assert not exported.sealed
        there = plain("there")
        assert not (await import_session(there.parts, plain.folder / "x.clx", by=ME)).proven


class TestACopy:
    async def test_nothing_goes_on_before_an_operator_has_looked(self, office):
        here = office("here", *PARKED)
        await here.run("Pay, please.", session="s")
        there, imported = await moved(office, here, sealed=False)
        assert (imported.proven, imported.doubt) == (False, "it was exported without a seal")
        found = await head(there)
        assert (found.woken, found.owner, found.status) == (False, None, "imported")
        run = await there.resume("s")
        assert run.status == "waiting"
        assert {wait.kind for wait in run.waits} == {"parked", "copy"}
        await there.accept_copy(imported.wait_id)
        assert (await head(there)).woken
        (wait,) = await there.waits()
        await there.resolve(wait.id, "give_up", reason="nobody knows")
        assert (await there.resume("s")).status == "finished"
        assert office.paid == [13]

    async def test_what_was_not_dispatched_in_it_is_parked(self, plain):
        """At the source it was approved and paid after the copy was made."""
        here = plain("here", calling(("pay", {"cents": 5})), "Paid.", policy={"write": "ask"})
        await here.run("Pay.", session="s")
        there, imported = await moved(plain, here, sealed=False, replies=("-", "Paid."))
        (question,) = await here.waits()
        await here.approve(question.id)
        await here.resume("s")
        assert plain.paid == [5]
        assert [wait.kind for wait in await there.waits()] == ["copy"], "the question is withdrawn"
        await there.accept_copy(imported.wait_id)
        run = await there.resume("s")
        assert [wait.kind for wait in run.waits] == ["parked"]
        assert plain.paid == [5]
        await there.resolve(run.waits[0].id, "happened", reason="the source paid it", result="ok")
        assert (await there.resume("s")).status == "finished"
        assert plain.paid == [5]

    async def test_what_is_proposed_while_nobody_has_looked_is_parked(self, plain):
        """A caller dispatches a step again that the copy does not know: at the source it was made."""
        here = plain("here")
        await here.dispatch([{"name": "look_up", "input": {}}], session="s", step="1")
        await here.release("s")
        there, imported = await moved(plain, here, sealed=False)
        call = [{"name": "pay", "input": {"cents": 5}}]
        await here.dispatch(call, session="s", step="2")
        batch = await there.dispatch(call, session="s", step="2")
        assert [wait.kind for wait in batch.waits] == ["parked"]
        assert plain.paid == [5]
        await there.accept_copy(imported.wait_id)
        assert [one.kind for one in (await there.dispatch(call, session="s", step="2")).waits] == ["parked"]
        await there.resolve(batch.waits[0].id, "did_not_happen", reason="it was another 5")
        await there.dispatch(call, session="s", step="2")
        assert plain.paid == [5, 5]

    async def test_a_new_run_after_the_acceptance_promises_again(self, plain):
        here = plain("here")
        await here.dispatch([{"name": "look_up", "input": {}}], session="s", step="1")
        await here.release("s")
        there, imported = await moved(plain, here, sealed=False)
        await there.accept_copy(imported.wait_id)
        await there.dispatch([{"name": "pay", "input": {"cents": 5}}], session="s", step="2")
        assert plain.paid == [5]

    async def test_a_session_at_rest_needs_nobody(self, plain):
        here = plain("here", "Hello.")
        await here.run("Hi.", session="s")
        there, imported = await moved(plain, here, sealed=False, replies=("-", "Good day."))
        assert (imported.proven, imported.wait_id) == (False, "")
        assert (await there.run("And now?", session="s")).text == "Good day."

    async def test_not_even_the_model_is_asked_before_somebody_has_looked(self, plain):
        here = plain("here", "Hello.")
        await here.run("Hi.", session="s")
        await here.send("s", "Pay the rest, too.")
        there, imported = await moved(plain, here, sealed=False, replies=("-", "Paid."))
        before = len(await raw(there))
        run = await there.resume("s")
        assert (run.status, run.reason) == ("waiting", "it is not known what happened after this log was copied")
        assert len(await raw(there)) == before + 2, "a run began and ended, and nothing else"
        await there.accept_copy(imported.wait_id)
        assert (await there.resume("s")).text == "Paid."

    async def test_a_copy_of_one_that_runs(self, plain):
        here = plain("here")
        await here.dispatch([{"name": "look_up", "input": {}}], session="s", step="1")  # and is held
        there, imported = await moved(plain, here, sealed=False)
        found = await head(there)
        assert (found.owner, found.status) == (None, "imported"), "whoever drove it drives it there"
        assert imported.wait_id

    async def test_accepting_it_twice_or_as_something_else(self, plain):
        here = plain("here", *PARKED)
        await here.run("Pay, please.", session="s")
        there, imported = await moved(plain, here, sealed=False)
        with pytest.raises(CallslipError, match="kind copy"):
            await there.accept_workspace(imported.wait_id)
        await there.accept_copy(imported.wait_id)
        with pytest.raises(CallslipError, match="was accepted by"):
            await there.accept_copy(imported.wait_id)


class TestRestoring:
    async def back_up(self, office, name, to):
        """As docs/howto/operate.md does."""
        import shutil
        import sqlite3
        from contextlib import closing

        source, target = office.folder / name, office.folder / to
        target.mkdir(mode=0o700)
        with (
            closing(sqlite3.connect(source / "ledger.db")) as log,
            closing(sqlite3.connect(target / "ledger.db")) as copy,
        ):
            log.backup(copy)
        (target / "ledger.db").chmod(0o600)
        for part in ("blobs", "keys"):
            if (source / part).exists():
                shutil.copytree(source / part, target / part)
        shutil.copy(source / "installation.key", target / "installation.key")

    async def test_what_happened_since_the_backup_is_not_done_again(self, plain):
        here = plain("here", calling(("pay", {"cents": 5})), "Paid.", policy={"write": "ask"})
        await here.run("Pay.", session="s")
        await self.back_up(plain, "here", "back")
        (question,) = await here.waits()
        await here.approve(question.id)
        await here.resume("s")
        back = plain("back", "-", "Paid.")
        assert [wait.kind for wait in await back.waits()] == ["approval"]
        (one,) = await restore(back.parts, by=ME, reason="the disk died")
        assert (one.voided, one.error) == (True, "")
        assert not (await head(back)).woken
        assert [wait.kind for wait in await back.waits()] == ["copy"]
        assert (await back.resume("s")).status == "waiting"
        await back.accept_copy(one.wait_id)
        run = await back.resume("s")
        assert [wait.kind for wait in run.waits] == ["parked"]
        assert plain.paid == [5]

    async def test_without_it_the_payment_is_made_twice(self, plain):
        """The positive control: this is what the command is for."""
        here = plain("here", calling(("pay", {"cents": 5})), "Paid.", policy={"write": "ask"})
        await here.run("Pay.", session="s")
        await self.back_up(plain, "here", "back")
        (question,) = await here.waits()
        await here.approve(question.id)
        await here.resume("s")
        back = plain("back", "-", "Paid.")
        await back.approve((await back.waits())[0].id)
        await back.resume("s")
        assert plain.paid == [5, 5]

    async def test_again_it_changes_nothing(self, plain):
        here = plain("here", *PARKED)
        await here.run("Pay, please.", session="s")
        first = await void_marker(here.parts, "s", by=ME, reason="x")
        records = await raw(here)
        second = await void_marker(here.parts, "s", by=ME, reason="x")
        assert (first.voided, second.voided) == (True, False)
        assert await raw(here) == records

    async def test_once_accepted_it_can_be_voided_anew(self, plain):
        here = plain("here", *PARKED)
        await here.run("Pay, please.", session="s")
        first = await void_marker(here.parts, "s", by=ME, reason="x")
        await here.accept_copy(first.wait_id)
        assert (await void_marker(here.parts, "s", by=ME, reason="behind", how="behind")).voided

    async def test_one_at_rest_twice(self, plain):
        here = plain("here", "Hello.")
        await here.run("Hi.", session="s")
        assert (await void_marker(here.parts, "s", by=ME, reason="x")).voided
        assert not (await void_marker(here.parts, "s", by=ME, reason="x")).voided

    async def test_a_live_session_is_left_as_it_is_and_the_others_are_not(self, plain):
        here = plain("here")
        await here.dispatch([{"name": "look_up", "input": {}}], session="live", step="1")
        await here.dispatch([{"name": "look_up", "input": {}}], session="s", step="1")
        await here.release("s")
        found = {one.session: one for one in await restore(here.parts, by=ME, reason="x")}
        assert "is driven by process" in found["live"].error
        assert found["s"].voided
        await here.dispatch([{"name": "look_up", "input": {}}], session="live", step="2")

    async def test_a_sealed_one_proves_what_it_did(self, plain):
        here = plain("here", *PARKED)
        await here.run("Pay, please.", session="s")
        await seal(here.parts, "s", by=ME)
        assert not (await void_marker(here.parts, "s", by=ME, reason="x")).voided
        with pytest.raises(NotFound):
            await void_marker(here.parts, "none", by=ME, reason="x")


# Hostile files


def unpacked(path: Path) -> list[tuple[bytes, bytes]]:
    """The parts of an export, without believing anything."""
    content = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(path.read_bytes()[len(MAGIC) :])).read()
    parts, at = [], 0
    while at < len(content):
        kind, size = struct.unpack_from(">cQ", content, at)
        parts.append((kind, content[at + 9 : at + 9 + size]))
        at += 9 + size
    return parts


def packed(parts: list[tuple[bytes, bytes]], path: Path, *, end: bytes | None = None, tail: bytes = b"") -> Path:
    """A file of these parts, with the digest they should have."""
    content = b"".join(struct.pack(">cQ", kind, len(body)) + body for kind, body in parts if kind != b"E")
    digest = hashlib.sha256(content).digest() if end is None else end
    content += struct.pack(">cQ", b"E", len(digest)) + digest
    path.write_bytes(MAGIC + zstandard.ZstdCompressor().compress(content) + tail)
    return path


def rechained(parts: list[tuple[bytes, bytes]], session: str = "s") -> list[tuple[bytes, bytes]]:
    """The same records with the digests that make a chain of them, as somebody would who knows how."""
    previous, made, count = genesis(session), [], 0
    for kind, body in parts:
        if kind == b"R":
            previous = link(previous, body[32:])
            count += 1
            made.append((kind, previous + body[32:]))
        else:
            made.append((kind, body))
    header = json.loads(made[0][1]) | {"records": count, "digest": previous.hex(), "session": session}
    return [(b"H", json.dumps(header).encode()), *made[1:]]


def records(parts):
    return [index for index, (kind, _) in enumerate(parts) if kind == b"R"]


def blobs(parts):
    return [index for index, (kind, _) in enumerate(parts) if kind == b"B"]


def changed(parts, index, body):
    return [*parts[:index], (parts[index][0], body), *parts[index + 1 :]]


def header(parts, **changes):
    return changed(parts, 0, json.dumps(json.loads(parts[0][1]) | changes).encode())


def swapped(parts, one, two):
    made = list(parts)
    made[one], made[two] = made[two], made[one]
    return made


def without(parts, index):
    return [*parts[:index], *parts[index + 1 :]]


HOSTILE = {
    "a record altered": lambda p: changed(p, records(p)[3], p[records(p)[3]][1].replace(b"t", b"T", 1)),
    "a digest altered": lambda p: changed(p, records(p)[3], bytes(32) + p[records(p)[3]][1][32:]),
    "records out of order": lambda p: swapped(p, records(p)[3], records(p)[4]),
    "records out of order, chained": lambda p: rechained(swapped(p, records(p)[3], records(p)[5])),
    "a record missing": lambda p: without(p, records(p)[3]),
    "a record missing, chained": lambda p: rechained(without(p, records(p)[5])),
    "a record twice": lambda p: [*p[: records(p)[4]], p[records(p)[3]], *p[records(p)[4] :]],
    "a record twice, chained": lambda p: rechained([*p[: records(p)[4]], p[records(p)[3]], *p[records(p)[4] :]]),
    "the last record missing": lambda p: without(p, records(p)[-1]),
    "no records": lambda p: header([part for part in p if part[0] not in b"RB"], records=0, digest=genesis("s").hex()),
    "another session's records": lambda p: header(p, session="other"),
    "a newer record": lambda p: rechained(changed(p, records(p)[-1], p[records(p)[-1]][1].replace(b'"v":1', b'"v":9'))),
    "nonsense for a record": lambda p: rechained(changed(p, records(p)[-1], bytes(32) + b"nonsense")),
    "an empty record": lambda p: changed(p, records(p)[-1], bytes(32)),
    "an impossible fact, chained": lambda p: rechained(
        changed(p, records(p)[7], p[records(p)[7]][1].replace(b'"attempt":1', b'"attempt":4'))
    ),
    "a payload missing": lambda p: without(p, blobs(p)[0]),
    "a payload twice": lambda p: [*p, p[blobs(p)[0]]],
    "another payload": lambda p: changed(p, blobs(p)[0], p[blobs(p)[0]][1] + b"x"),
    "a payload nobody names": lambda p: [*p, (b"B", b"sha256:" + hashlib.sha256(b"x").hexdigest().encode() + b"x")],
    "a payload whose address is a path": lambda p: [*p, (b"B", b"sha256:" + b"../" * 21 + b"x" + b"data")],
    "a payload whose address is no text": lambda p: [*p, (b"B", b"\xff" * 71 + b"data")],
    "a record after the payloads": lambda p: [*without(p, records(p)[-1]), p[records(p)[-1]]],
    "a payload before the records": lambda p: [p[0], p[blobs(p)[0]], *p[1:]],
    "no header": lambda p: p[1:],
    "two headers": lambda p: [p[0], *p],
    "a header with more than it has": lambda p: header(p, more="x"),
    "a header of a session that can't be": lambda p: header(p, session="a\nb"),
    "a header of no session": lambda p: header(p, session=""),
    "other numbers in the header": lambda p: header(p, records=3),
    "a part that is none": lambda p: [*p, (b"X", b"data")],
    "a key where there is none": lambda p: [p[0], (b"K", b"\0\0\0\1short"), *p[1:]],
    "a key of another": lambda p: [p[0], (b"K", b"\0\0\0\7" + bytes(32)), *p[1:]],
}


class TestHostileFiles:
    @pytest.fixture
    async def exported(self, plain):
        here = plain("here", *PARKED)
        await here.run("Pay, please.", session="s")
        await export_session(here.parts, "s", plain.folder / "good.clx")
        return plain.folder / "good.clx"

    @pytest.fixture
    async def there(self, plain):
        """A state folder with a session in it that must stay as it is."""
        runtime = plain("there", "Hello.")
        await runtime.run("Hi.", session="mine")
        return runtime

    async def refused(self, plain, there, path, *kinds, bounds=None):
        before = contents(plain.folder / "there"), list(await there.parts.ledger.raw("mine")), await there.sessions()
        with pytest.raises(kinds or (LogBroken, UsageError)) as caught:
            await import_session(there.parts, path, by=ME, bounds=bounds)
        assert "othing was written" in str(caught.value) or "othing was executed" in str(caught.value)
        after = contents(plain.folder / "there"), list(await there.parts.ledger.raw("mine")), await there.sessions()
        assert after == before
        return str(caught.value)

    @pytest.mark.parametrize("how", HOSTILE)
    async def test_nothing_is_written(self, plain, exported, there, how):
        hostile = HOSTILE[how](unpacked(exported))
        assert hostile != unpacked(exported)
        await self.refused(plain, there, packed(hostile, plain.folder / "bad.clx"))

    async def test_the_same_by_whoever_makes_no_change(self, plain, exported, there):
        """The positive control of all of these."""
        path = packed(unpacked(exported), plain.folder / "again.clx")
        assert not (await import_session(there.parts, path, by=ME)).proven

    async def test_a_digest_that_is_anothers_and_what_follows_the_end(self, plain, exported, there):
        parts, bad = unpacked(exported), plain.folder / "bad.clx"
        await self.refused(plain, there, packed(parts, bad, end=bytes(32)))
        await self.refused(plain, there, packed(parts, bad, tail=b"more"))
        await self.refused(plain, there, packed(parts, bad, tail=zstandard.ZstdCompressor().compress(b"more")))

    async def test_cut_off_anywhere(self, plain, exported, there):
        whole, bad = exported.read_bytes(), plain.folder / "bad.clx"
        for size in (0, 5, len(MAGIC), len(MAGIC) + 9, len(whole) // 2, len(whole) - 1):
            bad.write_bytes(whole[:size])
            await self.refused(plain, there, bad)

    async def test_what_is_no_export_and_one_of_tomorrow(self, plain, there):
        bad = plain.folder / "bad.clx"
        bad.write_bytes(b"PK\x03\x04" + os.urandom(100))
        assert "no export" in await self.refused(plain, there, bad, LogBroken)
        bad.write_bytes(b"callslip export 2\n" + os.urandom(100))
        assert "newer Callslip" in await self.refused(plain, there, bad, UsageError)
        with pytest.raises(UsageError, match="can't be read"):
            await import_session(there.parts, plain.folder / "none", by=ME)

    async def test_one_that_unpacks_to_more_than_there_is_room(self, plain, exported, there):
        """A few kilobytes that would be gigabytes are given up as soon as they are too many."""
        parts = unpacked(exported)
        bomb = packed([*parts, (b"B", bytes(200 << 20))], plain.folder / "bomb.clx")
        assert bomb.stat().st_size < 1 << 16
        began = time.process_time()
        assert "allowed" in await self.refused(plain, there, bomb, bounds=Bounds(payload=1 << 20))
        assert "more than 1,000,000 bytes" in await self.refused(plain, there, bomb, bounds=Bounds(total=1_000_000))
        assert time.process_time() - began < 5
        lie = packed(parts, plain.folder / "lie.clx")
        data = bytearray(zstandard.ZstdDecompressor().stream_reader(io.BytesIO(lie.read_bytes()[len(MAGIC) :])).read())
        struct.pack_into(">Q", data, 1, 1 << 60)
        lie.write_bytes(MAGIC + zstandard.ZstdCompressor().compress(bytes(data)))
        assert "allowed" in await self.refused(plain, there, lie)
        assert "allowed" in await self.refused(plain, there, exported, bounds=Bounds(log=500))
        assert "allowed" in await self.refused(plain, there, exported, bounds=Bounds(record=100))

    async def test_a_session_that_is_here_already(self, plain, exported, there):
        await import_session(there.parts, exported, by=ME)
        before = await raw(there)
        with pytest.raises(UsageError, match="is here already"):
            await import_session(there.parts, exported, by=ME)
        assert await raw(there) == before

    async def test_two_at_once(self, plain, exported, there):
        import asyncio

        done = await asyncio.gather(
            *(import_session(there.parts, exported, by=ME) for _ in range(2)), return_exceptions=True
        )
        assert sorted(type(one).__name__ for one in done) == ["Imported", "UsageError"]

    async def test_encrypted_parts_that_do_not_open(self, tmp_path):
        office = Office(tmp_path, encrypt=True)
        here, there = office("here", *PARKED), office("there", "Hello.")
        await here.run("Pay, please.", session="s")
        await there.run("Hi.", session="mine")
        await export_session(here.parts, "s", tmp_path / "good.clx")
        parts = unpacked(tmp_path / "good.clx")
        assert [kind for kind, _ in parts[:2]] == [b"H", b"K"]
        junk = os.urandom(200)
        call = next(n for n in records(parts) if b'"type":"function_response"' in parts[n][1])
        address = b"sealed:" + hashlib.sha256(junk).hexdigest().encode()
        start = parts[call][1].index(b'"sealed:') + 1
        old = parts[call][1][start : start + 71]
        pointing = [(kind, body.replace(old, address)) if kind == b"R" else (kind, body) for kind, body in parts]
        blob = next(n for n in blobs(parts) if parts[n][1].startswith(old))
        for hostile in (
            rechained(changed(pointing, blob, address + junk)),
            changed(parts, 1, parts[1][1][:4] + bytes(range(32))),
            without(parts, 1),
            [parts[0], parts[1], parts[1], *parts[2:]],
        ):
            await self.refused(office, there, packed(hostile, tmp_path / "bad.clx"))
        await import_session(there.parts, tmp_path / "good.clx", by=ME)
        await office.close()


class TestWritingTheFile:
    async def test_it_is_its_owners_alone_and_never_writes_over(self, plain):
        here = plain("here", "Hello.")
        await here.run("Hi.", session="s")
        path = plain.folder / "x.clx"
        await export_session(here.parts, "s", path)
        assert path.stat().st_mode & 0o777 == 0o600
        first = path.read_bytes()
        with pytest.raises(UsageError, match="is there already"):
            await export_session(here.parts, "s", path)
        assert path.read_bytes() == first
        assert [one.name for one in plain.folder.iterdir() if one.name.startswith(".")] == []

    async def test_a_broken_log_leaves_no_file(self, plain):
        here = plain("here", *PARKED)
        await here.run("Pay, please.", session="s")
        for blob in (plain.folder / "here" / "blobs").glob("*/*"):
            blob.unlink()
        with pytest.raises(LogBroken, match=r"which is not there\. Nothing was exported"):
            await export_session(here.parts, "s", plain.folder / "x.clx")
        with pytest.raises(NotFound):
            await export_session(here.parts, "none", plain.folder / "x.clx")
        with pytest.raises(UsageError, match="can't be written"):
            await export_session(here.parts, "s", plain.folder / "none" / "x.clx")
        assert list(plain.folder.glob("*.clx")) == list(plain.folder.glob(".*")) == []


class Keys:
    """One operator, the same everywhere."""

    def __init__(self):
        self.person = Person("olga", Role.OPERATOR, Role.CALLER)
        self.operator = self.person.identity

    def enrol(self, runtime):
        self.person.enrol(runtime.parts.trust)
        runtime.settings.identity = self.operator


@pytest.fixture
def keys():
    return Keys()


class TestWhoMay:
    """With keys in force, a seal and an acceptance count only from an operator."""

    async def test_nothing_without_a_key(self, plain, keys):
        here = plain("here", *PARKED)
        await here.run("Pay, please.", session="s")
        keys.enrol(here)
        with pytest.raises(NotAuthorised):
            await seal(here.parts, "s", by=ME)
        with pytest.raises(NotAuthorised):
            await void_marker(here.parts, "s", by=ME, reason="x")
        await export_session(here.parts, "s", plain.folder / "x.clx")
        there = plain("there")
        keys.enrol(there)
        with pytest.raises(NotAuthorised):
            await import_session(there.parts, plain.folder / "x.clx", by=ME)
        assert await there.sessions() == []

    async def test_a_seal_that_nobody_signed_proves_nothing(self, plain, keys):
        here = plain("here", *PARKED)
        await here.run("Pay, please.", session="s")
        await seal(here.parts, "s", by=ME)
        await export_session(here.parts, "s", plain.folder / "x.clx")
        there = plain("there")
        keys.enrol(there)
        imported = await import_session(there.parts, plain.folder / "x.clx", by=keys.operator)
        assert not imported.proven
        assert imported.doubt == "its seal does not count here: it is signed by nobody"

    async def test_a_seal_signed_here_counts_here(self, plain, keys):
        here = plain("here", *PARKED)
        keys.enrol(here)
        await here.run("Pay, please.", session="s")
        await seal(here.parts, "s", by=keys.operator)
        await export_session(here.parts, "s", plain.folder / "x.clx")
        there = plain("there")
        keys.enrol(there)
        assert (await import_session(there.parts, plain.folder / "x.clx", by=keys.operator)).proven

    async def test_an_acceptance_that_was_put_there_by_somebody_else_counts_for_nothing(self, plain, keys):
        here = plain("here", *PARKED)
        keys.enrol(here)
        await here.run("Pay, please.", session="s")
        void = await void_marker(here.parts, "s", by=keys.operator, reason="x")
        forged = draft(WaitClosed(wait_id=void.wait_id, how="accepted", actor="op"), at=1, by="op", epoch=0, run="")
        await here.parts.ledger.decide("s", [forged], expected=(await head(here)).seq)
        run = await here.resume("s")
        assert "copy" in {wait.kind for wait in run.waits}, "it is asked again"
        starts = [one.record.event for one in await here.parts.ledger.read("s")
                  if isinstance(one.record.event, RunStarted)]  # fmt: skip
        assert [one.marker for one in starts] == [True, False]

    async def test_a_session_taken_in_by_nobody_who_may_is_in_doubt(self, plain, keys):
        """Somebody reopens a sealed session by writing the record themselves."""
        here = plain("here", *PARKED)
        keys.enrol(here)
        await here.run("Pay, please.", session="s")
        await seal(here.parts, "s", by=keys.operator)
        parts, now = here.parts, await head(here)
        forged = draft(
            SessionImported(actor="op", reason="", how="imported", proven=True), at=1, by="op", epoch=0, run=""
        )
        with pytest.raises(Sealed):
            await parts.ledger.decide("s", [forged], expected=now.seq)
        texts = [Draft(record=one.record, text=text) for one, (_, _, text) in
                 zip(await parts.ledger.read("s"), await raw(here), strict=True)]  # fmt: skip
        there = plain("there")
        keys.enrol(there)
        await there.parts.ledger.adopt("s", [*texts, forged])
        run = await there.resume("s")
        assert "copy" in {wait.kind for wait in run.waits}
