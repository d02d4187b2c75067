"""Spans and metrics for OpenTelemetry, by its conventions for generative AI (OBSV-02).

It watches what the runtime makes durable, and adds nothing to it: a span begins and ends with its records, so one whose
end nobody saw is never sent, and after a crash the next run begins spans of its own. Where the spans go is the
application's business: it sets up an SDK and an exporter, and this finds them.

====================================  ======================================================================
``invoke_agent``                      a run of a session, from taking it over to letting it go
└── ``chat MODEL``                    a request to the model; what the request itself traces lies beneath
└── ``execute_tool TOOL``             one attempt of one call; what the tool traces lies beneath
====================================  ======================================================================

Somebody else's loop has its own span of the run, so calls that it dispatches are children of whatever is current there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ClassVar

from opentelemetry import context as contexts, metrics, trace
from opentelemetry.context import Context
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider

from callslip.core import layers
from callslip.core.event import Record
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.background_started import BackgroundStarted
from callslip.core.events.breaker_opened import BreakerOpened
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.events.model_failed import ModelFailed
from callslip.core.events.model_replied import ModelReplied, Usage
from callslip.core.events.model_requested import ModelRequested
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.run_started import RunStarted
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.fold import CALLER
from callslip.core.payload import Payload
from callslip.ports.breakers import Breakers
from callslip.runtime.live import Asking, Executing, Live, Recorded, TakenOver
from callslip.telemetry import names
from callslip.telemetry.meters import Meters

_OTHER = "_OTHER"
"""By the conventions, a value that is none of the known ones; here: a tool that is not there."""
_LOOK = 1.0
"""Seconds between two looks at breakers of which one is not closed."""
_UNUSABLE = {"empty": "empty_reply", "cut": "incomplete_reply", "filtered": "incomplete_reply"}


class _Timed:
    """A span that is open, and since when."""

    __slots__ = ("attributes", "began", "span")

    def __init__(self, span: Span, attributes: dict[str, str]) -> None:
        self.span = span
        self.attributes = attributes
        """What its metrics are told apart by."""
        self.began = time.monotonic()

    def end(self) -> float:
        """End it; how long it took, in seconds."""
        self.span.end()
        return time.monotonic() - self.began


class _Run:
    """A session that is driven here."""

    def __init__(self, tools: dict[str, str]) -> None:
        self.around: Context = contexts.get_current()
        """What was current where the run began, or its latest step was taken from somebody else's loop."""
        self.parents: dict[str, Context] = {}
        """Of calls that came from there."""
        self.began_ns = time.time_ns()
        self.agent: _Timed | None = None
        self.foreign = False
        """Somebody else's loop drives it."""
        self.chat: _Timed | None = None
        self.tools = tools
        """Of calls without an answer, and of those that may be late, by call."""
        self.visible: frozenset[str] = frozenset()
        self.attempts: dict[str, _Timed] = {}
        self.last: dict[str, str] = {}
        """The tool of a call's latest attempt."""
        self.waits: dict[str, tuple[str, str, int]] = {}


