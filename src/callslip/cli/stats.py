"""``callslip stats``: how well tools and models do, how long they take, and why they fail."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click
import msgspec

from callslip.cli import look, moments
from callslip.cli.app import runtime_for
from callslip.cli.columns import Column, show
from callslip.cli.command import command
from callslip.cli.document import print_document
from callslip.cli.look import Cell
from callslip.cli.moments import span
from callslip.cli.options import Given
from callslip.cli.since import moment
from callslip.core.shown import visible
from callslip.errors import NotFound
from callslip.stats.collect import collect
from callslip.stats.figures import Durations, ModelStats, Reason, Stats, ToolStats

_WELL, _BADLY = 0.99, 0.9
_MOST_REASONS = 3


@command
@click.option("--session", "sessions", multiple=True, metavar="ID", help="Only this session. May be repeated.")
@click.option("--since", metavar="TIME", help="Only what was proposed since: a date, or how long ago, such as 7d.")
@click.option("--tool", metavar="NAME", help="All there is to say of one tool.")
async def stats(given: Given, sessions: tuple[str, ...], since: str | None, tool: str | None) -> int:
    """Say of each tool how many calls there were, how many succeeded, how long they took (half of them at most p50, 95
    of a hundred at most p95), and why the others failed, by layer. And the same of each model, with tokens and cost.

    Read off the log, so it is what happened, in all processes and for as long as the log goes back.
    """
    moment_since = None if since is None else moment("--since", since, now=moments.now())
    async with runtime_for(given, "look") as runtime:
        found = await collect(runtime.parts.ledger, sessions or None, moment_since)
        if tool is not None:
            found = _only(found, tool)
            before = since is not None and not found.tools
            ever = _only(await collect(runtime.parts.ledger, sessions or None), tool) if before else found
            if not ever.tools:
                raise NotFound(f"No call of a tool {tool!r} was found. `callslip stats` lists those that were called.")
    if given.as_json:
        print_document(json.loads(msgspec.json.encode(found)))
    elif tool is not None:
        _one(found.tools[0]) if found.tools else look.say(f"{visible(tool)} was not called since then.")
    else:
        _all(found)
    return 0


def _only(found: Stats, tool: str) -> Stats:
    return msgspec.structs.replace(found, tools=tuple(one for one in found.tools if one.tool == tool))


def _all(found: Stats) -> None:
    for broken in found.unread:
        look.aside(f"{look.mark('bad')} The log of {visible(broken)} is broken: nothing after the break is counted.")
    if not found.tools and not found.models:
        look.say("No tool was called and no model was asked" + (" since then." if found.since is not None else " yet."))
        return
    dropped: list[str] = []
    if found.tools:
        dropped += show(_TOOLS, [_tool(one) for one in found.tools])
    if found.models:
        if found.tools:
            look.say()
        dropped += show(_MODELS, [_model(one) for one in found.models])
    look.say()
    failed = [f"{layer} {many:,}" for layer, many in sorted(found.layers.items(), key=lambda one: -one[1]) if many]
    if failed:
        look.hang("failures by layer  ", ", ".join(failed), dim=True)
    since = f", since {moments.day(found.since)}" if found.since is not None else ""
    look.hang("", f"{_many(found.records, 'record')} of {_many(found.sessions, 'session')}{since}", dim=True)
    if dropped:
        look.hang("", f"A wider terminal, or --json, shows {', '.join(dict.fromkeys(dropped))} too.", dim=True)


_TOOLS = (
    Column("tool"), Column("calls"), Column("ok"), Column("failed"),
    Column("refused", drop=3), Column("open", drop=5), Column("retries", drop=2),
    Column("asked twice", drop=7),
    Column("p50", drop=4), Column("p95"), Column("p99", drop=6),
    Column("waited", drop=1), Column("why they fail"),
)  # fmt: skip
"""With ``drop``: what goes first where there is no room, the greatest number first."""

_MODELS = (
    Column("model"), Column("replies"), Column("no reply"),
    Column("unusable", drop=4), Column("tokens in", drop=2),
    Column("tokens out", drop=1), Column("cost", drop=3), Column("p50", drop=5),
    Column("p95"), Column("why they fail"),
)  # fmt: skip


def _tool(one: ToolStats) -> list[Cell]:
    p50, p95, p99 = _percentiles(one.durations)
    waited = sum(wait.durations.total_ms for wait in one.waits)
    return [
        Cell(one.tool),
        Cell(f"{one.calls:,}"),
        _rate(one.success_rate),
        _count(one.failed, "red"),
        _count(one.refused, "yellow"),
        _count(one.open, "yellow"),
        _count(one.retries),
        Cell(f"{one.hedged:,}, {one.won_by_second:,} by the second" if one.hedged else ""),
        Cell(p50),
        Cell(p95),
        Cell(p99),
        Cell(span(waited) if waited else ""),
        Cell(_why(one.failures, _beside(one))),
    ]


def _model(one: ModelStats) -> list[Cell]:
    p50, p95, _ = _percentiles(one.durations)
    unusable = [f"{finish} {many:,}" for finish, many in one.finishes.items() if finish not in {"calls", "stop"}]
    return [
        Cell(one.model),
        Cell(f"{one.replies:,}"),
        _count(one.failed, "red"),
        _count(one.unusable, "yellow"),
        Cell(_short(one.input_tokens)),
        Cell(_short(one.output_tokens)),
        Cell(_cost(one)),
        Cell(p50),
        Cell(p95),
        Cell(_why(one.failures, unusable)),
    ]


def _one(one: ToolStats) -> None:
    """A tool in full."""
    rate = _rate(one.success_rate)
    look.say(look.paint(visible(one.tool), bold=True))
    ended = f", {look.paint(rate.text, rate.colour)} succeeded" if rate.text else ""
    look.say(f"  {_many(one.calls, 'call')}{ended}")
    lines: list[tuple[str, str]] = [
        ("succeeded", f"{one.succeeded:,}"),
        ("failed", f"{one.failed:,}"),
        ("refused", f"{one.refused:,}"),
        ("open", f"{one.open:,}" if one.open else ""),
        ("why", _full(one.failures)),
        ("attempts", f"{one.attempts:,}" + (f", {one.retries:,} of them retries" if one.retries else "")),
        ("asked twice", _twice(one) if one.hedged else ""),
        ("failed attempts", _full(one.attempt_failures)),
        ("took", _took(one.durations)),
        *((f"waited, {wait.kind}", _took(wait.durations)) for wait in one.waits),
        ("beside that", ", ".join(_beside(one))),
    ]
    for name, said in lines:
        if said:
            look.hang(f"  {look.paint(look.pad(visible(name), 18), dim=True)}", said)


def _full(reasons: Sequence[Reason]) -> str:
    return ", ".join(f"{one.layer} {one.code} {one.count:,}" for one in reasons)


def _took(of: Durations | None) -> str:
    if of is None:
        return ""
    p50, p95, p99 = _percentiles(of)
    return f"{_many(of.count, 'time')}; p50 {p50}, p95 {p95}, p99 {p99}, at most {span(of.longest_ms)}"


def _twice(one: ToolStats) -> str:
    return f"{one.hedged:,} (answered by the second {one.won_by_second:,})"


def _beside(one: ToolStats) -> list[str]:
    said = {
        "late": one.late, "parked": one.parked, "answered by a fallback": one.fallbacks, "stood in": one.stood_in,
        "breaker opened": one.opened,
    }  # fmt: skip
    return [f"{name} {many:,}" for name, many in said.items() if many]


def _why(reasons: Sequence[Reason], more: Sequence[str]) -> str:
    """The most frequent reasons, by layer."""
    first = [f"{one.layer} {one.code} {one.count:,}" for one in reasons[:_MOST_REASONS]]
    left = sum(one.count for one in reasons[_MOST_REASONS:])
    return ", ".join([*first, *([f"others {left:,}"] if left else []), *more])


def _rate(rate: float | None) -> Cell:
    if rate is None:
        return Cell("")
    percent = min(rate * 100, 99.9) if rate < 1 else 100  # what failed once was never always right
    text = "100%" if rate == 1 else f"{percent:.1f}%"
    return Cell(text, "green" if rate >= _WELL else "yellow" if rate >= _BADLY else "red")


def _count(many: int, colour: str | None = None) -> Cell:
    return Cell(f"{many:,}", colour) if many else Cell("")


def _percentiles(of: Durations | None) -> tuple[str, str, str]:
    return ("", "", "") if of is None else (span(of.p50_ms), span(of.p95_ms), span(of.p99_ms))


def _short(many: int) -> str:
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if many >= 10 * size:
            return f"{many / size:,.0f}{unit}"
    return f"{many:,}" if many else ""


def _cost(one: ModelStats) -> str:
    if not one.priced:
        return ""
    more = "" if one.priced == one.replies else "+"  # the others cost something, too
    return f"${one.cost_micros / 1_000_000:,.4f}{more}"


def _many(many: int, what: str) -> str:
    return f"{many:,} {what}{'' if many == 1 else 's'}"
