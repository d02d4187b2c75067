"""Breaks of what is told of tools and models: statistics, telemetry, and the layer of every error."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

TALLY = "tests/unit/stats/test_tally.py"
QUANTILES = "tests/unit/stats/test_quantiles.py"
OTEL = "tests/unit/telemetry/test_opentelemetry.py"
LAYERS = "tests/unit/core/test_layers.py"

STATS: Sequence[Mutant] = (
    Mutant(
        "OBSV-02",
        "what a fallback answers is a success of the tool that was called",
        "stats/tally.py",
        "            row.fallbacks += 1\n            row.failed += 1\n",
        "            row.fallbacks += 1\n            row.succeeded += 1\n",
        (TALLY,),
    ),
    Mutant(
        "OBSV-02",
        "every attempt is a retry",
        "stats/tally.py",
        "        if call.running is row:\n            row.retries += 1",
        "        if True:\n            row.retries += 1",
        (TALLY,),
    ),
    Mutant(
        "OBSV-02",
        "a percentile is the value after it",
        "stats/quantiles.py",
        "return sorted(self._values)[rank - 1]",
        "return sorted(self._values)[min(rank, self.count - 1)]",
        (QUANTILES,),
    ),
    Mutant(
        "OBSV-02",
        "an attempt is no child of its run",
        "telemetry/opentelemetry.py",
        "return trace.set_span_in_context(run.agent.span, run.around)",
        "return run.around",
        (OTEL,),
    ),
    Mutant(
        "OBSV-02",
        "a tool does not see its own span",
        "telemetry/opentelemetry.py",
        "        if attempt is not None:\n            contexts.attach(",
        "        if attempt is None:\n            contexts.attach(",
        (OTEL,),
    ),
    Mutant(
        "OBSV-02",
        "arguments and results are told unasked",
        "telemetry/opentelemetry.py",
        "if not self._content or payload is None",
        "if payload is None",
        (OTEL,),
    ),
    Mutant(
        "OBSV-02",
        "what does not stand in the log is told as nothing",
        "telemetry/opentelemetry.py",
        " or payload is None or not payload.inline:",
        " or payload is None:",
        (OTEL,),
    ),
    Mutant(
        "OBSV-03",
        "a failed connection is the tool's fault",
        "runtime/outcome.py",
        "layer=_beyond(failure.fault.network),",
        "layer=_beyond(False),",
        (LAYERS,),
    ),
    Mutant(
        "OBSV-03",
        "what the event says of its layer does not count",
        "core/layers.py",
        "return _said(response.layer) or of_code(",
        "return of_code(",
        (LAYERS,),
    ),
    Mutant(
        "OBSV-03",
        "an error over HTTP names no layer",
        "answering/faults.py",
        '"message": str(error), "layer": error.layer}',
        '"message": str(error)}',
        (LAYERS,),
    ),
    Mutant(
        "OBSV-03",
        "a run that failed does not say by which error",
        "agent/loop.py",
        'RunEnded(status="failed", reason=reason, code=code)',
        'RunEnded(status="failed", reason=reason)',
        (LAYERS,),
    ),
    Mutant(
        "OBSV-03",
        "failures are not counted by layer",
        "stats/tally.py",
        "            counted[layer] += many\n",
        "            counted[layer] += 0\n",
        (TALLY,),
    ),
)
