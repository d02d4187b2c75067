"""A folded state kept beside the log, so that opening a long session costs its tail and not its whole.

The conversation of closed turns moves into immutable segments (blobs), which only the projection reads. A checkpoint is
a cache: bound to the digest of the log at its position, ignored when that differs, and never needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from callslip.core import fold
from callslip.core.sealing import VOID
from callslip.core.state import Item, SessionState, UserItem
from callslip.errors import LogBroken, NotFound
from callslip.ports.ledger import Checkpoint, Checkpoints
from callslip.runtime.parts import Parts

EVERY = 500
"""Records after which a new checkpoint pays for itself."""

_FORMAT = b"11"
_SUM = hashlib.sha256(b"").digest_size
_state_encoder = msgspec.json.Encoder()
_state_decoder = msgspec.json.Decoder(SessionState)
_items_decoder = msgspec.json.Decoder(list[Item])


async def load_state(parts: Parts, session: str) -> SessionState:
    """The session's state, from the latest checkpoint that fits and the records after it.

    Raises:
        LogBroken: the log can't be trusted.
    """
    state = await _from_checkpoint(parts, session) or fold.empty(session)
    for stored in await parts.ledger.read(session, after=state.seq):
        fold.apply(state, stored)
    return state


async def _from_checkpoint(parts: Parts, session: str) -> SessionState | None:
    if not isinstance(parts.ledger, Checkpoints):
        return None
    try:
        checkpoint = await parts.ledger.load_checkpoint(session)
    except LogBroken:
        return None  # its page is damaged; if the log's are too, reading the log says so
    if checkpoint is None or not checkpoint.body.startswith(_FORMAT):
        return None
    kept = checkpoint.body[len(_FORMAT) :]
    if hashlib.sha256(kept[_SUM:]).digest() != kept[:_SUM]:
        return None  # damaged; the log is there
    try:
        state = _state_decoder.decode(kept[_SUM:])
    except msgspec.DecodeError:
        return None  # written by another version: the log is there
    if (state.session, state.seq, state.digest) != (session, checkpoint.seq, checkpoint.digest):
        return None
    return state


async def keep_up(parts: Parts, state: SessionState) -> None:
    """Save the state when enough has been appended since it was last saved."""
    if state.seq - state.checkpoint_seq >= EVERY:
        await save_state(parts, state)


async def save_state(parts: Parts, state: SessionState) -> None:
    """Keep the state; items of closed turns become a segment first."""
    if not isinstance(parts.ledger, Checkpoints):
        return
    state.checkpoint_seq = state.seq
    if VOID in state.segments:  # something in them was erased: they are made anew, without it
        state.items, state.segments = await load_items(parts, state), ()
    closed = _closed(state.items)
    if closed:
        segment = await parts.of(state.session).blobs.put(_state_encoder.encode(state.items[:closed]))
        state.segments = (*state.segments, segment)
        state.items = state.items[closed:]
    encoded = _state_encoder.encode(state)
    body = _FORMAT + hashlib.sha256(encoded).digest() + encoded
    await parts.ledger.save_checkpoint(state.session, Checkpoint(seq=state.seq, digest=state.digest, body=body))


def _closed(items: Sequence[Item]) -> int:
    """How many items belong to turns before the latest one."""
    turns = [position for position, item in enumerate(items) if isinstance(item, UserItem)]
    return turns[-1] if turns else 0


async def load_items(parts: Parts, state: SessionState) -> list[Item]:
    """The whole conversation: segments first, then what came after them.

    A segment that is gone, damaged or void is made good by folding the log from its beginning.
    """
    items: list[Item] = []
    for address in state.segments:
        try:
            items += _items_decoder.decode(await parts.blobs.get(address))
        except (NotFound, LogBroken, msgspec.DecodeError):
            log = await parts.ledger.read(state.session, limit=state.seq)
            return fold.fold(state.session, log).items
    return items + state.items
