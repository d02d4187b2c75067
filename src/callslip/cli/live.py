"""A run while it happens: what is proposed, dispatched and settled, on standard error; in JSON, one event a line.

The answer itself belongs on standard output, where ``drive`` puts it.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

import click
import msgspec

from callslip.cli import look, wording
from callslip.cli.document import print_document
from callslip.cli.moments import clock, span
from callslip.cli.safe_text import one_line, visible
from callslip.core.call import CallState
from callslip.core.event import Record
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.call_parked import CallParked
from callslip.core.events.call_resolved import CallResolved
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.events.model_replied import ModelReplied
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.run_started import RunStarted
from callslip.core.events.stop_requested import StopRequested
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.payload import Payload
from callslip.core.state import SessionState
from callslip.runtime.live import Live, ModelText, Partial, Progress, Recorded, Waiting, Watch

_KINDS = {ModelText: "text", Progress: "progress", Partial: "partial", Waiting: "waiting"}
_NAME = 16
_DEED = 10


class LiveView:
    """A ``watch`` of the runtime. It may be called from a tool's thread, so it prints under a lock.

    ``running``: the session's run has begun and has not ended. ``in_flight``: tools that are dispatched and unsettled.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.running = False
        self.streamed = False
        self._json = as_json
        self._open: dict[str, int] = {}
        self._names: dict[str, str] = {}
        self._progress = look.Progress()
        self._mid_line = False
        self._lock = threading.RLock()

    @property
    def in_flight(self) -> list[str]:
        return [self._names.get(call_id, call_id) for call_id in self._open]

    def know(self, state: SessionState) -> None:
        """Learn of the calls that were open before this run."""
        for call in state.calls.values():
            self._take_call(call)

    def _take_call(self, call: CallState) -> None:
        self._names[call.call.call_id] = call.call.tool

    def __call__(self, event: Live) -> None:
        with self._lock:
            if isinstance(event, Recorded):
                self._follow(event.record)
            if self._json:
                self._print_json(event)
            else:
                self._print(event)

    def _follow(self, record: Record) -> None:
        event = record.event
        if isinstance(event, RunStarted):
            self.running = True
        elif isinstance(event, RunEnded):
            self.running = False
        elif isinstance(event, FunctionCall):
            self._names[event.call_id] = event.tool
        elif isinstance(event, ModelReplied):
            self.streamed = self.streamed and not event.calls

    def _print_json(self, event: Live) -> None:
        if isinstance(event, Recorded):
            record = json.loads(msgspec.json.encode(event.record))
            print_document({"type": "record", "session": event.session, "seq": event.seq, "record": record}, line=True)
        else:
            fields = {name: getattr(event, name) for name in event.__struct_fields__}
            print_document({"type": _KINDS[type(event)], **fields}, line=True)
        if isinstance(event, Recorded):
            self._time(event.record)

    def _print(self, event: Live) -> None:
        if isinstance(event, ModelText):
            self._stream(event.text)
        elif isinstance(event, Progress):
            share = "" if event.fraction is None else f" {event.fraction:.0%}"
            name = self._names.get(event.call_id, "")
            self._progress.show(one_line(f"  {name}{share} {event.message}"))
        elif isinstance(event, Partial):
            self._progress.show(one_line(f"  {self._names.get(event.call_id, '')} {event.text[-200:]}"))
        elif isinstance(event, Waiting):
            until = "" if event.until is None else f" until {clock(event.until)}"
            self.line("dot", "", "waiting", f"{event.reason}{until}")
        else:
            self._print_record(event.record)

    def _stream(self, text: str) -> None:
        self._progress.clear()
        to_stdout = sys.stdout.isatty()
        click.echo(visible(text, lines=True), nl=False, err=not to_stdout)
        self._mid_line = not text.endswith("\n")
        self.streamed = True

    def _print_record(self, record: Record) -> None:
        event = record.event
        took = self._time(record)
        match event:
            case RunStarted() if event.parent_ended not in {"first", "released"}:
                self.line("warn", "", "resumed", wording.run_began(event))
            case ModelReplied() if event.calls and event.text and not self._mid_line:
                self.text(event.text)
            case FunctionCall():
                self.line("dot", event.tool, "proposed", arguments(event.arguments))
            case ToolDispatch():
                self.line("next", event.tool, "dispatched", wording.dispatched(event))
            case FunctionResponse():
                deed = "settled" if event.lane == "settled" else "refused"
                detail = wording.settled(event, took)
                said = f"{detail}: {event.error_message}" if event.error_message else detail
                self.line(wording.settled_mark(event), self._names.get(event.call_id, ""), deed, said)
            case _:
                self._print_rare(event)

    def _print_rare(self, event: Any) -> None:
        name = self._names.get(getattr(event, "call_id", ""), "")
        match event:
            case AttemptFailed():
                self.line("warn", name, "failed", wording.attempt_failed(event))
            case CallParked():
                self.line("wait", name, "parked", event.reason)
            case CallResolved():
                self.line("dot", name, "resolved", f"{event.verdict} by {event.actor}: {event.reason}")
            case LateOutcome():
                self.line("warn", name, "late", f"attempt {event.attempt} came to its end after all")
            case StopRequested():
                self.line("warn", "", "stop", f"asked by {event.actor} {event.reason}".rstrip())
            case _:
                return

    def _time(self, record: Record) -> int | None:
        """Note a dispatch; at its end, how long it was out."""
        event = record.event
        if isinstance(event, ToolDispatch):
            self._names[event.call_id] = event.tool
            self._open[event.call_id] = record.at
        elif isinstance(event, FunctionResponse | AttemptFailed | CallParked):
            began = self._open.pop(event.call_id, None)
            return None if began is None else record.at - began
        return None

    def line(self, mark: str, name: str, deed: str, detail: str) -> None:
        """One line of what happens."""
        self.end_line()
        head = f"{look.mark(mark)} {look.paint(look.pad(one_line(name), _NAME), bold=True)} {look.pad(deed, _DEED)} "
        columns = look.columns()
        room = None if columns is None else columns - _NAME - _DEED - 5
        look.aside(head + look.paint(look.cut(one_line(detail), room), dim=True))

    def text(self, text: str) -> None:
        """Words of the model that are not the answer."""
        self.end_line()
        look.aside(visible(text, lines=True))

    def end_line(self) -> None:
        """Leave a line that was begun."""
        self._progress.clear()
        if self._mid_line:
            click.echo(err=not sys.stdout.isatty())
            self._mid_line = False

    def close(self, milliseconds: int) -> str:
        """Take away what is passing; how long the run took, in words."""
        with self._lock:
            self.end_line()
        return span(milliseconds)


def arguments(payload: Payload) -> str:
    """A proposal's arguments in brief."""
    if not payload.inline:
        return f"{payload.size:,} bytes of arguments"
    value = payload.value()
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def both(first: Watch, second: Watch) -> Watch:
    """One watch that tells two."""

    def watch(event: Live) -> None:
        first(event)
        second(event)

    return watch
