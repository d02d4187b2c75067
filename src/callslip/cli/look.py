"""How the command line looks: few colours, calm tables, marks that also read without colour.

Honours ``NO_COLOR`` (no-color.org), ``TERM=dumb``, a standard output that is no terminal, and one whose encoding
has no ✓. Ids are never cut; only a table's last column is, and only on a terminal.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import click

from callslip.cli.safe_text import one_line

_MARKS = {
    "ok": ("✓", "ok", "green"),
    "bad": ("✗", "no", "red"),
    "warn": ("!", "!", "yellow"),
    "wait": ("‖", "||", "yellow"),
    "next": ("▸", ">", "cyan"),
    "dot": ("·", "-", "bright_black"),
}
_STATUS = {
    "finished": "green", "success": "green", "waiting": "yellow", "stopped": "yellow", "failed": "red",
    "running": "cyan", "driving": "cyan", "interrupted": "magenta", "imported": "yellow", "restored": "yellow",
}  # fmt: skip

_NARROW, _INDENT = 24, 4
"""Columns that wrapped text has at least, and where it stands under a head that leaves it fewer."""


class Cell(NamedTuple):
    """A table's cell and its colour."""

    text: str
    colour: str | None = None


def paint(text: str, colour: str | None = None, *, bold: bool = False, dim: bool = False) -> str:
    """The text in a colour, or as it is where colours are not wanted. ``click.echo`` strips it for a file."""
    plain = not (colour or bold or dim)
    if plain or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb":
        return text
    return click.style(text, fg=colour, bold=bold or None, dim=dim or None)


def mark(kind: str) -> str:
    """``ok``, ``bad``, ``warn``, ``wait``, ``next`` or ``dot``."""
    sign, plain, colour = _MARKS[kind]
    return paint(sign if speaks_unicode() else plain, colour)


def status(word: str) -> Cell:
    """A status in its colour."""
    return Cell(word, _STATUS.get(word.split(maxsplit=1)[0] if word else ""))


def speaks_unicode() -> bool:
    """Whether standard output can say ✓."""
    try:
        "✓‖▸·".encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def columns() -> int | None:
    """The terminal's width; ``None`` when nothing needs to be cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def width(text: str) -> int:
    """How many columns the text takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def cut(text: str, most: int | None) -> str:
    """The text in at most that many columns, with ``…`` for what is missing; never half a character."""
    if most is None or width(text) <= most:
        return text
    used, kept = 0, []
    for character in text:
        used += _width(character)
        if used > most - 1:
            break
        kept.append(character)
    return "".join(kept) + ("…" if most > 0 else "")


def wrap(text: str, most: int | None) -> list[str]:
    """The text in lines of at most that many columns, broken at spaces; a longer word stands on its own."""
    if most is None or width(text) <= most:
        return [text]
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and width(lines[-1]) + 1 + width(word) > most:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return lines


def hang(head: str, text: str, *, to: Callable[[str], None] | None = None, **style: Any) -> None:
    """A line of the answer, or one for ``to``: a head, and text beside it that is wrapped to the terminal. Its later
    lines stand under its first; where the head leaves it little room, the text goes on the next line.
    """
    tell = to or say
    text, left, room = one_line(text), width(click.unstyle(head)), columns()
    if room is not None and head.strip() and room - left < _NARROW and width(text) > room - left:
        tell(head.rstrip())
        head, left = " " * _INDENT, _INDENT
    for line in wrap(text, None if room is None else max(room - left, _NARROW)):
        tell((head + paint(line, **style)).rstrip())
        head = " " * left


def pad(text: str, to: int) -> str:
    """The text, filled up with spaces to that many columns."""
    return text + " " * max(to - width(text), 0)


def table(headings: Sequence[str], rows: Sequence[Sequence[Cell | str]]) -> None:
    """Print a table: headings dim, columns as wide as they need be, the last one cut to the terminal."""
    cells = [[_cell(cell) for cell in row] for row in rows]
    widths = [
        max([width(heading), *(width(row[place].text) for row in cells)]) for place, heading in enumerate(headings)
    ]
    room = columns()
    last = None if room is None else max(room - sum(widths[:-1]) - 2 * (len(widths) - 1), 12)
    click.echo(_row([Cell(heading.upper()) for heading in headings], widths, last, dim=True))
    for row in cells:
        click.echo(_row(row, widths, last))


def _cell(cell: Cell | str) -> Cell:
    text, colour = cell if isinstance(cell, Cell) else (cell, None)
    return Cell(one_line(text), colour)


def _row(cells: Sequence[Cell], widths: Sequence[int], last: int | None, *, dim: bool = False) -> str:
    *head, tail = cells
    parts = [paint(pad(cell.text, to), cell.colour, dim=dim) for cell, to in zip(head, widths, strict=False)]
    return "  ".join([*parts, paint(cut(tail.text, last), tail.colour, dim=dim)]).rstrip()


def say(text: str = "", **style: Any) -> None:
    """A line of the answer."""
    click.echo(paint(text, **style) if style else text)


def aside(text: str, **style: Any) -> None:
    """A line about the work, on standard error: never part of the answer, and lost without harm.

    Raises:
        OSError: nobody can read it any more.
    """
    click.echo(paint(text, **style) if style else text, err=True)


def murmur(text: str, **style: Any) -> None:
    """The same where it must not matter whether anybody can read it."""
    with contextlib.suppress(OSError, ValueError):
        aside(text, **style)


class Progress:
    """One line on a terminal's standard error that is written over and cleared; nothing anywhere else."""

    def __init__(self) -> None:
        self._shown = False
        self.live = sys.stderr.isatty()

    def show(self, text: str) -> None:
        """Show how far the work is."""
        if self.live:
            click.echo("\r\x1b[K" + cut(text, shutil.get_terminal_size().columns - 1), err=True, nl=False, color=True)
            self._shown = True

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            click.echo("\r\x1b[K", err=True, nl=False, color=True)
            self._shown = False
