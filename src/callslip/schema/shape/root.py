"""The root: always one object, as every provider demands, whatever union the canonical schema has there.

The forms of a union become one object with the properties of all of them, each optional unless every form requires
it; which belong together is told in words, and the canonical schema judges it.
"""

from typing import Any, Final

from callslip.schema.field_error import shorten
from callslip.schema.shape.flat import Flat, identity, merge, own
from callslip.schema.shape.limits import parts_of
from callslip.schema.shape.node import CONDITIONS, Walk
from callslip.schema.shape.notes import unsaid
from callslip.schema.shape.way import Place

MOST_FORMS: Final = 64


def root(walk: Walk, document: dict[str, Any]) -> tuple[dict[str, Any], Place]:
    """Shape the whole schema."""
    flat = walk.flatten(document, 0)
    if flat.unknown:
        walk.reason((), f"refers to {flat.unknown}, which can't be sent", loose=True)
    notes = list(flat.notes)
    forms = [form for form in _forms(walk, flat, notes, 0) if _may_be_object(form)]
    if not forms:
        walk.reason((), "can never be valid, as its schema accepts no object", loose=True)
        return {"type": "object", "properties": {}}, Place()
    whole = forms[0] if len(forms) == 1 else _joined(forms, notes)
    whole.keywords |= {key: flat.keywords[key] for key in ("title", "description") if key in flat.keywords}
    place = Place()
    kept = walk.kept_words(whole.keywords, ("object",))
    notes.extend(unsaid(whole.keywords, kept))
    schema: dict[str, Any] = {"type": "object"}
    schema |= walk.object(whole, place, notes, (), 0)
    schema |= {word: whole.keywords[word] for word in kept}
    if text := walk.words(whole.keywords, notes):
        schema["description"] = text
    defined = walk.definitions()
    if used := _used(schema, defined):
        schema["$defs"] = {name: defined[name] for name in defined if name in used}
    return schema, place


def _used(schema: dict[str, Any], defined: dict[str, Any]) -> set[str]:
    """The definitions that are still referred to: a union that takes everything in the end drops its forms."""
    used: set[str] = set()
    stack = [schema]
    while stack:
        for part in parts_of(stack.pop()):
            name = part.get("$ref", "").removeprefix("#/$defs/")
            if name and name not in used:
                used.add(name)
                stack.append(defined[name])
    return used


def _forms(walk: Walk, flat: Flat, notes: list[tuple[str, Any]], depth: int) -> list[Flat]:
    """The forms of the unions at the root, each with all that stands beside the union."""
    if not flat.unions:
        return [flat]
    first, *others = flat.unions
    notes.extend(("anyOf", forms) for forms in others)
    beside = {key: value for key, value in flat.keywords.items() if key not in {"title", "description"}}
    only_conditions = all(isinstance(form, dict) and form.keys() <= CONDITIONS for form in first)
    if only_conditions or len(first) > MOST_FORMS or depth > 4:
        notes.append(("anyOf", first))
        if not only_conditions:
            walk.reason((), "has more forms than can be sent", loose=True)
            beside.pop("additionalProperties", None)
            beside["patternProperties"] = {"": True}  # nobody knows what else there is, so it stays open
        return [Flat(keywords=beside, required=flat.required, unions=[], notes=[])]
    found: list[Flat] = []
    for form in first:
        if walk.spent(0):
            walk.reason((), "has more forms than can be sent", loose=True)
            found.append(own({"patternProperties": {"": True}}))
            break
        inner = walk.flatten(form, depth + 1)
        walk.spend(flat.required, beside.get("properties"), inner.keywords.get("properties"))
        merge(inner, Flat(keywords=dict(beside), required=dict(flat.required), unions=[], notes=[]))
        notes.extend(inner.notes)
        if inner.unknown:
            walk.reason((), f"refers to {inner.unknown}, which can't be sent", loose=True)
        found.extend(_forms(walk, inner, notes, depth + 1))
    return found


def _may_be_object(form: Flat) -> bool:
    types = form.keywords.get("type")
    values = form.keywords.get("enum")
    return not (form.never or (types and "object" not in types) or (values is not None and not _any_object(values)))


def _any_object(values: list[Any]) -> bool:
    return any(isinstance(value, dict) for value in values)


def _joined(forms: list[Flat], notes: list[tuple[str, Any]]) -> Flat:
    """One object that each of the forms is valid by."""
    joined = own({})
    joined.keywords["properties"] = _all_properties(forms)
    joined.required = {name: None for name in forms[0].required if all(name in form.required for form in forms)}
    for word in sorted({word for form in forms for word in form.keywords} - {"properties", "type"}):
        said = [form.keywords[word] for form in forms if word in form.keywords]
        if word not in {"additionalProperties", "patternProperties"} and len({identity(one) for one in said}) == 1:
            joined.keywords[word] = said[0]
    if any(_is_open(form) for form in forms):
        joined.keywords["additionalProperties"] = True
    elif all(form.keywords.get("additionalProperties") is False for form in forms):
        joined.keywords["additionalProperties"] = False
    notes.insert(0, ("", _told(forms)))
    return joined


def _all_properties(forms: list[Flat]) -> dict[str, Any]:
    properties: dict[str, list[Any]] = {}
    for form in forms:
        for name, schema in _properties(form).items():
            properties.setdefault(name, []).append(schema)
    for form in forms:
        if _is_open(form):
            for name in properties.keys() - _properties(form).keys():
                properties[name].append(True)  # this form takes anything under the name that another one describes
    return {name: _either(schemas) for name, schemas in properties.items()}


def _is_open(form: Flat) -> bool:
    """Whether the form says itself that it takes properties that it doesn't name."""
    return form.keywords.get("additionalProperties", False) is not False or bool(form.keywords.get("patternProperties"))


def _either(schemas: list[Any]) -> Any:
    distinct = {identity(schema): schema for schema in schemas}
    return schemas[0] if len(distinct) == 1 else {"anyOf": list(distinct.values())}


def _properties(form: Flat) -> dict[str, Any]:
    declared = form.keywords.get("properties")
    return declared if isinstance(declared, dict) else {}


def _told(forms: list[Flat]) -> str:
    sets = []
    for form in forms:
        names = list(form.required) or [f"{name}?" for name in _properties(form)]
        sets.append("{" + ", ".join(shorten(name, 40) for name in names[:12]) + ("…" if len(names) > 12 else "") + "}")
    return "give one of these sets of properties: " + " or ".join(dict.fromkeys(sets))
