"""What a schema can't say on the wire, said in its description: short, bounded, and in JSON Schema's own words.

Models know the keywords, so a rule reads `[minimum: 1; default: 3]` behind the author's text.
"""

import re
from collections.abc import Iterable
from typing import Any, Final

from callslip.schema.field_error import short_json, shorten

MOST_TEXT: Final = 2000
"""Characters of the author's own description."""
MOST_NOTES: Final = 800
MOST_NOTE: Final = 200
SILENT: Final = frozenset(
    {
        "$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$defs", "definitions", "$comment",
        "$vocabulary", "$dynamicRef", "$recursiveRef", "$ref", "title", "description", "type", "enum", "required",
        "properties", "items", "nullable", "discriminator", "xml", "externalDocs", "contentSchema", "propertyOrdering",
        "additionalProperties", "additionalItems", "unevaluatedProperties", "readOnly", "writeOnly",
    }
)  # fmt: skip
"""Said by the shape itself, or nothing that helps to fill in a value."""


def description(
    keywords: dict[str, Any], notes: Iterable[tuple[str, Any]], *, key: str = "", room: int = MOST_TEXT + MOST_NOTES
) -> str:
    """The author's words and the notes, in no more characters than `room`; empty when there are neither."""
    return shorten(_description(keywords, notes, key), room) if room > 1 else ""


def _description(keywords: dict[str, Any], notes: Iterable[tuple[str, Any]], key: str) -> str:
    text = keywords.get("description")
    text = shorten(text.strip(), MOST_TEXT) if isinstance(text, str) else ""
    if not text:
        title = keywords.get("title")
        if isinstance(title, str) and _letters(title) != _letters(key):  # pydantic's titles repeat the name
            text = shorten(title.strip(), MOST_NOTE)
    said = "; ".join(dict.fromkeys(_note(word, value) for word, value in notes))
    if not said:
        return text
    said = f"[{shorten(said, MOST_NOTES)}]"
    return f"{text} {said}" if text else said


def unsaid(keywords: dict[str, Any], kept: Iterable[str]) -> list[tuple[str, Any]]:
    """The keywords that have to be told in words, in the author's order."""
    spoken = {*kept, *SILENT}
    return [
        (word, value)
        for word, value in keywords.items()
        if word not in spoken and not word.startswith("x-") and not (word == "default" and value is None)
    ]


def _note(word: str, value: Any) -> str:
    if word == "":
        return str(value)
    return f"{word}: {short_json(value, MOST_NOTE)}"


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()
