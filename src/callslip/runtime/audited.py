"""No effect while nobody could explain it afterwards: T1 waits for an audit that has not been written for long."""

from __future__ import annotations

from callslip.errors import LedgerUnavailable
from callslip.runtime.parts import Parts


async def must_be_audited(parts: Parts) -> None:
    """Let T1 pass, unless the audit has failed for longer than the project's patience; then try it once more.

    Raises:
        LedgerUnavailable: it still fails. Nothing was executed, and the session can be resumed.
    """
    if parts.audit is None or not _for_long(parts):
        return
    await parts.audit.catch_up()
    if _for_long(parts):
        raise LedgerUnavailable(
            f"The audit has not been written for more than {parts.audit_patience:g} s, so nothing more is executed: "
            f"{parts.audit.failure()} Put that right and resume, or give [audit] more patience."
        )


def _for_long(parts: Parts) -> bool:
    since = parts.audit.failing_since() if parts.audit is not None else None
    return since is not None and parts.clock.now() - since > parts.audit_patience * 1000
