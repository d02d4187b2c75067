"""One canonical schema, shaped for one provider, and the way back for the arguments that come of it.

Pure, and the same bytes each time, as prompt caches depend on it. Order is kept: models fill in properties in the order
they read them. The canonical schema is never changed, and whatever comes back is judged by it alone: the shaped schema
only has to be one that the provider takes and that lets every valid call through.
"""

import json
from functools import lru_cache
from typing import Any, Final

import msgspec

from callslip.schema.engine import SchemaError
from callslip.schema.shape import way
from callslip.schema.shape.dialect import Dialect
from callslip.schema.shape.limits import reasons
from callslip.schema.shape.node import Walk
from callslip.schema.shape.reading import EnoughReasons
from callslip.schema.shape.root import root
from callslip.schema.shape.way import Place

__all__ = ["Shaped", "shape"]

CACHED: Final = 2048


class Shaped(msgspec.Struct, frozen=True, kw_only=True):
    """A schema as it is sent; made by `shape`."""

    schema: dict[str, Any]
    """What is sent. The caller's own: nothing else holds it."""
    strict: bool
    """Whether strict is to be sent as true; where the provider knows the word, it is sent either way."""
    warnings: tuple[str, ...]
    """Why strict is off although it was wanted, and what could not be expressed."""
    start: Place | None = None
    """How arguments differ from the canonical ones; None when they don't."""

    def undo(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """From what the model sends for the shaped schema to the canonical form, still to be validated.

        Nulls that can only stand for "left out" are dropped, and renamed keys get their names back.
        """
        undone = arguments if self.start is None else way.undo(arguments, self.start)
        assert isinstance(undone, dict)
        return undone

    def redo(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Canonical arguments as the history shows them under the shaped schema: with the keys that it has."""
        redone = arguments if self.start is None else way.redo(arguments, self.start)
        assert isinstance(redone, dict)
        return redone


def shape(schema: dict[str, Any], dialect: Dialect, *, strict: bool | None = None) -> Shaped:
    """Shape a schema for a provider.

    Args:
        schema: the canonical schema of a tool's arguments. One that validation would refuse is shaped too, somehow.
        dialect: whose rules hold.
        strict: True and None: on where the provider knows it and the schema can be. False: off.

    Raises:
        SchemaError: the schema is not JSON.
    """
    try:
        # Not the canonical text, whose keys are sorted: the order of properties is the author's.
        text = json.dumps(schema, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        made = _shaped(text, dialect, strict)
    except RecursionError:
        # Registration refuses these; but what was bound once must never keep a conversation from being sent.
        warning = "the schema is nested too deeply to be sent: any arguments are offered, and judged when they come"
        return Shaped(schema={"type": "object", "properties": {}}, strict=False, warnings=(warning,))
    except (TypeError, ValueError) as error:
        raise SchemaError(f"the schema is not JSON ({error}): use objects, lists, strings and numbers only") from error
    return Shaped(schema=json.loads(made.text), strict=made.strict, warnings=made.warnings, start=made.start)


class _Made(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    """Text, so that no caller can change what the next one gets."""
    strict: bool
    warnings: tuple[str, ...]
    start: Place | None


@lru_cache(maxsize=CACHED)
def _shaped(text: str, dialect: Dialect, strict: bool | None) -> _Made:
    document = json.loads(text)
    against: tuple[str, ...] = ()
    if strict and not dialect.strict:
        against = (f"strict is off: {dialect.name} has no such mode",)
    if strict is not False and dialect.strict:
        walk = Walk(document, dialect, strict=True)
        try:
            made, start = root(walk, document)
            found = [*walk.reasons, *reasons(made, dialect)]
        except EnoughReasons:
            found = [*walk.reasons]
        if not found:
            return _Made(text=_text(made), strict=True, warnings=(), start=start if start.matters() else None)
        against = tuple(f"strict is off: {reason}" for reason in found)
    walk = Walk(document, dialect, strict=False)
    made, start = root(walk, document)
    return _Made(
        text=_text(made),
        strict=False,
        warnings=(*against, *(reason for reason in walk.reasons if f"strict is off: {reason}" not in against)),
        start=start if start.matters() else None,
    )


def _text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
