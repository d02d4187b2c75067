"""A session's whole log, checked and folded, and which payloads it names: for whoever moves or erases it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec

from callslip.core import fold, private
from callslip.core.erasure import gone, named
from callslip.core.event import Record, Stored, genesis, link, read
from callslip.core.events.blob_erased import BlobErased
from callslip.core.payload import Payload
from callslip.core.state import SessionState
from callslip.errors import LogBroken, NotFound
from callslip.ports.ledger import Checkpoints
from callslip.ports.vault import Opens
from callslip.runtime.parts import Parts
from callslip.sessions.verify import RawLog

PAGE = 5_000
"""Records in memory at once."""
_ADDRESS = re.compile(rb"(?:sha256|sealed):[0-9a-f]{64}")
_SMALL = frozenset({b"null", b"true", b"false", b"{}", b"[]", b'""'})


class Survey(msgspec.Struct, kw_only=True):
    """What the log holds up to a position."""

    state: SessionState
    names: dict[str, int] = {}
    """By address of a payload: the last record that names it."""
    calls: dict[str, set[str]] = {}
    """By call: the payloads it names."""
    protected: int = 0
    """Records with encrypted parts that were not erased."""
    in_clear: int = 0
    """Texts and payloads that stand in the log itself, for everybody who can read it, and for ever."""
    in_clear_of: dict[str, int] = {}
    """The same, by call."""

    def kept(self) -> list[str]:
        """What it names and was not erased since, in the order of the log."""
        return [address for address, seq in self.names.items() if not gone(self.state, address, seq)]


async def survey(parts: Parts, session: str, last: int | None = None) -> Survey:
    """Read the log, up to a position or to its end.

    Raises:
        NotFound: no such session. LogBroken: it can't be trusted.
    """
    head = next(iter(await parts.ledger.heads(session)), None)
    if head is None:
        raise NotFound(f"There is no session {session!r}. `callslip sessions` lists those there are.")
    last = head.seq if last is None else last
    found, previous = Survey(state=fold.empty(session)), genesis(session)
    async for seq, digest, text in rows(parts, session, last):
        if not isinstance(text, bytes) or link(previous, text) != digest:
            raise LogBroken(
                f"Record {seq} of session {session!r} is not what was written. Nothing was done. Run `callslip verify` "
                "for the whole report.",
                seq=seq,
            )
        _take(parts, found, Stored(seq=seq, digest=digest, record=read(text, seq), size=len(text)))
        previous = digest
    if found.state.seq != last:
        raise LogBroken(f"Records of session {session!r} are missing at its end. Nothing was done.", seq=last)
    return found


def _take(parts: Parts, found: Survey, stored: Stored) -> None:
    event = stored.record.event
    addresses = list(named(event))
    found.names |= dict.fromkeys(addresses, stored.seq)
    found.protected += stored.record.sealed is not msgspec.UNSET
    if isinstance(event, BlobErased) and event.whole:
        found.protected = 0
    in_clear = _in_clear(stored.record)
    found.in_clear += in_clear
    call_id = getattr(event, "call_id", None)
    if call_id is not None:
        found.calls.setdefault(call_id, set()).update(addresses)
        found.in_clear_of[call_id] = found.in_clear_of.get(call_id, 0) + in_clear
    ledger = parts.ledger
    whole = ledger.opened(stored.record) if isinstance(ledger, Opens) else stored.record
    fold.apply(found.state, msgspec.structs.replace(stored, record=whole))


def _in_clear(record: Record) -> int:
    """How many texts and payloads anybody can read in the record itself."""
    event = record.event
    texts = sum(bool(getattr(event, name)) for name in private.HIDDEN.get(type(event), ()))
    return texts + sum(1 for payload in _payloads(event) if payload.inline and bytes(payload.text) not in _SMALL)


def _payloads(event: Any) -> Iterator[Payload]:
    for name in event.__struct_fields__:
        value = getattr(event, name)
        if isinstance(value, Payload):
            yield value


async def rows(parts: Parts, session: str, last: int) -> AsyncIterator[tuple[int, Any, Any]]:
    """Position, digest, text, as they are stored: the last two are bytes unless somebody has altered them."""
    ledger = parts.ledger
    if not isinstance(ledger, RawLog):
        raise LogBroken("This ledger can't give its stored bytes. Nothing was done.")
    done = 0
    while done < last:
        page = await ledger.raw(session, after=done, limit=min(PAGE, last - done))
        if not page:
            return
        for row in page:
            yield row
        done = page[-1][0]


async def addresses_in(parts: Parts, session: str) -> set[str]:
    """Every address that stands in the session's log or checkpoint, erased or not, believed or not: too many rather
    than too few.
    """
    found: set[bytes] = set()
    head = next(iter(await parts.ledger.heads(session)), None)
    if head is None:
        return set()
    async for _, _, text in rows(parts, session, head.seq):
        found.update(_ADDRESS.findall(text if isinstance(text, bytes) else str(text).encode()))
    if isinstance(parts.ledger, Checkpoints):
        kept = await parts.ledger.load_checkpoint(session)
        if kept is not None:
            found.update(_ADDRESS.findall(kept.body))
    return {address.decode() for address in found}
