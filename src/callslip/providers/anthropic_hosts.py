"""Which server is Anthropic's own: it knows fields that servers and gateways which copied its API may refuse."""

from __future__ import annotations

from urllib.parse import urlsplit

_ANTHROPIC = "api.anthropic.com"


def is_anthropics_own(base_url: str) -> bool:
    """By the address alone; a gateway in front of Anthropic looks like any other server."""
    try:
        return urlsplit(base_url.strip()).hostname == _ANTHROPIC
    except ValueError:
        return False
