"""A run while it happens: what is proposed, dispatched and settled, on standard error; in JSON, one event a line.

The answer itself belongs on standard output, where ``drive`` puts it. A reader that goes away, or a full disk behind
the output, makes the view fall silent and never reaches the run.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from typing import Any

import click
import msgspec

from callslip.cli import look, wording
from callslip.cli.document import print_document
from callslip.cli.moments import clock, span
from callslip.cli.safe_text import one_line
from callslip.core import canon
from callslip.core.call import CallState
from callslip.core.event import Record
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.events.approval_expired import ApprovalExpired
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.background_polled import BackgroundPolled
from callslip.core.events.background_started import BackgroundStarted
from callslip.core.events.breaker_opened import BreakerOpened
from callslip.core.events.call_parked import CallParked
from callslip.core.events.call_resolved import CallResolved
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.events.model_failed import ModelFailed
from callslip.core.events.model_replied import ModelReplied
from callslip.core.events.revert_started import RevertStarted
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.run_started import RunStarted
from callslip.core.events.stop_requested import StopRequested
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.events.user_message import UserMessage
from callslip.core.payload import Payload
from callslip.core.shown import Prose, prose, visible
from callslip.core.state import SessionState
from callslip.runtime.live import (
    Asking,
    Executing,
    Live,
    ModelText,
    Partial,
    Progress,
    Recorded,
    TakenOver,
    Waiting,
    Watch,
)

_KINDS = {ModelText: "text", Progress: "progress", Partial: "partial", Waiting: "waiting"}
_WHOLE = frozenset({"bad", "wait", "warn"})
"""Marks of lines of which nothing is cut, however narrow the terminal is: what went wrong, and what is waited for."""
_NAME = 16
_DEED = 10
_LATE = 5
"""Seconds without an answer after which a log is told that the model is being asked."""


class LiveView:
    """A ``watch`` of the runtime. It may be called from a tool's thread, so it prints under a lock.

    ``running``: the session's run has begun and has not ended; ``began``: it has begun. ``in_flight``: tools that are
    dispatched and unsettled. ``answers``: of the turns that came to their end. ``quiet``: its output is gone.
    """

    def __init__(self, *, as_json: bool, announce: str = "") -> None:
        self.running = self.began = False
        self.streamed = False
        self.quiet = False
        self.answers: list[str] = []
        self._announce = announce
        """A session made for this run, to be named once there is one."""
        self._own: str | None = None
        """What this run says to the session itself."""
        self._told_asking = False
        self._json = as_json
        self._open: dict[str, int] = {}
        self._names: dict[str, str] = {}
        self._proposed: dict[str, Payload] = {}
        """What unsettled calls of this run were shown with."""
        self._asks: list[tuple[str, str]] = []
        """Questions that are told once the run does something beside them. At its end they are told as waits."""
        self._progress = look.Progress()
        self._mid_line = False
        self._prose = Prose()
        """The words that stream."""
        self._lock = threading.RLock()

    @property
    def in_flight(self) -> list[str]:
        return [self._names.get(call_id, call_id) for call_id in self._open]

    def has_shown(self, call_id: str | None, arguments: Any) -> bool:
        """Whether the call stands there as proposed with just these arguments."""
        payload = self._proposed.get(call_id or "")
        return payload is not None and payload.inline and payload.value() == arguments

    def begin(self, state: SessionState, *, said: str | None = None) -> None:
        """Make ready for a run, the first or another; learn of the calls that were open before it.

        ``said``: words that the run itself says, and which are not shown.
        """
        self._own = None if said is None else canon.scrub(said)
        self.running = self.began = self.streamed = self._told_asking = False
        self.answers, self._asks = [], []
        self._open.clear()
        self._proposed.clear()
        for call in state.calls.values():
            self._take_call(call)

    def _take_call(self, call: CallState) -> None:
        self._names[call.call.call_id] = call.call.tool

    def __call__(self, event: Live) -> None:
        if isinstance(event, TakenOver | Asking | Executing):
            return
        with self._lock:
            took = None
            if isinstance(event, Recorded):
                if self._announce:
                    announce, self._announce = self._announce, ""
                    self._safely(self._print_session, announce)
                self._follow(event.record)
                took = self._time(event.record)
            if self._json:
                self._safely(self._print_json, event)
            else:
                self._safely(self._print, event, took)

    def _safely(self, write: Callable[..., None], *given: Any) -> None:
        """Print, until that fails once: what becomes of a screen is nothing a call may fail by."""
        if self.quiet:
            return
        try:
            write(*given)
        except (OSError, ValueError):
            self.quiet = True

    def _follow(self, record: Record) -> None:
        event = record.event
        if isinstance(event, RunStarted):
            self.running = self.began = True
        elif isinstance(event, RunEnded):
            self.running = False
            self._asks = []
        elif isinstance(event, FunctionCall):
            self._names[event.call_id] = event.tool
            self._proposed[event.call_id] = event.arguments
        elif isinstance(event, FunctionResponse):
            self._proposed.pop(event.call_id, None)
        elif isinstance(event, ModelFailed):
            self.streamed = self._told_asking = False  # what was shown of it is void
        elif isinstance(event, ModelReplied):
            self.streamed = self.streamed and not event.calls and event.finish not in wording.CUT
            self._told_asking = False
            if event.finish == "stop" and not event.calls:
                self.answers.append(event.text)

    def _print_session(self, name: str) -> None:
        if self._json:
            print_document({"type": "session", "session": name}, line=True)
        else:
            look.aside(f"session {visible(name)}", dim=True)

    def _print_json(self, event: Live) -> None:
        if isinstance(event, Recorded):
            record = json.loads(msgspec.json.encode(event.record))
            print_document({"type": "record", "session": event.session, "seq": event.seq, "record": record}, line=True)
        else:
            fields = {name: getattr(event, name) for name in event.__struct_fields__}
            print_document({"type": _KINDS[type(event)], **fields}, line=True)

    def _print(self, event: Live, took: int | None) -> None:
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
            self._line("dot", "", "waiting", f"{event.reason}{until}")
        elif isinstance(event, Recorded):
            self._print_record(event.record, took)

    def _stream(self, text: str) -> None:
        self._progress.clear()
        to_stdout = sys.stdout.isatty()
        click.echo(self._prose.feed(text), nl=False, err=not to_stdout)
        self._mid_line = not text.endswith("\n")
        self.streamed = True

    def _print_record(self, record: Record, took: int | None) -> None:
        event = record.event
        match event:
            case RunStarted() if event.parent_ended not in {"first", "released"}:
                self._line("warn", "", "resumed", wording.run_began(event))
            case ModelReplied() if event.finish in wording.CUT:
                self._line("warn", "", "cut", wording.cut(event))
            case ModelReplied() if event.calls and event.text and not self._mid_line:
                self._text(event.text)
            case FunctionCall():
                self._line("dot", event.tool, "proposed", arguments(event.arguments))
            case ToolDispatch():
                self._line("next", event.tool, "dispatched", wording.dispatched(event))
            case FunctionResponse():
                deed = wording.settled_deed(event)
                detail = wording.settled(event, took)
                if event.fallback is not None:
                    detail += f"; {wording.fallback(event.fallback)}"
                said = f"{detail}: {event.error_message}" if event.error_message else detail
                own = wording.own_words(event)
                said += f" ({own})" if own else ""
                self._line(wording.settled_mark(event), self._names.get(event.call_id, ""), deed, said)
            case BreakerOpened():
                self._line("bad", event.tool, "left alone", wording.left_alone(event))
            case AttemptFailed():
                name = self._names.get(event.call_id, "")
                self._line("warn", name, "failed", wording.attempt_failed(event, record.at))
            case ModelFailed():
                self._line("warn", "", "no answer", wording.model_failed(event, record.at))
            case _:
                self._print_rare(event)

    def _print_rare(self, event: Any) -> None:
        name = self._names.get(getattr(event, "call_id", ""), "")
        match event:
            case ApprovalRequested():
                self._ask(event)
            case ApprovalDecided():
                deed = wording.decided_deed(event)
                self._line("bad" if deed == "denied" else "ok", name, deed, wording.decided(event))
            case ApprovalExpired():
                self._line("warn", name, "expired", "nobody answered in time")
            case BackgroundStarted():
                self._line("next", name, "goes on", "in the background")
            case BackgroundPolled():
                self._line("next", name, "goes on", wording.job_polled(event))
            case RevertStarted():
                self._line("warn", "", "revert", wording.reverted(event))
            case CallParked():
                self._line("wait", name, "parked", event.reason)
            case CallResolved():
                self._line("dot", name, "resolved", f"{event.verdict} by {event.actor}: {event.reason}")
            case LateOutcome():
                self._line("dot" if event.beaten else "warn", name, "late", wording.late(event))
            case UserMessage() | StopRequested():
                self._print_request(event)
            case _:
                return

    def _print_request(self, event: UserMessage | StopRequested) -> None:
        """What somebody else, or another window, wants of the run."""
        if isinstance(event, StopRequested):
            self._line("warn", "", "stop", wording.asked_by(event))
        elif event.text == self._own:
            self._own = None
        else:
            self._line("dot", "", "said", f"by {event.author or 'somebody'}: {event.text}")

    def _time(self, record: Record) -> int | None:
        """Note a dispatch; at its end, how long it was out."""
        event = record.event
        if isinstance(event, ToolDispatch):
            self._names[event.call_id] = event.tool
            self._open[event.call_id] = record.at
        elif isinstance(event, FunctionResponse | AttemptFailed | CallParked | BackgroundStarted):
            began = self._open.pop(event.call_id, None)
            return None if began is None else record.at - began
        return None

    def line(self, mark: str, name: str, deed: str, detail: str) -> None:
        """One line of what happens, or as many as it takes."""
        with self._lock:
            self._safely(self._whole_line, mark, name, deed, detail)

    def _ask(self, event: ApprovalRequested) -> None:
        self._asks.append((event.tool, wording.asked(event)))
        if self._open:
            self._tell_asks()

    def _tell_asks(self) -> None:
        asks, self._asks = self._asks, []
        for name, detail in asks:
            self._line("wait", name, "asks", detail)

    def _line(self, mark: str, name: str, deed: str, detail: str) -> None:
        if mark in _WHOLE:
            self._whole_line(mark, name, deed, detail)
            return
        head = self._head(mark, name, deed)
        columns = look.columns()
        room = None if columns is None else columns - _NAME - _DEED - 5
        look.aside(head + look.paint(look.cut(one_line(detail), room), dim=True))

    def _whole_line(self, mark: str, name: str, deed: str, detail: str) -> None:
        look.hang(self._head(mark, name, deed), detail, to=look.aside, dim=True)

    def _head(self, mark: str, name: str, deed: str) -> str:
        self._tell_asks()
        self._end_line()
        return f"{look.mark(mark)} {look.paint(look.pad(one_line(name), _NAME), bold=True)} {look.pad(deed, _DEED)} "

    def _text(self, text: str) -> None:
        """Words of the model that are not the answer."""
        self._end_line()
        look.aside(prose(text))

    def _end_line(self) -> None:
        """Leave a line that was begun."""
        self._progress.clear()
        if self._mid_line:
            click.echo(self._prose.end(), err=not sys.stdout.isatty())
            self._mid_line = False

    def echoed(self) -> None:
        """The terminal has shown ``^C`` where the next line was to begin."""
        with self._lock:
            self._mid_line = True

    def asking(self, model: str, seconds: int) -> None:
        """The model has been asked for that long and has said nothing yet."""
        with self._lock:
            if not self._json:
                self._safely(self._print_asking, model, seconds)

    def _print_asking(self, model: str, seconds: int) -> None:
        if self._progress.live:
            self._progress.show(f"  asking {one_line(model)}  {seconds} s")
        elif seconds >= _LATE and not self._told_asking:
            self._told_asking = True
            self._line("dot", "", "asking", f"{model} has not answered for {seconds} s")

    def asked(self) -> None:
        """It has answered, or never will."""
        with self._lock:
            self._safely(self._progress.clear)

    def close(self, milliseconds: int) -> str:
        """Take away what is passing; how long the run took, in words."""
        with self._lock:
            self._safely(self._end_line)
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
