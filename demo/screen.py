"""How the story looks in a terminal: plain lines, a few colours, nothing that moves."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
from collections.abc import Sequence

import click

WIDEST = 96
NARROWEST = 60
_MARGIN = "  "
_LABEL = 15


class Screen:
    """Writes to standard output.

    Args:
        color: ``None`` leaves it to the terminal: colours on a tty, none in a pipe.
        pace: seconds a reader is given for a line; 0 for a machine.
    """

    def __init__(self, *, color: bool | None, pace: float) -> None:
        self._color = color
        self._pace = pace
        self.width = max(NARROWEST, min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns - 2))

    def line(self, text: str = "", *, rest: float = 1.0) -> None:
        """One line as it is. ``rest`` is how long it is looked at, as a multiple of the pace."""
        click.echo(f"{_MARGIN}{text}".rstrip(), color=self._color)
        sys.stdout.flush()
        if text and self._pace:
            time.sleep(self._pace * rest)

    def title(self, title: str, under: str) -> None:
        """The head of the whole."""
        self.line()
        self.line(click.style(title, bold=True), rest=0)
        self.prose(under)

    def act(self, number: int, title: str) -> None:
        """The head of an act."""
        self.line()
        rule = "─" * max(3, self.width - len(title) - 8)
        head = f"── {number} · {click.style(title, bold=True)} {click.style(rule, dim=True)}"
        self.line(head, rest=2)
        self.line()

    def prose(self, text: str, *, dim: bool = False) -> None:
        """A paragraph, wrapped."""
        for line in textwrap.wrap(text, self.width - len(_MARGIN)):
            self.line(click.style(line, dim=True) if dim else line, rest=2)

    def fact(self, label: str, text: str, *, color: str | None = None, bold: bool = False, dim: bool = False) -> None:
        """A label and what is to be said under it, wrapped beside it."""
        room = self.width - _LABEL - len(_MARGIN)
        lines = textwrap.wrap(text, room) or [""]
        for place, line in enumerate(lines):
            head = f"{label if place == 0 else '':<{_LABEL}}"
            self.line(click.style(head, dim=True) + click.style(line, fg=color, bold=bold, dim=dim))

    def command(self, text: str, *, who: str = "") -> None:
        """What a person types; ``who``, where it is in another's terminal."""
        prompt = click.style(f"{who}$", fg="magenta" if who else "cyan", bold=True)
        self.line(f"{prompt} {click.style(text, bold=True)}", rest=4)

    def output(self, text: str) -> None:
        """A line of what the command answers: wrapped; data is cut."""
        room, margin = self.width - 4, " " * (len(text) - len(text.lstrip()))
        if len(text) > room and text.lstrip().startswith("{"):
            text = text[: room - 1] + "…"
        options = {"break_long_words": False, "break_on_hyphens": False}
        for line in textwrap.wrap(text, room, subsequent_indent=margin + "  ", **options):  # type: ignore[arg-type]
            self.line(f"  {line}", rest=1.3)

    def claim(self, holds: bool, text: str) -> None:
        """A claim that was just checked."""
        mark = click.style("✓", fg="green", bold=True) if holds else click.style("✗", fg="red", bold=True)
        lines = textwrap.wrap(text, self.width - len(_MARGIN) - 2)
        for place, line in enumerate(lines):
            shown = line if holds else click.style(line, fg="red", bold=True)
            self.line(f"{mark if place == 0 else ' '} {shown}", rest=1.5)

    def box(self, rows: Sequence[tuple[str, str]], *, good: bool, foot: str) -> None:
        """The end of the story: rows of what and how many."""
        tint = "green" if good else "red"
        inner = self.width - len(_MARGIN) - 4
        edge = "─" * (inner + 2)

        def row(text: str, shown: str) -> None:
            wall = click.style("│", fg=tint)
            self.line(f"{wall} {shown}{' ' * (inner - len(text))} {wall}", rest=0.5)

        self.line()
        self.line(click.style(f"╭{edge}╮", fg=tint), rest=0)
        for what, value in rows:
            room = max(34, max(len(left) for left, _ in rows) + 2)
            for place, piece in enumerate(textwrap.wrap(value, inner - room) or [""]):
                left = f"{what if place == 0 else '':<{room}}"
                row(left + piece, click.style(left, dim=True) + click.style(piece, bold=place == 0))
        row("", "")
        for piece in textwrap.wrap(foot, inner):
            row(piece, click.style(piece, fg=tint, bold=True))
        self.line(click.style(f"╰{edge}╯", fg=tint), rest=0)
        self.line()
