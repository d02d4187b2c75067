"""Count what a log says of tools and models, record by record (OBSV-02, OBSV-03). Pure.

A session is remembered only as far as its calls are open, and for a few of its calls beyond their end: those that may
still be heard of. So the memory it takes does not grow with the log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar, Final

from callslip.core import layers
from callslip.core.event import Record, Stored
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.background_started import BackgroundStarted
from callslip.core.events.breaker_opened import BreakerOpened
from callslip.core.events.call_parked import CallParked
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.events.model_failed import ModelFailed
from callslip.core.events.model_replied import ModelReplied
from callslip.core.events.model_requested import ModelRequested
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.fold import CALLER
from callslip.core.instead import CACHE
from callslip.core.result import Effect, Status
from callslip.core.undoing import REVERT
from callslip.errors import EmptyReply, IncompleteReply, Layer, ModelError, ModelUnavailable
from callslip.stats.figures import NO_MODEL, NO_SUCH_TOOL, Stats
from callslip.stats.row import ModelRow, ToolRow, count

_MOST_UNSURE = 200
_NOBODYS = frozenset({CALLER, REVERT})
"""What stands for a model where none was asked."""
_NO_REPLY = frozenset({ModelError.code, ModelUnavailable.code})
_UNUSABLE: Final[dict[str, Layer]] = {
    "empty": EmptyReply.layer, "cut": IncompleteReply.layer, "length": IncompleteReply.layer,
    "filtered": IncompleteReply.layer,
}  # fmt: skip
"""Ends of replies that can't be used, or not as they are."""


class _Call:
    """An open call."""

    __slots__ = ("dispatched_at", "failed_at", "job", "name", "parked", "row", "running")

    def __init__(self, name: str) -> None:
        self.name = name
        self.row: ToolRow | None = None
        """Of the tool that was called, once it is certain that there is one."""
        self.running: ToolRow | None = None
        """Of the tool that its latest attempt was dispatched to."""
        self.dispatched_at = 0
        self.failed_at: int | None = None
        self.job = self.parked = False


