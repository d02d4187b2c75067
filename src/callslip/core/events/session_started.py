"""A session came into being."""

from __future__ import annotations

import msgspec


class WorkspaceIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """Which folder the session works in, by true identity and not by name alone."""

    path: str
    device: int
    inode: int


class SessionStarted(msgspec.Struct, frozen=True, kw_only=True, tag="session_started", tag_field="type"):
    """First event of every log."""

    requester: str
    """Who began it: the operating system's user until principals exist."""
    workspace: WorkspaceIdentity | None = None
