"""Tools that Claude finds: their definitions, which stand in each request, and the references that load them.

Anthropic docs, "Tool use > Tool search tool", as of 2026: a search of one's own is an ordinary tool whose result holds
``tool_reference`` blocks ("Custom tool search implementation"); what they name is defined in ``tools`` with
``defer_loading``, in every request; the API leaves these definitions out of what it caches and puts each in the place
of its reference ("Deferred tool loading"). A result holds references or other content, not both: see
``anthropic_content``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from callslip.ports.model import ToolView

MOST_DEFERRED = 10_000
"""The same page, "Limits"."""
MOST_BYTES = 16 * 1024 * 1024
"""Half of what a request may have (Anthropic docs, "API > Errors": 32 MB). The other half is the conversation's."""


class Definitions:
    """The definitions of deferred tools, each made once: a registry has thousands, and they stand in each request."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[ToolView, dict[str, Any], int]] = {}

    def of(
        self, found: Sequence[ToolView], others: Sequence[ToolView], make: Callable[[ToolView], dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Those of the tools that were found and of the ones that may be, by name: so that a tool's definition stays
        where it is when it is found. Where all together are too many or too large, the others are left out: the model
        needs them only once they are found.
        """
        every = sorted((*found, *others), key=lambda tool: tool.name)
        if len(every) <= MOST_DEFERRED:
            made = [self._definition(tool, make) for tool in every]
            if sum(size for _, size in made) <= MOST_BYTES:
                return [definition for definition, _ in made]
        return [self._definition(tool, make)[0] for tool in sorted(found, key=lambda tool: tool.name)]

    def _definition(self, tool: ToolView, make: Callable[[ToolView], dict[str, Any]]) -> tuple[dict[str, Any], int]:
        known = self._made.get(tool.name)
        if known is None or (known[0] is not tool and known[0] != tool):
            definition = {**make(tool), "defer_loading": True}
            known = tool, definition, len(json.dumps(definition, ensure_ascii=False).encode("utf-8", "replace"))
            self._made[tool.name] = known
        return known[1], known[2]


def reference(wire: str) -> dict[str, Any]:
    """A block that loads the tool of this name."""
    return {"type": "tool_reference", "tool_name": wire}
