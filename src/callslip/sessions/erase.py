"""Erase what users, models and tools said: a session's payloads and keys, or a single payload (LEDG-08).

What is to be done is written down first, then stands in the log, and is done at last; so a crash leaves either
nothing, or an erasure that is found and finished (:func:`finish`). The log itself never changes: it goes on naming
what is gone, its chain still holds, and whoever reads it is shown ``[erased]``.

Of an unprotected session only its larger payloads lie outside the log and can be erased at all. Those are kept once
for all sessions, so one that another session names too stays, and one that was put in the last minute is not touched:
somebody may be about to name it.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Collection, Iterable, Sequence

import msgspec

from callslip import failpoint
from callslip.core import canon, fold, ids
from callslip.core.event import draft
from callslip.core.events.blob_erased import BlobErased
from callslip.core.payload import SEALED
from callslip.core.principal import Role
from callslip.errors import Busy, CommitUnknown, LedgerError, Moved, NotFound, UsageError
from callslip.ports.blobs import Erasable
from callslip.ports.erasures import Begun
from callslip.ports.owners import Liveness
from callslip.ports.trust import Identity
from callslip.runtime.outsider import Outsider
from callslip.runtime.parts import Parts
from callslip.sessions.checkpoint import load_state
from callslip.sessions.survey import Survey, addresses_in, survey

YOUNG = 60_000
"""Milliseconds in which a payload that was put may not be named yet."""
_TRIES = 20


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What was erased, and what could not be."""

    session: str
    payloads: int = 0
    """How many were removed."""
    keys: int = 0
    """How many keys were destroyed."""
    shared: dict[str, str] = {}
    """Payloads that stay because another session names them: by address, that session."""
    in_clear: int = 0
    """Texts and payloads that stand in the log itself, which nothing can erase."""

    @property
    def anything(self) -> bool:
        return bool(self.payloads or self.keys)


async def erase_session(parts: Parts, session: str, *, reason: str, by: Identity | None, actor: str = "") -> Result:
    """Erase all of a session that can be. Without ``by``, a rule of the installation does it, named by ``actor``.

    Raises:
        NotFound: no such session. Busy: it is driven; or a payload is too young. UsageError: a call of it is open, or
        this store forgets nothing. NotAuthorised: by no operator. Nothing was erased.
    """
    for _ in range(_TRIES):
        found = await _may_be_erased(parts, session)
        _check_calls(found, whole=True, addresses=())
        kept = found.kept()
        shared = await _named_elsewhere(parts, session, [one for one in kept if not one.startswith(SEALED)])
        addresses = [address for address in kept if address not in shared]
        hidden = found.protected or any(one.startswith(SEALED) for one in kept)
        keys = _live_keys(parts, session) if hidden else ()  # a key that has encrypted nothing may stay
        result = Result(
            session=session, payloads=len(addresses), keys=len(keys), shared=shared, in_clear=found.in_clear
        )
        if not result.anything:
            return result
        plain = tuple(address for address in addresses if not address.startswith(SEALED))
        event = BlobErased(actor=actor, reason=canon.scrub(reason), addresses=plain, whole=True)
        segments = (await load_state(parts, session)).segments  # of the conversation, which no record names
        remove = (*addresses, *(one for one in segments if one.startswith(SEALED)))
        if await _erase(parts, found, event, by, keys=keys, remove=remove):
            return result
    raise Moved(f"Session {session!r} moves too fast to be erased. Nothing was erased. Try again.")


async def erase_payloads(
    parts: Parts, session: str, *, reason: str, by: Identity, call_id: str = "", address: str = ""
) -> Result:
    """Erase one payload, or all payloads of one call.

    Raises:
        NotFound: the session, the call or the payload is not there. Otherwise as :func:`erase_session`; a payload that
        another session names is refused.
    """
    for _ in range(_TRIES):
        found = await _may_be_erased(parts, session)
        addresses = _chosen(found, call_id, address)
        in_clear = found.in_clear_of.get(call_id, 0)
        if not addresses:
            return Result(session=session, in_clear=in_clear)
        _check_calls(found, whole=False, addresses=addresses)
        shared = await _named_elsewhere(parts, session, [one for one in addresses if not one.startswith(SEALED)])
        for one, other in shared.items():
            raise UsageError(
                f"Session {other!r} names {one} too: the same bytes are kept once. Nothing was erased. Erase it there "
                "first; sessions that are protected (`encrypt`) share nothing."
            )
        event = BlobErased(actor="", reason=canon.scrub(reason), addresses=tuple(addresses))
        if await _erase(parts, found, event, by, keys=(), remove=addresses):
            return Result(session=session, payloads=len(addresses), in_clear=in_clear)
    raise Moved(f"Session {session!r} moves too fast to be erased. Nothing was erased. Try again.")


async def finish(parts: Parts, session: str | None = None) -> Sequence[str]:
    """Finish erasures that were broken off. Gives the sessions whose erasure was finished now; one that can't be yet
    stays for the next look.
    """
    done = []
    for begun in parts.erasures.pending() if parts.erasures is not None else ():
        if session not in (None, begun.session):
            continue
        with contextlib.suppress(Busy):
            if await _finish(parts, begun):
                done.append(begun.session)
    return done


async def _finish(parts: Parts, begun: Begun) -> bool:
    assert parts.erasures is not None
    heads = await parts.ledger.heads(begun.session)
    stands = await parts.ledger.read(begun.session, after=begun.expected, limit=1) if heads else ()
    if heads and heads[0].seq == begun.expected:  # it was broken off before it stood in the log
        try:
            await _record(parts, begun)
        except Moved:
            return False  # somebody goes on with it at this moment: the next look will tell
    elif not stands or stands[0].record.event != begun.event:
        parts.erasures.done(begun)  # something else came first, and nothing was erased
        return False
    await _carry_out(parts, begun, await _unwanted(parts, begun))
    return True


