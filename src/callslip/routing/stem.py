"""English word stems: *calculates*, *calculating* and *calculation* become one word.

Algorithm: M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with its two later amendments
(``bli``, ``logi``). A stem need not be a word; it only has to be the same for request and tool.
"""

from __future__ import annotations

import re
from functools import lru_cache

_DOUBLES = (
    ("ational", "ate"), ("ization", "ize"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"),
    ("tional", "tion"), ("biliti", "ble"), ("entli", "ent"), ("ousli", "ous"), ("ation", "ate"), ("alism", "al"),
    ("aliti", "al"), ("iviti", "ive"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("alli", "al"),
    ("ator", "ate"), ("logi", "log"), ("bli", "ble"), ("eli", "e"),
)  # fmt: skip
_ENDS = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ness", ""), ("ful", ""),
)  # fmt: skip
_LAST = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti", "ous", "ive", "ize",
    "al", "er", "ic", "ou",
)  # fmt: skip
_PLAIN = re.compile(r"[a-z]{3,40}\Z")


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The stem of a word in lower case; any word that isn't plain Latin letters, or is very long, as it is."""
    if not _PLAIN.match(word):
        return word
    word = _past(_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    return _tidy(_without_last(_replace(_replace(word, _DOUBLES), _ENDS)))


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for end in ("ed", "ing"):
        if word.endswith(end):
            root = word[: -len(end)]
            return _restored(root) if _has_vowel(root) else word
    return word


def _restored(root: str) -> str:
    """*conflat*(ed) gets its e back, *hopp*(ing) loses its second p."""
    if root.endswith(("at", "bl", "iz")):
        return root + "e"
    if len(root) > 1 and root[-1] == root[-2] and _consonants(root)[-1] == "c":
        return root if root[-1] in "lsz" else root[:-1]
    return root + "e" if _measure(root) == 1 and _short(root) else root


def _replace(word: str, ends: tuple[tuple[str, str], ...]) -> str:
    for end, other in ends:
        if word.endswith(end):
            root = word[: -len(end)]
            return root + other if _measure(root) else word
    return word


def _without_last(word: str) -> str:
    for end in _LAST:
        if word.endswith(end):
            root = word[: -len(end)]
            return root if _measure(root) > 1 and (end != "ion" or root.endswith(("s", "t"))) else word
    return word


def _tidy(word: str) -> str:
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _consonants(word: str) -> str:
    """The word as c for consonants and v for vowels; a y after a consonant is a vowel."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """How often a vowel is followed by a consonant."""
    return _consonants(word).count("vc")


def _has_vowel(word: str) -> bool:
    return "v" in _consonants(word)


def _short(word: str) -> bool:
    """Ends consonant, vowel, consonant, the last not w, x or y."""
    return _consonants(word).endswith("cvc") and word[-1] not in "wxy"
