"""A question to a person on the screen: everything that they decide on, and nothing that could be taken for more."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from callslip.answering.question import Question
from callslip.cli import look, moments
from callslip.cli.options import Given
from callslip.cli.safe_text import doubts, exact
from callslip.cli.values import arguments_lines, texts_in
from callslip.core import version
from callslip.core.grant import Grant, in_words
from callslip.core.instead import in_words as in_place

MOST_LINES, MOST_BYTES = 200, 20_000
"""What a person can be expected to read on a terminal; a question that takes more is cut, and then needs a digest."""
_LABEL = 10
DIGEST = 12
"""Hex digits of the binding by which one says that the whole was read elsewhere."""


class Shown(NamedTuple):
    """A question as lines. ``whole``: nothing of it was cut."""

    lines: list[str]
    whole: bool


def show_question(asked: Question, *, most: int = MOST_LINES) -> Shown:
    """The question's lines; at most so many, and no more bytes than a person reads."""
    head = [
        f"{look.mark('wait')} {look.paint(exact(asked.tool), bold=True)} needs approval  {asked.id}",
        *_about(asked),
        _line("arguments", ""),
    ]
    body, whole = _cut((f"    {line}" for line in arguments_lines(asked.arguments)), most)
    notes = doubts([asked.tool, asked.session, asked.requester, *texts_in(asked.arguments)])
    return Shown([*head, *body, *(f"  {look.mark('warn')} {note}" for note in notes)], whole)


def _about(asked: Question) -> Iterator[str]:
    yield _line("asked by", f"{exact(asked.requester)} in session {exact(asked.session)}, {_when(asked.opened_at)}")
    yield _line(
        "expires",
        "never" if asked.expires_at is None else f"{moments.due(asked.expires_at)} ({moments.day(asked.expires_at)})",
    )
    rules = f" (rule{'s' if len(asked.rules) != 1 else ''} {exact(', '.join(asked.rules))})" if asked.rules else ""
    yield _line("because", exact(asked.reason) + rules)
    if asked.instead is not None:
        yield _line("fallback", f"{exact(in_place(asked.instead))}")
    for change in asked.again:
        yield _line("again", f"an earlier approval does not hold: {exact(change)}")
    for change in asked.edited:
        yield _line("edited", f"a person has changed what the model proposed: {exact(change)}")
    if asked.approvers > 1:
        who = f": {exact(', '.join(asked.approved_by))}" if asked.approved_by else ""
        yield _line("approvals", f"{len(asked.approved_by)} of {asked.approvers} different people{who}")
    yield _line("run by", f"{exact(asked.executor)}, version {exact(asked.tool_version)}")
    if asked.evidence is not None:
        yield _line("target", f"{exact(asked.evidence.target)}, now {exact(asked.evidence.before) or 'not there'}")
    if asked.version is not None:
        yield _line("changes", exact(version.in_words(asked.version)))


def _when(at: int) -> str:
    return f"{moments.age(at)} ({moments.day(at)})"


def _line(label: str, text: str) -> str:
    shown = look.paint(look.pad(label, _LABEL) if text else label, dim=True)
    return f"  {shown} {text}" if text else f"  {shown}"


def _cut(lines: Iterable[str], most: int) -> tuple[list[str], bool]:
    """As many of the lines as can be shown, and whether that is all of them."""
    kept: list[str] = []
    room = MOST_BYTES
    for line in lines:
        size = len(line.encode(errors="replace")) + 1
        if len(kept) >= most or size > room:
            if not kept:
                kept.append(line[: MOST_BYTES // 4])
            kept.append(look.paint("    … the rest is not shown here", "yellow"))
            return kept, False
        kept.append(line)
        room -= size
    return kept, True


def answers(given: Given, asked: Question, *, whole: bool) -> list[str]:
    """The command lines that answer; where the display was cut, with what has to be read first."""
    approve = ["approve", asked.id] if whole else ["approve", asked.id, "--digest", asked.binding[:DIGEST]]
    lines = [] if whole else [f"first  read it all: {where(given, asked)}"]
    lines += [given.command(*approve), given.command("deny", asked.id, tail="--reason '…'")]
    if asked.approvers == 1:
        lines.append(given.command("edit", asked.id, tail="--set NAME=JSON"))
    return lines


def where(given: Given, asked: Question) -> str:
    """Where the whole question can be read."""
    return given.command("inbox", asked.id) + " --json"


def grant_lines(given: Given, grant: Grant) -> list[str]:
    """The rule in words, before it is written: never cut."""
    words = in_words(grant)
    back = given.command("grants", "revoke", grant.id, tail="--reason '…'")
    return [
        f"{look.mark('warn')} {look.paint('From then on, without asking:', bold=True)}",
        f"    {exact(words)}",
        *(f"  {look.mark('warn')} {note}" for note in doubts([words])),
        f"  taken back with: {back}",
    ]


def change_lines(changes: Iterable[str]) -> list[str]:
    """How edited arguments differ."""
    told = list(itertools.islice(changes, MOST_LINES))
    return [_line("changed", exact(change)) for change in told] + [
        f"  {look.mark('warn')} {note}" for note in doubts(told)
    ]


def question_document(given: Given, asked: Question) -> dict[str, Any]:
    """The question in JSON, nothing cut."""
    answers_by = {"approve": given.command("approve", asked.id), "deny": given.command("deny", asked.id)}
    if asked.approvers == 1:
        answers_by["edit"] = given.command("edit", asked.id)
    document: dict[str, Any] = msgspec.to_builtins(asked)
    return {**document, "answers": answers_by}
