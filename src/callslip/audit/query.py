"""What somebody wants to know of the audit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from callslip.audit.entry import Entry, Read, read
from callslip.audit.lines import backwards, readable
from callslip.errors import LogBroken


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """All that is given must hold; what is left empty does not matter."""

    session: str = ""
    tool: str = ""
    actor: str = ""
    """Whoever asked, answered, approved, or on whose behalf."""
    call: str = ""
    kind: str = ""
    effect: str = ""
    status: str = ""
    since: int | None = None
    """Milliseconds since 1970, UTC."""
    until: int | None = None

    def holds(self, entry: Entry) -> bool:
        """Whether the entry is meant."""
        people = (entry.actor, entry.requester, entry.on_behalf_of, *entry.approved_by)
        return (
            self.session in ("", entry.session)
            and self.tool in ("", entry.tool)
            and (not self.actor or self.actor in people)
            and self.call in ("", entry.call)
            and self.kind in ("", entry.kind)
            and self.effect in ("", entry.effect)
            and self.status in ("", entry.status)
            and (self.since is None or entry.at >= self.since)
            and (self.until is None or entry.at < self.until)
        )


def find(path: Path, query: Query) -> Iterator[Read]:
    """The entries that are meant, in the order of the book."""
    return (one for one in readable(path) if query.holds(one.line.entry))


def latest(path: Path, most: int) -> list[Read]:
    """The last so many entries that can be read, in the order of the book."""
    found: list[Read] = []
    for text in backwards(path):
        if len(found) >= most:
            break
        try:
            found.append(read(text))
        except LogBroken:
            continue
    return found[::-1]
