"""What a query asks for by name alone: tools by theirs, and a server's tools by the server's (DEFR-02)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from callslip.core import alias
from callslip.core.near_names import NearNames
from callslip.core.routing import SELECT
from callslip.ports.finder import Unknown
from callslip.routing.card import Card
from callslip.routing.exact import Names
from callslip.routing.text import name_key

_MOST_UNKNOWN = 20
"""Names of one query that are said to be unknown; of more, the number."""
_ECHO = 100
"""Characters of an unknown name that are repeated."""
NO_NAMES = f"No name stands behind {SELECT!r}. Write the tools' names there, with commas between them: '{SELECT}a,b'."


def names_of(text: str) -> list[str]:
    """The names in what stands behind ``select:``, each once."""
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


class ByName:
    """Tools and servers by their names."""

    def __init__(self, cards: Sequence[Card], names: Names) -> None:
        self._names = names
        self._ids = sorted(card.id for card in cards)
        self._near = NearNames(self._ids)
        tools: dict[str, list[str]] = {}
        for card in sorted(cards, key=lambda card: card.id):
            if card.server:
                tools.setdefault(card.server, []).append(card.id)
        self._servers: dict[str, dict[str, list[str]]] = {}
        for server, own in tools.items():
            self._servers.setdefault(name_key(server), {})[server] = own

    def named(self, name: str, server: str | None = None) -> list[str]:
        """Ids of the tools that go by the name, or of the one that a provider's alias stands for."""
        found = self._names.named([name], server)
        ending = "" if found else alias.digest_in(name)
        tool = self._by_digest.get(ending) if ending else None
        return found if tool is None else [one for one in self._names.named([tool], server) if one == tool]

    @cached_property
    def _by_digest(self) -> dict[str, str]:
        """Made when something is asked for that looks like an alias."""
        return {alias.digest(name): name for name in self._ids}

    def unknown(self, names: Iterable[str], server: str | None) -> tuple[tuple[Unknown, ...], str]:
        """Which of the names no tool has, what may have been meant, and what else there is to say of it."""
        missing = [name for name in names if not self.named(name, server)]
        said = tuple(Unknown(name=_cut(name), near=self._near.near(name)) for name in missing[:_MOST_UNKNOWN])
        notes = []
        if missing and server is not None:
            notes.append(f"Only tools of the server {server!r} were looked for.")
        if len(missing) > len(said):
            notes.append(f"{len(missing) - len(said):,} more names were not found either.")
        return said, " ".join(notes)

    def servers(self, query: str) -> dict[str, list[str]]:
        """The servers that go by the whole query, whatever its case and separators, and their tools; none where a tool
        goes by it, too.
        """
        key = name_key(query)
        there = self._servers.get(key, {}) if key else {}
        return {} if not there or self._names.named([query.strip()]) else there


def _cut(name: str) -> str:
    return name if len(name) <= _ECHO else f"{name[:_ECHO]}…"
