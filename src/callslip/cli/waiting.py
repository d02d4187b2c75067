"""Open waits on the screen, each with the command line that answers it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from callslip.cli import look, moments
from callslip.cli.causes import Said
from callslip.cli.options import Given
from callslip.cli.safe_text import exact, one_line
from callslip.cli.values import compact
from callslip.core.instead import in_words
from callslip.core.wait import Wait, WaitKind


def print_waits(
    given: Given,
    waits: Sequence[Wait],
    *,
    said: Mapping[str, Said],
    say: bool = True,
    shown: Collection[str] = (),
    here: bool = False,
) -> None:
    """Each wait: what it is, why, what its call said (``said``), since when, and how it is answered.

    ``say=False`` puts it on standard error. ``shown``: waits whose arguments stand just above. ``here``: they are
    answered where they stand, so no command is named.
    """
    line = look.say if say else look.murmur
    for wait in waits:
        about = look.paint(exact(wait.tool), bold=True) + " " if wait.tool else ""
        look.hang(f"{look.mark('wait')} {about}{wait.kind.value}: ", wait.reason, to=line)
        if wait.kind is WaitKind.QUESTION and isinstance(wait.arguments, Mapping):
            _print_question(line, wait.arguments)
        elif wait.arguments is not None and wait.id not in shown:
            line("  " + look.cut(compact(wait.arguments), _room()), dim=True)
        if wait.note:
            look.hang("  its tool said: ", wait.note, to=line)
        if wait.instead is not None:
            look.hang("  fallback: ", in_words(wait.instead), to=line)
        if wait.id in said:
            # Where something stands in, it may not be its own.
            whose = "its attempt" if wait.instead is None else f"the attempt of {exact(said[wait.id].tool)}"
            repeat = said[wait.id].repeat
            whose, alone = (f"{whose} {repeat}", ", of itself alone") if repeat else (whose, "")
            look.hang(f"  {whose} said{alone}: ", said[wait.id].words, to=line)
        for change in wait.again:
            look.hang("  asked again: ", change, to=line)
        line(f"  {one_line(wait.session)}, {moments.age(wait.opened_at)}{_beside(wait)}", dim=True)
        if not here:
            line("  " + answer(given, wait.kind, wait.id, wait.session))


def _print_question(line: Callable[[str], None], arguments: Mapping[str, Any]) -> None:
    """What the model asks: all of it, since it is what they answer."""
    for name, value in arguments.items():
        if isinstance(value, str):
            line(f"  {exact(name)}: {exact(value)}")
        elif value is not None:
            line(f"  {exact(name)}: {compact(value)}")


def _beside(wait: Wait) -> str:
    """When it ends by itself, and who has approved already."""
    parts = []
    if wait.wake_at is not None:
        verb = "expires" if wait.kind is WaitKind.APPROVAL else "goes on"
        when = moments.due(wait.wake_at)
        parts.append(when if when == "due now" else f"{verb} {when}")
    if wait.approvers > 1:
        by = f" ({', '.join(map(one_line, wait.approved_by))})" if wait.approved_by else ""
        parts.append(f"{len(wait.approved_by)} of {wait.approvers} have approved{by}")
    return "".join(f", {part}" for part in parts)


def answer(given: Given, kind: WaitKind, wait: str, session: str) -> str:
    """The command line that answers the wait."""
    if kind is WaitKind.APPROVAL:
        return f"{given.command('approve', wait)} (or deny, or edit; it shows everything first)"
    if kind is WaitKind.PARKED:
        return given.command("resolve", wait, tail="happened|did-not-happen|give-up --reason '…'")
    if kind is WaitKind.QUESTION:
        return given.command("answer", wait, tail="'…'")
    if kind in {WaitKind.CLIENT, WaitKind.BACKGROUND}:
        return given.command("submit", wait, tail="--result JSON")
    if kind in {WaitKind.WORKSPACE, WaitKind.COPY}:
        return given.command("resolve", wait, "accept")
    return f"nobody needs to answer; later, {given.command('resume', session)}"


def _room() -> int | None:
    columns = look.columns()
    return None if columns is None else columns - 2
