"""Erasure: what was said is gone, that it happened stays, and the session can go on (LEDG-08)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sqlite3

import pytest
import zstandard

from callslip import Runtime, failpoint, tool
from callslip.blobs.box import whose
from callslip.core.event import draft, genesis, link
from callslip.core.events.blob_erased import BlobErased
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.payload import Payload
from callslip.core.principal import Role
from callslip.core.result import Effect, Status
from callslip.errors import (
    Busy,
    LedgerUnavailable,
    LogBroken,
    NotAuthorised,
    NotFound,
    StepConflict,
    TrustBroken,
    UsageError,
)
from callslip.ports.trust import Identity
from callslip.providers.scripted import Scripted, calling
from callslip.runtime.parts import Data
from callslip.sessions import checkpoint
from callslip.sessions.erase import YOUNG, erase_payloads, erase_session, finish
from callslip.sessions.export import export_session
from callslip.sessions.import_ import import_session
from callslip.sessions.lifetime import Lifetime, collect, expire
from callslip.sessions.project import project
from callslip.sessions.restore import void_marker
from callslip.sessions.seal import seal
from callslip.sessions.verify import verify
from callslip.testing.clock import FakeClock
from callslip.testing.people import Person

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("LEDG-08")]

ME = Identity(name="op", uid=7)
SAID = "Ada Lovelace owes five pounds"
DAY = 86_400_000


@tool(risk="read")
def look_up(name: str, times: int = 1) -> str:
    """Look somebody up."""
    return f"{name} lives at 12 St James's Square. " * times


@tool(risk="write", client_owned=True)
def sign(document: str) -> str:
    """Sign."""


@tool(risk="read")
def fail(name: str) -> str:
    """Fail, with words."""
    raise ValueError(f"{name} is not at home")


REPLIES = (
    calling(("look_up", {"name": "Ada", "times": 500}), ("look_up", {"name": "Bob"}), text="Let me see about Ada."),
    "Ada owes five pounds, says Bob.",
)


def made(folder, *replies, encrypt=True, clock=None, keep_days=None) -> Runtime:
    runtime = Runtime(
        tools=[look_up, sign, fail], model=Scripted(list(replies)), state=folder, clock=clock or FakeClock(auto=30)
    )
    runtime.configure(data=Data(encrypt=encrypt, keep_days=keep_days))
    return runtime


@pytest.fixture
async def office(tmp_path):
    """A protected session that has come to rest."""
    async with made(tmp_path / "state", *REPLIES, "Once more.", "And again.") as runtime:
        await runtime.run(SAID, session="s")
        yield runtime


@pytest.fixture
async def clear(tmp_path):
    """The same, not protected, an hour ago."""
    async with made(tmp_path / "clear", *REPLIES, "Once more.", encrypt=False) as runtime:
        await runtime.run(SAID, session="s")
        age(tmp_path / "clear", runtime.parts.clock.now() - 3_600_000)
        yield runtime


def age(state, at):
    """As if every payload had been put then."""
    for path in (state / "blobs").glob("*/*"):
        os.utime(path, ns=(at * 1_000_000, at * 1_000_000))


def everything(folder) -> bytes:
    """Every byte below a folder, packed ones unpacked."""
    found = b""
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            found += data
            with contextlib.suppress(zstandard.ZstdError):
                found += zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return found


async def shown(runtime) -> str:
    return repr(await project(runtime.parts, await runtime.state("s")))


async def whole(runtime, session="s"):
    report = await verify(runtime.parts, session, contents=True)
    assert report.problems == []
    return report


async def events(runtime, kind=BlobErased, session="s"):
    return [one.record.event for one in await runtime.parts.ledger.read(session) if isinstance(one.record.event, kind)]


def calls(state):
    return [call.call_id for item in state.items for call in getattr(item, "calls", ())]


class TestProtection:
    async def test_nothing_that_was_said_lies_in_the_state_folder(self, office, tmp_path):
        await checkpoint.save_state(office.parts, await office.state("s"))
        lies = everything(tmp_path)
        for word in (b"Ada", b"Lovelace", b"Bob", b"St James", b"pounds"):
            assert word not in lies, word

    async def test_without_protection_it_does(self, clear, tmp_path):
        """The positive control."""
        lies = everything(tmp_path)
        assert all(word in lies for word in (b"Lovelace", b"St James", b"Bob"))

    async def test_whoever_may_read_sees_all_of_it(self, office, tmp_path):
        text = await shown(office)
        assert all(word in text for word in (SAID, "Let me see about Ada", "St James", "says Bob"))
        await whole(office)
        async with made(tmp_path / "state", encrypt=False) as other:
            assert await shown(other) == await shown(office), "another process, even one that does not encrypt anew"

    async def test_errors_and_their_texts_too(self, tmp_path):
        async with made(tmp_path / "state", calling(("fail", {"name": "Ada"})), "No.") as runtime:
            await runtime.run("Go.", session="s")
            assert b"not at home" not in everything(tmp_path)
            (response,) = [item.responses[0] for item in (await runtime.state("s")).items if getattr(item, "calls", ())]
            assert "Ada is not at home" in response.internal

    async def test_a_checkpoint_is_encrypted_and_believed(self, office):
        state = await office.state("s")
        await checkpoint.save_state(office.parts, state)
        kept = await office.parts.ledger.behind.load_checkpoint("s")
        assert b"Ada" not in kept.body
        assert (await checkpoint._from_checkpoint(office.parts, "s")).seq == state.seq
        await whole(office)

    async def test_segments_are_encrypted(self, office, tmp_path):
        await office.run("More.", session="s")
        state = await office.state("s")
        await checkpoint.save_state(office.parts, state)
        assert [one[:7] for one in state.segments] == ["sealed:"]
        assert SAID in await shown(office)
        assert b"Lovelace" not in everything(tmp_path)

    async def test_a_record_whose_private_part_is_anothers_is_refused(self, office, tmp_path):
        """Somebody who can write the file, and knows how the chain is made, exchanges what two records say."""
        office.parts.clock.advance(1)
        await office.run("More.", session="s")
        await office.aclose()
        database = sqlite3.connect(tmp_path / "state" / "ledger.db")
        rows = database.execute("select seq, text from records order by seq").fetchall()
        one, two = [seq for seq, text in rows if b'"type":"user_message"' in text]
        texts = dict(rows)

        def part(text):
            start = text.index(b'"sealed":"') + 10
            return text[start : text.index(b'"', start)]

        texts[one] = texts[one].replace(part(texts[one]), part(texts[two]))
        previous = genesis("s")
        for seq, _ in rows:
            previous = link(previous, texts[seq])
            database.execute("update records set text = ?, digest = ? where seq = ?", (texts[seq], previous, seq))
        database.execute("update sessions set digest = ?", (previous,))
        database.commit()
        database.close()
        async with made(tmp_path / "state") as again:
            with pytest.raises(LogBroken, match="belongs to another record"):
                await again.state("s")
            report = await verify(again.parts, "s")
            assert (report.problems[0].kind, report.problems[0].seq) == ("unreadable", one)

    async def test_a_lost_key_is_no_erasure(self, office, tmp_path):
        await office.aclose()
        for path in (tmp_path / "state" / "keys").glob("*/*"):
            path.unlink()
        async with made(tmp_path / "state") as again:
            with pytest.raises(LogBroken, match="is gone, and it was not destroyed"):
                await again.state("s")
            assert not (await verify(again.parts, "s")).ok

    async def test_a_session_that_began_in_clear_is_protected_from_then_on(self, clear, tmp_path):
        await clear.aclose()
        async with made(tmp_path / "clear", "-", "-", "A secret answer.") as runtime:
            await runtime.run("A secret question.", session="s")
            assert b"secret" not in everything(tmp_path)
            text = await shown(runtime)
            assert all(word in text for word in (SAID, "A secret question", "A secret answer"))
            done = await erase_session(runtime.parts, "s", reason="asked", by=ME)
            assert done.in_clear, "and that is said"
            text = await shown(runtime)
            assert SAID in text
            assert "secret" not in text
            await whole(runtime)


class TestAWholeSession:
    async def test_it_is_gone_and_the_log_still_tells_what_happened(self, office, tmp_path):
        before = await office.parts.ledger.raw("s")
        done = await erase_session(office.parts, "s", reason="she asked", by=ME)
        assert (done.payloads, done.keys, done.in_clear, done.shared) == (4, 1, 0, {})
        assert (await office.parts.ledger.raw("s"))[:-1] == before, "no record was changed"
        (event,) = await events(office)
        assert (event.actor, event.reason, event.whole) == ("op", "she asked", True)
        text = await shown(office)
        assert all(word not in text for word in ("Ada", "Lovelace", "St James", "Bob"))
        assert text.count("[erased]") == 7
        assert "look_up" in text
        report = await whole(office)
        assert [(one.seq, one.actor, one.reason, one.whole) for one in report.erased] == [
            (len(before) + 1, "op", "she asked", True)
        ]
        assert report.payloads == 0
        assert [head.status for head in await office.sessions()] == ["erased"]
        assert list((tmp_path / "state" / "blobs").glob("*/*")) == []
        (old, new) = sorted((tmp_path / "state" / "keys").glob("*/*"))
        assert (old.read_bytes(), len(new.read_bytes())) == (b"", 32)

    async def test_by_a_backup_of_everything_but_the_keys_nothing_comes_back(self, office, tmp_path):
        shutil.copytree(tmp_path / "state" / "blobs", tmp_path / "blobs")
        await erase_session(office.parts, "s", reason="asked", by=ME)
        shutil.copytree(tmp_path / "blobs", tmp_path / "state" / "blobs", dirs_exist_ok=True)
        text = await shown(office)
        assert "Ada" not in text
        report = await verify(office.parts, "s")
        assert {problem.kind for problem in report.problems} == {"payload"}
        assert "was erased, and is there all the same" in report.problems[0].message

    async def test_the_session_goes_on(self, office):
        await erase_session(office.parts, "s", reason="asked", by=ME)
        run = await office.run("Once more, please: Bob.", session="s")
        assert run.text == "Once more."
        text = await shown(office)
        assert "Once more, please: Bob." in text
        assert "Ada" not in text
        await whole(office)
        assert (await erase_session(office.parts, "s", reason="again", by=ME)).keys == 1
        assert "Bob" not in await shown(office)
        await whole(office)

    async def test_again_it_does_nothing(self, office):
        await erase_session(office.parts, "s", reason="asked", by=ME)
        before = await office.parts.ledger.raw("s")
        assert not (await erase_session(office.parts, "s", reason="again", by=ME)).anything
        assert await office.parts.ledger.raw("s") == before

    async def test_a_checkpoint_from_before_is_not_read(self, office):
        state = await office.state("s")
        await checkpoint.save_state(office.parts, state)
        await erase_session(office.parts, "s", reason="asked", by=ME)
        assert "Ada" not in await shown(office)
        await whole(office)
        later = await office.state("s")
        await checkpoint.save_state(office.parts, later)
        assert "Ada" not in await shown(office)
        await whole(office)

    async def test_the_segments_go_too(self, office, tmp_path):
        await office.run("More.", session="s")
        state = await office.state("s")
        await checkpoint.save_state(office.parts, state)
        await erase_session(office.parts, "s", reason="asked", by=ME)
        assert list((tmp_path / "state" / "blobs").glob("*/*")) == []
        await office.run("More.", session="s")
        assert "Lovelace" not in await shown(office)

    async def test_a_call_that_is_open_needs_what_it_was_given(self, tmp_path):
        async with made(tmp_path / "state", calling(("sign", {"document": "Ada's"}))) as runtime:
            await runtime.run("Sign.", session="s")
            with pytest.raises(UsageError, match=r"has no answer yet.*Nothing was erased"):
                await erase_session(runtime.parts, "s", reason="asked", by=ME)
            (call,) = (await runtime.state("s")).open_calls()
            with pytest.raises(UsageError, match="has no answer yet"):
                await erase_payloads(runtime.parts, "s", reason="asked", by=ME, call_id=call.call.call_id)
            assert await events(runtime) == []
            await seal(runtime.parts, "s", by=ME)
            assert (await erase_session(runtime.parts, "s", reason="it has moved", by=ME)).anything
            assert [head.status for head in await runtime.sessions()] == ["sealed"]
            await whole(runtime)

    async def test_while_somebody_drives_it(self, office):
        await office.dispatch([{"name": "look_up", "input": {"name": "Bob"}}], session="live", step="1")
        with pytest.raises(Busy, match=r"is driven by process \d+ now. Nothing was erased"):
            await erase_session(office.parts, "live", reason="asked", by=ME)
        with pytest.raises(NotFound):
            await erase_session(office.parts, "none", reason="asked", by=ME)

    async def test_one_taken_over_in_that_moment_is_not_erased(self, office):
        """Its new owner's first record comes between the look and the erasure."""

        def take(name):
            if name == "erase.begun":
                failpoint.listen(None)
                tasks.append(asyncio.ensure_future(office.run("I am back.", session="s")))

        tasks: list = []
        failpoint.listen(take)
        try:
            done = await erase_session(office.parts, "s", reason="asked", by=ME)
        except Busy:
            done = None
        finally:
            failpoint.listen(None)
        assert (await tasks[0]).text == "Once more."
        text = await shown(office)
        assert "I am back." in text, "what came after is not lost, whichever was first"
        assert ("Ada" in text) == (done is None)
        await whole(office)

    async def test_who_may(self, office):
        olga, vera = Person("olga", Role.OPERATOR), Person("vera", Role.VIEWER)
        olga.enrol(office.parts.trust)
        vera.enrol(office.parts.trust, by=olga)
        for nobody in (ME, vera.identity):
            with pytest.raises(NotAuthorised):
                await erase_session(office.parts, "s", reason="asked", by=nobody)
        assert (await erase_session(office.parts, "s", reason="asked", by=olga.identity)).anything
        assert (await events(office))[0].proof.signature

    async def test_a_clients_result_whose_signature_fits_no_more(self, tmp_path):
        """What was erased can't be proved to be the client's, and need not be: an operator has signed the erasure."""
        clara, olga = Person("clara", Role.OPERATOR, Role.CALLER), Person("olga", Role.OPERATOR)
        call = [{"name": "sign", "input": {"document": "Ada's will"}}]
        async with made(tmp_path / "state") as runtime:
            clara.enrol(runtime.parts.trust)
            olga.enrol(runtime.parts.trust, by=clara)
            runtime.settings.identity = clara.identity
            batch = await runtime.dispatch(call, session="d", step="1")
            await runtime.submit(batch.waits[0].id, {"signed by": "Ada"})
            assert (await runtime.dispatch(call, session="d", step="1")).results[0].result.structured
            await runtime.release("d")
            await erase_session(runtime.parts, "d", reason="asked", by=olga.identity)
            again = await runtime.dispatch(call, session="d", step="1")
            assert again.results[0].result.structured == "[erased]"
            await runtime.dispatch([{"name": "look_up", "input": {"name": "Bob"}}], session="d", step="2")
            assert (await runtime.dispatch(call, session="d", step="1")).results[0].result.structured == "[erased]"

    async def test_an_erasure_that_nobody_signed_hides_no_forged_result(self, tmp_path):
        clara = Person("clara", Role.OPERATOR, Role.CALLER)
        call = [{"name": "sign", "input": {"document": "Ada's will"}}]
        async with made(tmp_path / "state") as runtime:
            clara.enrol(runtime.parts.trust)
            runtime.settings.identity = clara.identity
            batch = await runtime.dispatch(call, session="d", step="1")
            await runtime.release("d")
            (open_call,) = (await runtime.state("d")).open_calls()
            forged = FunctionResponse(
                call_id=open_call.call.call_id, lane="settled", status=Status.SUCCESS, effect=Effect.DONE,
                structured=Payload(blob="sealed:" + "0" * 64), attempt=1, nonce=open_call.dispatch.nonce,
            )  # fmt: skip
            closed = WaitClosed(wait_id=batch.waits[0].id, how="submitted", actor="clara")
            gone = BlobErased(actor="clara", reason="x", whole=True)
            drafts = [draft(one, at=1, by="clara", epoch=0, run="") for one in (forged, closed, gone)]
            (now,) = await runtime.parts.ledger.heads("d")
            await runtime.parts.ledger.decide("d", drafts, expected=now.seq)
            with pytest.raises(TrustBroken, match="does not count"):
                await runtime.dispatch(call, session="d", step="1")

    async def test_an_export_afterwards_holds_nothing_and_is_taken_in(self, office, tmp_path):
        await erase_session(office.parts, "s", reason="asked", by=ME)
        await seal(office.parts, "s", by=ME)
        exported = await export_session(office.parts, "s", tmp_path / "x.clx")
        assert (exported.payloads, exported.erased) == (0, 4)
        async with made(tmp_path / "there", "-", "-", "Going on.") as there:
            assert (await import_session(there.parts, tmp_path / "x.clx", by=ME)).proven
            assert "Ada" not in await shown(there)
            assert (await there.run("Go on.", session="s")).text == "Going on."
            await whole(there)


