"""Take a session in that was exported elsewhere (LEDG-06).

The file is from outside. All of it is checked before anything is written: the chain from its first record on, every
record by the fold, every payload by its address, every encrypted part by its key, and that nothing is missing, twice
there, or too large. Then keys and payloads are written, and at last the log, in one commit together with the record
that says how it came here. A crash before that leaves payloads that nobody names, and no session.

With its seal, the session begins again where it was. Without, or when the seal is not one that counts here, it is a
copy: ``core/sealing`` says what its silence proves.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import IO

import anyio.to_thread
import msgspec

from callslip import failpoint
from callslip.core import canon, fold, payload
from callslip.core.erasure import gone, named
from callslip.core.event import Draft, Event, Stored as StoredRecord, draft, genesis, link, read
from callslip.core.events.session_imported import SessionImported
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.payload import SEALED
from callslip.core.principal import Role
from callslip.core.state import SessionState
from callslip.errors import LogBroken, UsageError
from callslip.ports.blobs import Boxed
from callslip.ports.ledger import Adopts
from callslip.ports.trust import Identity
from callslip.ports.vault import Opens
from callslip.runtime.outsider import Outsider
from callslip.runtime.parts import Parts
from callslip.sessions.checkpoint import load_state
from callslip.sessions.export_file import Bounds, Header, Key, Row, Stored, parts as parts_of
from callslip.sessions.proven import by_operator
from callslip.sessions.restore import voiding


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """What was taken in."""

    session: str
    records: int
    """Of the file."""
    payloads: int
    proven: bool
    """Its seal came with it, so what it lacks did not happen."""
    doubt: str = ""
    """Why it is not, as half a sentence."""
    wait_id: str = ""
    """What an operator must answer before the session goes on."""


class _Checked(msgspec.Struct, kw_only=True):
    """A file, believed."""

    header: Header
    keys: dict[int, bytes]
    drafts: list[Draft]
    state: SessionState
    addresses: set[str]


async def import_session(
    parts: Parts, path: Path, *, by: Identity, reason: str = "", bounds: Bounds | None = None
) -> Imported:
    """Take the session of this file in.

    Raises:
        LogBroken: the file is damaged, contradicts itself, or holds too much. UsageError: the session is here already,
        or the file can't be read. NotAuthorised: by no operator. Nothing was written.
        LedgerUnavailable: no room; the session is not here.
    """
    ledger = parts.ledger
    if not isinstance(ledger, Adopts):
        raise UsageError("This ledger can't take sessions in. Nothing was written.")
    try:
        with path.open("rb") as file:
            await _check_new(parts, await anyio.to_thread.run_sync(_session_of, file, bounds or Bounds()))
            checked = await anyio.to_thread.run_sync(_Check(parts, file, bounds or Bounds()).whole)
            doubt = _doubt(parts, checked.state)
            own = _own_events(parts, checked, by, canon.scrub(reason), proven=doubt is None)
            await _write_beside(parts, file, checked, bounds or Bounds())
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}. Nothing was written.") from error
    at = parts.clock.now()
    drafts = [draft(event, at=at, by=by.name, epoch=0, run="") for event in own]
    failpoint.hit("import.before")
    await ledger.adopt(checked.header.session, [*checked.drafts, *drafts])
    return Imported(
        session=checked.header.session,
        records=len(checked.drafts),
        payloads=len(checked.addresses),
        proven=doubt is None,
        doubt=doubt or "",
        wait_id=next((event.wait_id for event in own if isinstance(event, WaitOpened)), ""),
    )


def _session_of(file: IO[bytes], bounds: Bounds) -> str:
    header = next(parts_of(file, bounds))
    assert isinstance(header, Header)
    return header.session


async def _check_new(parts: Parts, session: str) -> None:
    if await parts.ledger.heads(session):
        raise UsageError(
            f"Session {session!r} is here already. Nothing was written. Import it into another state folder (--state)."
        )


def _doubt(parts: Parts, state: SessionState) -> str | None:
    """Why the log may lack something that happened."""
    if state.sealed is None:
        return "it was exported without a seal"
    wrong = by_operator(parts, state.session, state.sealed, state.session)
    return None if wrong is None else f"its seal does not count here: {wrong}"


def _own_events(parts: Parts, checked: _Checked, by: Identity, reason: str, *, proven: bool) -> list[Event]:
    """What is appended to the log as it came: that, and how, it was taken in."""
    session, state = checked.header.session, checked.state
    outsider = Outsider(parts, functools.partial(load_state, parts))
    standing = parts.trust.standing()
    imported = outsider.signed(
        SessionImported(
            actor=by.name,
            reason=reason,
            how="imported",
            proven=proven,
            host=state.driver.host if state.driver is not None else "",
            prefix_seq=state.seq,
            prefix_digest=state.digest.hex(),
            trust_seq=standing.seq,
            trust_digest=standing.digest if standing.seq else "",
        ),
        by=by,
        session=session,
        wait_id=session,
        roles=(Role.OPERATOR,),
    )
    events = [imported] if proven else voiding(state, imported)
    fold.rehearse(state, [draft(event, at=parts.clock.now(), by=by.name, epoch=0, run="") for event in events])
    return list(events)


async def _write_beside(parts: Parts, file: IO[bytes], checked: _Checked, bounds: Bounds) -> None:
    """Keep keys and payloads, durably, before the log that needs them is there."""
    if checked.keys:
        assert parts.keyring is not None
        parts.keyring.take(checked.header.session, checked.keys)
    parts_again = parts_of(file, bounds)
    while (part := await anyio.to_thread.run_sync(next, parts_again, None)) is not None:
        if not isinstance(part, Stored):
            continue
        if part.address not in checked.addresses:
            raise LogBroken("The file was changed while it was read. The session was not taken in.")
        await _put(parts, part)


async def _put(parts: Parts, part: Stored) -> None:
    blobs = parts.blobs
    if isinstance(blobs, Boxed):
        await blobs.put_stored(part.address, part.data)
    elif await blobs.put(part.data) != part.address:
        raise LogBroken(f"What was brought as payload {part.address} is another. The session was not taken in.")


class _Check:
    """The whole file, read once and believed at the end. Runs in a thread of its own."""

    def __init__(self, parts: Parts, file: IO[bytes], bounds: Bounds) -> None:
        self._parts = parts
        self._read = parts_of(file, bounds)
        self._names: dict[str, int] = {}
        self._wanted: frozenset[str] | None = None

    def whole(self) -> _Checked:
        """See the module.

        Raises:
            LogBroken, UsageError: nothing of it can be believed.
        """
        header = next(self._read)
        assert isinstance(header, Header)
        checked = _Checked(header=header, keys={}, drafts=[], state=fold.empty(header.session), addresses=set())
        for part in self._read:
            match part:
                case Key():
                    self._key(checked, part)
                case Row():
                    self._row(checked, part)
                case Stored():
                    self._payload(checked, part)
                case _:
                    raise _bad("it has two headers")
        if (header.records, header.digest) != (checked.state.seq, checked.state.digest.hex()):
            raise _bad(f"it says that it holds {header.records} records, and holds others")
        for address in sorted(self._named(checked.state) - checked.addresses):
            raise _bad(f"payload {address}, which record {self._names[address]} names, is missing")
        return checked

    def _key(self, checked: _Checked, part: Key) -> None:
        if part.number != len(checked.keys) + 1 or self._parts.keyring is None:
            raise _bad("its keys are not in order, or can't be kept here")
        checked.keys[part.number] = part.key

    def _row(self, checked: _Checked, row: Row) -> None:
        state, seq = checked.state, checked.state.seq + 1
        if link(state.digest if state.seq else genesis(state.session), row.text) != row.digest:
            raise LogBroken(
                f"Record {seq} of the file does not follow the one before it in session {state.session!r}: it was "
                "altered, is out of place, or is another session's. Nothing was written.",
                seq=seq,
            )
        record = read(row.text, seq)
        checked.drafts.append(Draft(record=record, text=row.text))
        self._names |= dict.fromkeys(named(record.event), seq)
        whole = record
        if record.sealed is not msgspec.UNSET:
            if not isinstance(self._parts.ledger, Opens):
                raise _bad("it is encrypted, and nothing here can read that")
            whole = self._parts.ledger.opened(record, checked.keys)
        fold.apply(state, StoredRecord(seq=seq, digest=row.digest, record=whole, size=len(row.text)))

    def _payload(self, checked: _Checked, part: Stored) -> None:
        address = part.address
        if address not in self._named(checked.state) or address in checked.addresses:
            raise _bad(f"it holds {address[:80]!r}, which the log does not name, or twice")
        plain = "sha256:" + address.removeprefix(SEALED) if address.startswith(SEALED) else address
        if payload.address(part.data) != plain:
            raise _bad(f"what it holds as payload {address} is another")
        if address.startswith(SEALED):
            if self._parts.vault is None:
                raise _bad("it is encrypted, and nothing here can read that")
            self._parts.vault.open(part.data, checked.keys)
        checked.addresses.add(address)

    def _named(self, state: SessionState) -> frozenset[str]:
        """What the log, whole by now, names and was not erased since."""
        if self._wanted is None:
            self._wanted = frozenset(address for address, seq in self._names.items() if not gone(state, address, seq))
        return self._wanted


def _bad(why: str) -> LogBroken:
    return LogBroken(f"The file can't be taken in: {why}. Nothing was written. Export the session again.")
