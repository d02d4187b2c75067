"""Which of the tools that were found become visible: as many as there is room for, and none makes way (DEFR-02)."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

BYTES_BY_TOKEN = 4
"""How schemas are counted. Tokenisers differ; JSON takes them about so many bytes a token."""


class Found(msgspec.Struct, frozen=True):
    """A tool that fits."""

    name: str
    version: str
    tokens: int
    """What showing it costs."""


class Room(msgspec.Struct, frozen=True):
    """For tools that are found in a turn."""

    tools: int
    tokens: int


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


def admit(wanted: Iterable[Found], *, visible: Iterable[str], active: Iterable[Found], room: Room) -> Admission:
    """Take the tools in as they come, best first, while there is room.

    A large one that doesn't fit leaves its place to a smaller one that comes after it.

    Args:
        wanted: what was found, best first.
        visible: names that can be called anyway; they need no room.
        active: what this turn has found before.
        room: for all that a turn finds.
    """
    known = {one.name: one for one in active}
    tokens = sum(one.tokens for one in known.values())
    shown = {*visible, *known}
    names: list[str] = []
    taken: list[Found] = []
    refused: list[Refused] = []
    for one in wanted:
        if one.name in names:
            continue
        if one.name not in shown:
            why = _no_room(one, len(known) + len(taken), tokens, room)
            if why:
                refused.append(Refused(one.name, why))
                continue
            taken.append(one)
            tokens += one.tokens
        names.append(one.name)
    return Admission(visible=tuple(names), activated=tuple(taken), refused=tuple(refused))


def _no_room(one: Found, tools: int, tokens: int, room: Room) -> str:
    if tools >= room.tools:
        return f"no more than {room.tools} found tools are shown in a turn, and so many are"
    if one.tokens > room.tokens:
        return f"its schema takes about {one.tokens:,} tokens, and a turn has {room.tokens:,} for found tools"
    if tokens + one.tokens > room.tokens:
        left = room.tokens - tokens
        return f"its schema takes about {one.tokens:,} tokens, and of the turn's {room.tokens:,} only {left:,} are left"
    return ""
