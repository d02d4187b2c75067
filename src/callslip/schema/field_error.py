"""One thing wrong with one field of a tool call's arguments: the value every layer here speaks in.

Stands below `validate` and `derive` (which make these) and `explain` (which turns them into a sentence).
Invariant: everything in a `FieldError` is short, whatever the model sent, because it goes back into a prompt.
"""

import json
from collections.abc import Iterable
from typing import Any

import msgspec

GOT_LENGTH = 80
PATH_LENGTH = 200
ALLOWED_LENGTH = 60
ALLOWED_COUNT = 40


class FieldError(msgspec.Struct, frozen=True, kw_only=True):
    """Why one field was refused; all texts are bounded."""

    path: str
    """Where: dotted, with [0] for array items and ["odd.key"] for ambiguous names. Empty: the whole value."""
    rule: str
    """The JSON Schema keyword that failed, such as "required", "type", "enum" or "maximum"."""
    got: str
    """The offending value as short JSON; empty when a required field is missing."""
    allowed: tuple[str, ...]
    """What would pass: enum values as JSON, type names, a bound, a pattern, a format, or known property names."""
    message: str
    """The rule in words, without the path, such as "must be at most 14"."""


class BindError(ValueError):
    """Valid arguments that the function's own types refuse, such as by a pydantic validator."""

    def __init__(self, errors: tuple[FieldError, ...]) -> None:
        super().__init__("; ".join(f"{error.path} {error.message}" for error in errors))
        self.errors = errors


def path_text(parts: Iterable[str | int]) -> str:
    """Write a location as "a.b[0]" in at most 200 characters; of a long one the end is kept: it names the field."""
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _plain(part):
            text += f".{part}" if text else part
        else:
            text += f"[{json.dumps(shorten(part, GOT_LENGTH), ensure_ascii=False)}]"
    return text if len(text) <= PATH_LENGTH else "…" + text[1 - PATH_LENGTH :]


def shorten(text: str, length: int) -> str:
    """Cut a text to at most `length` characters, with a mark that it was cut."""
    return text if len(text) <= length else text[: length - 1] + "…"


def short_json(value: Any, length: int = GOT_LENGTH) -> str:
    """Write a value as JSON text of at most `length` characters, without encoding all of a large one."""
    if isinstance(value, str):
        text = json.dumps(value[:length], ensure_ascii=False)
        return text if len(value) <= length and len(text) <= length else shorten(text[:-1], length - 1) + '"'
    if isinstance(value, dict):
        return _short_items("{}", value.items(), length)
    if isinstance(value, list | tuple):
        return _short_items("[]", ((None, item) for item in value), length)
    if isinstance(value, int) and not isinstance(value, bool):
        # Beyond 4,300 digits CPython refuses to write an integer at all.
        return shorten(str(value), length) if value.bit_length() < 4096 else "an integer of over 1,000 digits"
    if value is None or isinstance(value, bool | float):
        return json.dumps(value)
    return type(value).__name__


def short_list(values: Iterable[Any]) -> tuple[str, ...]:
    """At most 40 short texts; a final "…" says that there are more."""
    texts: list[str] = []
    for value in values:
        if len(texts) == ALLOWED_COUNT:
            return (*texts, "…")
        texts.append(shorten(value, ALLOWED_LENGTH) if isinstance(value, str) else short_json(value, ALLOWED_LENGTH))
    return tuple(texts)


def _plain(key: str) -> bool:
    return 0 < len(key) <= GOT_LENGTH and key.isprintable() and not any(mark in key for mark in '.[]" ')


def _short_items(brackets: str, items: Iterable[tuple[Any, Any]], length: int) -> str:
    parts: list[str] = []
    room = length - 5  # the brackets, and a mark for what is left out
    for key, value in items:
        name = "" if key is None else f"{short_json(key, 30)}: "
        part = name + short_json(value, max(room, 10))
        if len(part) > room:
            parts.append("…")
            break
        parts.append(part)
        room -= len(part) + 2
    return brackets[0] + ", ".join(parts) + brackets[1]
