"""One thing that doctor has looked at."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Finding(NamedTuple):
    """``ok``; ``warn``: works, but know it; ``bad``: put it right."""

    level: Literal["ok", "warn", "bad"]
    subject: str
    detail: str


def ok(subject: str, detail: str) -> Finding:
    return Finding("ok", subject, detail)


def warn(subject: str, detail: str) -> Finding:
    return Finding("warn", subject, detail)


def bad(subject: str, detail: str) -> Finding:
    return Finding("bad", subject, detail)
