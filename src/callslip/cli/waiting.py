"""Open waits on the screen, each with the command line that answers it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from callslip.cli import look, moments
from callslip.cli.options import Given
from callslip.cli.safe_text import one_line
from callslip.core.wait import Wait, WaitKind


def print_waits(given: Given, waits: Sequence[Wait], *, said: Mapping[str, str], say: bool = True) -> None:
    """Each wait: what it is, why, what its call said (``said``), since when, and how it is answered.

    ``say=False`` puts it on standard error.
    """
    line = look.say if say else look.murmur
    for wait in waits:
        about = look.paint(one_line(wait.tool), bold=True) + " " if wait.tool else ""
        line(f"{look.mark('wait')} {about}{wait.kind.value}: {one_line(wait.reason)}")
        if wait.arguments is not None:
            line("  " + look.cut(one_line(json.dumps(wait.arguments, ensure_ascii=False)), _room()), dim=True)
        if wait.id in said:
            line(f"  its attempt said: {one_line(said[wait.id])}")
        since = f"{one_line(wait.session)}, {moments.age(wait.opened_at)}"
        line(f"  {since}{f', goes on {moments.age(wait.wake_at)}' if wait.wake_at is not None else ''}", dim=True)
        line("  " + answer(given, wait.kind, wait.id, wait.session))


def answer(given: Given, kind: WaitKind, wait: str, session: str) -> str:
    """The command line that answers the wait."""
    if kind is WaitKind.PARKED:
        return given.command("resolve", wait, tail="happened|did-not-happen|give-up --reason '…'")
    if kind is WaitKind.CLIENT:
        return given.command("submit", wait, tail="--result JSON")
    if kind is WaitKind.WORKSPACE:
        return given.command("resolve", wait, "accept")
    return f"nobody needs to answer; later, {given.command('resume', session)}"


def _room() -> int | None:
    columns = look.columns()
    return None if columns is None else columns - 2
