"""A person's word on a call."""

from __future__ import annotations

from typing import Literal

import msgspec

from callslip.core.payload import Payload
from callslip.core.principal import Proof


class ApprovalDecided(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="approval_decided", tag_field="type"
):
    """Anything but ``approved`` denies. Used up by the T1 that names the approval."""

    call_id: str
    approval_id: str
    binding: str
    """Copied from the request: what this person was shown."""
    decision: Literal["approved", "denied"]
    proof: Proof
    edited: Payload | None = None
    """With ``approved``: other arguments, to be used instead of those asked about."""
    changes: tuple[str, ...] = ()
    """How the edited arguments differ, in words."""
    reason: str = ""
    """Of a denial: told to the model."""
    grant: str = ""
    """The grant stated together with this decision."""
    via: Literal["cli", "api", "http"] = "api"
