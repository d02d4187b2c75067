"""The session leaves: nothing may be added to its log here any more."""

from __future__ import annotations

import msgspec

from callslip.core.principal import Proof


class SessionSealed(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="session_sealed", tag_field="type"
):
    """The last record of a log that is moved. Whoever takes the log in knows by it that nothing came after, so what is
    not in it did not happen. Only a blob_erased may follow here, and a session_imported elsewhere.
    """

    actor: str
    reason: str
    destination: str
    """Where it goes, in the operator's words; empty: it is only closed."""
    prefix_seq: int
    """High-water mark of the log it seals: a seal of an older state does not fit a newer one."""
    prefix_digest: str
    proof: Proof | None = None
    """That it is the actor's. Signed over the session's id."""
