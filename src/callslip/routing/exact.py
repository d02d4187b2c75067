"""Tools by their exact names: what a request calls by name is found whatever else fits (DEFR-02)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from callslip.routing.card import Card
from callslip.routing.text import name_key


class Names:
    """Tools by id, by name, and by what names have in common that differ in case and separators only."""

    def __init__(self, cards: Iterable[Card]) -> None:
        self._ids: dict[str, str] = {}
        self._names: dict[str, list[str]] = {}
        self._keys: dict[str, list[str]] = {}
        self._servers: dict[str, str] = {}
        for card in sorted(cards, key=lambda card: card.id):
            self._servers[card.id] = card.server
            self._ids[card.id] = card.id
            self._names.setdefault(card.name, []).append(card.id)
            for key in {name_key(card.name), name_key(card.id)} - {""}:
                self._keys.setdefault(key, []).append(card.id)

    def named(self, names: Sequence[str], server: str | None = None) -> list[str]:
        """Ids of the tools that go by one of the names, exact ones first; with ``server``, of that server only.

        Tools whose names differ in case and separators are only meant where none has the very name.
        """
        found: dict[str, None] = {}
        others: dict[str, None] = {}
        for name in names:
            own = self._of([self._ids[name]] if name in self._ids else self._names.get(name, ()), server)
            found |= dict.fromkeys(own)
            if not own:
                others |= dict.fromkeys(self._of(self._keys.get(name_key(name), ()), server))
        return list(found | others)

    def _of(self, ids: Iterable[str], server: str | None) -> list[str]:
        return [each for each in ids if server is None or self._servers[each] == server]
