"""What Gemini's generations differ in, as of 2026-11. A model whose name tells no number counts as of the newest."""

from __future__ import annotations

import re

_NAME = re.compile(r"gemini-(\d+)(?:\.(\d+))?")
_PATH = re.compile(r"/models/([^/:?]+):(generateContent|streamGenerateContent)$")


def of_path(path: str) -> tuple[str, str]:
    """The model that a path names, and what is asked of it; both "" where it is no such path."""
    found = _PATH.search(path.partition("?")[0])
    return (found[1], found[2]) if found else ("", "")


def demands_signatures(model: str) -> bool:
    """Gemini 3 and later: thought signatures are demanded, calls have ids, results may hold media."""
    found = _NAME.search(model)
    return found is None or int(found[1]) >= 3
