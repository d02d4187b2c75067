"""The JSON object that a model without tool calls is to write, and the only ways to read it.

``{"reply": {"calls": [{"tool": name, "arguments": {…}}, …]}}``, or ``{"reply": {"answer": text}}``, or ``{"reply":
{"no_tool_fits": why}}``. To decline is a branch of its own, and not an empty list of calls: a schema that only knows
calls leaves a model no way out, and it calls something. The branches stand inside ``reply`` because a strict schema may
have no union at its root (OpenAI docs, "Structured model outputs" > "Supported schemas"), and names are enums of one,
which every grammar knows. The key comes before what it holds, so a model chooses first and fills in afterwards.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from callslip.core import canon
from callslip.providers.offered import OfferedTool

REPLY, CALLS, ANSWER, NONE_FITS = "reply", "calls", "answer", "no_tool_fits"
MOST_CALLS = 16
"""In one reply. Small models were seen to repeat a call until their tokens ran out, and the reply was lost."""
_FENCED = re.compile(r"```[a-zA-Z]*[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)
THOUGHT_BEGINS, THOUGHT_ENDS = "<think>", "</think>"
_THOUGHT = re.compile(rf"\s*{THOUGHT_BEGINS}.*?{THOUGHT_ENDS}", re.DOTALL)
MEANT = re.compile(rf"\s*(?:{THOUGHT_BEGINS}|(?:```[a-zA-Z]*\s*)?(?:\{{|\[\s*\{{))")
"""How a text begins that is JSON, or was to become it."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A call as it was written."""

    tool: str
    arguments: str | dict[str, Any]


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """A reply that was read: calls, or text."""

    calls: tuple[Call, ...] = ()
    text: str = ""


def schema(tools: Sequence[OfferedTool], *, parallel: bool | None, must_call: bool) -> dict[str, Any]:
    """What the reply has to be. ``parallel`` False: at most one call."""
    calls = {
        "type": "array",
        "minItems": 1,
        "maxItems": 1 if parallel is False else MOST_CALLS,
        "items": _either([_call(tool) for tool in tools]),
    }
    branches = [_object({CALLS: calls})]
    if not must_call:
        branches += [_object({ANSWER: {"type": "string"}}), _object({NONE_FITS: {"type": "string"}})]
    return _object({REPLY: _either(branches)})


def _call(tool: OfferedTool) -> dict[str, Any]:
    return _object({"tool": {"type": "string", "enum": [tool.wire]}, "arguments": tool.shaped.schema})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _either(forms: list[dict[str, Any]]) -> dict[str, Any]:
    return forms[0] if len(forms) == 1 else {"anyOf": forms}


def written(calls: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """Calls as the model would have written them."""
    listed = [{"tool": tool, "arguments": arguments} for tool, arguments in calls]
    return json.dumps({REPLY: {CALLS: listed}}, ensure_ascii=False)


def answered(text: str) -> str:
    """An answer as the model would have written it."""
    return json.dumps({REPLY: {ANSWER: text}}, ensure_ascii=False)


def spoken(text: str) -> str:
    """The reply without the thoughts that some servers leave at its beginning."""
    return _THOUGHT.sub("", text, count=1).strip() if text.lstrip().startswith(THOUGHT_BEGINS) else text.strip()


def read(text: str) -> Envelope | None:
    """The one reading of a reply; ``None`` where it has none, or more than one.

    A model's thoughts before it and one fence around it are no part of it. Talk around it is refused: a model that
    shows what it would call, or quotes a page that holds an envelope, must not call by that.
    """
    body = spoken(text)
    fenced = _FENCED.fullmatch(body)
    found = _strict_object(fenced.group(1) if fenced else body)
    if found is None:
        return None
    inner = found.get(REPLY) if found.keys() == {REPLY} else found
    if not isinstance(inner, dict) or len(inner) != 1:
        return None
    ((branch, value),) = inner.items()
    if branch in {ANSWER, NONE_FITS}:
        return Envelope(text=canon.scrub(value)) if isinstance(value, str) else None
    return _read_calls(value) if branch == CALLS else None


def _read_calls(value: Any) -> Envelope | None:
    if not isinstance(value, list) or not value:
        return None
    calls: list[Call] = []
    for item in value:
        if not isinstance(item, dict) or item.keys() != {"tool", "arguments"}:
            return None
        tool, arguments = item["tool"], item["arguments"]
        if not isinstance(tool, str) or not tool.strip() or not isinstance(arguments, str | dict):
            return None
        calls.append(Call(tool=tool, arguments=arguments))
    return Envelope(calls=tuple(calls))


def begins(text: str) -> bool:
    """Whether a reply that can't be read was meant to be an envelope, or might have been; else it is plain text."""
    said = spoken(text)
    return MEANT.match(said) is not None or f'"{CALLS}"' in said


def _strict_object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two values under one key are two readings."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key twice")
    return made


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"{digits} is larger than any number here")
    return value
