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
from typing import Any

import msgspec

_FIELD = re.compile(r"\{(\w+)\}")
_READ = "read "
_MANY = 1000
"""Claims that one template may become; more of them are claimed as if nothing were given."""


class Kind(StrEnum):
    FILE = "file"
    TREE = "tree"
    SLOT = "slot"
    NAMED = "named"


_KINDS = frozenset({Kind.FILE, Kind.TREE, Kind.SLOT})


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
