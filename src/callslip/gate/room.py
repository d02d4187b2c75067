"""What schemas take of every request, and which tools there is never room for (DEFR-02). Pure."""

from __future__ import annotations

import msgspec

from callslip.core.activation import Found
from callslip.core.routing import Routing
from callslip.gate.catalogue import Catalogue


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What every request shows, before anything is found."""

    tools: int
    tokens: int


def never_shown(catalogue: Catalogue, routing: Routing) -> tuple[Found, ...]:
    """Tools that can be found and never shown: each alone takes more than a turn has for all of them."""
    found = (catalogue.found(entry.executor.spec.name) for entry in catalogue.discoverable)
    return tuple(one for one in found if one.tokens > routing.tokens)


def always_shown(catalogue: Catalogue) -> Shown:
    """The pinned tools, and all others that nobody has to find."""
    found = [catalogue.found(tool.name) for tool in catalogue.visible()]
    return Shown(tools=len(found), tokens=sum(one.tokens for one in found))


def told(one: Found, routing: Routing) -> str:
    """What is wrong with a tool that is never shown, and what helps."""
    return (
        f"can be found and never shown: its schema takes about {one.tokens:,} tokens, and a turn has "
        f"{routing.tokens:,} for all found tools. Raise `tokens` in [routing], pin it, or shorten its description and "
        "schema"
    )
