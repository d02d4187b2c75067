"""A tool's words by column, and what each column weighs.

The weighting is BM25F: S. Robertson, H. Zaragoza, M. Taylor, "Simple BM25 extension to multiple weighted fields", CIKM
2004. The constants are few and round on purpose: public labelled sets differ in what suits them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from callslip.routing.card import Card
from callslip.routing.text import MAX_TEXT, words

WEIGHTS = (3.0, 3.0, 1.0, 0.5, 0.5, 1.0)
"""Of name, server, description, parameter names, parameter descriptions, tags."""
_SATURATION = 2.25
"""How many (weighted) occurrences are worth half of the most a word can give."""
_LENGTHS = (0.5, 0.5, 0.5, 0.5, 0.5, 0.5)
"""How far a word counts less in a column that is longer than others': 0 not at all, 1 in proportion."""
_MAX_WORDS = 400
_COMMON = frozenset(("mcp", "server", "servic", "api", "tool", "toolkit", "plugin"))
"""What the names of servers have in common, stemmed."""


def columns_of(card: Card) -> list[list[str]]:
    """The words of each column; bounded, whatever the card holds."""
    name = card.name
    if card.server and name.casefold().startswith(card.server.casefold()) and len(name) > len(card.server):
        name = name[len(card.server) :]
    server = [word for word in words(card.server) if word not in _COMMON]
    texts = (card.description, _joined(part[0] for part in card.parameters), _joined(p[1] for p in card.parameters))
    described = [words(text) for text in texts]
    return [column[:_MAX_WORDS] for column in (words(name), server, *described, words(_joined(card.tags)))]


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


def strengths(columns: Sequence[str], averages: Sequence[float]) -> dict[str, float]:
    """For each word of a tool how strongly it speaks for it, 0 to 1. Columns are words joined by spaces."""
    weighted: dict[str, float] = {}
    for column, average, weight, length in zip(columns, averages, WEIGHTS, _LENGTHS, strict=True):
        found = column.split()
        if not found:
            continue
        per = weight / (1 - length + length * len(found) / average)
        for word, count in Counter(found).items():
            weighted[word] = weighted.get(word, 0.0) + per * count
    return {word: value / (_SATURATION + value) for word, value in weighted.items()}