class TestOnePayload:
    async def test_of_a_call(self, office):
        ada, _ = calls(await office.state("s"))
        done = await erase_payloads(office.parts, "s", reason="asked", by=ME, call_id=ada)
        assert (done.payloads, done.keys) == (2, 0)
        text = await shown(office)
        assert "Bob lives at" in text
        assert "Ada lives at" not in text
        assert "arguments='[erased]'" in text
        assert SAID in text, "only that call's"
        report = await whole(office)
        assert (report.payloads, report.erased[0].payloads) == (2, 2)
        assert not (await erase_payloads(office.parts, "s", reason="asked", by=ME, call_id=ada)).anything
        assert (await office.run("Go on.", session="s")).text == "Once more."

    async def test_by_its_address(self, office):
        state = await office.state("s")
        address = next(item.responses[0].structured.blob for item in state.items if getattr(item, "calls", ()))
        await erase_payloads(office.parts, "s", reason="asked", by=ME, address=address)
        assert (await events(office))[0].addresses == (address,)
        assert not await office.parts.blobs.has(address)

    async def test_what_there_is_not(self, office):
        with pytest.raises(NotFound, match="no call"):
            await erase_payloads(office.parts, "s", reason="asked", by=ME, call_id="call_none")
        with pytest.raises(NotFound, match="names no payload"):
            await erase_payloads(office.parts, "s", reason="asked", by=ME, address="sealed:" + "0" * 64)

    async def test_a_conversation_kept_in_segments_does_not_bring_it_back(self, office):
        await office.run("More.", session="s")
        state = await office.state("s")
        await checkpoint.save_state(office.parts, state)
        await erase_payloads(office.parts, "s", reason="asked", by=ME, call_id=calls(await whole_state(office))[0])
        assert "Ada lives at" not in await shown(office)
        state = await office.state("s")
        await checkpoint.save_state(office.parts, state)
        assert len(state.segments) == 1
        assert state.segments != ("",)
        text = await shown(office)
        assert "Ada lives at" not in text
        assert SAID in text
        await whole(office)

    async def test_a_callers_step_gives_it_as_erased(self, office):
        call = [{"name": "look_up", "input": {"name": "Cy"}}]
        first = await office.dispatch(call, session="d", step="1")
        await office.dispatch([{"name": "look_up", "input": {"name": "Di"}}], session="d", step="2")
        await office.release("d")
        await erase_payloads(office.parts, "d", reason="asked", by=ME, call_id=first.results[0].call_id)
        again = await office.dispatch(call, session="d", step="1")
        assert again.results[0].result.structured == "[erased]"
        with pytest.raises(StepConflict):
            await office.dispatch([{"name": "fail", "input": {"name": "Cy"}}], session="d", step="1")


