"""Every text of a JSON value changed in one way: spelled out, cleaned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def each_text(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with every text in it changed, keys too. Keys that become equal keep apart."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        changed: dict[str, Any] = {}
        for key, item in value.items():
            name = change(key)
            while name in changed:
                name += "'"
            changed[name] = each_text(item, change)
        return changed
    if isinstance(value, list | tuple):
        return [each_text(item, change) for item in value]
    return value
