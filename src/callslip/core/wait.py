"""A wait: what a person, client, clock or operator must answer before a session goes on."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from callslip.core.instead import Instead


class WaitKind(StrEnum):
    APPROVAL = "approval"
    """A call needs a person's word; answered by ``approve``, ``deny`` or ``edit``."""
    CLIENT = "client"
    """A client-owned tool's result; answered by ``submit``."""
    QUESTION = "question"
    """The model asks the user something; answered by ``answer``."""
    BACKGROUND = "background"
    """A job goes on outside; asked after at ``wake_at``, and ended earlier by ``submit``."""
    PARKED = "parked"
    """A call's outcome is unknown and nothing can tell; answered by ``resolve``."""
    TIME = "time"
    """Nothing to answer: the session goes on by itself at ``wake_at``."""
    WORKSPACE = "workspace"
    """The workspace is not the one the session began in; answered by ``accept_workspace``."""
    COPY = "copy"
    """The log is a copy, and what happened after it was made is not known; answered by ``accept_copy``."""


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """An open wait, as ``rt.waits()`` and ``out.waits`` give it. Times are milliseconds since 1970, UTC."""

    id: str
    session: str
    kind: WaitKind
    reason: str
    opened_at: int
    call_id: str | None = None
    tool: str | None = None
    """What it is about now: a fallback, where one is to answer in the place of the tool that was called."""
    arguments: Any = None
    """The final ones, where they have been judged already."""
    wake_at: int | None = None
    """For an approval: when it expires. For a job: when it is asked after."""
    instead: Instead | None = None
    """``tool`` stands in for the one that was called: for which, and why."""
    note: str = ""
    """Of a job: how far it is, in its tool's words."""
    reasons: tuple[str, ...] = ()
    """Of an approval: the policy rules that ask."""
    binding: str = ""
    """Of an approval: names exactly what is shown, for :meth:`Runtime.approve`."""
    approvers: int = 1
    """How many different people must approve."""
    approved_by: tuple[str, ...] = ()
    """Who has approved already."""
    again: tuple[str, ...] = ()
    """What has changed since an earlier approval that does not hold."""