async def whole_state(runtime):
    state = await runtime.state("s")
    state.items = await checkpoint.load_items(runtime.parts, state)
    return state


class TestUnprotected:
    async def test_only_what_lies_beside_the_log_goes_and_that_is_said(self, clear):
        done = await erase_session(clear.parts, "s", reason="asked", by=ME)
        assert (done.payloads, done.keys) == (1, 0)
        assert done.in_clear == 8
        text = await shown(clear)
        assert "Ada lives at" not in text
        assert SAID in text
        await whole(clear)

    async def test_what_another_session_names_stays(self, clear, tmp_path):
        await clear.dispatch([{"name": "look_up", "input": {"name": "Ada", "times": 500}}], session="t", step="1")
        await clear.release("t")
        age(tmp_path / "clear", clear.parts.clock.now() - 3_600_000)
        call = calls(await clear.state("s"))[0]
        with pytest.raises(UsageError, match=r"Session 't' names .* too.*Nothing was erased"):
            await erase_payloads(clear.parts, "s", reason="asked", by=ME, call_id=call)
        done = await erase_session(clear.parts, "s", reason="asked", by=ME)
        assert list(done.shared.values()) == ["t"]
        assert not done.anything
        assert "Ada lives at" in await shown(clear)
        assert (await erase_session(clear.parts, "t", reason="asked", by=ME)).shared

    async def test_what_was_put_a_moment_ago_may_be_anothers_in_the_next(self, clear, tmp_path):
        age(tmp_path / "clear", clear.parts.clock.now() - YOUNG + 1000)
        with pytest.raises(Busy, match="less than a minute ago"):
            await erase_session(clear.parts, "s", reason="asked", by=ME)
        age(tmp_path / "clear", clear.parts.clock.now() - YOUNG - 1000)
        assert (await erase_session(clear.parts, "s", reason="asked", by=ME)).anything

    async def test_the_same_put_again_afterwards_is_another_fact(self, clear, tmp_path):
        await erase_session(clear.parts, "s", reason="asked", by=ME)
        await clear.dispatch([{"name": "look_up", "input": {"name": "Ada", "times": 500}}], session="t", step="1")
        assert "Ada lives at" not in await shown(clear), "though the bytes are there again"
        await whole(clear)
        await whole(clear, "t")


