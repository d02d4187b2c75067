"""Null beside what a shaped part takes already."""

from typing import Any, Final

from callslip.schema.shape.flat import types_of

NULL: Final[dict[str, Any]] = {"type": "null"}


def nullable(schema: dict[str, Any], *, enums: bool = True) -> dict[str, Any]:
    """The same, or null; `enums` says whether an enum may hold null."""
    if is_open(schema) or takes_null(schema):
        return schema
    if "anyOf" in schema:
        return schema | {"anyOf": [*schema["anyOf"], NULL]}
    if "$ref" in schema or ("enum" in schema and not enums):
        inner = {key: value for key, value in schema.items() if key != "description"}
        outer: dict[str, Any] = {"anyOf": [inner, NULL]}
        return outer | ({"description": schema["description"]} if "description" in schema else {})
    changed = schema | {"type": [*types_of(schema["type"]), "null"]}
    if "enum" in schema:
        changed["enum"] = [*schema["enum"], None]
    return changed


def takes_null(schema: dict[str, Any]) -> bool:
    """Whether null is among what a shaped part says that it takes."""
    return "null" in types_of(schema.get("type", ())) or any(takes_null(form) for form in schema.get("anyOf", ()))


def is_open(schema: dict[str, Any]) -> bool:
    """Whether a shaped part names no type, and so takes values of every one."""
    return not schema.keys() & {"type", "anyOf", "$ref"}


def joined(forms: list[dict[str, Any]], *, enums: bool) -> dict[str, Any]:
    """A union of forms; a plain type or null as a list of types: shorter, and more templates can print it."""
    if len(forms) == 1:
        return forms[0]
    if len(forms) == 2 and NULL in forms:
        (real,) = (form for form in forms if form != NULL)
        plain = isinstance(real.get("type"), str) and real["type"] not in {"object", "array"}
        if plain and (enums or "enum" not in real):
            return nullable(real)
    return {"anyOf": forms}
