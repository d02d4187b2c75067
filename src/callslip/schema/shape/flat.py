"""One schema without `$ref` and `allOf` at its top: what they say is merged in.

Merging is exact or *weaker*, never stricter: what two parts say about one property becomes an `allOf` for later, and
what can't be said by one keyword is kept as a note. So whatever the canonical schema accepts, the merged one does.
"""

import json
from typing import Any, Final

import msgspec

ANNOTATIONS: Final = ("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly")
INTERNAL: Final = frozenset({"$ref", "allOf", "anyOf", "oneOf", "required", "const"})
MAPS: Final = ("properties", "patternProperties", "dependentSchemas")
LOWEST: Final = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"})
HIGHEST: Final = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"})


class Flat(msgspec.Struct, kw_only=True):
    """A schema being put together; its containers are its own, what is inside them is the document's."""

    keywords: dict[str, Any]
    required: dict[str, None]
    unions: list[list[Any]]
    """Each anyOf or oneOf: a value has one of the forms of every list."""
    notes: list[tuple[str, Any]]
    """What would be lost: keyword and value."""
    never: bool = False
    """No value at all is valid."""
    unknown: str = ""
    """A reference in it that could not be followed."""
    recursive: str = ""
    """A reference in it to a schema that this one stands in."""
    through: tuple[str, ...] = ()
    """The references that were followed to get here."""


def own(node: dict[str, Any]) -> Flat:
    """The schema's own keywords, without what it refers to."""
    flat = Flat(
        keywords={key: value for key, value in node.items() if key not in INTERNAL},
        required=dict.fromkeys(name for name in _list(node.get("required")) if isinstance(name, str)),
        unions=[forms for word in ("anyOf", "oneOf") if isinstance(forms := node.get(word), list) and forms],
        notes=[],
    )
    if isinstance(flat.keywords.get("type"), list | str):
        flat.keywords["type"] = types_of(flat.keywords["type"])
    else:
        flat.keywords.pop("type", None)
    values = flat.keywords.get("enum")
    if not isinstance(values, list):
        flat.keywords.pop("enum", None)
    if "const" in node:
        _choose(flat, [node["const"]])
    for word in MAPS:
        if isinstance(flat.keywords.get(word), dict):
            flat.keywords[word] = dict(flat.keywords[word])
    return flat


def annotations(node: dict[str, Any]) -> Flat:
    """Only what doesn't constrain."""
    kept: dict[str, Any] = {key: node[key] for key in ANNOTATIONS if key in node}
    return Flat(keywords=kept, required={}, unions=[], notes=[])


def never() -> Flat:
    """The schema that nothing is valid by."""
    return Flat(keywords={}, required={}, unions=[], notes=[], never=True)


def merge(into: Flat, other: Flat) -> None:
    """Make `into` say what both say; where only one can stand, such as the description, the one it has stays."""
    into.never = into.never or other.never
    into.unknown = into.unknown or other.unknown
    into.recursive = into.recursive or other.recursive
    into.through += other.through
    into.required.update(other.required)
    into.unions.extend(other.unions)
    into.notes.extend(other.notes)
    for key, value in other.keywords.items():
        if key not in into.keywords and key != "enum":
            into.keywords[key] = dict(value) if key in MAPS and isinstance(value, dict) else value
        elif key == "type":
            both = _common_types(into.keywords["type"], value)
            into.keywords["type"] = both
            into.never = into.never or not both
        elif key == "enum":
            _choose(into, value)
        elif key in MAPS and isinstance(value, dict) and isinstance(into.keywords[key], dict):
            for name, schema in value.items():
                into.keywords[key][name] = _both(into.keywords[key].get(name, True), schema)
        else:
            _settle(into, key, value)


def types_of(said: Any) -> tuple[str, ...]:
    """A `type` keyword as a tuple of names, each once."""
    return tuple(dict.fromkeys(name for name in ([said] if isinstance(said, str) else said) if isinstance(name, str)))


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: 1 is not true, and 1.0 counts as another value than 1, which only ever keeps both."""
    return one is other or identity(one) == identity(other)


def identity(value: Any) -> str:
    """A text that equal values share."""
    return json.dumps(value, sort_keys=True)


def _choose(flat: Flat, values: list[Any]) -> None:
    """Of an enum, keep what another one also has."""
    old = flat.keywords.get("enum")
    if not isinstance(old, list):
        flat.keywords["enum"] = values
        return
    # By value, as JSON Schema compares: 1 and 1.0 are one number there.
    known = {_comparable(value) for value in values}
    flat.keywords["enum"] = [value for value in old if _comparable(value) in known]
    flat.never = flat.never or not flat.keywords["enum"]


def _comparable(value: Any) -> Any:
    return identity(value) if isinstance(value, dict | list) else (isinstance(value, bool), value)


def _settle(into: Flat, key: str, value: Any) -> None:
    old = into.keywords[key]
    if key in ANNOTATIONS:
        return
    if key in {"additionalProperties", "items", "additionalItems", "unevaluatedProperties"} and not (
        isinstance(old, list) or isinstance(value, list)
    ):
        into.keywords[key] = _both(old, value)
    elif key == "nullable":
        into.keywords[key] = old is True or value is True
    elif key in LOWEST | HIGHEST and _number(old) and _number(value):
        into.keywords[key] = max(old, value) if key in LOWEST else min(old, value)
    elif not same(old, value):
        into.notes.append((key, value))


def _both(one: Any, other: Any) -> Any:
    if one is True or one == {}:
        return other
    if other is True or other == {} or one is other:
        return one
    if one is False or other is False:
        return False
    return {"allOf": [one, other]}


def _common_types(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    both = [name for name in one if name in other or (name == "integer" and "number" in other)]
    both += [name for name in other if name == "integer" and "number" in one and name not in both]
    return tuple(both)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