class TestBrokenOff:
    """Power fails between the steps; in the crash tests it really does."""

    @pytest.fixture
    def cut(self):
        class Cut(BaseException):
            pass

        def at(name):
            def listener(point):
                if point == name:
                    failpoint.listen(None)
                    raise Cut

            failpoint.listen(listener)
            return Cut

        yield at
        failpoint.listen(None)

    @pytest.mark.parametrize("point", failpoint.ERASURE)
    async def test_it_is_found_and_finished(self, office, tmp_path, cut, point):
        with pytest.raises(cut(point)):
            await erase_session(office.parts, "s", reason="asked", by=ME)
        assert not (await verify(office.parts, "s")).ok, "and seen"
        assert list(await finish(office.parts)) == ["s"]
        assert list(await finish(office.parts)) == []
        assert len(await events(office)) == 1
        assert "Ada" not in await shown(office)
        assert list((tmp_path / "state" / "blobs").glob("*/*")) == []
        await whole(office)
        assert (await office.run("Go on.", session="s")).text == "Once more."

    @pytest.mark.parametrize("point", failpoint.ERASURE)
    async def test_or_by_asking_again(self, office, cut, point):
        with pytest.raises(cut(point)):
            await erase_session(office.parts, "s", reason="asked", by=ME)
        await erase_session(office.parts, "s", reason="asked again", by=ME)
        assert len(await events(office)) == 1
        assert "Ada" not in await shown(office)
        await whole(office)

    async def test_one_that_never_came_to_be_is_dropped(self, office, cut):
        with pytest.raises(cut("erase.begun")):
            await erase_session(office.parts, "s", reason="asked", by=ME)
        await office.run("I am still here.", session="s")
        assert list(await finish(office.parts)) == []
        assert list(office.parts.erasures.pending()) == []
        assert "Ada" in await shown(office)
        await whole(office)

    @pytest.mark.parametrize("point", ["erase.recorded", "erase.keys"])
    async def test_what_came_since_is_not_taken_with_it(self, office, cut, point):
        with pytest.raises(cut(point)):
            await erase_session(office.parts, "s", reason="asked", by=ME)
        await office.run("A new question.", session="s")
        await finish(office.parts)
        text = await shown(office)
        assert "A new question." in text
        assert "Ada" not in text
        await whole(office)

    async def test_the_same_payload_put_again_meanwhile_stays(self, office, cut):
        """Under the same key the same text has the same address."""
        call = [{"name": "look_up", "input": {"name": "Cy"}}]
        first = await office.dispatch(call, session="d", step="1")
        await office.release("d")
        with pytest.raises(cut("erase.recorded")):
            await erase_payloads(office.parts, "d", reason="asked", by=ME, call_id=first.results[0].call_id)
        second = await office.dispatch(call, session="d", step="2")
        await office.release("d")
        await finish(office.parts)
        await whole(office, "d")
        again = await office.dispatch(call, session="d", step="2")
        assert again.results == second.results

    async def test_a_payload_that_another_session_names_meanwhile_stays(self, clear, tmp_path, cut):
        with pytest.raises(cut("erase.keys")):
            await erase_session(clear.parts, "s", reason="asked", by=ME)
        await clear.dispatch([{"name": "look_up", "input": {"name": "Ada", "times": 500}}], session="t", step="1")
        assert list(await finish(clear.parts)) == [], "not in the same minute"
        age(tmp_path / "clear", clear.parts.clock.now() - 3_600_000)
        assert list(await finish(clear.parts)) == ["s"]
        await whole(clear)
        await whole(clear, "t")
        assert "Ada lives at" not in await shown(clear)

    async def test_no_room_to_begin_erases_nothing(self, office, tmp_path):
        (tmp_path / "state" / "erasures").write_text("")
        before = await office.parts.ledger.raw("s")
        with pytest.raises(LedgerUnavailable, match="Nothing was erased"):
            await erase_session(office.parts, "s", reason="asked", by=ME)
        assert await office.parts.ledger.raw("s") == before
        assert "Ada" in await shown(office)


