"""What no text of a request may be, whatever the format: half a character, or longer than the vendor takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from callslip.testing.contract.findings import Findings

SURROGATE = re.compile("[\ud800-\udfff]")
LONGEST = 10_485_760
"""Characters of one text, as OpenAI counts them."""
SOURCES = {
    "lone_surrogate": "github.com/JohnnyZ93/oai-compatible-copilot/issues/206",
    "text_too_long": "github.com/VectorlyApp/bluebox/issues/31",
}


def check_text(body: dict[str, Any], found: Findings) -> None:
    """Look at every text of the body, keys included. JSON's own escapes can carry half a surrogate pair."""
    for path, text in texts(body):
        if SURROGATE.search(text):
            found.add(
                "lone_surrogate",
                path,
                "We could not parse the JSON body of your request: lone surrogate in a string.",
            )
        if len(text) > LONGEST:
            found.add(
                "text_too_long",
                path,
                f"Invalid '{path}': string too long. Expected a string with maximum length {LONGEST}, "
                f"but got a string with length {len(text)} instead.",
            )


def texts(body: Any) -> Iterator[tuple[str, str]]:
    """Each text with its place."""
    waiting: list[tuple[str, Any]] = [("", body)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, str):
            yield path, value
        elif isinstance(value, dict):
            for key, inner in value.items():
                yield f"{path}.{key!a}", key
                waiting.append((f"{path}.{key}" if path else key, inner))
        elif isinstance(value, list):
            waiting.extend((f"{path}[{number}]", inner) for number, inner in enumerate(value))
