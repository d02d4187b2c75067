"""How large a shaped schema is, in the measures that vendors limit strict schemas by."""

from collections.abc import Iterator
from typing import Any

import msgspec

from callslip.schema.shape.dialect import Dialect, Limits


class Size(msgspec.Struct, kw_only=True):
    """What one shaped schema uses of its limits."""

    properties: int = 0
    enum_values: int = 0
    longest_enum: int = 0
    """Characters of the largest enum among those that have more values than are let pass unmeasured."""
    names: int = 0
    optional: int = 0
    unions: int = 0


def size_of(schema: dict[str, Any], limits: Limits = Limits()) -> Size:  # noqa: B008  # frozen
    """Measure a shaped schema; each part under `$defs` counts once."""
    size = Size(names=sum(map(len, schema.get("$defs", ()))))
    for part in parts_of(schema):
        properties = part.get("properties", {})
        size.properties += len(properties)
        size.names += sum(map(len, properties))
        size.optional += len(properties) - len(part.get("required", ()))
        size.unions += "anyOf" in part or isinstance(part.get("type"), list)
        values = part.get("enum", ())
        characters = sum(len(value) for value in values if isinstance(value, str))
        size.names += characters
        size.enum_values += len(values)
        if limits.long_enum and len(values) > limits.long_enum[0]:
            size.longest_enum = max(size.longest_enum, characters)
    return size


def reasons(schema: dict[str, Any], dialect: Dialect) -> Iterator[str]:
    """Why a schema in strict form is still refused: it is too large, or refers to itself."""
    limits = dialect.limits
    size = size_of(schema, limits)
    depth = _nesting(schema)
    if depth is None and not dialect.strict_recursion:
        yield "the schema refers to itself"
    measured = (
        ("properties", size.properties, limits.properties),
        ("levels of nesting", depth or 0, limits.nesting),
        ("enum values", size.enum_values, limits.enum_values),
        ("characters in one long enum", size.longest_enum, limits.long_enum[1] if limits.long_enum else None),
        ("characters in names and enums", size.names, limits.names),
        ("optional properties", size.optional, limits.optional),
        ("properties with several types", size.unions, limits.unions),
    )
    for what, used, most in measured:
        if most is not None and used > most:
            yield f"the schema has {used:,} {what}, and the limit is {most:,}"


def parts_of(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A shaped schema and all schemas in it."""
    stack = [schema]
    while stack:
        part = stack.pop()
        yield part
        stack.extend(_below(part))
        stack.extend(part.get("$defs", {}).values())


def _below(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from part.get("properties", {}).values()
    yield from part.get("anyOf", ())
    for word in ("items", "additionalProperties"):
        if isinstance(part.get(word), dict):
            yield part[word]


def _nesting(schema: dict[str, Any]) -> int | None:
    """How many objects and arrays stand inside each other, through references; None when that never ends."""
    known: dict[str, int | None] = {}

    def deep(part: dict[str, Any]) -> int | None:
        reference = part.get("$ref")
        if reference is not None:
            if reference not in known:
                known[reference] = None  # met again before it is known: it stands in itself
                known[reference] = deep(schema["$defs"][reference.removeprefix("#/$defs/")])
            return known[reference]
        below = [deep(inner) for inner in _below(part)]
        if None in below:
            return None
        own = "object" in part.get("type", ()) or "array" in part.get("type", ())
        return max((level for level in below if level is not None), default=0) + own

    return deep(schema)
