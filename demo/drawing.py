"""Draws what a worker says, a line for each fact: proposed, dispatched, settled."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import click
import msgspec

from callslip.core.event import Event
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.events.call_resolved import CallResolved
from demo.screen import Screen

Json = dict[str, Any]


class Trace:
    """Draws one session's records, over all the processes that write them."""

    def __init__(self, screen: Screen, reply_label: str) -> None:
        self._screen = screen
        self._label = reply_label
        self._replies = 0
        self._tools: dict[str, str] = {}
        self._drawn: dict[str, Callable[[int, Json], None]] = {
            "run_started": self._run_started,
            "model_replied": self._replied,
            "function_call": self._proposed,
            "approval_requested": self._asked,
            "tool_dispatch": self._dispatched,
            "function_response": self._settled,
            "call_parked": self._parked,
            "call_resolved": self._resolved,
        }

    def legend(self) -> None:
        """What the marks mean."""
        marks = "○ proposed   ‖ asked   ◐ dispatched: written to disk, then run   ● settled: outcome on disk"
        self._screen.line(click.style(marks, dim=True))
        self._screen.line()

    def record(self, line: Json) -> None:
        """A record became durable."""
        event = line["event"]
        draw = self._drawn.get(event["type"])
        if draw is not None:
            draw(line["seq"], event)

    def settled(self, event: Json) -> str:
        """The tool whose call this event answers; empty for any other event."""
        return self._tools.get(event["call_id"], "") if event["type"] == "function_response" else ""

    def decision(self, log: Sequence[tuple[int, Event]]) -> None:
        """Draw the last answer to a question."""
        seq, event = next(one for one in reversed(log) if isinstance(one[1], ApprovalDecided))
        assert isinstance(event, ApprovalDecided)
        tool = self._tools.get(event.call_id, "")
        self._row(seq, "◆", event.decision, tool, f"says {event.proof.principal}: {event.reason}", color="magenta")

    def verdict(self, log: Sequence[tuple[int, Event]]) -> None:
        """Draw what an operator said: no worker was there to say it."""
        for seq, event in log:
            if isinstance(event, CallResolved):
                self._resolved(seq, msgspec.structs.asdict(event))

    def waiting(self, reason: str, seconds: float) -> None:
        """The worker lets time pass, before it may ask."""
        text = f"waits {seconds:.1f} s: {reason}"
        self._screen.line(f"{'':>4}  {click.style('◌ ' + text, fg='yellow', dim=True)}")

    def _row(self, seq: int, mark: str, word: str, tool: str, detail: str = "", *, color: str | None = None) -> None:
        head = click.style(f"{seq:>4}", dim=True)
        shown = click.style(f"{mark} {word:<11}", fg=color, bold=color in {"green", "red", "magenta"})
        room = self._screen.width - 36
        detail = detail if len(detail) <= room else detail[: room - 1] + "…"
        self._screen.line(f"{head}  {shown} {tool:<15} {click.style(detail, dim=True) if detail else ''}")

    def _run_started(self, seq: int, event: Json) -> None:
        ways = {"first": "a new session", "lock_free": "the one before is dead: its lock is free"}
        how = ways.get(event["parent_ended"], "goes on with the session")
        self._row(seq, "┌", "worker", f"process {event['process']}", how, color="blue")

    def _replied(self, seq: int, event: Json) -> None:
        self._replies += 1
        label = f"{self._label} {self._replies}"
        text = " ".join(event["text"].split())
        self._screen.line()
        self._screen.line(click.style(f"{seq:>4}  ", dim=True) + click.style(f"“ {label}", fg="cyan"), rest=0)
        for line in textwrap.wrap(text, self._screen.width - 10):
            self._screen.line(f"{'':>6}{click.style('│', fg='cyan')} {line}", rest=1.5)

    def _proposed(self, seq: int, event: Json) -> None:
        self._tools[event["call_id"]] = event["tool"]
        self._row(seq, "○", "proposed", event["tool"], _arguments(event["arguments"]))

    def _asked(self, seq: int, event: Json) -> None:
        again = "; ".join(event.get("again", ()))
        self._row(seq, "‖", "asked", event["tool"], f"again: {again}" if again else event["reason"], color="magenta")

    def _dispatched(self, seq: int, event: Json) -> None:
        repeat = f", attempt {event['attempt']}" if event["attempt"] > 1 else ""
        approved = ", approved" if event.get("approval") else ""
        kind = f"{event['risk']}, recovery: {event['recovery']}{repeat}{approved}"
        self._row(seq, "◐", "dispatched", event["tool"], kind, color="yellow")

    def _settled(self, seq: int, event: Json) -> None:
        tool = self._tools.get(event["call_id"], "")
        if event["status"] != "success":
            self._row(seq, "●", event["lane"], tool, event.get("error_message") or event["status"], color="red")
            return
        how = [note.removeprefix("settled ") for note in event.get("notes", ()) if note.startswith("settled by")]
        how += ["by the operator's word"] if event.get("resolved") else []
        self._row(seq, "●", "settled", tool, ": ".join(filter(None, [*how, _result(event)])), color="green")

    def _parked(self, seq: int, event: Json) -> None:
        tool = self._tools.get(event["call_id"], "")
        self._row(seq, "◍", "parked", tool, event["reason"], color="magenta")

    def _resolved(self, seq: int, event: Json) -> None:
        tool = self._tools.get(event["call_id"], "")
        self._row(seq, "◆", event["verdict"], tool, f"says {event['actor']}: {event['reason']}", color="magenta")


def _arguments(payload: Json) -> str:
    raw = payload.get("text")
    values = json.loads(raw) if isinstance(raw, str) else raw
    if not isinstance(values, dict):
        return ""
    return "  ".join(f"{name}={value}" for name, value in values.items() if name != "text").replace("\n", " ")


def _result(event: Json) -> str:
    value = event.get("structured", {}).get("text")
    if not isinstance(value, dict):
        return ""
    if "findings" in value:
        return f"{value['packages']} manifests, {value['compared']} versions, {len(value['findings'])} out of date"
    if "diff" in value:
        return f"{value['path']}: +{value['lines_added']} −{value['lines_removed']} line"
    if "lines_total" in value:
        return f"{value['lines_total']} lines"
    if "charge" in value:
        return f"charge {value['charge']}"
    return ""
