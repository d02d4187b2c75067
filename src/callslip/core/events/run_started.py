"""An owner began to drive the session."""

from __future__ import annotations

import msgspec

from callslip.core.events.session_started import WorkspaceIdentity


class RunStarted(msgspec.Struct, frozen=True, kw_only=True, tag="run_started", tag_field="type"):
    """Starts a run from a verified prefix.

    ``marker`` promises that this run commits every dispatch before its effect; without it the absence of a dispatch
    proves nothing (foreign, imported or restored logs).
    """

    owner: str
    host: str
    boot: str
    """Boot id of the host: after a reboot no process of an earlier run can be alive."""
    process: int
    marker: bool = True
    parent: str | None = None
    """The run before this one."""
    anchor_seq: int = 0
    anchor_digest: str = ""
    """High-water mark of the prefix this run was built on."""
    parent_ended: str = ""
    """How it was seen that the owner before had ended: ``first``, ``released``, ``lock_free``, ``rebooted``,
    ``elsewhere`` (nothing seen), ``still_running`` (it left processes that are alive)."""
    ended: dict[str, str] = {}
    """Owners of attempts that are open, and how it was seen that each of them had ended: ``lock_free``, ``rebooted``,
    ``elsewhere``, or ``here`` (it was this very process, and nothing of it goes on). An owner that is alive, or left
    something that is, does not stand here."""
    trust_seq: int = 0
    trust_digest: str = ""
    """Position and digest of the trust file as the run began: one that was put back or replaced since is refused."""
    workspace: WorkspaceIdentity | None = None
    """Set when an operator accepted that the session goes on in another workspace."""
