"""Letters that pass for others: found in a text, so that ``pаypal.com`` with a Cyrillic а is not read as the real one.

Source: Unicode Technical Standard 39 (Security Mechanisms): confusables, mixed-script and whole-script detection. The
table is a small one of our own, of letters that most fonts draw as an ASCII letter or digit. A word of another script
that no Latin reader could take for his own, such as привет, 世界 or καλημέρα, is left alone.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator, Mapping

_TABLE = {
    # Cyrillic
    "а": "a", "А": "A", "В": "B", "с": "c", "С": "C", "ԁ": "d", "е": "e", "Е": "E", "һ": "h", "Н": "H", "і": "i",
    "І": "I", "ј": "j", "Ј": "J", "К": "K", "ӏ": "l", "Ӏ": "l", "М": "M", "о": "o", "О": "O", "р": "p", "Р": "P",
    "ԛ": "q", "Ԛ": "Q", "г": "r", "ѕ": "s", "Ѕ": "S", "Т": "T", "ѵ": "v", "Ѵ": "V", "ԝ": "w", "Ԝ": "W", "х": "x",
    "Х": "X", "у": "y", "У": "Y", "Ү": "Y", "ү": "y", "З": "3", "б": "6", "Ь": "b", "Ԍ": "G", "ѡ": "w", "ћ": "h",
    # Greek
    "α": "a", "Α": "A", "Β": "B", "ϲ": "c", "Ϲ": "C", "Ε": "E", "Ϝ": "F", "Η": "H", "ι": "i", "Ι": "I", "ϳ": "j",
    "Ϳ": "J", "Κ": "K", "Μ": "M", "Ν": "N", "ο": "o", "Ο": "O", "σ": "o", "ρ": "p", "Ρ": "P", "ϱ": "p", "Τ": "T",
    "υ": "u", "ν": "v", "Χ": "X", "γ": "y", "Υ": "Y", "Ζ": "Z", "ω": "w", "κ": "k", "η": "n", "ϒ": "Y",
    # Armenian
    "ո": "n", "օ": "o", "Օ": "O", "ս": "u", "Ս": "U", "հ": "h", "ց": "g", "զ": "q", "Տ": "S", "Լ": "L", "յ": "j",
    "ք": "p", "ա": "w",
    # Cherokee
    "Ꭰ": "D", "Ꭱ": "R", "Ꭲ": "T", "Ꭵ": "i", "Ꭺ": "A", "Ꭻ": "J", "Ꭼ": "E", "Ꮃ": "W", "Ꮇ": "M", "Ꮋ": "H", "Ꮍ": "Y",
    "Ꮐ": "G", "Ꮒ": "h", "Ꮓ": "Z", "Ꮞ": "4", "Ꮢ": "R", "Ꮤ": "W", "Ꮥ": "S", "Ꮩ": "V", "Ꮪ": "S", "Ꮮ": "L", "Ꮯ": "C",
    "Ꮲ": "P", "Ꮶ": "K", "Ᏼ": "B", "Ꮁ": "r",
    # Coptic, Lisu, Deseret
    "ⲟ": "o", "Ⲟ": "O", "ⲣ": "p", "Ⲣ": "P", "ⲥ": "c", "Ⲥ": "C", "Ⲁ": "A", "Ⲃ": "B", "Ⲉ": "E", "Ⲏ": "H", "Ⲓ": "I",
    "Ⲕ": "K", "Ⲙ": "M", "Ⲛ": "N", "Ⲧ": "T", "Ⲭ": "X", "Ⲩ": "Y", "Ⲍ": "Z",
    "ꓐ": "B", "ꓑ": "P", "ꓒ": "d", "ꓓ": "D", "ꓔ": "T", "ꓖ": "G", "ꓗ": "K", "ꓙ": "J", "ꓚ": "C", "ꓜ": "Z", "ꓝ": "F",
    "ꓟ": "M", "ꓠ": "N", "ꓡ": "L", "ꓢ": "S", "ꓣ": "R", "ꓦ": "V", "ꓧ": "H", "ꓪ": "W", "ꓫ": "X", "ꓬ": "Y", "ꓮ": "A",
    "ꓰ": "E", "ꓲ": "l", "ꓳ": "O", "ꓴ": "U",
    "𐐄": "O", "𐐬": "o", "𐐛": "C", "𐐽": "c",
    # Hebrew, Arabic, and digits of other scripts
    "ס": "o", "ו": "l", "ן": "l", "ا": "l", "ه": "o", "٥": "o", "۵": "o", "١": "l", "۱": "l", "०": "o", "০": "o",
}  # fmt: skip
"""Each letter of another script and what it is taken for."""
_ALWAYS = {
    "ɑ": "a", "ɡ": "g", "ɩ": "i", "ʋ": "v", "ʏ": "y", "ᴀ": "a", "ᴄ": "c", "ᴏ": "o", "ᴠ": "v", "ᴡ": "w", "ᴢ": "z",
    "ꜱ": "s", "ǀ": "l", "ꓸ": ".", "ſ": "s", "ƅ": "b", "ɪ": "i",
}  # fmt: skip
"""Letters that hardly anybody writes in earnest beside what they look like."""
_PUNCTUATION = {
    "／": "/", "⁄": "/", "∕": "/", "⧸": "/", "．": ".", "․": ".", "。": ".", "｡": ".", "＠": "@", "﹫": "@", "：": ":",
    "﹕": ":", "∶": ":", "ː": ":", "꞉": ":", "＿": "_", "＼": "\\", "∖": "\\", "⧵": "\\", "﹨": "\\", "‐": "-",
    "‑": "-", "－": "-", "﹣": "-", "−": "-", "；": ";", "\u037e": ";", "？": "?", "＝": "=", "＆": "&", "＃": "#",
    "ǃ": "!",
}  # fmt: skip
"""Between two ASCII letters or digits these pass for what parts an address or a path; elsewhere they are writing."""

_COMPATIBLE = ("<font>", "<wide>", "<compat>")
_UNPARTED = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC", "HALFWIDTH", "YI"})
"""Scripts that are written beside Latin without a space; nothing in them passes for it."""
_NO_SCRIPT = frozenset({"MODIFIER", "MASCULINE", "FEMININE", "MICRO", "COMBINING", "VULGAR"})
_TOKEN = re.compile(r"\S+")
_FIRST = re.compile(r"[A-Z]+")


def suspects(text: str) -> Mapping[int, str]:
    """The places of letters that mislead, each with what it is taken for; an empty text where it merely does not belong
    in its word.
    """
    if text.isascii():
        return {}
    found: dict[int, str] = {}
    alone = _alone(text)
    for token in _TOKEN.finditer(text):
        if not token[0].isascii():
            found.update(_in_token(text, token.start(), token.end(), alone))
    return found


def _in_token(text: str, start: int, end: int, alone: frozenset[str]) -> Iterator[tuple[int, str]]:
    latin = any(script(text[at]) == "LATIN" for at in range(start, end))
    for at in range(start, end):
        taken = _by_itself(text, at)
        if taken is not None:
            yield at, taken
    for word in _words(text, start, end):
        yield from _in_word(text, word, latin=latin, alone=alone)


def _by_itself(text: str, at: int) -> str | None:
    """What the letter is taken for wherever it stands."""
    character = text[at]
    if character.isascii():
        return None
    if character in _ALWAYS:
        return _ALWAYS[character]
    between = 0 < at < len(text) - 1 and all(text[side].isascii() and text[side].isalnum() for side in (at - 1, at + 1))
    if between and character in _PUNCTUATION:
        return _PUNCTUATION[character]
    return _compatible(character)


@functools.lru_cache(4096)
def _compatible(character: str) -> str | None:
    """The ASCII letters or digits that this is a variant of: fullwidth, mathematical, Roman, a ligature."""
    kind, _, rest = unicodedata.decomposition(character).partition(" ")
    if not kind or (rest and kind not in _COMPATIBLE) or character == "№":  # which Russian writes in earnest
        return None
    plain = unicodedata.normalize("NFKC", character)
    return plain if plain.isascii() and plain.isalnum() else None


def _words(text: str, start: int, end: int) -> Iterator[list[int]]:
    """The places of the letters and digits that stand together; scripts that know no spaces part words."""
    word: list[int] = []
    for at in range(start, end):
        character = text[at]
        if character.isalnum() and script(character) not in _UNPARTED:
            word.append(at)
        elif unicodedata.category(character) not in {"Mn", "Mc", "Me"} and word:
            yield word
            word = []
    if word:
        yield word


def _in_word(text: str, word: list[int], *, latin: bool, alone: frozenset[str]) -> Iterator[tuple[int, str]]:
    kinds = {at: script(text[at]) for at in word}
    scripts = {kind for kind in kinds.values() if kind}
    foreign = [at for at in word if kinds[at] not in ("", "LATIN")]
    taken = [(at, _base(text[at])) for at in foreign]
    if len(scripts) > 1:
        mistaken = [(at, _TABLE[base]) for at, base in taken if base in _TABLE]
        yield from mistaken or [(at, "") for at in _fewest(kinds)]
    elif foreign and (latin or next(iter(scripts)) in alone) and all(base in _TABLE for _, base in taken):
        yield from ((at, _TABLE[base]) for at, base in taken)
    elif "LATIN" in scripts or not scripts:
        yield from _odd_digits(text, word, latin="LATIN" in scripts)


def _odd_digits(text: str, word: list[int], *, latin: bool) -> Iterator[tuple[int, str]]:
    """Digits of another script among Latin letters or ASCII digits."""
    odd = [at for at in word if not text[at].isascii() and text[at].isdecimal()]
    if odd and (latin or any(text[at].isascii() for at in word)):
        yield from ((at, _TABLE.get(text[at], str(unicodedata.digit(text[at])))) for at in odd)


def _alone(text: str) -> frozenset[str]:
    """The scripts of which every letter in the text passes for a Latin one: nothing says that they are meant."""
    known: dict[str, bool] = {}
    for character in text:
        kind = "" if character.isascii() else script(character)
        if kind and kind != "LATIN":
            known[kind] = known.get(kind, True) and _base(character) in _TABLE
    return frozenset(kind for kind, passes in known.items() if passes)


def _fewest(kinds: Mapping[int, str]) -> list[int]:
    """The places of the letters that are in the minority; of two that are equal, not the Latin ones."""
    count: dict[str, int] = {}
    for kind in kinds.values():
        if kind:
            count[kind] = count.get(kind, 0) + 1
    most = max(count, key=lambda kind: (count[kind], kind == "LATIN"))
    return [at for at, kind in kinds.items() if kind and kind != most]


def _base(character: str) -> str:
    """The letter without its accents."""
    return unicodedata.normalize("NFD", character)[0]


@functools.lru_cache(4096)
def script(character: str) -> str:
    """The script of a letter, by its name; empty for what belongs to none."""
    if character.isascii():
        return "LATIN" if character.isalpha() else ""
    if not unicodedata.category(character).startswith("L"):
        return ""
    first = _FIRST.match(unicodedata.name(character, ""))
    return "" if first is None or first[0] in _NO_SCRIPT else first[0]
