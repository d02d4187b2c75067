"""Which bound tools have to be found before they can be called (DEFR-01). Pure."""

from __future__ import annotations

from collections.abc import Sequence

from callslip.core.counting import SEARCH
from callslip.core.routing import Routing
from callslip.core.tool import ToolSpec
from callslip.errors import ToolDefinitionError


def deferred(specs: Sequence[ToolSpec], routing: Routing) -> frozenset[str]:
    """Names of the tools that are not shown until they are found.

    Raises:
        ToolDefinitionError: a name that is to be pinned is not bound.
    """
    bound = {spec.name for spec in specs}
    for name in routing.pinned:
        if name == SEARCH and name not in bound:
            raise ToolDefinitionError(
                f"{SEARCH!r} is to be pinned. Models are shown it by itself wherever there is anything to find, and "
                "nobody binds it. Nothing was started. Take it out of `pinned` in [routing]."
            )
        if name not in bound:
            raise ToolDefinitionError(
                f"The tool {name!r} is to be pinned and is not bound. Nothing was started. Correct `pinned` in "
                "[routing], or bind it."
            )
    if routing.defer == "none":
        return frozenset()
    callable_ = [spec for spec in specs if "model" in spec.callable_from and spec.name != SEARCH]
    every = routing.defer == "all" or (routing.defer == "auto" and len(callable_) > routing.more_than)
    return frozenset(
        spec.name for spec in callable_ if (every or spec.deferred) and spec.name not in routing.pinned
    )  # fmt: skip
