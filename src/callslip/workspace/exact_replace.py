"""Replaces a passage of a text by another, only where and as often as it was said to occur."""

from __future__ import annotations

from dataclasses import dataclass

from callslip.errors import ToolFailed
from callslip.workspace.nearest import nearest_lines, whitespace_twin
from callslip.workspace.path_argument import shown

_LISTED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What to replace, by what, and how often it must occur."""

    old: str
    new: str
    count: int = 1
    replace_all: bool = False
    """As often as it occurs, but at least once."""


def exact_replace(text: str, passage: Passage, path: str) -> tuple[str, int]:
    """The new text, and how many places were replaced. ``path`` is for messages.

    Where the file's lines end in CRLF, a plain line end in the passage means that too, and new lines end like
    the others.

    Raises:
        ToolFailed: ``bad_edit``, ``no_match``, ``ambiguous_match``. Effect none.
    """
    _refuse_senseless(passage)
    old, new = _line_ends(text, passage)
    occurs = text.count(old)
    if occurs == 0:
        raise _no_match(text, passage.old, path)
    wanted = occurs if passage.replace_all else passage.count
    # "aa" is found once in "aaa", but at two places: which one is meant can't be told.
    overlaps = occurs == 1 and text.find(old, text.find(old) + 1) >= 0
    if occurs != wanted or (overlaps and not passage.replace_all):
        raise _ambiguous(text, old, occurs + overlaps, wanted, path)
    return text.replace(old, new), occurs


def _refuse_senseless(passage: Passage) -> None:
    complaint = None
    if not passage.old:
        complaint = "'old' is empty. Give the passage to replace, or use write_file for a whole file."
    elif passage.old == passage.new:
        complaint = "'old' and 'new' are the same, so there is nothing to do."
    elif passage.count < 1:
        complaint = "'count' is less than 1. Give how often 'old' occurs."
    if complaint:
        raise ToolFailed(f"Nothing was changed: {complaint}", code="bad_edit")


def _line_ends(text: str, passage: Passage) -> tuple[str, str]:
    old, new = passage.old, passage.new
    windows = text.count("\r\n")
    if not windows:
        return old, new
    as_windows = _to_windows(old), _to_windows(new)
    if windows == text.count("\n"):
        return as_windows
    # Line ends of both kinds: what was given counts, and only if it is nowhere, the other reading.
    return (old, new) if old in text else as_windows


def _to_windows(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _no_match(text: str, old: str, path: str) -> ToolFailed:
    message = f"'old' does not occur in {shown(path)}: 0 matches. Nothing was changed."
    twin = whitespace_twin(text, old)
    near = nearest_lines(text, old)
    if twin:
        message += f" The same words stand at line {twin}, with other spaces, indentation or line breaks."
    elif near:
        message += " Nearest to its first line:\n" + "\n".join(f"line {number}: {line}" for number, line in near)
    return ToolFailed(f"{message}\nCopy the passage exactly as read_file shows it, spaces included.", code="no_match")


def _ambiguous(text: str, old: str, occurs: int, wanted: int, path: str) -> ToolFailed:
    places: list[str] = []
    position = -1
    while len(places) < _LISTED and (position := text.find(old, position + 1)) >= 0:
        places.append(str(text.count("\n", 0, position) + 1))
    often = "once" if occurs == 1 else f"{occurs} times"
    return ToolFailed(
        f"'old' occurs {often} in {shown(path)} and {wanted} was expected. Nothing was changed. It begins at"
        f" line {', '.join(places)}{' and others' if occurs > len(places) else ''}. Add lines around it until it"
        " is the only one, or set count or replace_all.",
        code="ambiguous_match",
    )
