"""From raw argument text to validated arguments, or to an explanation the model can act on (ARGS-01, ARGS-03)."""

from __future__ import annotations

from typing import Any

import msgspec

from callslip.core import canon
from callslip.core.result import FieldError, Status
from callslip.gate.catalogue import Entry
from callslip.gate.refusal import Refusal
from callslip.schema.explain import explain
from callslip.schema.parse import ParseFailure, parse_arguments


class Arguments(msgspec.Struct, frozen=True, kw_only=True):
    """Final arguments and their canonical text; what is validated is what is hashed, stored and executed."""

    value: dict[str, Any]
    text: bytes
    changed: tuple[str, ...]
    """Departures from the raw text: ``empty``, ``unicode``."""


def read_arguments(raw: str | dict[str, Any], entry: Entry) -> Arguments | Refusal:
    """Parse without repair, validate, canonicalise."""
    spec = entry.executor.spec
    parsed = parse_arguments(raw, has_parameters=bool(spec.input_schema.get("properties")))
    if isinstance(parsed, ParseFailure):
        return _unreadable(spec.name, parsed)
    errors = entry.arguments.errors(parsed.value)
    if errors:
        return Refusal(
            status=Status.INVALID_ARGUMENTS,
            code="invalid_arguments",
            message=explain(spec.name, errors),
            field_errors=tuple(
                FieldError(
                    field=error.path, rule=error.rule, message=error.message, got=error.got, allowed=error.allowed
                )
                for error in errors
            ),
            retryable=True,
        )
    return Arguments(value=parsed.value, text=canon.canonical(parsed.value), changed=parsed.changed)


def _unreadable(tool: str, failure: ParseFailure) -> Refusal:
    place = f" at line {failure.line}, column {failure.column}" if failure.line is not None else ""
    fields: tuple[FieldError, ...] = ()
    if failure.path:
        fields = (FieldError(field=failure.path, rule=failure.code, message=failure.reason),)
    return Refusal(
        status=Status.INVALID_ARGUMENTS,
        code=failure.code,
        message=f"The arguments of {tool} can't be used{place}: {failure.reason.rstrip('.')}. Nothing was executed. "
        "Call again with exactly one JSON object.",
        field_errors=fields,
        retryable=True,
    )
