"""A request as the server saw it, with what was wrong in it."""

from __future__ import annotations

from typing import Any

import msgspec

from callslip.testing.contract.violation import Violation


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    format: str
    """The name of the format that was asked."""
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: Any
    """The JSON; the bytes where it was none."""
    violations: tuple[Violation, ...]
