"""Tools as a few lines of text, for a model that has no other way to be told of them.

A schema's own JSON takes three times the tokens, and small models copy its keywords into arguments. The form is that of
the arguments themselves, with types in the place of values; the exact schema constrains what is written anyway.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from callslip.providers.loose import as_list, as_object, as_text
from callslip.providers.offered import OfferedTool

LEVELS = 12
"""Of a schema; one that goes deeper is no reading for a small model."""


def listed(tools: Sequence[OfferedTool]) -> str:
    """One entry a tool: its name, what it does, its arguments."""
    return "\n".join(_entry(tool) for tool in tools)


def _entry(tool: OfferedTool) -> str:
    does = f": {' '.join(tool.description.split())}" if tool.description.strip() else ""
    return f"- {tool.wire}{does}\n  arguments: {sketch(tool.shaped.schema)}"


def sketch(schema: Any, *, levels: int = LEVELS) -> str:
    """A schema as the shape of its values; of what lies deeper than ``levels`` only that there is something."""
    if levels < 0:
        return "…"
    keywords = as_object(schema)
    shape = _shape(keywords, levels)
    says = " ".join(as_text(keywords.get("description")).split())
    return f"{shape} ({says})" if says else shape


def _shape(keywords: dict[str, Any], levels: int) -> str:
    if isinstance(keywords.get("enum"), list):
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in keywords["enum"])
    forms = as_list(keywords.get("anyOf"))
    if forms:
        return " | ".join(sketch(form, levels=levels - 1) for form in forms)
    kinds = keywords.get("type")
    names = [kinds] if isinstance(kinds, str) else [kind for kind in as_list(kinds) if isinstance(kind, str)]
    return " | ".join(_of_type(name, keywords, levels - 1) for name in names) or "anything"


def _of_type(name: str, keywords: dict[str, Any], levels: int) -> str:
    if name == "array":
        return f"[{sketch(keywords['items'], levels=levels)}, …]" if keywords.get("items") else "[…]"
    if name != "object":
        return name
    required = as_list(keywords.get("required"))
    listed = [
        f"{json.dumps(key, ensure_ascii=False)}{'' if key in required else '?'}: {sketch(value, levels=levels)}"
        for key, value in as_object(keywords.get("properties")).items()
    ]
    if isinstance(keywords.get("additionalProperties"), dict):
        listed.append(f"…: {sketch(keywords['additionalProperties'], levels=levels)}")
    return "{" + ", ".join(listed) + "}"
