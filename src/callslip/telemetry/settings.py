"""What a project may say in ``[telemetry]`` of callslip.toml (OBSV-02)."""

from __future__ import annotations

import msgspec


class Telemetry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing is told to anybody unless this says so."""

    otel: bool = False
    """Whether spans and metrics go to OpenTelemetry. Needs ``callslip[otel]``, and an SDK that sends them on."""
    content: bool = False
    """Whether the arguments and results of calls go with them."""
