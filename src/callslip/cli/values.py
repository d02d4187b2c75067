"""JSON values on the screen as a person decides on them: one argument a line, to the last character."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from callslip.cli import look
from callslip.cli.safe_text import block, quoted
from callslip.core import canon

_PLAIN = re.compile(r"[A-Za-z0-9_.-]+")
_ONE_LINE = 72
"""Columns up to which a nested value stands on one line."""
_MOST_TEXT = 24_000
"""Characters of one text that are looked at; more would be cut anyway."""
_GROUPED = 5
"""Digits from which a number is repeated with its thousands apart."""


def arguments_lines(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Each argument, its name and its value, on as many lines as it needs."""
    if not arguments:
        yield "no arguments"
        return
    names = {name: name_text(name) for name in arguments}
    room = min(max(map(look.width, names.values())), 24)
    for name, value in arguments.items():
        head = look.pad(names[name], room) + " = "
        lines = _value_lines(value)
        yield head + next(lines)
        for line in lines:
            yield " " * (room + 3) + line


def name_text(name: str) -> str:
    """An argument's name; in quotes where it could be taken for more."""
    return name if _PLAIN.fullmatch(name) else quoted(name)


def compact(value: Any) -> str:
    """The value on one line."""
    return "".join(_compact(value, None))


def texts_in(value: Any) -> Iterator[str]:
    """Every text in the value, names too."""
    if isinstance(value, str):
        yield value[:_MOST_TEXT]
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield name
            yield from texts_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_in(inner)


def _value_lines(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from _text_lines(value)
    elif isinstance(value, list | tuple | Mapping):
        short = _shorter(_compact(value, _MOST_TEXT))
        if short is not None:
            yield short
        else:
            yield from _pretty(value)
    else:
        yield _scalar(value) + _grouped(value)


def _text_lines(text: str) -> Iterator[str]:
    """A text of several lines as those lines, behind a rule; any other in quotes."""
    if "\n" not in text[:-1]:
        yield quoted(text[:_MOST_TEXT])
        return
    lines = block(text[:_MOST_TEXT])
    ends = text.endswith("\n")
    count = text.count("\n") + (not ends)
    yield f"{count:,} lines, {len(text):,} characters{', the last line ended' if ends else ''}"
    for line in lines[:-1] if ends and len(text) <= _MOST_TEXT else lines:
        yield f"│ {line}"


def _pretty(value: Any, before: str = "", after: str = "") -> Iterator[str]:
    """JSON, indented by two."""
    if isinstance(value, Mapping) and value:
        yield before + "{"
        for number, (name, inner) in enumerate(value.items(), 1):
            comma = "," if number < len(value) else ""
            yield from ("  " + line for line in _pretty(inner, f"{quoted(name)}: ", comma))
        yield "}" + after
    elif isinstance(value, list | tuple) and value:
        yield before + "["
        for number, inner in enumerate(value, 1):
            yield from ("  " + line for line in _pretty(inner, "", "," if number < len(value) else ""))
        yield "]" + after
    else:
        yield before + "".join(_compact(value, _MOST_TEXT)) + after


def _compact(value: Any, most: int | None) -> Iterator[str]:
    if isinstance(value, str):
        yield quoted(value[:most])
    elif isinstance(value, Mapping):
        yield "{"
        for number, (name, inner) in enumerate(value.items()):
            yield f"{', ' if number else ''}{quoted(name)}: "
            yield from _compact(inner, most)
        yield "}"
    elif isinstance(value, list | tuple):
        yield "["
        for number, inner in enumerate(value):
            yield ", " if number else ""
            yield from _compact(inner, most)
        yield "]"
    else:
        yield _scalar(value)


def _shorter(pieces: Iterable[str]) -> str | None:
    """The pieces as one line, unless that becomes too long."""
    text = ""
    for piece in pieces:
        text += piece
        if len(text) > _ONE_LINE:
            return None
    return text


def _scalar(value: Any) -> str:
    """As the log spells it."""
    try:
        return canon.canonical(value).decode()
    except (TypeError, ValueError):
        return json.dumps(str(value))


def _grouped(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10 ** (_GROUPED - 1):
        return f"  ({value:,})"
    return ""
