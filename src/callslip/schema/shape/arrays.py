"""The items of an array as one schema for all of them, since no provider's strict form knows positions."""

from typing import Any


def items_of(keywords: dict[str, Any]) -> tuple[Any, list[tuple[str, Any]]]:
    """A schema that every item is valid by, and what it doesn't say."""
    listed = keywords.get("items")
    prefix = listed if isinstance(listed, list) else keywords.get("prefixItems")
    if not isinstance(prefix, list) or not prefix:
        return (True if isinstance(listed, list) or listed is None else listed), []
    rest = keywords.get("additionalItems", True) if isinstance(listed, list) else keywords.get("items", True)
    most = keywords.get("maxItems")
    capped = rest is False or (type(most) is int and most <= len(prefix))
    notes: list[tuple[str, Any]] = [("items", prefix)] if isinstance(listed, list) else []
    if not capped and rest in (True, {}):
        return True, notes
    if rest is False:
        notes.append(("maxItems", len(prefix)))
    forms = prefix if capped else [*prefix, rest]
    return {"anyOf": forms}, notes
