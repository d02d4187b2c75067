"""Addresses of model servers."""

from __future__ import annotations

from urllib.parse import urlsplit


def is_address(url: str) -> bool:
    """Whether it is a full http or https address; spaces around it do no harm."""
    url = url.strip()
    if not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
