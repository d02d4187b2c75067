"""What a call needs for itself while it runs: a file, a tree of files, a named thing, a slot of a limited service.

A claim is written as text, in a tool's declaration with places for arguments, and filled in T1:

- ``file:{path}``: this file, however it is called; ``tree:{folder}``: all that is in it, now and later. A list of
  paths claims each of them; a file that turns out to be a folder is claimed as a tree
- ``slot:NAME``: one of as many calls as NAME takes at once, and of as many as it takes in a time
- any other ``NAME``, as ``browser:{tab}``: this one thing, by one caller after the other

``read `` before it shares the resource with other readers.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

_FIELD = re.compile(r"\{(\w+)\}")
_NEARLY_READ = re.compile(
    r"(?:reads?|reading|writes?|writing|share[sd]?|exclusive(?:ly)?)(?:\s|:(?=\s*(?:file|tree|slot)s?\b))",
    re.IGNORECASE,
)
"""At a claim's beginning, what somebody writes who means ``read `` or the claim without it."""
_READ = "read "
_MANY = 1000
"""Claims that one template may become; more of them are claimed as if nothing were given."""


class Kind(StrEnum):
    FILE = "file"
    TREE = "tree"
    SLOT = "slot"
    NAMED = "named"


_KINDS = frozenset({Kind.FILE, Kind.TREE, Kind.SLOT})
FORMS: Final = (
    "A claim is file:{argument}, tree:{argument}, slot:NAME or a name of your own such as browser:{argument}, and "
    "'read ' before it shares it"
)


class Wanted(msgspec.Struct, frozen=True):
    """A claim as it is written, taken apart. ``name`` is the rest of the text: a path for files and trees."""

    kind: Kind
    name: str
    shared: bool


class Claim(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """A claim whose resource is known, so that two of them can be compared."""

    text: str
    """As it was written, for people."""
    kind: Kind
    shared: bool
    ids: tuple[str, ...]
    """Every way to know the resource; one in common makes two claims meet."""
    above: tuple[str, ...] = ()
    """Of a path: the same for every folder above it."""

    def conflicts(self, other: Claim) -> bool:
        """Whether the two can't be held at once. Slots never conflict: they are counted."""
        if (self.shared and other.shared) or Kind.SLOT in {self.kind, other.kind}:
            return False
        if (self.kind is Kind.NAMED) != (other.kind is Kind.NAMED):
            return False
        return _meet(self.ids, other.ids) or self._holds(other) or other._holds(self)

    def _holds(self, other: Claim) -> bool:
        """Whether this is a tree, and the other is in it."""
        return self.kind is Kind.TREE and _meet(self.ids, other.above)


def _meet(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return any(name in other for name in one)


def varies(template: str) -> bool:
    """Whether the template has places for arguments, so that it fills differently from call to call."""
    return _FIELD.search(template) is not None


def fill(templates: Iterable[str], arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Fill each template with arguments, in a fixed order.

    A list fills it once for each value. What is missing or ``None`` fills as nothing: a path that is nothing is the
    whole workspace, so that this claims more, not less.
    """
    return tuple(sorted({text for template in templates for text in _filled(template, arguments)}))


def _filled(template: str, arguments: Mapping[str, Any]) -> list[str]:
    names = list(dict.fromkeys(_FIELD.findall(template)))
    values = [_values(arguments.get(name)) for name in names]
    if math.prod(map(len, values)) > _MANY:
        return [_FIELD.sub("", template)]
    return [_with(template, dict(zip(names, row, strict=True))) for row in itertools.product(*values)]


def _with(template: str, values: Mapping[str, str]) -> str:
    return _FIELD.sub(lambda field: values[field[1]], template)


def _values(value: Any) -> list[str]:
    if isinstance(value, list | tuple):
        return list(dict.fromkeys("" if one is None else str(one) for one in value)) or [""]
    return ["" if value is None else str(value)]


def wanted(text: str) -> Wanted:
    """Take a claim's text apart."""
    shared = text.startswith(_READ)
    rest = text.removeprefix(_READ).lstrip()
    kind, colon, name = rest.partition(":")
    if not colon or kind not in _KINDS:
        return Wanted(Kind.NAMED, rest.rstrip(), shared)
    return Wanted(Kind(kind), name.strip() if kind == Kind.SLOT else name, shared)


def complaint(template: str, arguments: Iterable[str] | None) -> str | None:
    """What is wrong with a claim as it is declared, as half a sentence; ``None``: nothing is.

    What is nearly one of the forms is none of them. Taken for a name of its own, it would protect nothing, and say so
    to nobody. ``arguments``: those that the tool takes; ``None``: nobody knows.
    """
    rest = template.removeprefix(_READ)
    if not rest.strip():
        return "is empty, and names nothing"
    if rest != rest.strip() or not rest.isprintable():
        return "has blanks around it, or characters that can't be seen"
    if near := _NEARLY_READ.match(rest):
        return f"begins with {near[0]!r}, which is no form of a claim"
    return unfilled(rest, arguments) or _nearly_a_kind(rest)


def unfilled(template: str, arguments: Iterable[str] | None) -> str | None:
    """Why a template can't be filled from these arguments, as half a sentence; ``None``: it can."""
    left = _FIELD.sub("", template)
    if "{" in left or "}" in left:
        return "has braces that are not around the name of one argument, as in {path}"
    known = None if arguments is None else set(arguments)
    missing = [] if known is None else [name for name in _FIELD.findall(template) if name not in known]
    if not missing:
        return None
    there = f"it takes {', '.join(sorted(known or ()))}" if known else "it takes none"
    return f"names {{{missing[0]}}}, which is no argument of the tool: {there}"


def _nearly_a_kind(rest: str) -> str | None:
    """What is wrong with a claim that somebody may have meant for a file, a tree or a slot."""
    word, colon, name = rest.partition(":")
    kind = word.strip().lower()
    meant = next((one for one in sorted(_KINDS) if kind in {one, f"{one}s"}), None)
    if meant is None:
        return None
    if word != meant:
        return f"begins with {word!r}, where {str(meant)!r} may be meant"
    if not colon:
        return f"is {word!r} alone, without a colon and what it is of"
    if name != name.lstrip():
        return "has a blank after its colon"
    if meant is Kind.SLOT and not name:
        return "names no slot"
    if meant is not Kind.SLOT and name.startswith("//"):
        return f"is an address: a {meant} is claimed by its path alone"
    return None
