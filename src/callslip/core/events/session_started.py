"""A session came into being."""

from __future__ import annotations

import msgspec

from callslip.core.principal import Proof


class WorkspaceIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """Which folder the session works in, by true identity and not by name alone."""

    path: str
    device: int
    inode: int


class SessionStarted(msgspec.Struct, frozen=True, kw_only=True, tag="session_started", tag_field="type"):
    """First event of every log."""

    requester: str
    """Who began it: the principal whose key signed, else the operating system's account."""
    uid: int | None = None
    """The operating system's account of whoever began it."""
    proof: Proof | None = None
    """Of a requester with a key: signed over the session's id."""
    workspace: WorkspaceIdentity | None = None
