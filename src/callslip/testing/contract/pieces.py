"""A text cut as a model streams it: a few characters at a time, and never into more pieces than a test needs."""

from __future__ import annotations

_SMALLEST = 3
_MOST = 64


def pieces(text: str) -> list[str]:
    """The text in pieces of three characters, or in 64 pieces where it is long. None for an empty one."""
    size = max(_SMALLEST, -(-len(text) // _MOST))
    return [text[start : start + size] for start in range(0, len(text), size)]
