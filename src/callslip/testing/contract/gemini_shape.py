"""A generateContent request as the API's parser reads it: every name known, every value of its kind.

The parser takes ``snake_case`` as well as ``camelCase`` and forgets what is null; what comes out of here is in
``camelCase`` and has only what is of its kind, so that the rules after this one need not look at shapes again.
"""

from __future__ import annotations

import re
from typing import Any

from callslip.testing.contract.findings import Findings
from callslip.testing.contract.gemini_fields import MESSAGES

SOURCES = {
    "unknown_name": "github.com/nanbingxyz/5ire/issues/42; github.com/gera2ld/ai.nvim/issues/13",
    "wrong_value": "github.com/microsoft/azure-devops-mcp/issues/145; github.com/zereight/gitlab-mcp/issues/166",
    "not_a_list": "github.com/taylorwilsdon/google_workspace_mcp/issues/1099",
    "not_a_struct": "github.com/AstrBotDevs/AstrBot/pull/7216",
    "too_deep": "protobuf docs, Parsing: messages nested more than 100 deep are refused",
}
_KINDS: dict[str, type | tuple[type, ...]] = {
    "text": str,
    "bytes": str,
    "flag": bool,
    "number": (int, float),
    "integer": int,
    "struct": dict,
}
_UNDERSCORE = re.compile(r"_([a-z])")
_DEEPEST = 100
MISSING = object()


def read_request(body: dict[str, Any], found: Findings) -> dict[str, Any]:
    """What the parser understands of the body."""
    return _message(body, "request", "", found, 0)


def _message(value: dict[str, Any], kind: str, path: str, found: Findings, depth: int) -> dict[str, Any]:
    fields = MESSAGES[kind]
    made: dict[str, Any] = {}
    for given, inner in value.items():
        name = _UNDERSCORE.sub(lambda match: match[1].upper(), given)
        place = f"{path}.{given}" if path else given
        if name not in fields:
            at = f" at '{path}'" if path else ""
            found.add(
                "unknown_name", place, f'Invalid JSON payload received. Unknown name "{given}"{at}: Cannot find field.'
            )
        elif inner is not None:
            read = _value(inner, fields[name], place, found, depth + 1)
            if read is not MISSING:
                made[name] = read
    return made


def _value(value: Any, kind: str, path: str, found: Findings, depth: int) -> Any:
    if depth > _DEEPEST:
        found.add("too_deep", path[:80], "Message too deep.")
        return MISSING
    if kind.endswith("[]"):
        # One message stands for a list of one, as in every JSON reader of protobuf.
        given = value if isinstance(value, list) else [value]
        read = [_value(one, kind[:-2], f"{path}[{place}]", found, depth) for place, one in enumerate(given)]
        return [one for one in read if one is not MISSING]
    if kind.endswith("{}"):
        if not isinstance(value, dict):
            return _wrong(value, path, found)
        made = {name: _value(one, kind[:-2], f"{path}.{name}", found, depth) for name, one in value.items()}
        return {name: one for name, one in made.items() if one is not MISSING}
    if kind in ("any", "struct") and _levels(value) > _DEEPEST:
        found.add("too_deep", path, "Message too deep.")
        return MISSING
    if kind == "any":
        return value
    if isinstance(value, list):
        rule = "not_a_struct" if kind == "struct" else "not_a_list"
        found.add(rule, path, f"Invalid value at '{path}': Proto field is not repeating, cannot start list.")
        return MISSING
    if kind in MESSAGES:
        return _message(value, kind, path, found, depth) if isinstance(value, dict) else _wrong(value, path, found)
    if not isinstance(value, _KINDS[kind]) or (isinstance(value, bool) and kind != "flag"):
        if kind == "struct":
            found.add("not_a_struct", path, f"Invalid value at '{path}' (type.googleapis.com/google.protobuf.Struct)")
            return MISSING
        return _wrong(value, path, found)
    return value


def _levels(value: Any) -> int:
    """How deep a value goes; counted no further than matters."""
    level, inside = 0, [value]
    while inside and level <= _DEEPEST:
        level += 1
        lists = [one.values() if isinstance(one, dict) else one for one in inside if isinstance(one, dict | list)]
        inside = [one for each in lists for one in each]
    return level


def _wrong(value: Any, path: str, found: Findings) -> Any:
    found.add("wrong_value", path, f"Invalid value at '{path}', {str(value)[:80]}")
    return MISSING
