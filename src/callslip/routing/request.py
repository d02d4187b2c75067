"""A request taken apart: its words, the wishes in it, and the names it mentions."""

from __future__ import annotations

import re

import msgspec

from callslip.routing.kin import with_kin
from callslip.routing.text import ends, words
from callslip.routing.unspaced import RANGES, count_unspaced

_MAX_PARTS = 6
_SPLIT = re.compile(
    r"(?<=[.!?;\n])\s+|[\n;。！？；]+|,\s+(?:and|then|also|plus)\s+|\s+(?:and then|and also|as well as)\s+"
)
_NAME = re.compile(r"[^\W\d]\w*(?:[.:/|\-]\w+)*")
_LETTER = rf"(?:(?![{RANGES}])\w)"
_NAME_WITHIN = re.compile(rf"(?!\d){_LETTER}+(?:[.:/|\-]{_LETTER}+)*")
"""One that stands between characters of a script without spaces."""
_COMPOUND = re.compile(r"[_.:/|\-]|[a-z][A-Z]|\d")


class Request(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    """Bounded: the beginning and the end of a long one."""
    words: tuple[str, ...]
    """Each once, in order; then the signs of their groups."""
    parts: tuple[frozenset[str], ...]
    """The words of each sentence or clause, where there are several: each may want a tool of its own. At most six."""
    part_texts: tuple[str, ...]
    """The same as they were written."""
    names: tuple[str, ...]
    """The whole text, and what in it looks like the name of a tool, in order."""


def read(text: str) -> Request:
    """Take a request apart; works for every text."""
    text = ends(text)
    parts = [(frozenset(with_kin(words(part))), part) for part in _SPLIT.split(text) if part]
    parts = [(found, part) for found, part in parts if len(found) > 1]
    if len(parts) > _MAX_PARTS:
        parts = [*parts[: _MAX_PARTS - 1], parts[-1]]
    if len(parts) == 1:
        parts = []
    mentioned = [name for name in _NAME.findall(text) if _COMPOUND.search(name)]
    if count_unspaced(text):
        mentioned += [name for name in _NAME_WITHIN.findall(text) if _COMPOUND.search(name)]
    return Request(
        text=text,
        words=tuple(dict.fromkeys(with_kin(words(text)))),
        parts=tuple(found for found, _ in parts),
        part_texts=tuple(part for _, part in parts),
        names=tuple(dict.fromkeys([text.strip(), *mentioned[:32]])),
    )
