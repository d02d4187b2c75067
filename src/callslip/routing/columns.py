"""A tool's words by column, and how strongly each word speaks for it.

The weighting is BM25F: S. Robertson, H. Zaragoza, M. Taylor, "Simple BM25 extension to multiple weighted fields", CIKM
2004; but lengths are compared with what is usual for tools, not with the average of this registry. So a tool's own
words decide how strong they are, whatever stands beside it, and adding a tool changes nothing about the others. The
constants are few and round on purpose: public labelled sets differ in what suits them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from callslip.routing.card import Card
from callslip.routing.kin import with_kin
from callslip.routing.stop_words import LIGHT_WORDS
from callslip.routing.text import MAX_TEXT, words

COLUMNS = ("name", "server", "description", "parameters", "documentation", "tags")
_WEIGHTS = (3.0, 3.0, 1.0, 0.5, 0.5, 1.0)
_USUAL = (3, 2, 12, 4, 20, 3)
"""How many words the columns usually have."""
_BY_LENGTH = 0.5
"""How far a word counts less in a longer column: 0 not at all, 1 in proportion."""
_SATURATION = 1.5
"""How many (weighted) occurrences are worth half of the most that a word can give."""
_MAX_WORDS = 400
_COMMON = frozenset(("mcp", "server", "servic", "api", "tool", "toolkit", "plugin"))
"""What the names of servers have in common, stemmed."""


def columns_of(card: Card) -> list[list[str]]:
    """The words of each column, and the signs of their groups; bounded, whatever the card holds."""
    name = card.name
    if card.server and name.casefold().startswith(card.server.casefold()) and len(name) > len(card.server):
        name = name[len(card.server) :]
    server = [word for word in words(card.server) if word not in _COMMON]
    texts = (card.description, _joined(part[0] for part in card.parameters), _joined(p[1] for p in card.parameters))
    described = [_telling(text) for text in texts]
    columns = (words(name), server, *described, _telling(_joined(card.tags)))
    return [with_kin(column[:_MAX_WORDS]) for column in columns]


def _telling(text: str) -> list[str]:
    return [word for word in words(text) if word not in LIGHT_WORDS]


def _joined(texts: Iterable[str]) -> str:
    """As many of the texts as are looked at."""
    found, size = [], 0
    for text in texts:
        found.append(text)
        size += len(text)
        if size > MAX_TEXT:
            break
    return " ".join(found)


def rarity(having: int, of: int) -> float:
    """How much a word says that so many of so many tools have: its inverse document frequency."""
    return math.log(1 + (of - having + 0.5) / (having + 0.5))


def weights(lengths: Sequence[int]) -> tuple[float, ...]:
    """What an occurrence weighs in each column of a tool whose columns are so long."""
    return tuple(
        weight / (1 - _BY_LENGTH + _BY_LENGTH * length / usual)
        for weight, length, usual in zip(_WEIGHTS, lengths, _USUAL, strict=True)
    )


def strength(occurrences: float) -> float:
    """How strongly a word speaks for a tool, 0 to 1, by its weighted occurrences."""
    return occurrences / (_SATURATION + occurrences)
