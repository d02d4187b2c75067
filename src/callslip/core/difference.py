"""How two JSON values differ, in words a person and a model can read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_LONGEST = 200


def differences(before: Any, after: Any) -> tuple[str, ...]:
    """One line for each place: ``amount: 100 → 50``, ``note: added "…"``, ``cc: removed``."""
    return tuple(_walk(before, after, ""))


def _walk(before: Any, after: Any, path: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in [*before, *(name for name in after if name not in before)]:
            inner = f"{path}.{name}" if path else str(name)
            if name not in after:
                yield f"{inner}: removed (was {_short(before[name])})"
            elif name not in before:
                yield f"{inner}: added {_short(after[name])}"
            else:
                yield from _walk(before[name], after[name], inner)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for position, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _walk(one, other, f"{path}[{position}]")
    elif json.dumps(before) != json.dumps(after):
        yield f"{path or 'everything'}: {_short(before)} → {_short(after)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}… ({len(text)} characters)"
