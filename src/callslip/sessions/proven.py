"""Whether a log may be taken for the whole truth: whether what it lacks did not happen (LEDG-06).

It may, unless it came from elsewhere without its seal, or out of a backup, and no operator has said since that nothing
happened which it lacks. What the log says of that counts only from those who may say it.
"""

from __future__ import annotations

from typing import Any

from callslip.core.principal import Role
from callslip.core.state import SessionState
from callslip.core.wait import WaitKind
from callslip.gate.proof import fault
from callslip.runtime.parts import Parts


def doubt(parts: Parts, state: SessionState) -> str | None:
    """Why the log may lack something that happened, as half a sentence; ``None``: it may not."""
    if any(wait.kind is WaitKind.COPY for wait in state.waits.values()):
        return "nobody has said that nothing happened after the copy was made"
    accepted, imported = state.copy_accepted, state.imported
    if accepted is not None:
        wrong = by_operator(parts, state.session, accepted, accepted.wait_id)
        return None if wrong is None else f"the acceptance of the copy does not count: {wrong}"
    if imported is not None and imported.proven:
        wrong = by_operator(parts, state.session, imported, state.session)
        return None if wrong is None else f"nobody who may has taken it in: {wrong}"
    return None


def by_operator(parts: Parts, session: str, event: Any, wait_id: str) -> str | None:
    """Why the event is no operator's; ``None``: it is, or no key is enrolled."""
    trust = parts.trust
    return fault(
        event,
        session=session,
        wait_id=wait_id,
        roles=(Role.OPERATOR,),
        standing=trust.standing(),
        verify=trust.verified,
    )
