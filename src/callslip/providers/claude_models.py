"""What Anthropic's models differ in, told by their names, as of 2026-11.

A request that asks a model for what it does not have is refused as a whole, so each of these is known before. Sources:
Anthropic docs, "Thinking > Troubleshooting thinking" (which form each model takes, and which can't be without), "What's
new in Claude Opus 5.5", "... Sonnet 5.5" and "... Haiku 5.5" (forced tools, temperature), "Preserved thinking > Prefix
checks", "Structured outputs", "Tool search tool > Model compatibility". A name that tells no version, such as a
gateway's own, is asked for no more than every Claude takes, as far as there is such a thing; one that isn't Claude's is
for a server that copied the API.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

_NEW = re.compile(r"(?:^|[./])claude-([a-z]+)-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_OLD = re.compile(r"(?:^|[./])claude-(\d)(?:[-.](\d))?-([a-z]+)")
_ALWAYS_THINKING = ("fable", "mythos")
_LINE = re.compile(r"(?:^|[./])claude-(fable|mythos)-")
"""``claude-mythos-preview``, which has no number."""
MAX_TOKENS = 16_384


class Claude(msgspec.Struct, frozen=True, kw_only=True):
    """A model's line and version, and what follows from them."""

    line: str = ""
    """``opus``, ``sonnet``, ``haiku``, ``fable``, ``mythos`` …; empty where the name doesn't tell."""
    version: tuple[int, int] = (0, 0)
    named: bool = False
    """Whether it is called Claude at all."""

    @property
    def max_tokens(self) -> int:
        """What is asked for where nobody says: the API demands a number, and the oldest models take less."""
        if not self.line or self.version >= (3, 7):
            return MAX_TOKENS
        return 8192 if self.version >= (3, 5) else 4096

    @property
    def thinking(self) -> Literal["none", "budget", "adaptive"]:
        """How it is asked to think. Servers that copied the API copied the older form."""
        if not self.line:
            return "adaptive" if self.named else "budget"
        if self.version >= (4, 6):
            return "adaptive"
        return "budget" if self.version >= (3, 7) else "none"

    @property
    def thinks_unasked(self) -> bool:
        return not self.line or self.version >= (5, 0)

    @property
    def always_thinks(self) -> bool:
        """Whether to turn its thinking off is refused. Sonnet's "between_tools" is not used: it can't be joined with
        ``block_binding``, without which a change of tools in the middle of a turn ends the conversation.
        """
        return self.line in _ALWAYS_THINKING or (self.line in ("opus", "sonnet") and self.version >= (5, 5))

    @property
    def binds_thinking(self) -> bool:
        """Whether a thinking block holds only while nothing before it has changed."""
        return bool(self.line) and self.version >= ((5, 1) if self.line in _ALWAYS_THINKING else (5, 5))

    @property
    def takes_forced_choice(self) -> bool:
        if not self.line:
            return not self.named
        return self.line not in _ALWAYS_THINKING and self.version < (5, 5)

    @property
    def takes_temperature(self) -> bool:
        if not self.line:
            return not self.named
        return self.version < (4, 7)

    @property
    def knows_strict(self) -> bool:
        """Whether tools may say ``strict``. Other servers refuse fields that they don't know."""
        return self.version >= (4, 5) or (self.line == "opus" and self.version >= (4, 1))

    @property
    def knows_search(self) -> bool:
        """Whether tools may be deferred until a search finds them."""
        return bool(self.line) and self.version >= (4, 5)


def claude(name: str) -> Claude:
    """The model behind a name such as ``claude-opus-5-5`` or ``anthropic/claude-sonnet-4.5``."""
    named = "claude" in name
    new, old = _NEW.search(name), _OLD.search(name)
    if new is not None:
        return Claude(line=new[1], version=(int(new[2]), int(new[3] or 0)), named=True)
    if old is not None:
        return Claude(line=old[3], version=(int(old[1]), int(old[2] or 0)), named=True)
    unversioned = _LINE.search(name)
    if unversioned is not None:
        return Claude(line=unversioned[1], version=(5, 0), named=True)
    return Claude(named=named)
