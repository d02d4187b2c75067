r"""Text of models, tools and users, made safe to show: what would steer a terminal or mislead the eye is spelled out.

Control characters, escape sequences, direction marks, invisible characters and lone surrogates come out as ``\\x1b``,
``\\u202e`` and the like. Source of the classes: Unicode Standard Annex 44, general categories; Trojan Source
(CVE-2021-42574) for the direction marks.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

_SPELLED = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")
"""Letters and marks that show as nothing."""
_NOT_PLAIN = re.compile(r"[^\x20-\x7e]")


def visible(text: str, *, lines: bool = False) -> str:
    """The text with every character that would not show as itself spelled out.

    With ``lines``, line ends stay line ends and tabs become spaces; without, they are spelled out too.
    """
    if lines:
        text = text.replace("\r\n", "\n").expandtabs(4)
    return _NOT_PLAIN.sub(lambda match: _spelled(match[0], lines=lines), text)


def visible_json(text: str) -> str:
    """JSON text whose strings say the same and which shows as itself: doubtful characters become JSON's own escapes."""
    return _NOT_PLAIN.sub(lambda match: match[0] if match[0] == "\n" else _escaped(match[0]), text)


def _doubtful(character: str) -> bool:
    return unicodedata.category(character) in _SPELLED or character in _BLANK or "\ufe00" <= character <= "\ufe0e"


def _spelled(character: str, *, lines: bool) -> str:
    if not _doubtful(character) or (lines and character == "\n"):
        return character
    code = ord(character)
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character)
    return named or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def _escaped(character: str) -> str:
    if not _doubtful(character):
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def one_line(value: Any) -> str:
    """Any text on one line, its line ends shown as ``⏎``."""
    return visible(str(value).strip().replace("\r\n", "\n").replace("\n", " ⏎ "))
