"""Word field errors for the model that made the call: what to change, in one short text without machine details."""

import difflib
from collections.abc import Sequence
from typing import Final

from callslip.schema.field_error import FieldError, shorten

MOST_SHOWN: Final = 6
MOST_NAMES: Final = 12
PART_LENGTH: Final = 300
TEXT_LENGTH: Final = 1500
UNKNOWN_RULES: Final = frozenset({"additionalProperties", "unevaluatedProperties"})


def explain(tool_name: str, errors: Sequence[FieldError]) -> str:
    """Tell the model how to mend its call: at most 1,500 characters, however many errors there are.

    Returns an empty text when there are no errors.
    """
    if not errors:
        return ""
    shown = [shorten(_sentence(error, errors), PART_LENGTH) for error in errors[:MOST_SHOWN]]
    more = len(errors) - len(shown)
    rest = f"; and {more} more" if more else ""
    text = f"{shorten(tool_name, 80)} was not run: {'; '.join(shown)}"
    ending = f"{rest}. Correct {'this' if len(errors) == 1 else 'these'} and call {shorten(tool_name, 80)} again."
    return shorten(text, TEXT_LENGTH - len(ending)) + ending


def _sentence(error: FieldError, errors: Sequence[FieldError]) -> str:
    field = error.path or "the arguments object"
    if error.rule == "required":
        kind = f" (of type {' or '.join(error.allowed)})" if error.allowed else ""
        return f"{field}{kind} is required but missing"
    if error.rule in UNKNOWN_RULES:
        return _unknown(field, error, errors)
    got = f", got {error.got}" if error.got else ""
    if error.rule in {"anyOf", "oneOf"} and error.allowed:
        return f"{field} {error.message} (allowed: {', '.join(error.allowed[:MOST_NAMES])}){got}"
    return f"{field} {error.message}{got}"


def _unknown(field: str, error: FieldError, errors: Sequence[FieldError]) -> str:
    if not error.allowed:
        return f"{field} is not a known property, and none is expected there: leave it out"
    name = _last_name(field)
    # A name that was left out is the likelier meaning than one that is there already.
    missing = [_last_name(other.path) for other in errors if other.rule == "required"]
    folded = {known.casefold(): known for known in (*error.allowed, *missing)}
    near = difflib.get_close_matches(name.casefold(), list(folded), n=1, cutoff=0.6)
    if near:
        return f"{field} is not a known property (did you mean {folded[near[0]]}?)"
    names = ", ".join(error.allowed[:MOST_NAMES])
    rest = ", …" if len(error.allowed) > MOST_NAMES else ""
    return f"{field} is not a known property (known: {names}{rest})"


def _last_name(path: str) -> str:
    return path.rsplit(".", 1)[-1]
