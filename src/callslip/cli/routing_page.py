"""How well tools are found, as a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from callslip.cli import look, moments
from callslip.cli.columns import Column, show as show_table
from callslip.cli.look import Cell
from callslip.cli.options import Given
from callslip.core.shown import visible
from callslip.stats.routing.figures import RoutingStats, ToolRouting, UsedTool

_WELL, _BADLY = 0.95, 0.8
_LABEL = 17
_NUMBER = 6
_HOW = {
    "preselected": ("preselected", None), "first": ("first search", None), "later": ("later search", "yellow"),
    "missed": ("missed", "red"), "named": ("by name", None), "carried": ("from a fork", None),
}  # fmt: skip

_TOOLS = (
    Column("tool"), Column("used"), Column("in time"),
    Column("preselected", drop=8), Column("first", drop=7), Column("later", drop=3), Column("missed", drop=1),
    Column("by name", drop=6), Column("from a fork", drop=5), Column("rank", drop=2), Column("in vain", drop=4),
)  # fmt: skip
"""With ``drop``: what goes first where there is no room, the greatest number first."""

_USES = (
    Column("session", drop=2), Column("turn", drop=1), Column("tool"), Column("offered"),
    Column("rank", drop=3), Column("steps", drop=4), Column("for these words"),
)  # fmt: skip


def show(given: Given, found: RoutingStats, *, uses: bool) -> None:
    """Print the page."""
    say_unread(found.unread)
    if not found.turns:
        when = " since then" if found.since is not None else ""
        nothing = f"No turn{when} had tools to find: every tool was shown from the start."
        look.say(nothing if found.sessions else f"Nothing has happened{when or ' yet'}.")
        return
    _recall(found)
    _ways(found)
    look.say()
    for label, text in (
        ("offered in vain", _in_vain(found)),
        ("searches", _searches(found)),
        ("nothing fits", _nothing(found)),
        ("no room", _no_room(found)),
        ("unreadable", _unreadable(found)),
        ("shown", _shown(found)),
    ):
        if text:
            look.hang(_label(label), text)
    dropped: list[str] = []
    if found.tools:
        look.say()
        dropped += show_table(_TOOLS, [_tool(one) for one in found.tools])
    if uses and found.uses:
        look.say()
        dropped += show_table(_USES, [_use(one) for one in found.uses])
    look.say()
    _footer(given, found, dropped)


def say_unread(sessions: Iterable[str]) -> None:
    """Name the sessions whose log is broken."""
    for broken in sessions:
        look.aside(f"{look.mark('bad')} The log of {visible(broken)} is broken: nothing after the break is counted.")


def _recall(found: RoutingStats) -> None:
    judged = found.preselected + found.first + found.later + found.missed
    if found.recall is None or found.recall_at_5 is None:
        look.say("No tool that had to be found was used" + (" but by its name." if found.used else "."))
        return
    rate = _rate(found.recall)
    head = f"{look.paint(rate.text, rate.colour, bold=True)} "
    in_time = found.preselected + found.first
    look.hang(head, f"of the tools that were used had been offered in time ({in_time:,} of {judged:,})")
    first = _percent(found.first_place / judged)
    look.hang(
        " " * look.width(rate.text) + " ",
        f"{_percent(found.recall_at_5)} among the first 5 of what was offered, {first} in the first place",
        dim=True,
    )


def _ways(found: RoutingStats) -> None:
    if not found.used:
        return
    look.say()
    early = f"{found.early:,} called too early, in the same reply" if found.early else ""
    missed = [
        f"{found.missed_then_named:,} then found by name" if found.missed_then_named else "",
        f"{found.missed_then_found:,} offered afterwards" if found.missed_then_found else "",
        f"{found.missed_in_vain:,} without any success" if found.missed_in_vain else "",
    ]
    for how, many, said in (
        ("preselected", found.preselected, "they fitted what was said"),
        ("first", found.first, "found at the first try" + _after_colon([early])),
        ("later", found.later, "after one that led to nothing"),
        ("missed", found.missed, "called without having been offered" + _after_colon(missed)),
        ("named", found.named, "the model asked for just these; not counted above"),
        ("carried", found.carried, "found in the session before; not counted above"),
    ):
        if many:
            name, colour = _HOW[how]
            number = look.paint(f"{many:,}".rjust(_NUMBER), colour)
            look.hang(f"{_label(name)}{number}  ", said, dim=True)


def _in_vain(found: RoutingStats) -> str:
    if not found.offered:
        return ""
    vain = found.unused_preselected + found.unused_found
    parts = [
        f"{found.unused_preselected:,} preselected" if found.unused_preselected else "",
        f"{found.unused_found:,} found" if found.unused_found else "",
    ]
    return f"{vain:,} of {found.offered:,} offers were not called in their turn" + _after_colon(parts)


def _searches(found: RoutingStats) -> str:
    if not found.searches:
        return "none"
    mean = found.searches / found.turns
    failed = ", ".join(f"{code} {many:,}" for code, many in found.unanswered.items())
    said = f"{found.searches:,}, in {found.turns_with_search:,} of {_many(found.turns, 'turn')}; {mean:.1f} a turn"
    most = f", at most {found.most_searches:,}"
    return said + most + (f"; {sum(found.unanswered.values()):,} came to nothing ({failed})" if failed else "")


def _nothing(found: RoutingStats) -> str:
    if not found.nothing:
        return ""
    after = found.after_nothing
    came = [
        f"a search that found something {after.found:,}" if after.found else "",
        f"a call of something else {after.went_on:,}" if after.went_on else "",
        f"the end of the turn {after.ended:,}" if after.ended else "",
        f"nothing yet {after.open:,}" if after.open else "",
    ]
    near = f"; {found.overlooked:,} had named the right tool as merely near" if found.overlooked else ""
    return f"{found.nothing:,} of {_many(found.queries, 'query', 'queries')}; what came next: {_list(came)}{near}"


def _no_room(found: RoutingStats) -> str:
    return f"{_many(found.no_room, 'tool')} that fitted could not be shown beside the others" if found.no_room else ""


def _unreadable(found: RoutingStats) -> str:
    return f"{_many(found.unreadable, 'search', 'searches')}, something of which is gone" if found.unreadable else ""


def _shown(found: RoutingStats) -> str:
    if found.tools_shown is None or found.tools_shown_found is None:
        return ""
    return (
        f"{found.tools_shown:.1f} tools in a request, {found.tools_shown_found:.1f} of them because they were offered"
    )


def _tool(one: ToolRouting) -> list[Cell]:
    rank = "" if one.rank is None else f"{one.rank}"
    if one.worst_rank is not None and one.worst_rank != one.rank:
        rank += f", at worst {one.worst_rank}"
    return [
        Cell(one.tool),
        _count(one.used),
        Cell("") if one.recall is None else _rate(one.recall),
        _count(one.preselected),
        _count(one.first),
        _count(one.later, "yellow"),
        _count(one.missed, "red"),
        _count(one.named),
        _count(one.carried),
        Cell(rank),
        _count(one.unused),
    ]


def _use(one: UsedTool) -> list[Cell]:
    return [
        Cell(one.session),
        Cell(f"{one.turn}"),
        Cell(one.tool),
        Cell(*_HOW[one.how]),
        Cell("" if one.rank is None else f"{one.rank}"),
        Cell("" if one.steps is None else f"{one.steps}"),
        Cell(one.words or ""),
    ]


def _footer(given: Given, found: RoutingStats, dropped: Sequence[str]) -> None:
    since = f", since {moments.day(found.since)}" if found.since is not None else ""
    opened = f" ({found.open:,} not ended)" if found.open else ""
    look.hang("", f"{_many(found.turns, 'turn')}{opened} of {_many(found.sessions, 'session')}{since}", dim=True)
    if dropped:
        look.hang("", f"A wider terminal, or --json, shows {', '.join(dict.fromkeys(dropped))} too.", dim=True)
    if found.labelled:
        look.hang("", "What was not offered in time, as labelled data:", dim=True)
        look.say(f"  {given.command('routing', 'missed', '--out', 'missed.jsonl')}", dim=True)


def _label(text: str) -> str:
    return f"  {look.paint(look.pad(text, _LABEL), dim=True)}"


def _rate(rate: float) -> Cell:
    return Cell(_percent(rate), "green" if rate >= _WELL else "yellow" if rate >= _BADLY else "red")


def _percent(rate: float) -> str:
    """What failed once was never always right."""
    return "100%" if rate == 1 else f"{min(rate * 100, 99.9):.1f}%"


def _count(many: int, colour: str | None = None) -> Cell:
    return Cell(f"{many:,}", colour) if many else Cell("")


def _many(many: int, one: str, more: str = "") -> str:
    return f"{many:,} {one if many == 1 else more or one + 's'}"


def _list(parts: Iterable[str]) -> str:
    return ", ".join(filter(None, parts))


def _after_colon(parts: Iterable[str]) -> str:
    said = _list(parts)
    return f": {said}" if said else ""
