"""Entries of the audit as a person reads them: who, what, when, why, and what came of it."""

from __future__ import annotations

import json
from typing import Any

from callslip.audit.entry import READ, Entry, Read
from callslip.cli import moments
from callslip.cli.look import Cell
from callslip.core.result import Status

HEADINGS = ("when", "session", "who", "what", "why, and what came of it")

_BY_RUN = frozenset(
    {"tool_dispatch", "attempt_failed", "breaker_opened", "call_parked", "approval_requested", "background_started"}
)
"""What a run does by itself: it is done in the name of whoever the session runs for."""
_DEEDS = {
    "session_started": "began",
    "user_message": "said",
    "approval_requested": "asked about",
    "approval_expired": "no answer about",
    "tool_dispatch": "dispatched",
    "attempt_failed": "failed",
    "breaker_opened": "saw failing",
    "late_outcome": "ended late",
    "call_parked": "parked",
    "background_started": "began a job",
    "background_polled": "asked to end",
    "stop_requested": "stop",
    "session_sealed": "sealed",
    "session_forked": "began as a fork",
    "context_compacted": "summed up",
    "blob_erased": "erased payloads",
    "revert_started": "undoes",
    READ: "read a payload",
}
_BY_DECISION = frozenset({"approval_decided", "call_resolved", "wait_closed", "session_imported"})
"""Kinds whose deed is what was decided."""
KINDS = tuple(sorted({*_DEEDS, *_BY_DECISION, "function_response"}))
"""All kinds of entries."""
STATUSES = (
    *(one.value for one in Status if one is not Status.PENDING_APPROVAL),
    "failed", "started", "asked to end", "whole", "perhaps not whole", "left alone",
)  # fmt: skip
"""All that an entry's ``status`` may say: of a call, an attempt, a job, an imported log."""
_COLOURS = {"dispatched": "cyan", "refused": "red", "denied": "red", "failed": "red", "parked": "yellow"}


Row = tuple[str, str, str, Cell, str]


def row(one: Read) -> Row:
    """The entry's cells, under :data:`HEADINGS`."""
    entry = one.line.entry
    word = deed(entry)
    what = f"{word} {entry.tool}" if entry.tool else word
    return (
        moments.day(entry.at),
        entry.session,
        who(entry),
        Cell(what, _COLOURS.get(word)),
        "; ".join(part for part in (*why(entry), arguments(one), *outcome(entry)) if part),
    )


def deed(entry: Entry) -> str:
    """What was done, in a word."""
    if entry.kind == "function_response":
        return "refused" if entry.decision == "refused" else "settled"
    if entry.kind in _BY_DECISION:
        return entry.decision.replace("_", " ")
    return _DEEDS.get(entry.kind, entry.kind)


def who(entry: Entry) -> str:
    """Who did it, or in whose name it was done."""
    of_run = entry.kind in _BY_RUN or (entry.kind == "function_response" and entry.process)
    name = entry.requester if of_run else entry.actor
    return f"{name} for {entry.on_behalf_of}" if entry.on_behalf_of else name


def why(entry: Entry) -> list[str]:
    """What it rests on."""
    parts = []
    if entry.kind == "user_message":
        parts.append(f"message {entry.seq}")
    if entry.message and entry.kind == "tool_dispatch":
        parts.append(f"message {' '.join(map(str, entry.message))}")
    if entry.kind == "session_forked":
        parts.append(f"from {entry.decision}")
    if entry.undoes:
        parts.append(f"undoes {entry.undoes}")
    if entry.rules:
        parts.append(f"rules {' '.join(entry.rules)}")
    if entry.approval:
        by = f" by {', '.join(entry.approved_by)}" if entry.approved_by else ""
        parts.append(f"approval {entry.approval}{by}")
    if entry.grant:
        parts.append(f"with grant {entry.grant}")
    if entry.kind == "approval_decided":
        parts.append(f"signature by key {entry.key[:16]}" if entry.key else "not signed")
    return parts


def arguments(one: Read) -> str:
    """What was handed over, or shown."""
    if one.erased:
        return "arguments erased"
    values: dict[str, Any] = one.values()
    return json.dumps(values["arguments"], ensure_ascii=False) if "arguments" in values else ""


def outcome(entry: Entry) -> list[str]:
    """What came of it."""
    parts = []
    if entry.attempt is not None and (entry.attempt > 1 or entry.kind == "attempt_failed"):
        parts.append(f"attempt {entry.attempt}")
    if entry.status:
        parts.append(f"{entry.status} ({entry.code})" if entry.code not in {"", entry.status} else entry.status)
    elif entry.code:
        parts.append(entry.code)
    if entry.effect:
        parts.append(f"effect {entry.effect}")
    if entry.duration_ms is not None:
        parts.append(moments.span(entry.duration_ms))
    if entry.said:
        parts.append(entry.said)
    if entry.output_size is not None:
        parts.append(f"{entry.output_size:,} bytes")
    elif entry.output:
        parts.append(entry.output)
    return parts


def document(one: Read) -> dict[str, Any]:
    """The entry for a program."""
    line = json.loads(one.core)
    return {
        "n": one.line.n,
        "digest": one.digest.hex(),
        **line["entry"],
        "detail": None if one.erased else one.values(),
    }
