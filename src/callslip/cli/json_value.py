"""A JSON value given on the command line, or in a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

from callslip.core import canon
from callslip.errors import UsageError


def read_value(option: str, text: str) -> Any:
    """The value.

    Raises:
        UsageError: it is no JSON, and where it stops being any.
    """
    try:
        return canon.parse(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise UsageError(
            f"{option} is no JSON: {error}. Nothing was written. A text must stand in double quotes inside the "
            "shell's own, such as '\"paid\"'."
        ) from error


def read_file(option: str, path: Path) -> Any:
    """The value in a file, or on standard input for ``-``."""
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{option} {path} can't be read: {why}. Nothing was written.") from error
    return read_value(f"{option} {path}", text)