class Tally:
    """Takes the sessions one after the other: :meth:`begin`, then :meth:`add` for each record, in order.

    ``since`` (milliseconds since 1970): calls that were proposed before, and replies from before, are left out.
    ``unread`` names sessions that could not be read.
    """

    def __init__(self, since: int | None = None) -> None:
        self.unread: list[str] = []
        self._since = since
        self._sessions = self._records = 0
        self._tools: dict[str, ToolRow] = {}
        self._models: dict[str, ModelRow] = {}
        self._unusable: Counter[Layer] = Counter()
        self._begin()

    def begin(self) -> None:
        """Go on to another session."""
        self._end()
        self._sessions += 1

    def add(self, stored: Stored) -> None:
        """Count a record in."""
        self._records += 1
        take = self._TAKE.get(type(stored.record.event))
        if take is not None:
            take(self, stored.record.event, stored.record)

    def stats(self) -> Stats:
        """What it comes to. Ends the session that was begun last."""
        self._end()
        counted: Counter[Layer] = Counter(self._unusable)
        found = [row.failures for row in self._tools.values()] + [row.failures for row in self._models.values()]
        for (layer, _), many in (one for failures in found for one in failures.items()):
            counted[layer] += many
        tools = [row.figures() for row in self._tools.values()]
        models = [row.figures() for row in self._models.values()]
        return Stats(
            since=self._since,
            sessions=self._sessions,
            records=self._records,
            tools=tuple(sorted(tools, key=lambda row: (-row.calls, row.tool))),
            models=tuple(sorted(models, key=lambda row: (-row.replies, row.model))),
            layers={layer: counted[layer] for layer in layers.LAYERS},
            unread=tuple(self.unread),
        )

    def _begin(self) -> None:
        self._calls: dict[str, _Call] = {}
        self._unsure: dict[str, ToolRow] = {}
        """Calls that have an answer, and of which something may still be heard."""
        self._waits: dict[str, tuple[str, ToolRow, int]] = {}
        self._model: ModelRow | None = None
        self._visible: frozenset[str] = frozenset()
        """The tools that the model was shown last: what else it calls is of its own making."""

    def _end(self) -> None:
        for call in self._calls.values():
            row = self._row(call)
            row.calls += 1
            row.open += 1
        self._begin()

    # Rows

    def _tool(self, name: str) -> ToolRow:
        row = self._tools.get(name)
        if row is None:
            row = self._tools[name] = ToolRow(name)
        return row

    def _row(self, call: _Call) -> ToolRow:
        """The row of the tool that was called; from here on it is certain that there is one."""
        if call.row is None:
            call.row = self._tool(call.name)
        return call.row

    def _model_row(self, name: str) -> ModelRow:
        row = self._models.get(name)
        if row is None:
            row = self._models[name] = ModelRow(name)
        return row

    def _too_old(self, record: Record) -> bool:
        return self._since is not None and record.at < self._since

    # Calls

    def _function_call(self, event: FunctionCall, record: Record) -> None:
        if not self._too_old(record):
            self._calls[event.call_id] = _Call(event.tool)

    def _asked(self, event: ApprovalRequested, record: Record) -> None:
        call = self._calls.get(event.call_id)
        if call is not None and call.row is None:
            call.row = self._tool(event.tool if event.instead is None else event.instead.of)

    def _dispatched(self, event: ToolDispatch, record: Record) -> None:
        call = self._calls.get(event.call_id)
        if call is None:
            return
        row = self._tool(event.tool)
        if call.row is None:
            call.row = row if event.instead is None else self._tool(event.instead.of)
        row.attempts += 1
        if call.running is row:
            row.retries += 1
        elif event.instead is not None:
            row.stood_in += 1
        if call.running is row and call.failed_at is not None:
            row.waited("retry", record.at - call.failed_at)
        if event.waited_ms:
            row.waited("claims", event.waited_ms)
        call.running, call.dispatched_at, call.failed_at, call.job = row, record.at, None, False

    def _attempt_failed(self, event: AttemptFailed, record: Record) -> None:
        call = self._calls.get(event.call_id)
        if call is None or call.running is None:
            return
        if event.duration_ms is not None:
            call.running.durations.add(event.duration_ms)
        call.running.asked_twice(event.hedged)
        count(call.running.attempt_failures, layers.of_attempt(event), event.code)
        call.failed_at = record.at if event.retry_at is not None else None

    def _job(self, event: BackgroundStarted, record: Record) -> None:
        call = self._calls.get(event.call_id)
        if call is not None:
            call.job = True

    def _parked(self, event: CallParked, record: Record) -> None:
        call = self._calls.get(event.call_id)
        if call is not None and not call.parked:
            call.parked = True
            self._row(call).parked += 1

    def _answered(self, event: FunctionResponse, record: Record) -> None:
        call = self._calls.pop(event.call_id, None)
        if call is None:
            return
        if call.row is None and call.name not in self._visible:
            call.row = self._tool(NO_SUCH_TOOL)
        row, layer = self._row(call), layers.of_response(event)
        row.calls += 1
        took = record.at - call.dispatched_at if call.job and event.duration_ms is None else event.duration_ms
        if call.running is not None:
            call.running.asked_twice(event.hedged)
            if took is not None:
                call.running.durations.add(took)
        if event.fallback is not None:
            row.fallbacks += 1
            row.failed += 1
            count(row.failures, layers.of_code(event.fallback.why), event.fallback.why)
            if event.fallback.source == CACHE:
                return
            row = self._tool(event.fallback.source)
        if layer is None:
            row.succeeded += 1
            return
        count(row.failures, layer, event.error_code or event.status.value)
        if event.lane == "refused":
            row.refused += 1
            return
        row.failed += 1
        if event.effect is Effect.UNKNOWN or event.status is Status.TIMEOUT or event.error_code == "cancelled":
            self._unsure[event.call_id] = call.running or row
            if len(self._unsure) > _MOST_UNSURE:
                del self._unsure[next(iter(self._unsure))]

    def _late(self, event: LateOutcome, record: Record) -> None:
        if event.beaten:  # its call has an answer, and was never given up
            return
        call = self._calls.get(event.call_id)
        row = self._unsure.get(event.call_id) if call is None else call.running
        if row is not None:
            row.late += 1

    def _opened(self, event: BreakerOpened, record: Record) -> None:
        if not self._too_old(record):
            self._tool(event.tool).opened += 1

    # Waits

    def _wait_opened(self, event: WaitOpened, record: Record) -> None:
        call = self._calls.get(event.call_id or "")
        if call is not None:
            self._waits[event.wait_id] = (event.kind.value, self._row(call), record.at)

    def _wait_closed(self, event: WaitClosed, record: Record) -> None:
        opened = self._waits.pop(event.wait_id, None)
        if opened is not None:
            kind, row, at = opened
            row.waited(kind, record.at - at)

    # Models

    def _requested(self, event: ModelRequested, record: Record) -> None:
        if event.visible is not None:
            self._visible = frozenset(tool.name for tool in event.visible)
        self._model = None if event.model in _NOBODYS else self._model_row(event.model)

    def _replied(self, event: ModelReplied, record: Record) -> None:
        if self._model is None or self._too_old(record):
            return
        self._model.replied(event.finish, event.usage, event.duration_ms)
        layer = _UNUSABLE.get(event.finish)
        if layer is not None:
            self._model.unusable += 1
            self._unusable[layer] += 1

    def _no_reply(self, event: ModelFailed, record: Record) -> None:
        self._model = self._model_row(event.model)
        if not self._too_old(record):
            self._model.no_reply(event.code)

    def _run_ended(self, event: RunEnded, record: Record) -> None:
        if event.code in _NO_REPLY and not self._too_old(record):  # the last failure has no record of its own
            (self._model or self._model_row(NO_MODEL)).no_reply(event.code)

    _TAKE: ClassVar[dict[type, Callable[[Tally, Any, Record], None]]] = {
        FunctionCall: _function_call,
        ApprovalRequested: _asked,
        ToolDispatch: _dispatched,
        AttemptFailed: _attempt_failed,
        BackgroundStarted: _job,
        CallParked: _parked,
        FunctionResponse: _answered,
        LateOutcome: _late,
        BreakerOpened: _opened,
        WaitOpened: _wait_opened,
        WaitClosed: _wait_closed,
        ModelRequested: _requested,
        ModelReplied: _replied,
        ModelFailed: _no_reply,
        RunEnded: _run_ended,
    }
