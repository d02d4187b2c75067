r"""Text of models, tools and users, made safe to show: what would steer a terminal or mislead the eye is spelled out.

Control characters, escape sequences, direction marks, invisible characters and lone surrogates come out as ``\\x1b``,
``\\u202e`` and the like. Source of the classes: Unicode Standard Annex 44, general categories; Trojan Source
(CVE-2021-42574) for the direction marks.

What a person decides on is shown by :func:`exact` and its kin, which also mark letters that pass for others and spaces
that don't show, and in which no two texts look the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from callslip.cli.lookalikes import suspects
from callslip.core.shown import NOT_PLAIN, doubtful, visible


def visible_json(text: str) -> str:
    """JSON text whose strings say the same and which shows as itself: doubtful characters become JSON's own escapes."""
    return NOT_PLAIN.sub(lambda match: match[0] if match[0] == "\n" else _escaped(match[0]), text)


def _escaped(character: str) -> str:
    if not doubtful(character):
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def one_line(value: Any) -> str:
    """Any text on one line, its line ends shown as ``⏎``."""
    return visible(str(value).strip().replace("\r\n", "\n").replace("\n", " ⏎ "))


# Exactly


_OURS = frozenset("⟨⟩␣⇥")
"""The marks made here: in a text they are spelled out, so that none can be forged."""
_OVERLAYS = frozenset(
    map(chr, (*range(0x0334, 0x0339), *range(0x20D2, 0x20D4), *range(0x20D8, 0x20DB), 0x20E5, 0x20EB))
)
"""Marks that strike out, or through, the character before."""
_QUOTED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_SPACES = re.compile(r"^ +| +$| {2,}")
_AT_END = re.compile(r" +$")


def exact(text: str) -> str:
    """The text on one line, with everything marked that could be taken for something else: ``p⟨а U+0430⟩ypal.com``."""
    return "".join(_pieces(text, {}))


def quoted(text: str) -> str:
    """The text as a JSON string, marked in the same way. Spaces at its ends, and those that stand together, show as
    ``␣``.
    """
    pieces = _pieces(text, _QUOTED)
    for found in _SPACES.finditer(text):
        pieces[found.start() : found.end()] = ["␣"] * (found.end() - found.start())
    return f'"{"".join(pieces)}"'


def block(text: str) -> list[str]:
    """A text of several lines, each as it is, marked in the same way: tabs show as ``⇥``, spaces at an end as ``␣``."""
    lines = []
    for line in text.split("\n"):
        pieces = _pieces(line, {"\t": "⇥"})
        for found in _AT_END.finditer(line):
            pieces[found.start() : found.end()] = ["␣"] * (found.end() - found.start())
        lines.append("".join(pieces))
    return lines


def doubts(texts: Iterable[str], most: int = 8) -> list[str]:
    """What each mark in these texts stands for, in words."""
    found: dict[str, str] = {}
    for text in texts:
        taken = suspects(text)
        for at, character in enumerate(text):
            if at in taken or (_hidden(character) and character not in "\n\r\t"):
                found.setdefault(character, taken.get(at, ""))
    told = [
        f"{_mark(one)} is {_named(one)}{f', which passes for {like}' if like else ''}" for one, like in found.items()
    ]
    return told if len(told) <= most else [*told[:most], f"and {len(told) - most} more characters are marked"]


def _pieces(text: str, spelled: dict[str, str]) -> list[str]:
    """The text, character by character, as it is shown."""
    if text.isascii() and text.isprintable() and not spelled:
        return list(text)
    taken = suspects(text)
    return [
        spelled.get(character)
        or (_mark(character) if at in taken or _hidden(character) or _stray(text, at) else character)
        for at, character in enumerate(text)
    ]


def _stray(text: str, at: int) -> bool:
    """Whether it is an accent with no letter before it, which would change what stands before the text, or a mark."""
    if text[at].isascii() or not unicodedata.combining(text[at]):
        return False
    before = text[at - 1] if at else " "
    return not (before.isalnum() or unicodedata.category(before).startswith("M"))


def _hidden(character: str) -> bool:
    """Whether it would show as nothing, as something else, or as a mark of ours."""
    if character.isascii():
        return not character.isprintable()
    space = unicodedata.category(character) == "Zs"
    return space or character in _OURS or character in _OVERLAYS or doubtful(character)


def _mark(character: str) -> str:
    code = f"U+{ord(character):04X}"
    bare = _hidden(character) or unicodedata.combining(character)
    return f"⟨{code}⟩" if bare else f"⟨{character} {code}⟩"


def _named(character: str) -> str:
    return unicodedata.name(character, "a control character" if ord(character) < 0xA0 else "an unnamed character")
