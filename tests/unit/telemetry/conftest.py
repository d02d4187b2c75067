"""OpenTelemetry's own SDK, exporting into memory."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from callslip.telemetry.opentelemetry import OpenTelemetry


class Collector:
    """What an application would send on."""

    def __init__(self):
        self.exporter = InMemorySpanExporter()
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self._reader = InMemoryMetricReader()
        self.meters = MeterProvider([self._reader], shutdown_on_exit=False)

    def watch(self, **options):
        return OpenTelemetry(tracer_provider=self.tracers, meter_provider=self.meters, **options)

    def spans(self, beginning=""):
        """Those that were sent, by name, in the order in which they ended."""
        return [span for span in self.exporter.get_finished_spans() if span.name.startswith(beginning)]

    def one(self, beginning):
        (span,) = self.spans(beginning)
        return span

    def points(self, name):
        """A metric: its figure by its attributes' values. Of a histogram, how many values it took."""
        data = self._reader.get_metrics_data()
        found = [
            metric
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
        ]
        return {
            frozenset(point.attributes.values()): getattr(point, "value", None)
            if hasattr(point, "value")
            else point.count
            for metric in found
            for point in metric.data.data_points
        }


@pytest.fixture
def collector():
    made = Collector()
    yield made
    made.tracers.shutdown()
    made.meters.shutdown()
