"""What a forked session's conversation begins with: its parent's, as it was at the anchor."""

from __future__ import annotations

from callslip.core import fold
from callslip.core.state import Item, SessionState
from callslip.errors import LogBroken
from callslip.runtime.parts import Parts

_MOST_PARENTS = 100


async def inherited(parts: Parts, state: SessionState) -> list[tuple[str, Item]]:
    """The parent's items, and its own parent's before them, each with the session whose payloads it names.

    Raises:
        LogBroken: the parent is not what it was, or had a call open there.
    """
    found: list[tuple[str, Item]] = []
    for _ in range(_MOST_PARENTS):
        forked = state.forked
        if forked is None:
            return found
        log = await parts.ledger.read(forked.parent, limit=forked.seq)
        parent = fold.fold(forked.parent, log)
        where = f"Session {state.session!r} goes on from record {forked.seq} of session {forked.parent!r}"
        if (parent.seq, parent.digest.hex()) != (forked.seq, forked.digest):
            raise LogBroken(f"{where}, which is not there as it was. Nothing was executed. Restore the parent's log.")
        if parent.open_calls():
            raise LogBroken(f"{where}, where a call was still open. Nothing was executed. Fork from a later record.")
        found = [*((forked.parent, item) for item in parent.items), *found]
        state = parent
    raise LogBroken(f"Session {state.session!r} has more than {_MOST_PARENTS} parents. Nothing was executed.")
