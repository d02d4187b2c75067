"""Which tools models have to find, what there is never room for, and what the search for them goes by."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from callslip.bound import bind, embedder_of
from callslip.build import TOOLS_FILE
from callslip.cli.checks import Finding, bad, ok, warn
from callslip.core.activation import Found, Room
from callslip.core.routing import Routing
from callslip.errors import CallslipError
from callslip.gate.room import always_shown, never_shown, told
from callslip.models import KINDS, keyless

FOUND = "tools found"
"""What the check is called that says that there is anything to be found."""
_NAMED = 5
"""Tools that are named one by one."""
_ANEW = "the next search makes it anew by itself"
_MEMORY = "and vectors are made in memory as long as that lasts"


def check_routing(executors: Sequence[Any], routing: Routing) -> list[Finding]:
    """What of the tools is shown, what is found, and whether there is room for it."""
    try:
        bound = bind(executors, routing)
    except CallslipError as error:
        return [bad("routing", str(error))]
    shown = always_shown(bound.catalogue)
    much = shown.tools > routing.more_than or shown.tokens > routing.tokens
    many = f"the {shown.tools} tools that are shown in every step take"
    if shown.tools == 1:
        many = "the one tool that is shown in every step takes"
    takes = f"{many} about {shown.tokens:,} tokens of each request"
    if bound.finder is None:
        helps = 'models choose worse among many: `defer = "auto"` in [routing] has them found by search'
        return [warn("tools shown", f"{takes}; {helps}")] if much else []
    hidden = len(bound.catalogue.discoverable)
    by = f"{hidden} by search, {_by(routing)}"
    much = much and shown.tools > 1  # the search itself is no tool that could be left out
    found = [ok(FOUND, by if much else f"{by}; {takes}")]
    if much:
        helps = "found ones come on top of that: pin fewer (`pinned` in [routing]), or declare more of them deferred"
        found.append(warn("tools shown", f"{takes}; {helps}"))
    found += _never(never_shown(bound.catalogue, routing), hidden, routing)
    return [*found, *_guesses(routing, len(bound.catalogue.deferred)), *_keys(routing)]


def _never(never: Sequence[Found], hidden: int, routing: Routing) -> list[Finding]:
    """Tools that there is never room for. If they are most of those that have to be found, that is no mere hint."""
    found = [warn(f"tool {one.name}", told(one, routing)) for one in never[:_NAMED]]
    if 2 * len(never) > hidden:
        which = f"{len(never):,} of the {hidden:,} tools that have to be found" if len(never) < hidden else "No tool"
        can = "can never be shown" if len(never) < hidden else "that has to be found can ever be shown"
        helps = "raise `tokens` in [routing]; `callslip tools` names them"
        found.append(bad(FOUND, f"{which} {can}, since the schemas are larger than all the room: {helps}"))
    elif len(never) > _NAMED:
        found.append(warn(FOUND, f"{len(never) - _NAMED} more can never be shown: `callslip tools` names them"))
    return found


def _guesses(routing: Routing, deferred: int) -> list[Finding]:
    """Whether as many tools as are asked for can be shown unasked. ``auto`` asks for as many as there are places for,
    if there are any.
    """
    most = Room(routing.tools, routing.tokens).up_to("guessed").tools
    if routing.preselected(deferred) <= most or (routing.preselect == "auto" and most):
        return []
    if not most:
        value = '"auto"' if routing.preselect == "auto" else f"{routing.preselect}"
        said = f"preselect = {value}, and a turn shows none unasked where tools = {routing.tools}"
        helps = 'raise `tools` in [routing], or set preselect = "off"'
        return [warn("preselect", f"{said}: its only place is for what is searched for. To change that, {helps}")]
    said = f"preselect = {routing.preselect}, and a turn shows no more than {most} unasked (half of `tools`)"
    return [warn("preselect", f"{said}: the rest is for what is searched for. Lower it, or raise `tools` in [routing]")]


def _by(routing: Routing) -> str:
    used = embedder_of(routing)
    if not used:
        return "by words alone" if routing.embedder == "off" else "by words alone (callslip[vectors] compares meaning)"
    return f"by words and meaning (embedder {used}{'' if used == 'local' else '; not asked now'})"


def _keys(routing: Routing) -> list[Finding]:
    """Whether an embedder elsewhere could be asked."""
    used = embedder_of(routing)
    kind, _, name = used.partition(":")
    if kind not in KINDS or not name:
        return []
    missing = keyless(used, None)
    return [warn("embedder", f"{used}: {missing}; tools would be searched by words alone")] if missing else []


def check_index(state: Path, routing: Routing) -> list[Finding]:
    """Whether what is kept of the search can be used. It is a copy: nothing is lost with it, and nothing to be done."""
    path = state / TOOLS_FILE
    found = [_words(path)]
    if embedder_of(routing):
        # Only where tools are searched for at all is this worth its import.
        from callslip.routing.kept_vectors import beside  # noqa: PLC0415

        found.append(_vectors(beside(path)))
    return found


def _words(path: Path) -> Finding:
    if not path.exists():
        return ok("tool index", "none kept yet: the first search makes it")
    if not path.is_file():
        return warn("tool index", f"{path.name} is no file: the index works, and is made anew by every process")
    # Only where tools are searched for at all is this worth its import.
    from callslip.routing.lexical import LexicalIndex  # noqa: PLC0415

    index = LexicalIndex(path)
    index.close()
    if index.unread:
        return warn("tool index", f"{path.name} can't be used ({index.unread}): {_ANEW}, and nothing is missing")
    return ok("tool index", f"{path.name} can be used, {_size(path)}")


def _vectors(path: Path) -> Finding:
    none = ok("tool vectors", "none kept yet: the first search makes them")
    if not path.exists():
        return none
    from callslip.routing.kept_vectors import begun, damaged  # noqa: PLC0415

    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            sound = db.execute("pragma quick_check(1)").fetchone()[0]
            if sound == "ok" and not begun(db):
                return none
            (many,) = db.execute("select count(*) from vector").fetchone()
    except (sqlite3.Error, OSError) as error:
        if not damaged(error):
            return warn("tool vectors", f"{path.name} can't be used now ({error}): it is left alone, {_MEMORY}")
        sound, many = str(error), 0
    if sound != "ok":
        return warn("tool vectors", f"{path.name} can't be used ({sound}): {_ANEW}, and nothing is missing")
    return ok("tool vectors", f"{path.name} can be used, {many:,} of them, {_size(path)}")


def _size(path: Path) -> str:
    size = path.stat().st_size
    return f"{size / (1 << 20):.1f} MiB" if size >= 1 << 20 else f"{size / 1024:.0f} KiB"
