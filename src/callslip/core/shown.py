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
