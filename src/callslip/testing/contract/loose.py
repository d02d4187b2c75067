"""Reading JSON that may have any shape: what is not of the kind that is asked for is as good as empty."""

from __future__ import annotations

from typing import Any


def text_at(value: Any, key: str) -> str:
    """The text that ``value`` has under ``key``, or ""."""
    inside = value.get(key) if isinstance(value, dict) else None
    return inside if isinstance(inside, str) else ""


def object_at(value: Any, key: str) -> dict[str, Any]:
    inside = value.get(key) if isinstance(value, dict) else None
    return inside if isinstance(inside, dict) else {}


def list_at(value: Any, key: str) -> list[Any]:
    inside = value.get(key) if isinstance(value, dict) else None
    return inside if isinstance(inside, list) else []
