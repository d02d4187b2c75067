"""What has changed in a file, line by line and whole: a person accepts what is shown, so nothing is left out."""

from __future__ import annotations

import io
import tokenize
from difflib import unified_diff

_NO_LINE_FEED = "\\ No newline at end of file"


def difference(name: str, was: bytes | None, now: bytes | None, *, kept: bool = True) -> list[str]:
    """The lines of a unified diff between the accepted contents and today's; ``None``: there is no such file.

    Not ``kept``: it was accepted, but its contents are not known any more.
    """
    if not kept:
        return [
            f"What was accepted of {name} is not kept any more, so the whole of it is shown:",
            *_diff(name, b"", now),
        ]
    lines = _diff(name, was, now)
    encoding = _encoding(name, now)
    return lines if encoding is None else [f"Python reads {name} as {encoding}, not as the text below.", *lines]


def _diff(name: str, was: bytes | None, now: bytes | None) -> list[str]:
    before, after = _lines(was), _lines(now)
    if before is None or after is None:
        return [f"{name} is not text: {len(was or b''):,} bytes were accepted, now it has {len(now or b''):,}."]
    labels = (
        f"{name} (accepted)" if was is not None else "/dev/null",
        f"{name} (now)" if now is not None else "/dev/null",
    )
    return [part for line in unified_diff(before, after, *labels, lineterm="") for part in line.split("\n", 1)]


def _lines(data: bytes | None) -> list[str] | None:
    """The lines of a text; ``None`` when it is none."""
    try:
        text = (data or b"").decode()
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    lines = text.split("\n")
    if lines[-1]:
        lines[-1] += f"\n{_NO_LINE_FEED}"
    else:
        lines.pop()
    return lines


def _encoding(name: str, data: bytes | None) -> str | None:
    """Another encoding than UTF-8 that a module declares: what it says is then not what it shows."""
    if data is None or not name.endswith(".py"):
        return None
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError:
        return "nothing: its encoding is unknown"
    return None if encoding in {"utf-8", "utf-8-sig"} else encoding
