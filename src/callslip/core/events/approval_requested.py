"""A call needs a person's word: exactly this call, as it would be made."""

from __future__ import annotations

import msgspec

from callslip.core.events.tool_dispatch import Evidence
from callslip.core.instead import Instead
from callslip.core.payload import Payload
from callslip.core.version import Version


class ApprovalRequested(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="approval_requested", tag_field="type"
):
    """Everything a person decides on, and everything that must be the same when the call is made (APPR-02).

    It carries the tool's input schema, so that an approver whose process has no tool can still edit.
    """

    call_id: str
    approval_id: str
    """Also the id of the wait that is opened with it."""
    binding: str
    """SHA-256 of all that the approval binds to (``core/approval``), hex."""
    tool: str
    tool_version: str
    executor: str
    """Identity of what would run the tool."""
    arguments: Payload
    """The final arguments: what is shown is what would be executed."""
    arguments_digest: str
    requester: str
    rules: tuple[str, ...]
    """The policy rules that asked."""
    reason: str
    schema: Payload
    evidence: Evidence | None = None
    """Target and its state, as seen before the question."""
    version: Version | None = None
    """Of what its tool says has one: the version that was seen before the question."""
    approvers: int = 1
    """How many different people must approve; with more than one, none of them the requester."""
    expires_at: int | None = None
    """Milliseconds since 1970, UTC; ``None``: never."""
    again: tuple[str, ...] = ()
    """Why an earlier approval does not hold: what has changed since."""
    edited: tuple[str, ...] = ()
    """How a person had changed the arguments before: the ones asked about are then theirs, not the model's."""
    instead: Instead | None = None
    """The tool stands in for the one that was called."""
    trust_seq: int = 0
    """Position and digest of the trust file when it was asked: one that was put back or replaced since is refused."""
    trust_digest: str = ""
