"""Wire aliases: names a provider accepts, for tools whose own names it refuses, and the way back.

A provider limits the characters and the length of tool names, and may keep some for itself; tools come from MCP
servers and modules with dots, slashes and long paths. An alias is made of the name alone: its legal characters and
a digest of the whole name, so that two processes, and two runs months apart, make the same one, and ``a.b`` and
``a_b`` never meet. A legal name is its own alias, unless it *looks* like an alias; then it gets one too, so that a
tool can't take the place of another by bearing its alias as a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from callslip.core.alias import DIGEST_LENGTH, digest, digest_in


class WireRule(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider accepts as a tool's name."""

    characters: str
    """The inside of a regular expression's character class."""
    longest: int
    """Characters; at least 16, so that an alias has room."""
    reserved: frozenset[str] = frozenset()
    """Legal names the provider keeps for tools of its own."""
    first: str = ""
    """What the first character may be, as ``characters``; empty: any of them. An underscore is always among them."""

    def allows(self, name: str) -> bool:
        """Whether the provider takes this very name."""
        legal = re.fullmatch(f"[{self.characters}]{{1,{self.longest}}}", name)
        begins = not self.first or re.match(f"[{self.first}]", name) is not None
        return legal is not None and begins and name not in self.reserved


CHAT = WireRule(characters="A-Za-z0-9_-", longest=64)
"""Chat Completions: the documented rule of ``tools[].function.name``."""

RESPONSES = WireRule(
    characters="A-Za-z0-9_-",
    longest=64,
    reserved=frozenset(
        {"api_tool", "browser", "computer", "container", "file_search", "functions", "image_gen", "multi_tool_use"}
        | {"python", "python_user_visible", "submodel_delegator", "terminal", "tool_search", "web", "web_search"}
    ),
)
"""Responses: the same, without the names of OpenAI's own tools and namespaces: one function of such a name fails the
whole request (github.com/UKGovernmentBEIS/inspect_ai/issues/1784 for ``python``, github.com/NousResearch/hermes-agent/
issues/83122 for ``tool_search``, github.com/openai/codex/pull/20724 for the list). ``web_search`` is refused by others
that speak the format (github.com/earendil-works/pi/issues/8661).
"""
GEMINI = WireRule(characters="A-Za-z0-9_.:-", longest=64, first="A-Za-z_")
"""Gemini, in the words of its refusal: "Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or contain
underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64" (github.com/kaitranntt/ccs/
issues/25).
"""

ANTHROPIC = WireRule(characters="A-Za-z0-9_-", longest=64)
"""Messages: the documented rule of ``tools[].name``. The API itself takes 128 characters (github.com/anthropics/
claude-code/issues/96152); servers that copied it, and Bedrock, take 64.
"""


class Aliases:
    """The names of one request and how they stand on the wire: one to one, the same at every run."""

    def __init__(self, names: Iterable[str], rule: WireRule) -> None:
        self._rule = rule
        self._wires: dict[str, str] = {}
        self._tools: dict[str, str] = {}
        # Sorted, so that even two names with one digest are told apart the same way whatever their order here.
        for name in sorted(set(names)):
            wire = self.wire(name)
            self._wires[name] = wire
            self._tools[wire] = name

    def wire(self, name: str) -> str:
        """The name to send. Any string at all may be asked for, bound or only seen in the history."""
        known = self._wires.get(name)
        if known is not None:
            return known
        if self._rule.allows(name) and not digest_in(name):
            return name
        attempt = 0
        while True:
            alias = _alias(name, self._rule, attempt)
            if alias not in self._tools and alias not in self._rule.reserved:
                return alias
            attempt += 1

    def tool(self, wire: str) -> str | None:
        """The name given at construction that goes by ``wire``, or None."""
        return self._tools.get(wire)


def _alias(name: str, rule: WireRule, attempt: int) -> str:
    legible = re.sub(f"[^{rule.characters}]", "_", name) or "tool"
    if rule.first and not re.match(f"[{rule.first}]", legible):
        legible = f"_{legible}"
    legible = legible[: rule.longest - DIGEST_LENGTH - 1]
    return f"{legible}_{digest(name, attempt)}"
