"""From raw argument text to validated arguments, or to an explanation the model can act on (ARGS-01 to ARGS-03).

Parse, normalise, validate: a call that is right as it is costs no more. Only text that is no JSON is repaired,
and only for a tool that reads; only arguments that are not valid are coerced. Whatever was changed is told beside them,
and what comes out is what policy, approval, digest and executor are given.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import msgspec

from callslip.core import canon
from callslip.core.result import FieldError, Status
from callslip.core.tool import Risk
from callslip.gate.catalogue import Entry
from callslip.gate.refusal import Refusal
from callslip.schema.change import Change, told
from callslip.schema.explain import explain
from callslip.schema.field_error import FieldError as Fault, path_text
from callslip.schema.normalise import Moment, normalise
from callslip.schema.parse import Parsed, ParseFailure, parse_arguments

FIELD_FAULTS: Final = frozenset({"integer_too_long", "not_json"})
"""Refusals that are of one field's value; with the others there is no object whose fields could be spoken of."""


class Arguments(msgspec.Struct, frozen=True, kw_only=True):
    """Final arguments and their canonical text; what is validated is what is hashed, stored and executed."""

    value: dict[str, Any]
    text: bytes
    changed: tuple[str, ...]
    """Departures from the raw text: repairs by name, then each changed value as ``days: "5" → 5``."""


def read_arguments(
    raw: str | dict[str, Any], entry: Entry, moment: Moment, *, exact: bool = False
) -> Arguments | Refusal:
    """Read a call's arguments; ``exact``: take them to the letter, since a person has put them there."""
    spec = entry.executor.spec
    parsed = _parsed(raw, entry, exact=exact)
    if isinstance(parsed, ParseFailure):
        return _unreadable(spec.name, parsed)
    value: dict[str, Any] = parsed.value
    changes: tuple[Change, ...] = ()
    if entry.normalisers and not exact:
        value, changes = normalise(value, entry.normalisers, moment)
    errors = entry.arguments.errors(value)
    if errors and not exact:
        coerced = entry.coercer.coerce(value, errors)
        value, errors, changes = coerced.value, coerced.errors, (*changes, *coerced.changes)
        if entry.normalisers and coerced.changes:  # what stood inside a string is there to be formed only now
            value, formed = normalise(value, entry.normalisers, moment)
            errors, changes = entry.arguments.errors(value), (*changes, *formed)
    errors = _unseen(errors, spec.secret_arguments)
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
    changed = (*parsed.changed, *told(changes, spec.secret_arguments)) if changes else parsed.changed
    return Arguments(value=value, text=canon.canonical(value), changed=changed)


def _parsed(raw: str | dict[str, Any], entry: Entry, *, exact: bool) -> Parsed | ParseFailure:
    spec = entry.executor.spec
    has_parameters = bool(spec.input_schema.get("properties"))
    parsed = parse_arguments(raw, has_parameters=has_parameters)
    if isinstance(parsed, Parsed) or exact or spec.risk is not Risk.READ or not isinstance(raw, str):
        return parsed
    from callslip.schema.repair import read_repaired  # noqa: PLC0415 - its patterns cost every start 2 ms

    return read_repaired(raw, parsed, has_parameters=has_parameters)


def _unseen(errors: tuple[Fault, ...], secret: Collection[str]) -> tuple[Fault, ...]:
    """The errors without the values of secret arguments, or of what holds them."""
    if not errors or not secret:
        return errors
    names = [path_text([name]) for name in secret]
    within = tuple(name + mark for name in names for mark in ".[")
    return tuple(
        msgspec.structs.replace(error, got="")
        if error.path in {"", *names} or error.path.startswith(("…", *within))
        else error
        for error in errors
    )


def _unreadable(tool: str, failure: ParseFailure) -> Refusal:
    place = f" at line {failure.line}, column {failure.column}" if failure.line is not None else ""
    fields: tuple[FieldError, ...] = ()
    if failure.path and failure.code in FIELD_FAULTS:
        fields = (FieldError(field=failure.path, rule=failure.code, message=failure.reason),)
    return Refusal(
        status=Status.INVALID_ARGUMENTS,
        code=failure.code,
        message=f"The arguments of {tool} can't be used{place}: {failure.reason.rstrip('.')}. Nothing was executed. "
        "Call again with exactly one JSON object.",
        field_errors=fields,
        retryable=True,
    )
