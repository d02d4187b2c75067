"""What a request is answered that can't be done: one status and one document for each kind of error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callslip.answering.decision import SchemaFaults
from callslip.errors import (
    CallslipError,
    LedgerUnavailable,
    LogBroken,
    Moved,
    NotAuthorised,
    NotFound,
    StateRefused,
    UsageError,
    WaitConflict,
)

_STATUS: tuple[tuple[type[CallslipError], int], ...] = (
    (NotAuthorised, 403),
    (NotFound, 404),
    (WaitConflict, 409),
    (UsageError, 422),
    (Moved, 503),
    (LedgerUnavailable, 503),
    (LogBroken, 500),
    (StateRefused, 500),
)


class Refused(Exception):
    """A request that is turned away before anything is looked at."""

    def __init__(self, status: int, kind: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.headers = dict(headers or {})


def status_of(error: Exception) -> int:
    """The status that the error is answered with."""
    if isinstance(error, Refused):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


_BARRED = frozenset({401, 403, 429})


def document_of(error: Exception) -> dict[str, Any]:
    """The error in JSON. Of an unexpected one it says nothing that could tell of the machine."""
    if isinstance(error, Refused):
        layer = "policy" if error.status in _BARRED else "protocol"
        return {"error": {"code": error.kind, "message": str(error), "layer": layer}}
    if not isinstance(error, CallslipError):
        message = "Something unexpected happened. Nothing was answered."
        return {"error": {"code": "unexpected", "message": message, "layer": "runtime"}}
    told: dict[str, Any] = {"code": error.code, "message": str(error), "layer": error.layer}
    if isinstance(error, SchemaFaults):
        told["field_errors"] = _fields(error.errors)
    return {"error": told}


def _fields(errors: Sequence[msgspec.Struct]) -> list[Any]:
    return [msgspec.to_builtins(one) for one in errors]
