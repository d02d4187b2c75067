"""Payloads were erased."""

from __future__ import annotations

import msgspec

from callslip.core.principal import Proof


class BlobErased(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="blob_erased", tag_field="type"):
    """What the records before this one name is gone on purpose: not lost, and not to be looked for. The records
    themselves stay what they were, and the chain holds.
    """

    actor: str
    reason: str
    addresses: tuple[str, ...] = ()
    """The payloads that were removed."""
    whole: bool = False
    """The session's keys were destroyed: with them everything of it that was encrypted until now, texts too."""
    proof: Proof | None = None
    """That it is the actor's. Signed over the session's id."""
