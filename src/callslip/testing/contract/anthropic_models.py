"""What Anthropic's models differ in: which settings each refuses with a 400, as of 2026-11.

Sources: Anthropic docs, "Thinking > Troubleshooting thinking", "Models > What's new in Claude Opus 5.5", "Preserved
thinking > Prefix checks", "Mid-conversation system messages", and the issues named at the rules. A model whose name
tells no line and version keeps none of these rules: a test may call its model what it likes.
"""

from __future__ import annotations

import re

import msgspec

_NAME = re.compile(r"(?:^|[./])claude-([a-z]+)-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_ALWAYS_THINKING = ("fable", "mythos")


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A model's line and version, and what follows from them."""

    line: str = ""
    """``opus``, ``sonnet``, ``haiku``, ``fable`` or ``mythos``; "" where the name doesn't tell."""
    version: tuple[int, int] = (0, 0)

    @property
    def known(self) -> bool:
        return bool(self.line)

    @property
    def takes_prefill(self) -> bool:
        return self.version < (4, 6)

    @property
    def takes_sampling(self) -> bool:
        """Whether ``temperature``, ``top_p`` and ``top_k`` may be other than their defaults."""
        return self.version < (4, 7)

    @property
    def takes_one_sampling_setting(self) -> bool:
        """Whether ``temperature`` and ``top_p`` exclude each other."""
        return (4, 1) <= self.version < (4, 7)

    @property
    def takes_forced_choice(self) -> bool:
        return self.line not in _ALWAYS_THINKING and self.version < (5, 5)

    @property
    def takes_system_role(self) -> bool:
        if not self.known:
            return True
        return self.version >= {"opus": (4, 8), "sonnet": (5, 5), "haiku": (5, 5)}.get(self.line, (5, 0))

    @property
    def binds_thinking(self) -> bool:
        """Whether a thinking block holds only while nothing before it has changed."""
        return self.version >= ((5, 1) if self.line in _ALWAYS_THINKING else (5, 5))

    @property
    def thinks_unasked(self) -> bool:
        return self.version >= (5, 0)

    @property
    def knows_search(self) -> bool:
        """Whether tools may be deferred until a search finds them (Anthropic docs, "Tool search tool")."""
        return not self.known or self.version >= (4, 5)

    def refuses_thinking(self, kind: str, effort: str) -> str:
        """Why ``thinking.type`` may not be ``kind``, or ""."""
        if not self.known:
            return ""
        if kind == "enabled" and self.version >= (4, 7):
            return (
                '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
                '"output_config.effort" to control thinking behavior.'
            )
        if kind == "adaptive" and self.version < (4, 6):
            return "adaptive thinking is not supported on this model"
        if kind == "between_tools" and not (self.line == "sonnet" and self.version >= (5, 5)):
            return '"thinking.type.between_tools" is not supported for this model.'
        if kind == "disabled" and self._never_stops_thinking(effort):
            return (
                '"thinking.type.disabled" is not supported for this model. Use "thinking.type.adaptive" and '
                '"output_config.effort" to control thinking behavior.'
            )
        return ""

    def _never_stops_thinking(self, effort: str) -> bool:
        if self.line in _ALWAYS_THINKING:
            return True
        if self.version >= (5, 5) and self.line in ("opus", "sonnet"):
            return True
        return self.version >= (5, 0) and effort in ("xhigh", "max")


def model_of(name: object) -> Model:
    """The model behind a name such as ``claude-opus-5-5`` or ``claude-sonnet-4-5-20250929``."""
    found = _NAME.search(name) if isinstance(name, str) else None
    if found is None:
        return Model()
    return Model(line=found[1], version=(int(found[2]), int(found[3] or 0)))
