"""A call's arguments as the history shows them to a provider: always one JSON object, whatever the model wrote.

The model's own text is kept to the letter where it is that. Where it isn't (cut, two objects, NaN), a strict server
would refuse the whole conversation for one bad call, or fail inside its chat template, so the text stands in
``raw_arguments``: still readable for the model beside the error it got. Text that means no arguments is ``{}``.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from callslip.core import canon

RAW = "raw_arguments"
TOO_DEEP = "(nested too deeply to be shown)"
_EXACT = 2**53


def argument_text(arguments: str | dict[str, Any]) -> str:
    """As text, for providers that take a string."""
    if isinstance(arguments, dict):
        try:
            text = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
        except RecursionError:
            text = TOO_DEEP
    else:
        text = arguments
    if text.strip() in {"", "null"}:
        return "{}"
    return text if _object(text) is not None else json.dumps({RAW: text}, ensure_ascii=False)


def argument_object(arguments: str | dict[str, Any]) -> dict[str, Any]:
    """As an object, for providers that take one."""
    text = argument_text(arguments)
    found = _object(text)
    return found if found is not None else {RAW: text}


def exact(value: Any) -> Any:
    """The value with integers beyond 2^53 as text, for formats that carry numbers as doubles and would round them."""
    if isinstance(value, dict):
        return {name: exact(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [exact(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _EXACT:
        return str(value)
    return value


def _object(text: str) -> dict[str, Any] | None:
    try:
        # msgspec's reading is RFC 8259 to the letter: no NaN, no control characters. The standard library's keeps
        # every digit of an integer.
        msgspec.json.decode(canon.scrub(text))
        found = json.loads(canon.scrub(text))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
