"""Read JSON that may be anything: what is of another type than it should be counts as not there."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from callslip.core import canon


def as_object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def as_count(value: Any) -> int:
    """A count of tokens; what is none is 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def id_in(item: dict[str, Any], key: str = "id") -> str:
    """An id, exactly; "" where it is missing, blank or no text."""
    found = as_text(item.get(key))
    return found if found.strip() else ""


def join_text(pieces: Iterable[str]) -> str:
    """The pieces as one text. Halves of a surrogate pair that came in two pieces become the one character."""
    text = "".join(pieces)
    if not canon.has_surrogate(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def object_in(text: str | bytes) -> dict[str, Any] | None:
    """The one JSON object that a text is; ``None`` when it is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
