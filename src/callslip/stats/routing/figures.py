"""What the log says of how well tools are found. Moments are in milliseconds since 1970, UTC.

A tool counts as used once in a turn, and only if it had to be found: those that are always shown say nothing.
"""

from __future__ import annotations

import msgspec

from callslip.stats.routing.judge import How


class ToolRouting(msgspec.Struct, frozen=True, kw_only=True):
    """One tool."""

    tool: str
    used: int
    """Turns that used it."""
    preselected: int
    first: int
    later: int
    missed: int
    named: int
    carried: int
    recall: float | None
    rank: int | None
    """At which it was offered in the middle one of its uses; ``None``: it never was."""
    worst_rank: int | None
    unused: int
    """Turns that were offered it and did not call it."""


class UsedTool(msgspec.Struct, frozen=True, kw_only=True):
    """A use, with the words that offered the tool."""

    session: str
    turn: int
    tool: str
    how: How
    rank: int | None
    steps: int | None
    """From the offer to the call."""
    words: str | None
    """The query, or what was said; ``None``: there are none, or they were erased."""


class After(msgspec.Struct, frozen=True, kw_only=True):
    """What came after searches that said that nothing fits."""

    found: int
    """A later one of the turn found something."""
    went_on: int
    """Something else was called."""
    ended: int
    """The turn ended without a call."""
    open: int
    """Nothing yet."""


class RoutingStats(msgspec.Struct, frozen=True, kw_only=True):
    """What the log says of how tools are found. A turn is counted by when it began."""

    since: int | None
    sessions: int
    """Sessions that were read: those in which something has happened since."""
    records: int
    turns: int
    """In which tools had to be found."""
    open: int
    """Of these, those that have not ended: what they were offered and have not called is not held against it."""
    used: int
    preselected: int
    first: int
    later: int
    missed: int
    named: int
    carried: int
    recall: float | None
    """``preselected + first``, of these with ``later`` and ``missed``. What the model asked for by its name, or had
    from the session before, is no merit of the search and is left out."""
    recall_at_5: float | None
    """The same, of which only what was among the first 5 of what was offered."""
    first_place: int
    """Of ``preselected + first``, those that stood first."""
    early: int
    """Called in the same reply as the search that found them, and so refused."""
    missed_then_named: int
    """Missed, and then found by their name."""
    missed_then_found: int
    """Missed, and then found or preselected."""
    missed_in_vain: int
    """Missed, and no call of it succeeded in the turn: it may have been a guess, and labels nothing."""
    labelled: int
    """Cases of what was not offered in time: as many as ``callslip routing missed`` writes."""
    offered: int
    """Tools, each once in a turn, that were preselected or found in turns that have ended."""
    unused_preselected: int
    """Of these, those that were preselected and not called."""
    unused_found: int
    """Of these, those that were found and not called."""
    searches: int
    turns_with_search: int
    most_searches: int
    """In one turn."""
    unanswered: dict[str, int]
    """Searches that came to nothing, by the code of the error."""
    queries: int
    nothing: int
    """Of these, those for which nothing fitted."""
    after_nothing: After
    """Of searches with such a query."""
    overlooked: int
    """Such searches that named a tool as merely near which the turn then used."""
    no_room: int
    """Tools that fitted and did not become visible, since their turn showed no more."""
    unreadable: int
    """Searches of which something was erased, or can't be read."""
    requests: int
    tools_shown: float | None
    """Of each request, on average."""
    tools_shown_found: float | None
    """Of these, those that were offered in the turn."""
    tools: tuple[ToolRouting, ...]
    """The most used first; those that were only offered too."""
    uses: tuple[UsedTool, ...] = ()
    """Only if asked for: they hold what was said."""
    unread: tuple[str, ...] = ()
    """Sessions whose log is broken; nothing of them is counted from the break on."""
