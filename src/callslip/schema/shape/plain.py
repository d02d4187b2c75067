"""Which values inside a schema travel unchanged: plain ones, and numbers that a 64-bit float holds exactly.

A server that reads JSON by floats would turn an enum's 9007199254740993 into another number, so such a value is told
in words, digit for digit.
"""

import json
import math
from typing import Any, Final

from callslip.schema.field_error import short_list

LARGEST: Final = 2**53 - 1
TYPES: Final = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})
KINDS: Final = {type(None): "null", bool: "boolean", int: "integer", str: "string", list: "array", dict: "object"}
MOST_VALUES: Final = 1000
"""Of one enum; OpenAI's limit, and more than any prompt should hold. The first of a longer one are told."""
MOST_DEFAULT: Final = 300
"""Characters of a default as JSON; a longer one is described."""
COUNTS: Final = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"})


def plain_enum(keywords: dict[str, Any], *, strings: bool) -> tuple[list[Any] | None, list[tuple[str, Any]]]:
    """The enum to send, or None and what to say instead."""
    values = keywords.get("enum")
    if values is None:
        return None, []
    if len(values) > MOST_VALUES:
        plain = False
    elif strings:
        plain = all(value is None or isinstance(value, str) for value in values)
    else:
        plain = all(value is None or isinstance(value, str | bool) or exact(value) for value in values)
    if plain:
        return list(values), []
    return None, [("", f"one of: {', '.join(short_list(values))}")]


def fitting(values: list[Any] | None, name: str) -> list[Any] | None:
    """The values of an enum that are of a type."""
    return None if values is None else [value for value in values if _is(value, name)]


def types_with(keywords: dict[str, Any]) -> tuple[str, ...] | None:
    """The types that values can have, by type and enum together; None when nothing is said of it."""
    given = keywords.get("type")
    given = tuple(name for name in given if name in TYPES) if given else None
    values = keywords.get("enum")
    if values is None:
        return given
    kinds = dict.fromkeys(map(_kind, values))
    if given is None:
        return tuple(kinds)
    return tuple(name for name in given if name in kinds or (name == "number" and "integer" in kinds))


def exact(value: Any) -> bool:
    """Whether a number is the same number after a round trip through a 64-bit float and any JSON library."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and abs(value) <= LARGEST


def sendable(word: str, value: Any) -> bool:
    """Whether a keyword's value is what the keyword takes, and survives the way."""
    if word == "uniqueItems":
        return isinstance(value, bool)
    if word == "format":
        return isinstance(value, str)
    if word == "default":
        return value is not None and _small(value)
    if word in COUNTS:
        return exact(value) and value >= 0 and float(value).is_integer()
    return exact(value)


def _small(value: Any) -> bool:
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, dict | list):
            stack.extend(part.values() if isinstance(part, dict) else part)
        elif part is not None and not isinstance(part, str | bool) and not exact(part):
            return False
    return len(json.dumps(value)) <= MOST_DEFAULT


def _kind(value: Any) -> str:
    if type(value) is float:
        return "integer" if value.is_integer() else "number"
    return KINDS[type(value)]


def _is(value: Any, name: str) -> bool:
    kind = _kind(value)
    return kind == name or (kind == "integer" and name == "number")
