"""A call turned down before its dispatch: nothing happened, and the model is told what to change."""

from __future__ import annotations

import msgspec

from callslip.core.result import FieldError, Status


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """``code`` is stable; ``message`` is for the model and names no host, path or secret."""

    status: Status
    code: str
    message: str
    field_errors: tuple[FieldError, ...] = ()
    retryable: bool = False
    rules: tuple[str, ...] = ()
    same_as: str = ""
    """Of a call that is not made once more: the one that came to the same end last."""
