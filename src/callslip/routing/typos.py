"""Words that no tool has, read as the words they were probably meant to be: one letter off, the first one right.

Only for words that are found nowhere, and only Latin ones of five letters or more; names of people and places are found
nowhere too, so what is read into a word counts half.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

SHARE = 0.5
"""What a word counts that was read into another."""
MOST = 8
"""Words of a request that are looked at so."""
_SHORTEST = 5
_LONGEST = 20
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def is_plain(word: str) -> bool:
    return _SHORTEST <= len(word) <= _LONGEST and word.isascii() and word.isalpha()


def meant(word: str, known: Container[str]) -> list[str]:
    """The known words that differ by one letter: left out, doubled, changed, or exchanged with its neighbour."""
    return [other for other in dict.fromkeys(_one_off(word)) if other in known]


def _one_off(word: str) -> Iterator[str]:
    for at in range(1, len(word)):
        head, tail = word[:at], word[at:]
        yield head + tail[1:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        for letter in _LETTERS:
            yield head + letter + tail[1:]
            yield head + letter + tail
    for letter in _LETTERS:
        yield word + letter
