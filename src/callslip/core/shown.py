r"""Characters that would not show as themselves, and how they are spelled out: ``\\x1b``, ``\\u202e`` and the like.

Control characters, escape sequences, direction marks, invisible characters and lone surrogates. Source of the classes:
Unicode Standard Annex 44, general categories; Trojan Source (CVE-2021-42574) for the direction marks.
"""

from __future__ import annotations

import re
import unicodedata

_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")
"""Letters and marks that show as nothing."""
NOT_PLAIN = re.compile(r"[^\x20-\x7e]")
"""What needs looking at."""
_NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def doubtful(character: str) -> bool:
    """Whether it would not show as itself."""
    return unicodedata.category(character) in _CATEGORIES or character in _BLANK or "\ufe00" <= character <= "\ufe0e"


def spelled(character: str) -> str:
    """A doubtful character spelled out; any other as it is."""
    if not doubtful(character):
        return character
    code = ord(character)
    return _NAMED.get(character) or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    )


def visible(text: str, *, lines: bool = False) -> str:
    """The text with every character that would not show as itself spelled out.

    With ``lines``, line ends stay line ends and tabs become spaces; without, they are spelled out too.
    """
    if lines:
        text = text.replace("\r\n", "\n").expandtabs(4)
    return NOT_PLAIN.sub(lambda match: match[0] if lines and match[0] == "\n" else spelled(match[0]), text)


# Prose


_JOINERS = frozenset("\u200c\u200d")
"""Zero width non-joiner and joiner: nothing by themselves, but of meaning within emoji and some scripts."""
_JOINING = re.compile(
    "[\u0600-\u07ff\u0860-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u18af\ua840-\ua87f\ufb50-\ufdff\ufe70-\ufefc]"
)
"""Arabic and its kin, the Indic scripts, Myanmar, Khmer, Mongolian, Phags-pa."""
_VIRAMA = 9
"""Canonical combining class: after one a joiner says how the letters combine (RFC 5892, appendix A)."""
_SKIN = re.compile("[\U0001f3fb-\U0001f3ff\ufe0f]")
_ARROW = "\u2194"
"""Stands in emoji, and is no pictograph by its category."""


class Prose:
    """Text for people that comes in pieces, made visible with its lines; nothing in it is decided on.

    Joiners stay where they have a meaning: between the parts of an emoji, and between letters of scripts that need
    them. Everywhere else, and in every name, argument and identifier, they are spelled out: there they only deceive.
    """

    def __init__(self) -> None:
        self._before = ""
        """The end of what was shown."""
        self._held = ""
        """A joiner at the end of a piece: what comes next decides about it."""

    def feed(self, text: str) -> str:
        """The piece as it is shown, but for a joiner at its end."""
        text = self._held + text
        self._held = text[-1] if text and text[-1] in _JOINERS else ""
        return self._shown(text[: len(text) - len(self._held)], after="")

    def end(self) -> str:
        """What was held back."""
        held, self._held = self._held, ""
        shown = self._shown(held, after=" ")
        self._before = ""
        return shown

    def _shown(self, text: str, after: str) -> str:
        if text.isascii():
            self._before = text or self._before
            return visible(text, lines=True)
        whole, done = self._before + text + after, len(self._before)
        self._before = (self._before + text)[-8:]
        pieces, at = [], done
        for place in range(done, done + len(text)):
            if whole[place] in _JOINERS and _means_something(whole, place):
                pieces += [visible(whole[at:place], lines=True), whole[place]]
                at = place + 1
        return "".join([*pieces, visible(whole[at : done + len(text)], lines=True)])


def prose(text: str) -> str:
    """A whole text in the same way."""
    pieces = Prose()
    return pieces.feed(text) + pieces.end()


def _means_something(text: str, at: int) -> bool:
    before, after = text[:at], text[at + 1 : at + 2]
    if not before:
        return False
    if unicodedata.combining(before[-1]) == _VIRAMA:
        return True
    if _is_letter(before[-1]) and _is_letter(after):
        return True
    base = _SKIN.sub("", before[-3:])[-1:]
    return text[at] == "\u200d" and _is_pictograph(base) and _is_pictograph(after)


def _is_letter(character: str) -> bool:
    return bool(_JOINING.match(character)) and unicodedata.category(character)[0] in "LM"


def _is_pictograph(character: str) -> bool:
    return character == _ARROW or (bool(character) and unicodedata.category(character) == "So")