class TestLifetime:
    @pytest.fixture
    def clock(self):
        return FakeClock(auto=30)

    async def test_what_nobody_has_touched_for_so_long_is_erased(self, tmp_path, clock):
        async with made(tmp_path / "state", *REPLIES, clock=clock, keep_days=30) as runtime:
            await runtime.run(SAID, session="s")
            assert list(await expire(runtime.parts)) == []
            assert list(await expire(runtime.parts, clock.now() + 29 * DAY)) == []
            clock.advance(31 * DAY / 1000)
            await runtime.run(SAID, session="young")
            assert list(await expire(runtime.parts)) == ["s"]
            (event,) = await events(runtime)
            assert (event.actor, event.reason) == ("lifetime", "nothing was added for 30 days")
            assert "Ada" not in await shown(runtime)
            assert list(await expire(runtime.parts, clock.now() + 400 * DAY)) == ["young"]

    async def test_unless_it_waits_or_was_spoken_to(self, tmp_path, clock):
        replies = (calling(("sign", {"document": "d"})),)
        async with made(tmp_path / "state", *replies, clock=clock, keep_days=1) as runtime:
            await runtime.run("Sign.", session="waits")
            async with made(tmp_path / "state", "Hello.", clock=clock) as other:
                await other.run("Hi.", session="told")
            await runtime.send("told", "still there?")
            await runtime.dispatch([{"name": "look_up", "input": {"name": "Bob"}}], session="held", step="1")
            await runtime.dispatch([{"name": "look_up", "input": {"name": "Bob"}}], session="copied", step="1")
            await runtime.release("copied")
            await void_marker(runtime.parts, "copied", by=ME, reason="x")
            assert list(await expire(runtime.parts, clock.now() + 400 * DAY)) == []

    async def test_never_unless_it_was_said(self, office):
        assert list(await expire(office.parts, office.parts.clock.now() + 4000 * DAY)) == []

    async def test_a_broken_log_does_not_hold_up_the_others(self, tmp_path, clock):
        async with made(tmp_path / "state", *REPLIES, clock=clock, keep_days=1) as runtime:
            await runtime.run(SAID, session="s")
            await runtime.run(SAID, session="broken")
            for path in (tmp_path / "state" / "keys").glob("*/1"):
                if path.parent.name == whose("broken").hex():
                    path.unlink()
            life = Lifetime(runtime.parts)
            assert list(await life.expire(clock.now() + 9 * DAY)) == ["s"]
            assert list(await life.expire(clock.now() + 9 * DAY)) == []

    async def test_it_finishes_what_was_broken_off(self, office):
        def listener(point):
            if point == "erase.keys":
                failpoint.listen(None)
                raise KeyboardInterrupt

        failpoint.listen(listener)
        with pytest.raises(KeyboardInterrupt):
            await erase_session(office.parts, "s", reason="asked", by=ME)
        await expire(office.parts)
        await whole(office)


