"""Whether a text that was cleaned of secrets goes back to another one, by whoever held which secrets at the time."""

from __future__ import annotations

from typing import Any

MARK = "[redacted]"
"""What the redactor puts in the place of a secret."""


def goes_back(written: Any, original: Any) -> bool:
    """Whether ``written`` is the original, but for what stands in it as redacted. Both are JSON values, or tuples of
    such.
    """
    if isinstance(written, str) and isinstance(original, str):
        return written == original or (MARK in written and _fits(written.split(MARK), original))
    if isinstance(written, dict) and isinstance(original, dict):
        return _same_object(written, original)
    if isinstance(written, list | tuple) and isinstance(original, list | tuple):
        return len(written) == len(original) and all(map(goes_back, written, original))
    return type(written) is type(original) and bool(written == original)


def _fits(pieces: list[str], original: str) -> bool:
    """Whether the pieces stand in the original one after the other, with something in each gap."""
    first, *middle, last = pieces
    if not original.startswith(first):
        return False
    at = len(first)
    for piece in middle:
        found = original.find(piece, at + 1)
        if found < 0:
            return False
        at = found + len(piece)
    return original.endswith(last) and len(original) - len(last) > at


def _same_object(written: dict[str, Any], original: dict[str, Any]) -> bool:
    left = [key for key in original if key not in written]
    for key, value in written.items():
        if key in original:
            fits = goes_back(value, original[key])
        else:  # where two keys became equal, the later ones were marked
            mine = next(
                (one for one in left if goes_back(key.rstrip("'"), one) and goes_back(value, original[one])), None
            )
            fits = mine is not None
            left = [one for one in left if one != mine]
        if not fits:
            return False
    return not left
