"""Which of the tools that were found become visible: as many as there is room for, and none makes way (DEFR-02).

The less sure it is that a tool is wanted, the sooner the turn is full for it: guesses leave half of the room, and what
fits a model's words leaves a fifth, so that what it asks for by name finds a place. What counts is how full the turn
is, whatever has filled it: so nothing has to be kept of how each came in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal

import msgspec

from callslip.core.routing import SELECT

BYTES_BY_TOKEN = 4
"""How schemas are counted. Tokenisers differ; JSON takes them about so many bytes a token."""


class Found(msgspec.Struct, frozen=True):
    """A tool that fits."""

    name: str
    version: str
    tokens: int
    """What showing it costs."""


Sure = Literal["guessed", "found", "named"]
"""That a tool is wanted: it may fit what was said; it fits what a model searched for; a model has asked for just it."""


class Room(msgspec.Struct, frozen=True):
    """For tools that are found in a turn."""

    tools: int
    tokens: int
    turns: bool = True
    """A turn has it, and the next one has it anew. A dispatcher's session has no turns: each search has it anew."""

    def up_to(self, sure: Sure) -> Room:
        """How full the turn may get by such tools."""
        if sure == "named":
            return self
        keep = _half if sure == "guessed" else _fifth
        return Room(self.tools - keep(self.tools), self.tokens - keep(self.tokens), self.turns)


def _half(whole: int) -> int:
    return -(-whole // 2)


def _fifth(whole: int) -> int:
    return -(-whole // 5) if whole > 1 else 0


class Refused(msgspec.Struct, frozen=True):
    """Why a tool that fits is not made visible, for the model."""

    name: str
    why: str


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """What became of tools that fit."""

    visible: tuple[str, ...] = ()
    """Can be called in the next step; some of them may have been visible before."""
    activated: tuple[Found, ...] = ()
    """Those that are so by this."""
    refused: tuple[Refused, ...] = ()


def admit(
    wanted: Iterable[Found],
    *,
    visible: Iterable[str],
    active: Iterable[Found],
    room: Room,
    sure: Sure = "found",
    named: Collection[str] = (),
) -> Admission:
    """Take the tools in as they come, best first, while there is room.

    A large one that doesn't fit leaves its place to a smaller one that comes after it.

    Args:
        wanted: what was found, best first.
        visible: names that can be called anyway; they need no room.
        active: what this turn has found before.
        room: for all that a turn finds.
        sure: that they are wanted.
        named: those of them that were asked for by name.
    """
    known = {one.name: one for one in active}
    tools, tokens = len(known), sum(one.tokens for one in known.values())
    shown = {*visible, *known}
    names: list[str] = []
    taken: list[Found] = []
    refused: list[Refused] = []
    for one in wanted:
        if one.name in names:
            continue
        if one.name not in shown:
            why = _why_not(one, tools, tokens, room, "named" if one.name in named else sure)
            if why:
                refused.append(Refused(one.name, why))
                continue
            taken.append(one)
            tools, tokens = tools + 1, tokens + one.tokens
        names.append(one.name)
    return Admission(visible=tuple(names), activated=tuple(taken), refused=tuple(refused))


def no_room(one: Found, *, active: Iterable[Found], room: Room) -> str:
    """Why the tool can't become visible in this turn, not even by its name; empty: it can, or it is."""
    refused = admit([one], visible=(), active=active, room=room, sure="named").refused
    return refused[0].why if refused else ""


def _why_not(one: Found, tools: int, tokens: int, room: Room, sure: Sure) -> str:
    """As half a sentence, with what can be done; empty: there is room. Nothing in it is this tool's alone, so that it
    can be said once for several.
    """
    if one.tokens > room.tokens:
        return f"the schema takes more than the {_tokens(room.tokens)} that found tools may take: {_NEVER}"
    whose, where = ("a turn's ", "in a turn") if room.turns else ("", "at once")
    full = _END if room.turns else _AGAIN
    if tools >= room.tools:
        most = f"1 found tool is shown {where}, and one is" if room.tools == 1 else ""
        return f"no more than {most or f'{room.tools} found tools are shown {where}, and so many are'}: {full}"
    if tokens + one.tokens > room.tokens:
        left = f"more than the {_tokens(room.tokens - tokens)} left of {whose}{room.tokens:,}"
        return f"the schema takes {left if tokens < room.tokens else f'room, and {_all(whose, room.tokens)}'}: {full}"
    share = room.up_to(sure)
    if tools >= share.tools:
        taken = "it is taken" if share.tools == 1 else "they are taken"
        return f"what is found by words may fill {share.tools} of {whose}{room.tools} places, and {taken}: {_BY_NAME}"
    if tokens + one.tokens > share.tokens:
        places = f"what is found by words may fill {share.tokens:,} of {whose}{room.tokens:,} tokens"
        return f"{places}, and the schema takes more than is left of them: {_BY_NAME}"
    return ""


def _tokens(many: int) -> str:
    return f"{many:,} token{'' if many == 1 else 's'}"


def _all(whose: str, tokens: int) -> str:
    return f"all of {whose}{_tokens(tokens)} for found tools are taken"


_NEVER = "it can never be shown, so do without it"
_END = "use what you are shown, or end your turn; the next one begins anew"
_AGAIN = "search again in your next step; what is found there takes the place of what was found before"
_BY_NAME = f"the rest is for what is asked for by name, and the query '{SELECT}NAME' shows it"
