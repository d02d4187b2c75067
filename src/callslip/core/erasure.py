"""Payloads that are gone on purpose: which an event names, and what stands in their place. Pure.

A record never changes, so it goes on naming what was erased. What is *shown* of it has this text instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec

from callslip.core import canon
from callslip.core.events.function_response import FunctionResponse
from callslip.core.payload import SEALED, Payload, inline
from callslip.core.result import BlobRef
from callslip.core.state import SessionState

TEXT = "[erased]"
"""What people and models are shown instead."""
NOTHING = inline(canon.canonical(TEXT))

Gone = Callable[[str], bool]
T = TypeVar("T")


def named(value: Any) -> Iterator[str]:
    """The addresses of all payloads that an event names."""
    if isinstance(value, Payload):
        if value.blob:
            yield value.blob
    elif isinstance(value, BlobRef):
        yield value.address
    elif isinstance(value, tuple):
        for one in value:
            yield from named(one)
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from named(getattr(value, name))


def without(value: T, is_gone: Gone) -> T:
    """The value with :data:`NOTHING` in the place of each payload that is gone. References to evidence stay: they name
    what was there.
    """
    found: Any = value
    if isinstance(value, Payload):
        found = NOTHING if value.blob and is_gone(value.blob) else value
    elif isinstance(value, tuple):
        found = tuple(without(one, is_gone) for one in value)
    elif isinstance(value, msgspec.Struct) and any(map(is_gone, named(value))):
        found = type(value)(**{name: without(getattr(value, name), is_gone) for name in value.__struct_fields__})
    return found  # type: ignore[no-any-return]


def hit(response: FunctionResponse, is_gone: Gone) -> bool:
    """Whether something of the answer is gone: a payload, or, in a protected record, its words."""
    return any(map(is_gone, named(response))) or TEXT in (response.summary, response.error_message, response.internal)


def answer(response: FunctionResponse, is_gone: Gone) -> FunctionResponse:
    """The answer; if something of it is gone, without anything that was said in it. What is left of it could not be
    proved to be its giver's any more.
    """
    if not hit(response, is_gone):
        return response
    return msgspec.structs.replace(
        response,
        structured=NOTHING if response.structured is not None else None,
        shown=None,
        summary="",
        error_message=TEXT if response.error_message else response.error_message,
        field_errors=(),
        notes=(),
        internal="",
    )


def gone(state: SessionState, address: str, seq: int) -> bool:
    """Whether the payload that the record at ``seq`` names was erased since."""
    whole = state.erased_whole if address.startswith(SEALED) else 0
    return seq < max(state.erased.get(address, 0), whole)


def by_now(state: SessionState, seq: int, event: T) -> T:
    """The event of a record as it can be shown now, after what was erased since."""
    if not state.erased and not state.erased_whole:
        return event

    def is_gone(address: str) -> bool:
        return gone(state, address, seq)

    found: Any = answer(event, is_gone) if isinstance(event, FunctionResponse) else without(event, is_gone)
    return found  # type: ignore[no-any-return]
