"""Arguments that a person puts in the place of those asked about: valid by the tool's schema, and told truly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from callslip.core.difference import differences
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.errors import LogBroken, NotFound, UsageError
from callslip.runtime import payloads
from callslip.runtime.parts import Parts
from callslip.schema.engine import SchemaError
from callslip.schema.explain import explain
from callslip.schema.validate import compile_schema


async def check(parts: Parts, question: ApprovalRequested, shown: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse what can't be used.

    Raises:
        UsageError: several people must approve, or the arguments break the schema, or are those asked about.
    """
    if question.approvers > 1:
        raise UsageError(
            "What several people must approve can't be edited: each must see the same. Nothing was written. Deny "
            "it, and say in the reason what you would approve."
        )
    schema = await payloads.load(parts.blobs, question.schema)
    try:
        errors = compile_schema(schema).errors(dict(given))
    except SchemaError as error:
        raise UsageError(f"The recorded schema of {question.tool} can't be used: {error}. Not edited.") from error
    if errors:
        raise UsageError(
            f"{explain(question.tool, errors)} The question stays open; correct the arguments, or deny it."
        )
    if not differences(shown, dict(given)):
        raise UsageError("These are the arguments that were asked about. Nothing was written. Approve them as such.")


async def check_signed(
    parts: Parts, question: ApprovalRequested, shown: Mapping[str, Any], event: ApprovalDecided
) -> None:
    """The same for an answer that somebody else has put together and signed; what it says of the change must be true.

    Raises:
        UsageError: as :func:`check`, or the arguments are not there, or it describes another change.
    """
    if event.edited is None:
        told: tuple[str, ...] = ()
    else:
        try:
            given = await payloads.load(parts.blobs, event.edited)
        except (LogBroken, NotFound) as error:
            raise UsageError("The edited arguments were not handed in. Nothing was written.") from error
        if not isinstance(given, dict):
            raise UsageError("The edited arguments are no object. Nothing was written.")
        await check(parts, question, shown, given)
        told = differences(shown, given)
    if event.changes != told:
        raise UsageError("The answer tells of another change than it makes. Nothing was written.")
