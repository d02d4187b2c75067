"""What a project decides about which tools a model is shown, and which it has to find (DEFR-01 to DEFR-05)."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

SELECT = "select:"
"""A query that begins so names tools, separated by commas, and finds exactly these."""
_PRESELECTED = 5
_FOR_ONE = 4
"""Deferred tools for each one that ``auto`` preselects."""
_MOST = 10_000


Defer = Literal["declared", "auto", "all", "none"]


def selects(query: str) -> bool:
    """Whether the query names tools."""
    return query.strip().casefold().startswith(SELECT)


class Routing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a project may set in ``[routing]`` of callslip.toml."""

    defer: Defer = "declared"
    """Which tools are found by search instead of shown from the start: those that declare it, all from so many tools on
    (``more_than``), all, or none. Pinned ones never."""
    more_than: int = 40
    """With ``defer = "auto"``: up to so many tools, those that declare it are deferred and no others."""
    pinned: tuple[str, ...] = ()
    """Names of tools that are shown in every step."""
    tools: int = 20
    """How many found tools a turn may show besides the pinned ones."""
    tokens: int = 12_000
    """How large their schemas may be together, in tokens, four bytes of JSON each."""
    offers: int = 8
    """How many tools one search gives at most."""
    searches: int = 10
    """How many searches a turn may make, unless ``[budgets.turn]`` says so."""
    preselect: int | Literal["off", "auto"] = "auto"
    """How many tools that fit what was said are shown without being searched for. ``auto``: one for every four that are
    deferred, five at most."""
    inventory: int = 4_000
    """Bytes of the system prompt that list what can be found; 0: nothing is listed."""
    embedder: str = "auto"
    """What compares by meaning: ``local`` (needs callslip[vectors]), ``openai:NAME`` (an endpoint for embeddings),
    ``off``; ``auto``: ``local`` where that is installed."""

    def __post_init__(self) -> None:
        if self.defer not in get_args(Defer):
            raise ValueError(f"defer is one of {', '.join(get_args(Defer))}")
        names: object = self.pinned
        if isinstance(names, str):
            raise ValueError("pinned is a list of names")  # noqa: TRY004 - as of any other setting
        number = isinstance(self.preselect, int) and not isinstance(self.preselect, bool)
        if not number and self.preselect not in {"off", "auto"}:
            raise ValueError(f'preselect is "off", "auto", or a number from 0 to {_MOST:,}')
        if isinstance(self.preselect, int) and not 0 <= self.preselect <= _MOST:
            raise ValueError(f'preselect is "off", "auto", or a number from 0 to {_MOST:,}')
        if min(self.tools, self.tokens, self.offers) < 1:
            raise ValueError("tools, tokens and offers are at least 1")
        if min(self.more_than, self.searches, self.inventory) < 0:
            raise ValueError("more_than, searches and inventory are not negative")
        kind, _, name = self.embedder.partition(":")
        if self.embedder not in {"auto", "off", "local"} and not (kind == "openai" and name):
            raise ValueError('embedder is "auto", "off", "local", or "openai:" and the name of a model')

    def preselected(self, deferred: int) -> int:
        """How many tools are preselected where so many are deferred."""
        if isinstance(self.preselect, int):
            return self.preselect
        return 0 if self.preselect == "off" else min(_PRESELECTED, deferred // _FOR_ONE)