class OpenTelemetry:
    """A watcher for ``Runtime(telemetry=…)``; one for each runtime.

    Args:
        tracer_provider, meter_provider: the application's own; default: the global ones.
        content: whether the arguments and results of calls are told, those that stand in the log itself: not the large
            ones, and none of an encrypted session.
    """

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        content: bool = False,
    ) -> None:
        self._tracer = trace.get_tracer(names.SCOPE, tracer_provider=tracer_provider, schema_url=names.SCHEMA)
        self._meters = Meters(metrics.get_meter(names.SCOPE, meter_provider=meter_provider, schema_url=names.SCHEMA))
        self._content = content
        self._runs: dict[str, _Run] = {}
        self._breakers: Breakers | None = None
        self._troubled = False
        self._looked = 0.0

    def of_breakers(self, breakers: Breakers | None) -> None:
        """Where to see how the breakers stand."""
        self._breakers = breakers

    def __call__(self, live: Live) -> None:
        """Take in what happens."""
        if isinstance(live, Recorded):
            run = self._runs.get(live.session)
            take = self._TAKE.get(type(live.record.event))
            if run is not None and take is not None:
                take(self, run, live.session, live.record.event, live.record)
            if self._troubled and time.monotonic() - self._looked >= _LOOK:
                self._look()
        elif isinstance(live, TakenOver):
            self._runs[live.session] = _Run(dict(live.calls))  # spans of a drive that was broken off are lost with it
        elif isinstance(live, Asking):
            self._asking(live)
        elif isinstance(live, Executing):
            self._executing(live)

    # Runs

    def _run_started(self, run: _Run, session: str, event: RunStarted, record: Record) -> None:
        run.around, run.began_ns = contexts.get_current(), time.time_ns()

    def _around(self, run: _Run, session: str) -> Context:
        """What a span of this run is a child of. The run's own span begins when it is certain that it is an agent's."""
        if run.foreign:
            return run.around
        if run.agent is None:
            attributes = {names.OPERATION: names.INVOKE_AGENT, names.CONVERSATION: session}
            span = self._tracer.start_span(
                names.INVOKE_AGENT,
                run.around,
                SpanKind.INTERNAL,
                attributes,
                start_time=run.began_ns,
            )
            run.agent = _Timed(span, {})
            run.agent.began -= (time.time_ns() - run.began_ns) / 1e9
        return trace.set_span_in_context(run.agent.span, run.around)

    def _run_ended(self, run: _Run, session: str, event: RunEnded, record: Record) -> None:
        if not run.foreign and event.status != "idle":
            self._around(run, session)
        self._end_chat(run, event.code or ("cancelled" if run.chat is not None else ""))
        if run.agent is not None:
            run.agent.span.set_attribute(names.RUN_STATUS, event.status)
            about = {}
            if event.status == "failed":
                about = self._failed(run.agent.span, event.code or _OTHER, layers.of_error(event.code))
            self._meters.agent.record(run.agent.end(), about)
        del self._runs[session]

    # Requests to the model

    def _asking(self, live: Asking) -> None:
        run = self._runs.get(live.session)
        if run is None:
            return
        self._end_chat(run, "cancelled")  # one of which nothing came, not even a failure
        about = {
            names.OPERATION: names.CHAT,
            names.PROVIDER: names.provider(live.model),
            names.REQUEST_MODEL: names.bare(live.model),
        }
        more = {names.CONVERSATION: live.session, names.STEP: live.step}
        around = self._around(run, live.session)
        span = self._tracer.start_span(f"{names.CHAT} {names.bare(live.model)}", around, SpanKind.CLIENT, about | more)
        run.chat = _Timed(span, about)
        contexts.attach(trace.set_span_in_context(span, around))  # in the request's own task, which ends with it

    def _requested(self, run: _Run, session: str, event: ModelRequested, record: Record) -> None:
        if event.visible is not None:
            run.visible = frozenset(tool.name for tool in event.visible)
        if event.model == CALLER and run.agent is None:
            run.foreign, run.around = True, contexts.get_current()

    def _replied(self, run: _Run, session: str, event: ModelReplied, record: Record) -> None:
        chat = run.chat
        if chat is None:
            return
        if event.reply_model:
            chat.attributes[names.RESPONSE_MODEL] = event.reply_model
        usage = event.usage
        chat.span.set_attributes({names.FINISH_REASONS: [event.finish], **chat.attributes, **_used(usage)})
        for kind, many in (("input", usage.input_tokens), ("output", usage.output_tokens)):
            if many:  # zero: it was not said
                self._meters.tokens.record(many, {**chat.attributes, names.TOKEN_TYPE: kind})
        self._end_chat(run, _UNUSABLE.get(event.finish, ""))

    def _no_reply(self, run: _Run, session: str, event: ModelFailed, record: Record) -> None:
        self._end_chat(run, event.code)

    def _end_chat(self, run: _Run, code: str) -> None:
        chat, run.chat = run.chat, None
        if chat is None:
            return
        layer = layers.of_code(code) if code == "cancelled" else layers.of_error(code)
        failed = self._failed(chat.span, code, layer) if code else {}
        self._meters.chat.record(chat.end(), chat.attributes | failed)

    # Calls

    def _proposed(self, run: _Run, session: str, event: FunctionCall, record: Record) -> None:
        run.tools[event.call_id] = event.tool if event.tool in run.visible else _OTHER
        if run.foreign:
            run.parents[event.call_id] = run.around

    def _dispatched(self, run: _Run, session: str, event: ToolDispatch, record: Record) -> None:
        if event.instead is None:
            run.tools[event.call_id] = event.tool
        if run.last.get(event.call_id) == event.tool or (event.attempt > 1 and event.instead is None):
            self._meters.retries.add(1, {names.TOOL_NAME: event.tool})
        run.last[event.call_id] = event.tool
        if event.waited_ms:
            about = {names.TOOL_NAME: event.tool, names.WAIT: "claims"}
            self._meters.waits.record(event.waited_ms / 1000, about)
        if event.client_owned:
            return  # its client executes it
        attributes: dict[str, Any] = {
            names.OPERATION: names.EXECUTE_TOOL,
            names.TOOL_NAME: event.tool,
            names.TOOL_TYPE: "function",
            names.TOOL_CALL_ID: event.call_id,
            names.CONVERSATION: session,
            names.ATTEMPT: event.attempt,
        }
        if event.waited_ms:
            attributes[names.WAITED_MS] = event.waited_ms
        if event.instead is not None:
            attributes[names.INSTEAD_OF] = event.instead.of
        attributes |= self._told(names.TOOL_ARGUMENTS, event.arguments)
        around = run.parents.get(event.call_id) or self._around(run, session)
        span = self._tracer.start_span(f"{names.EXECUTE_TOOL} {event.tool}", around, SpanKind.INTERNAL, attributes)
        run.attempts[event.call_id] = _Timed(span, {names.TOOL_NAME: event.tool, names.TOOL_TYPE: "function"})

    def _executing(self, live: Executing) -> None:
        run = self._runs.get(live.session)
        attempt = run.attempts.get(live.call_id) if run is not None else None
        if attempt is not None:
            contexts.attach(trace.set_span_in_context(attempt.span))  # in the tool's own task, which ends with it

    def _end_attempt(self, run: _Run, call_id: str, effect: str, code: str, layer: str | None) -> None:
        attempt = run.attempts.pop(call_id, None)
        if attempt is None:
            return
        if effect:
            attempt.span.set_attribute(names.EFFECT, effect)
        failed = self._failed(attempt.span, code, layer) if layer is not None else {}
        self._meters.tool.record(attempt.end(), attempt.attributes | failed)

    def _hedged(self, run: _Run, event: AttemptFailed | FunctionResponse) -> None:
        attempt = run.attempts.get(event.call_id)
        if attempt is not None and event.hedged is not None:
            attempt.span.set_attribute(names.HEDGED, event.hedged.answered)

    def _attempt_failed(self, run: _Run, session: str, event: AttemptFailed, record: Record) -> None:
        layer = layers.of_attempt(event)
        tool = run.last.get(event.call_id) or run.tools.get(event.call_id, _OTHER)
        about: dict[str, str] = {names.TOOL_NAME: tool, names.ERROR_TYPE: event.code, names.LAYER: layer}
        self._meters.failures.add(1, about)
        self._hedged(run, event)
        self._end_attempt(run, event.call_id, event.effect.value, event.code, layer)

    def _job(self, run: _Run, session: str, event: BackgroundStarted, record: Record) -> None:
        self._end_attempt(run, event.call_id, "", "", None)

    def _answered(self, run: _Run, session: str, event: FunctionResponse, record: Record) -> None:
        layer = layers.of_response(event)
        code = event.error_code or event.status.value
        attempt = run.attempts.get(event.call_id)
        if attempt is not None:
            attempt.span.set_attributes(self._told(names.TOOL_RESULT, event.structured))
        self._hedged(run, event)
        if event.fallback is not None and event.fallback.source != run.last.get(event.call_id):
            why = event.fallback.why  # an earlier answer: the attempt itself has failed
            self._end_attempt(run, event.call_id, "none", why, layers.of_code(why))
        else:
            self._end_attempt(run, event.call_id, event.effect.value, code, layer)
        about = {names.TOOL_NAME: run.tools.get(event.call_id, _OTHER)}
        about[names.OUTCOME] = "success" if layer is None else "refused" if event.lane == "refused" else "failed"
        if event.fallback is not None and layer is None:
            about[names.OUTCOME], code, layer = "fallback", event.fallback.why, layers.of_code(event.fallback.why)
        if layer is not None:
            about |= {names.ERROR_TYPE: code, names.LAYER: layer}
        self._meters.calls.add(1, about)
        run.last.pop(event.call_id, None)
        run.parents.pop(event.call_id, None)
        if layer is None:
            run.tools.pop(event.call_id, None)
        elif code == "breaker_open":
            self._troubled = True

    def _late(self, run: _Run, session: str, event: LateOutcome, record: Record) -> None:
        if not event.beaten:  # else its call has an answer, and was never given up
            self._meters.late.add(1, {names.TOOL_NAME: run.tools.get(event.call_id, _OTHER)})

    def _wait_opened(self, run: _Run, session: str, event: WaitOpened, record: Record) -> None:
        if event.call_id is not None:
            run.waits[event.wait_id] = (event.kind.value, run.tools.get(event.call_id, _OTHER), record.at)

    def _wait_closed(self, run: _Run, session: str, event: WaitClosed, record: Record) -> None:
        kind, tool, at = run.waits.pop(event.wait_id, ("", "", 0))
        if kind:
            about = {names.TOOL_NAME: tool, names.WAIT: kind}
            self._meters.waits.record(max(record.at - at, 0) / 1000, about)

    # Breakers

    def _opened(self, run: _Run, session: str, event: BreakerOpened, record: Record) -> None:
        self._meters.opened.add(1, {names.TOOL_NAME: event.tool})
        self._troubled, self._looked = True, 0.0

    def _look(self) -> None:
        self._looked = time.monotonic()
        self._troubled = self._breakers is not None and self._meters.look(self._breakers)

    # Parts of spans

    def _failed(self, span: Span, code: str, layer: str | None) -> dict[str, str]:
        """Mark the span as failed; the attributes that say so."""
        span.set_status(Status(StatusCode.ERROR))  # no description: it would be somebody's words
        about = {names.ERROR_TYPE: code, **({names.LAYER: layer} if layer is not None else {})}
        span.set_attributes(about)
        return about

    def _told(self, name: str, payload: Payload | None) -> dict[str, str]:
        """The content of a call, if it is to be told and stands here: never that of an encrypted session, which stands
        elsewhere.
        """
        if not self._content or payload is None or not payload.inline:
            return {}
        return {name: bytes(payload.text).decode()}

    _TAKE: ClassVar[dict[type, Callable[[OpenTelemetry, _Run, str, Any, Record], None]]] = {
        RunStarted: _run_started,
        RunEnded: _run_ended,
        ModelRequested: _requested,
        ModelReplied: _replied,
        ModelFailed: _no_reply,
        FunctionCall: _proposed,
        ToolDispatch: _dispatched,
        AttemptFailed: _attempt_failed,
        BackgroundStarted: _job,
        FunctionResponse: _answered,
        LateOutcome: _late,
        BreakerOpened: _opened,
        WaitOpened: _wait_opened,
        WaitClosed: _wait_closed,
    }


def _used(usage: Usage) -> dict[str, int]:
    said = {
        names.INPUT_TOKENS: usage.input_tokens,
        names.OUTPUT_TOKENS: usage.output_tokens,
        names.CACHE_READ_TOKENS: usage.cached_tokens,
        names.CACHE_WRITE_TOKENS: usage.cache_write_tokens,
        names.REASONING_TOKENS: usage.reasoning_tokens,
    }
    return {name: many for name, many in said.items() if many}
