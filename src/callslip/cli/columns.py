"""A table that fits: where the terminal is narrow, whole columns stay away, the least telling first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from callslip.cli import look
from callslip.cli.look import Cell
from callslip.cli.safe_text import one_line

_LAST = 24
"""What the last column, which is cut, is left at least."""


class Column(NamedTuple):
    """A column; the one with the greatest ``drop`` goes first, and none with 0."""

    heading: str
    drop: int = 0


def show(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> list[str]:
    """Print the table. Columns that say nothing in any row are left out.

    Returns:
        The headings for which there was no room.
    """
    widths = [
        max([look.width(column.heading), *(look.width(one_line(row[place].text)) for row in rows)])
        for place, column in enumerate(columns)
    ]
    kept = [place for place, column in enumerate(columns) if not column.drop or any(row[place].text for row in rows)]
    room, gone = look.columns(), []
    while room is not None and _needed(kept, widths) > room:
        place = max(kept, key=lambda one: columns[one].drop)
        if not columns[place].drop:
            break
        kept.remove(place)
        gone.append(place)
    look.table([columns[place].heading for place in kept], [[row[place] for place in kept] for row in rows])
    return [columns[place].heading for place in sorted(gone)]


def _needed(kept: Sequence[int], widths: Sequence[int]) -> int:
    *head, last = (widths[place] for place in kept)
    return sum(head) + 2 * len(head) + min(last, _LAST)
