"""Which servers are OpenAI's own: they know fields that others refuse, and want some that others don't know."""

from __future__ import annotations

from urllib.parse import urlsplit

_OPENAI = "api.openai.com"
_BELOW = (".api.openai.com", ".openai.azure.com", ".openai.azure.us")
"""Regions (OpenAI docs, "Your data" > "Data residency controls"), and Azure's resources."""


def is_openais_own(base_url: str) -> bool:
    """By the address alone; a gateway in front of OpenAI looks like any other server."""
    try:
        host = urlsplit(base_url.strip()).hostname or ""
    except ValueError:
        return False
    return host == _OPENAI or host.endswith(_BELOW)
