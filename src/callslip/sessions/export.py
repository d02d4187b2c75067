"""Export a session: its records as they are stored, its keys, and every payload it names, in one file (LEDG-06).

Reads only, so it works on a backup and a read-only mount; of a session that is written meanwhile it holds what stood
when it began. Sealed first (``sessions/seal``), it moves; without, it is a copy.
"""

from __future__ import annotations

from pathlib import Path

import anyio.to_thread
import msgspec

from callslip.core.payload import SEALED
from callslip.errors import Erased, LogBroken, NotFound
from callslip.ports.blobs import Boxed
from callslip.ports.vault import Keys
from callslip.runtime.parts import Parts
from callslip.sessions.export_file import Header, Writer
from callslip.sessions.survey import rows, survey


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """What the file holds."""

    session: str
    records: int
    digest: str
    payloads: int
    erased: int
    """Payloads that the log names and that were erased: they are in no export."""
    sealed: bool
    protected: bool
    """It holds the session's keys."""


async def export_session(parts: Parts, session: str, path: Path) -> Exported:
    """Write the session to a file that is not there yet, whole or not at all.

    Raises:
        NotFound: no such session. LogBroken: the log can't be trusted, or a payload it names is gone.
        UsageError: the file is there, or can't be made. LedgerUnavailable: no room.
    """
    with Writer(path) as file:
        return await write_session(parts, session, file)


async def write_session(parts: Parts, session: str, file: Writer) -> Exported:
    """Write the session into an export that is open."""
    found = await survey(parts, session)
    state, kept = found.state, found.kept()
    keys: Keys = parts.keyring.keys(session) if parts.keyring is not None else {}
    header = Header(
        session=session,
        records=state.seq,
        digest=state.digest.hex(),
        host=state.driver.host if state.driver is not None else "",
        written_at=parts.clock.now(),
    )
    file.header(header)
    file.keys(keys)
    async for _, digest, text in rows(parts, session, state.seq):
        file.record(digest, text)
    for address in kept:
        data = await _payload(parts, address, found.names[address])
        await anyio.to_thread.run_sync(file.payload, address, data)
    return Exported(
        session=session,
        records=state.seq,
        digest=header.digest,
        payloads=len(kept),
        erased=len(found.names) - len(kept),
        sealed=state.sealed is not None,
        protected=bool(keys),
    )


async def _payload(parts: Parts, address: str, seq: int) -> bytes:
    """The payload as it is stored."""
    try:
        if address.startswith(SEALED) and isinstance(parts.blobs, Boxed):
            return await parts.blobs.get_stored(address)
        return await parts.blobs.get(address)
    except (NotFound, Erased) as error:
        raise LogBroken(
            f"Record {seq} names {address}, which is not there. Nothing was exported. Restore the folder `blobs` of "
            "the state folder, or erase the payload, then export again.",
            seq=seq,
        ) from error
