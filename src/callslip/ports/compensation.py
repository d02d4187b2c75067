"""What runs a tool whose calls can be undone, beside ``ports/executor``: what the undoing call is given (RECO-07)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Undoable(Protocol):
    """Implemented by executors whose spec names a ``compensation``."""

    def compensate_with(self, arguments: Mapping[str, Any], result: Any) -> Mapping[str, Any] | None:
        """The arguments of the call that undoes a call with these arguments and this result (JSON, as recorded);
        ``None``: there is nothing to undo. Changes nothing, and gives the same whenever it is asked.
        """
        ...
