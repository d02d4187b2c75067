"""Finds what a passage that isn't there may have meant."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import islice

_MAX_LINES = 2_000
_MAX_LINE = 120
_ALIKE = 0.6
_GIVEN = 3


def nearest_lines(text: str, passage: str) -> list[tuple[int, str]]:
    """Up to three lines most like the passage's first line that isn't blank: line numbers from 1, and the lines.

    Looks at the first 2,000 lines, 120 characters of each, so that the time stays bounded.
    """
    wanted = next((line.strip() for line in passage.splitlines() if line.strip()), "")[:_MAX_LINE]
    if not wanted:
        return []
    matcher = SequenceMatcher(None, b=wanted, autojunk=False)
    rated: list[tuple[float, int, str]] = []
    for number, line in enumerate(islice(text.split("\n"), _MAX_LINES), start=1):
        matcher.set_seq1(line.strip()[:_MAX_LINE])
        if matcher.real_quick_ratio() < _ALIKE or matcher.quick_ratio() < _ALIKE:
            continue
        ratio = matcher.ratio()
        if ratio >= _ALIKE:
            rated.append((-ratio, number, line.rstrip("\r")[:_MAX_LINE]))
    return [(number, line) for _, number, line in sorted(rated)[:_GIVEN]]


def whitespace_twin(text: str, passage: str) -> int | None:
    """The line, from 1, where the passage stands if any run of white space is like any other."""
    words = passage.split()
    if not words:
        return None
    lines = text.split("\n")
    joined = " ".join(text.split())
    position = joined.find(" ".join(words))
    if position < 0:
        return None
    before = len(joined[:position].split())
    for number, line in enumerate(lines, start=1):
        before -= len(line.split())
        if before < 0:
            return number
    return None
