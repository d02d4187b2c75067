"""What every ledger must do when a session is moved, and about checkpoints."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from callslip.core.events.blob_erased import BlobErased
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.session_imported import SessionImported
from callslip.core.events.session_started import SessionStarted
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.wait import WaitKind
from callslip.errors import Busy, Sealed, UsageError
from callslip.ports.ledger import Adopts, Checkpoint, Checkpoints, Ledger
from callslip.testing.suites.ledger_drafts import (
    ME,
    OTHER,
    SEALED,
    as_drafts,
    fresh,
    head_of,
    outside,
    owned,
    polled,
    refused,
    run,
    said,
    waiting,
)
from callslip.testing.suites.ledger_opened import OpenedLedger


@pytest.mark.anyio
class MovingSuite(OpenedLedger):
    """Sealed sessions, logs taken in, checkpoints. Part of ``LedgerSuite``."""

    # Moving

    async def test_a_sealed_session_takes_nothing_but_an_erasure(self, ledger: Ledger) -> None:
        await fresh(ledger, "s", waiting("w", wake_at=50), RunEnded(status="waiting"))
        await ledger.decide("s", outside(said("hello")), expected=4)
        await ledger.decide("s", outside(SEALED), expected=5)
        head = await head_of(ledger, "s")
        assert (head.status, head.owner, head.woken) == ("sealed", None, False)
        assert list(await ledger.waits()) == list(await ledger.waits(wait_id="w")) == []
        assert list(await ledger.waits("s")) == list(await ledger.waits(due_at=99)) == []
        assert list(await ledger.heads(ready_at=99)) == []
        await refused(ledger.claim("s", ME, expected_epoch=1, at=2), Sealed)
        await refused(ledger.append("s", owned(run()), epoch=1), Sealed)
        await refused(ledger.decide("s", outside(said("more")), expected=6), Sealed)
        await ledger.decide("s", outside(BlobErased(actor="op", reason="asked", whole=True)), expected=6)
        assert (await head_of(ledger, "s")).status == "sealed"

    async def test_what_is_driven_cant_be_sealed(self, ledger: Ledger) -> None:
        await fresh(ledger)
        await refused(ledger.decide("s", outside(SEALED), expected=2), Busy)

    async def test_an_erasure_wakes_nobody(self, ledger: Ledger) -> None:
        await fresh(ledger, "s", RunEnded(status="finished"))
        await ledger.decide("s", outside(BlobErased(actor="op", reason="asked")), expected=3)
        assert ((await head_of(ledger, "s")).woken, (await head_of(ledger, "s")).status) == (False, "finished")
        await ledger.decide("s", outside(BlobErased(actor="op", reason="asked", whole=True)), expected=4)
        assert ((await head_of(ledger, "s")).woken, (await head_of(ledger, "s")).status) == (False, "erased")

    async def test_a_log_taken_in_stands_as_if_it_had_been_appended(self, ledger: Ledger, tmp_path: Path) -> None:
        if not isinstance(ledger, Adopts):
            pytest.skip("takes no logs in")
        await fresh(ledger, "s", waiting("w1", wake_at=50), waiting("w2", wake_at=60), waiting("w3"))
        await ledger.decide("s", outside(WaitClosed(wait_id="w3", how="submitted", actor="x"), at=1500), expected=5)
        await ledger.append("s", owned(polled("w2", wake_at=70), RunEnded(status="failed")), epoch=1)
        await ledger.claim("s", ME, expected_epoch=1, at=2000)
        await ledger.append("s", owned(run(), RunEnded(status="waiting"), epoch=2, at=2000), epoch=2)
        await ledger.decide("s", outside(said("hello"), at=3000), expected=10)
        drafts = await as_drafts(ledger, "s")
        (tmp_path / "other").mkdir(exist_ok=True)
        other = await self.opened(tmp_path / "other")
        try:
            assert isinstance(other, Adopts)
            head = await other.adopt("s", drafts)
            assert msgspec.structs.replace(head, change=0) == msgspec.structs.replace(
                await head_of(ledger, "s"), change=0
            )
            assert await head_of(other, "s") == head
            assert [row.wake_at for row in await other.waits("s")] == [50, 70]
            assert list(await other.waits("s")) == list(await ledger.waits("s"))
            assert list(await other.raw("s")) == list(await ledger.raw("s"))  # type: ignore[attr-defined]
            await refused(other.adopt("s", drafts), UsageError)
            await other.claim("s", OTHER, expected_epoch=2, at=4000)
            await other.append("s", owned(run(), epoch=3), epoch=3, folded=11)
            assert len(await other.read("s")) == 12
        finally:
            await other.aclose()

    async def test_one_taken_in_with_its_seal_wakes_and_without_it_does_not(self, ledger: Ledger) -> None:
        if not isinstance(ledger, Adopts):
            pytest.skip("takes no logs in")
        for name, proven in (("moved", True), ("copied", False)):
            log = [*owned(SessionStarted(requester="x"), run()), *outside(said("hello"))]
            log += [*owned(RunEnded(status="waiting")), *outside(SEALED)] if proven else []
            log += outside(SessionImported(actor="op", reason="", how="imported", proven=proven))
            log += [] if proven else outside(WaitOpened(wait_id="w", kind=WaitKind.COPY, reason="look first"))
            head = await ledger.adopt(name, log)
            assert (head.owner, head.status, head.woken) == (None, "imported", proven)

    # Checkpoints

    async def test_a_checkpoint_holds_while_the_log_is_the_same(self, ledger: Ledger) -> None:
        if not isinstance(ledger, Checkpoints):
            pytest.skip("keeps no checkpoints")
        whole = await fresh(ledger)
        assert await ledger.load_checkpoint("s") is None
        first = Checkpoint(seq=1, digest=whole[0].digest, body=b"one")
        second = Checkpoint(seq=2, digest=whole[1].digest, body=bytes(range(256)))
        for point in (first, second):
            await ledger.save_checkpoint("s", point)
            assert await ledger.load_checkpoint("s") == point

    async def test_a_checkpoint_of_another_log_is_none(self, ledger: Ledger) -> None:
        if not isinstance(ledger, Checkpoints):
            pytest.skip("keeps no checkpoints")
        whole = await fresh(ledger)
        for point in (
            Checkpoint(seq=2, digest=whole[0].digest, body=b"of record 1"),
            Checkpoint(seq=9, digest=whole[1].digest, body=b"of a record that is not there"),
        ):
            await ledger.save_checkpoint("s", point)
            assert await ledger.load_checkpoint("s") is None
        assert await ledger.load_checkpoint("none") is None