class TestGarbage:
    async def test_what_nobody_names_goes_unless_it_is_young(self, clear, tmp_path):
        now = clear.parts.clock.now()
        orphan = await clear.parts.blobs.put(b"a write whose commit never came" * 300)
        age(tmp_path / "clear", now - 3_600_000 + 5_000)
        assert await collect(clear.parts) == 0
        age(tmp_path / "clear", now - 3_600_000 - 5_000)
        assert await collect(clear.parts) == 1
        assert not await clear.parts.blobs.has(orphan)
        await whole(clear)
        assert "Ada lives at" in await shown(clear)

    async def test_segments_of_a_checkpoint_are_named(self, office, tmp_path):
        await office.run("More.", session="s")
        state = await office.state("s")
        await checkpoint.save_state(office.parts, state)
        age(tmp_path / "state", 1)
        assert await collect(office.parts) == 0
        assert await office.parts.blobs.has(state.segments[0])
        await whole(office)

    async def test_a_segment_that_a_later_checkpoint_has_left_behind(self, office, tmp_path):
        await office.run("More.", session="s")
        state = await office.state("s")
        await checkpoint.save_state(office.parts, state)
        await erase_payloads(office.parts, "s", reason="x", by=ME, call_id=calls(await whole_state(office))[1])
        again = await office.state("s")
        await checkpoint.save_state(office.parts, again)
        age(tmp_path / "state", 1)
        assert await collect(office.parts) == 1
        assert not await office.parts.blobs.has(state.segments[0])
        await whole(office)
