"""A decision as an event, the same on both sides of the wire: what one side signs, the other puts together again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from callslip.answering.question import Question
from callslip.core import canon
from callslip.core.difference import differences
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.payload import INLINE_LIMIT, by_reference, inline
from callslip.core.principal import Proof
from callslip.errors import UsageError
from callslip.schema.engine import SchemaError
from callslip.schema.field_error import FieldError
from callslip.schema.validate import compile_schema

Word = Literal["approved", "denied"]
_NOBODY = Proof(principal="")


class Made(NamedTuple):
    """A decision that nobody has signed yet."""

    event: ApprovalDecided
    text: bytes | None
    """Of edited arguments: their canonical text, to be kept before the event."""


class SchemaFaults(UsageError):
    """The edited arguments break the tool's schema; the question stays open."""

    def __init__(self, message: str, errors: tuple[FieldError, ...]) -> None:
        super().__init__(message)
        self.errors = errors


def decision(asked: Question, word: Word, *, reason: str = "", arguments: Mapping[str, Any] | None = None) -> Made:
    """The answer to the question, as it will stand in the log once it is signed. ``arguments``: an edit.

    Raises:
        UsageError: the arguments can't take the place of those asked about.
        SchemaFaults: they break the tool's schema.
    """
    edited = text = None
    changes: tuple[str, ...] = ()
    if arguments is not None:
        text = _edited(asked, word, arguments)
        edited = inline(text) if len(text) <= INLINE_LIMIT else by_reference(text)
        changes = differences(asked.arguments, canon.parse(text))
    event = ApprovalDecided(
        call_id=asked.call_id,
        approval_id=asked.id,
        binding=asked.binding,
        decision=word,
        proof=_NOBODY,
        edited=edited,
        changes=changes,
        reason=canon.scrub(reason),
        via="http",
    )
    return Made(event, text)


def _edited(asked: Question, word: Word, arguments: Mapping[str, Any]) -> bytes:
    if word != "approved":
        raise UsageError("Edited arguments go with an approval, not with a denial. Nothing was written.")
    if asked.approvers > 1:
        raise UsageError(
            "What several people must approve can't be edited: each must see the same. Nothing was written. Deny it, "
            "and say in the reason what you would approve."
        )
    check_arguments(asked, arguments)
    try:
        text = canon.canonical(dict(arguments))
    except (TypeError, ValueError) as error:
        raise UsageError(f"The edited arguments can't be written as JSON: {error}. Nothing was written.") from error
    if canon.digest(text) == asked.arguments_digest:
        raise UsageError("These are the arguments that were asked about. Nothing was written. Approve them as such.")
    return text


def check_arguments(asked: Question, arguments: Mapping[str, Any]) -> None:
    """Hold edited arguments against the schema that came with the question.

    Raises:
        SchemaFaults: field by field, what is wrong.
    """
    try:
        errors = compile_schema(asked.schema).errors(dict(arguments))
    except SchemaError as error:
        raise UsageError(f"The recorded schema of {asked.tool} can't be used: {error}. Not edited.") from error
    if errors:
        told = "; ".join(f"{one.path or 'the arguments'} {one.message}" for one in errors[:6])
        raise SchemaFaults(
            f"The edited arguments break the schema of {asked.tool}: {told}. Nothing was written; the question stays "
            "open.",
            tuple(errors),
        )