async def _unwanted(parts: Parts, begun: Begun) -> list[str]:
    """What of it may be removed now: not what has been named again since it was erased."""
    found = await survey(parts, begun.session)
    again = set(found.kept())
    plain = [address for address in begun.remove if not address.startswith(SEALED)]
    shared = await _named_elsewhere(parts, begun.session, plain)
    return [address for address in begun.remove if address not in again and address not in shared]


async def _may_be_erased(parts: Parts, session: str) -> Survey:
    await finish(parts, session)
    found = await survey(parts, session)  # before the look at its owner: whoever takes it over later appends first
    head = (await parts.ledger.heads(session))[0]
    gone = {Liveness.LOCK_FREE, Liveness.REBOOTED}
    if head.owner is not None and parts.owners.liveness(head.owner) not in gone:
        raise Busy(
            f"Session {session!r} is driven by process {head.owner.process} now. Nothing was erased. Stop it first."
        )
    if not isinstance(parts.blobs, Erasable):
        raise UsageError("This store of payloads can't forget anything. Nothing was erased.")
    return found


def _check_calls(found: Survey, *, whole: bool, addresses: Collection[str]) -> None:
    if found.state.sealed is not None:
        return
    for call in found.state.open_calls():
        call_id = call.call.call_id
        if whole or found.calls.get(call_id, set()) & set(addresses):
            raise UsageError(
                f"Call {call_id} ({call.call.tool}) of session {found.state.session!r} has no answer yet, and would "
                "need what is to be erased. Nothing was erased. Stop the session, or answer what it waits for (give-up "
                "will do), and let it come to rest; then erase."
            )


def _chosen(found: Survey, call_id: str, address: str) -> list[str]:
    kept = found.kept()
    if address:
        if address not in found.names:
            raise NotFound(f"Session {found.state.session!r} names no payload {address[:80]!r}. Nothing was erased.")
        return [one for one in kept if one == address]
    if call_id not in found.calls:
        raise NotFound(f"Session {found.state.session!r} has no call {call_id[:80]!r}. Nothing was erased.")
    return [one for one in kept if one in found.calls[call_id]]


async def _named_elsewhere(parts: Parts, session: str, wanted: Iterable[str]) -> dict[str, str]:
    """Which of these addresses other sessions name, and one that does.

    Raises:
        Busy: one was put a moment ago, so somebody may be about to name it.
    """
    left, found = set(wanted), dict[str, str]()
    if not left:
        return found
    assert isinstance(parts.blobs, Erasable)
    for address in left:
        used_at = await parts.blobs.used_at(address)
        if used_at is not None and used_at > parts.clock.now() - YOUNG:
            raise Busy(
                f"Payload {address} was stored less than a minute ago, and another session may be about to name it. "
                "Nothing was erased. Try again in a minute."
            )
    for head in await parts.ledger.heads():
        if head.session != session and left:
            there = left & await addresses_in(parts, head.session)
            found |= dict.fromkeys(there, head.session)
            left -= there
    return found


def _live_keys(parts: Parts, session: str) -> tuple[int, ...]:
    if parts.keyring is None:
        return ()
    return tuple(number for number, key in parts.keyring.keys(session).items() if key)


async def _erase(
    parts: Parts,
    found: Survey,
    event: BlobErased,
    by: Identity | None,
    *,
    keys: tuple[int, ...],
    remove: Collection[str],
) -> bool:
    """Write down, record, carry out. False: something was appended meanwhile, and nothing was erased."""
    session = found.state.session
    if by is not None:
        outsider = Outsider(parts, functools.partial(load_state, parts))
        event = msgspec.structs.replace(event, actor=by.name)
        event = outsider.signed(event, by=by, session=session, wait_id=session, roles=(Role.OPERATOR,))
    begun = Begun(
        id=ids.random_id("erase"),
        session=session,
        event=event,
        expected=found.state.seq,
        keys=keys,
        remove=tuple(remove),
    )
    fold.rehearse(found.state, [draft(event, at=parts.clock.now(), by=event.actor, epoch=0, run="")])
    if parts.erasures is not None:
        parts.erasures.begin(begun)
    failpoint.hit("erase.begun")
    try:
        await _record(parts, begun)
    except CommitUnknown:
        raise  # it may stand in the log: it is finished, or dropped, once that can be read
    except LedgerError as error:
        if parts.erasures is not None:
            parts.erasures.done(begun)
        if isinstance(error, Moved):
            return False
        raise
    failpoint.hit("erase.recorded")
    await _carry_out(parts, begun, begun.remove)
    return True


async def _record(parts: Parts, begun: Begun) -> None:
    if begun.keys and parts.keyring is not None:
        parts.keyring.renew(begun.session)  # whatever is put from now on is no part of what is erased
    event = begun.event
    record = draft(event, at=parts.clock.now(), by=event.actor, epoch=0, run="")
    await parts.ledger.decide(begun.session, [record], expected=begun.expected)


async def _carry_out(parts: Parts, begun: Begun, remove: Iterable[str]) -> None:
    assert isinstance(parts.blobs, Erasable)
    if begun.keys and parts.keyring is not None:
        parts.keyring.destroy(begun.session, begun.keys)
    failpoint.hit("erase.keys")
    for address in remove:
        await parts.blobs.remove(address)
    failpoint.hit("erase.removed")
    if parts.erasures is not None:
        parts.erasures.done(begun)
