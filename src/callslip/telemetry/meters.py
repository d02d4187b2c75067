"""The metrics: counters and histograms of tools and models, and how breakers stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opentelemetry.metrics import CallbackOptions, Meter, Observation

from callslip.ports.breakers import Breakers
from callslip.telemetry import names

Attributes = Mapping[str, str]

_STATES = {"closed": 0, "half-open": 1, "open": 2}


class Meters:
    """Made once for each :class:`OpenTelemetry`. All of it is called from the runtime's own loop, except for
    :meth:`_states`, which reads what :meth:`look` has left.
    """

    def __init__(self, meter: Meter) -> None:
        seconds, tokens = list(names.SECONDS), list(names.TOKENS)
        self.chat = meter.create_histogram(
            names.CLIENT_DURATION, "s", "GenAI operation duration.", explicit_bucket_boundaries_advisory=seconds
        )
        self.tokens = meter.create_histogram(
            names.CLIENT_TOKENS, "{token}", "Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=tokens,
        )  # fmt: skip
        self.agent = meter.create_histogram(
            names.AGENT_DURATION, "s", "How long a run of a session takes.",
            explicit_bucket_boundaries_advisory=list(names.AGENT_SECONDS),
        )  # fmt: skip
        self.tool = meter.create_histogram(
            names.TOOL_DURATION, "s", "How long an attempt of a call takes.",
            explicit_bucket_boundaries_advisory=seconds,
        )  # fmt: skip
        self.waits = meter.create_histogram(
            names.TOOL_WAITS, "s", "How long a call waits, for what it claims or for somebody's answer.",
            explicit_bucket_boundaries_advisory=seconds,
        )  # fmt: skip
        self.calls = meter.create_counter(names.TOOL_CALLS, "{call}", "Calls that have their answer, by outcome.")
        self.retries = meter.create_counter(names.TOOL_RETRIES, "{attempt}", "Attempts beyond the first of a tool.")
        self.failures = meter.create_counter(names.TOOL_FAILURES, "{attempt}", "Attempts that ended without an answer.")
        self.late = meter.create_counter(names.TOOL_LATE, "{outcome}", "Outcomes of calls that were given up before.")
        self.opened = meter.create_counter(names.BREAKER_OPENED, "{time}", "How often a tool was left alone.")
        meter.create_observable_gauge(
            names.BREAKER_STATE, [self._states], "1", "0 closed, 1 half-open, 2 open: the worst of the tool's targets."
        )
        self._seen: dict[str, int] = {}

    def look(self, breakers: Breakers) -> bool:
        """Take in how the breakers stand. Whether any is not closed."""
        seen = dict.fromkeys(self._seen, 0)  # one that says nothing any more is closed
        for one in breakers.seen():
            tool = one.key.partition("@")[0]
            seen[tool] = max(seen.get(tool, 0), _STATES[one.phase])
        self._seen = seen
        return any(seen.values())

    def _states(self, _options: CallbackOptions) -> Iterable[Observation]:
        return [Observation(state, {names.TOOL_NAME: tool}) for tool, state in self._seen.items()]
