"""What a ranker knows of a tool: the words that describe it, and nothing that runs it (DEFR-04)."""

from __future__ import annotations

import hashlib

import msgspec


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as search sees it."""

    id: str
    """Unique in the registry; what search gives back."""
    name: str
    """As the model writes it; tools of two servers may share it."""
    server: str = ""
    description: str = ""
    parameters: tuple[tuple[str, str], ...] = ()
    """Names and descriptions."""
    tags: tuple[str, ...] = ()
    version: str = ""
    """The tool's own version, where it has one. A change of any other field counts as a change too."""

    @property
    def identity(self) -> str:
        """SHA-256 of all fields, hex: what caches go by."""
        return hashlib.sha256(msgspec.msgpack.encode(_plain(self))).hexdigest()


def _plain(card: Card) -> list[object]:
    texts = [card.id, card.name, card.server, card.description, card.version]
    return [
        [_bytes(text) for text in texts],
        [[_bytes(name), _bytes(what)] for name, what in card.parameters],
        [_bytes(tag) for tag in card.tags],
    ]


def _bytes(text: str) -> bytes:
    """A lone surrogate has no UTF-8; it must not stop a tool from being indexed."""
    return text.encode("utf-8", "surrogatepass")
