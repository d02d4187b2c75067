"""Whether the canonical schema itself takes null at some point: then null is a value there, and never dropped.

Exact, as few keywords say anything of null; what can't be followed is unknown, which counts as "may take it".
"""

from typing import Any, Final

from callslip.schema.shape.reading import Reading
from callslip.schema.shape.refs import MISSING

MOST_DEPTH: Final = 16


def refuses_null(reading: Reading, raw: Any) -> bool:
    """Whether null is known to be invalid by a part of the canonical schema."""
    return _takes(reading, raw, 0) is False


def _takes(reading: Reading, raw: Any, depth: int) -> bool | None:
    if isinstance(raw, bool) or not isinstance(raw, dict):
        return raw is not False
    reading.left -= 1
    if reading.spent(0) or depth > MOST_DEPTH:
        return None
    if isinstance(raw.get("$ref"), str):
        target = reading.references.target(raw["$ref"])
        said = None if target is MISSING else _takes(reading, target, depth + 1)
        if reading.references.siblings_ignored or said is False:
            return said
    else:
        said = None if "$dynamicRef" in raw or "$recursiveRef" in raw else True
    return _every([said, *_own(raw), *_combined(reading, raw, depth + 1)])


def _own(raw: dict[str, Any]) -> list[bool | None]:
    found: list[bool | None] = []
    if isinstance(raw.get("type"), str | list):
        found.append("null" in ([raw["type"]] if isinstance(raw["type"], str) else raw["type"]))
    if isinstance(raw.get("enum"), list):
        found.append(None in raw["enum"])
    if "const" in raw:
        found.append(raw["const"] is None)
    return found


def _combined(reading: Reading, raw: dict[str, Any], depth: int) -> list[bool | None]:
    found: list[bool | None] = []
    for word in ("allOf", "anyOf", "oneOf"):
        if isinstance(raw.get(word), list):
            forms = [_takes(reading, form, depth) for form in raw[word]]
            found.append({"allOf": _every, "anyOf": _some, "oneOf": _one}[word](forms))
    if "not" in raw:
        inner = _takes(reading, raw["not"], depth)
        found.append(None if inner is None else not inner)
    if "if" in raw:
        condition = _takes(reading, raw["if"], depth)
        branches = [_takes(reading, raw.get(word, True), depth) for word in ("then", "else")]
        found.append(None if condition is None else branches[0] if condition else branches[1])
    return found


def _every(said: list[bool | None]) -> bool | None:
    return False if False in said else None if None in said else True


def _some(said: list[bool | None]) -> bool | None:
    return True if True in said else None if None in said else False


def _one(said: list[bool | None]) -> bool | None:
    if said.count(True) > 1:
        return False
    return None if None in said else said.count(True) == 1
