"""Stops a workspace tool that was told to stop, before it has done anything."""

from __future__ import annotations

from callslip.errors import ToolFailed
from callslip.ports.context import Context


def stop_if_cancelled(context: Context) -> None:
    """Raise if the call was told to stop. Unlike ``context.check()`` it knows that nothing has happened yet.

    Raises:
        ToolFailed: ``cancelled``. Effect none.
    """
    if context.cancelled:
        raise ToolFailed("The call was cancelled before it changed anything.", code="cancelled")
