"""What runs a tool whose calls start jobs, beside ``ports/executor``: ask after a job, and tell it to end (SPEC-06)."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import msgspec

from callslip.ports.context import Context


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """The job goes on."""

    note: str = ""
    """How far it is: for people, and kept in the log."""
    again_in: float | None = None
    """Seconds until it is worth asking again; ``None``: twice as long as the last time, up to an hour."""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """The job has ended, and this is what the call returns."""

    result: Any = None


@runtime_checkable
class Jobs(Protocol):
    """Implemented by executors whose spec says ``background``. Both are given the handle that starting the job gave,
    in whatever process asks, and a context with the call's idempotency key.
    """

    async def poll(self, handle: Any, context: Context) -> Running | Done:
        """How the job stands. Changes nothing.

        Raises:
            ToolFailed: the job has failed, with that effect. Anything else that is raised says nothing of the job.
        """
        ...

    async def cancel(self, handle: Any, context: Context) -> bool:
        """Tell the job to end, if it can be told; whether it could. May happen more than once for a job."""
        ...
