"""Every error Callslip raises on purpose, in one tree.

::

    CallslipError                      code, layer, retryable; the text says what happened, what is safe, what to do
    ├── UsageError                     the caller asked for something that can't be
    │   ├── ConfigError                callslip.toml, --app or an environment variable
    │   │   └── NotAccepted            a file of the project is not the one a person accepted
    │   ├── ToolDefinitionError        a tool that can't be registered
    │   ├── NotFound                   no such session, wait, call or blob
    │   │   └── Erased                 a payload that was erased on purpose
    │   ├── StepConflict               the same step and position with other arguments
    │   ├── WaitConflict               the wait was answered by somebody else, or can't take this answer
    │   ├── StillWaiting               results asked for while a call waits
    │   └── Sealed                     the session has left: nothing may be added to it here
    ├── StateRefused                   state files with the wrong owner, mode or place
    ├── LedgerError                    the log could not be read or written
    │   ├── Fenced                     another owner has taken the session over: stop
    │   ├── Moved                      new facts arrived: read, fold, judge again, retry
    │   ├── Busy                       a live owner drives this session now
    │   ├── LedgerUnavailable          disk full, read-only, locked away: nothing was written
    │   ├── CommitUnknown              the commit failed and could not be looked up afterwards
    │   └── LogBroken                  the log contradicts itself or is of a newer version: fail closed
    ├── ModelError                     the model gave nothing that can be used
    │   ├── ModelUnavailable           no answer: connection, status, authentication
    │   ├── IncompleteReply            the reply was cut; it makes no calls
    │   └── EmptyReply                 neither text nor calls
    ├── WorkspaceError                 a path that may not be touched, or can't be
    └── ToolFailed                     raised *by tools*: what failed, and what it did to the world
        └── Conflict                   what it would change has another version than the call was made for
"""

from __future__ import annotations

from typing import ClassVar, Literal

Layer = Literal["model", "protocol", "validation", "policy", "runtime", "tool", "network"]


class CallslipError(Exception):
    """Something went wrong in Callslip."""

    code: ClassVar[str] = "callslip_error"
    layer: ClassVar[Layer] = "runtime"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class UsageError(CallslipError):
    """The request can't be carried out as it was made."""

    code = "usage"


class ConfigError(UsageError):
    """The configuration can't be used."""

    code = "config"


class NotAccepted(ConfigError):
    """A file of the project is not the one a person accepted, so it is held."""

    code = "not_accepted"
    layer = "policy"


class ToolDefinitionError(UsageError):
    """A tool can't be registered."""

    code = "tool_definition"
    layer = "tool"


class NotFound(UsageError):
    """There is nothing by that name."""

    code = "not_found"


class Erased(NotFound):
    """The payload was erased, on purpose."""

    code = "erased"


class StepConflict(UsageError):
    """This step already holds other calls; a step is recorded once and never changes."""

    code = "step_conflict"


class WaitConflict(UsageError):
    """The wait can't take this answer."""

    code = "wait_conflict"


class StillWaiting(UsageError):
    """A call of this batch still waits, so its results can't be given back yet."""

    code = "still_waiting"


class Sealed(UsageError):
    """The session was sealed: it has left, and nothing may be added to it here."""

    code = "sealed"


class NotAuthorised(UsageError):
    """Whoever asks has not shown that they may."""

    code = "not_authorised"
    layer = "policy"


class StateRefused(CallslipError):
    """The state folder is not safe to use."""

    code = "state_refused"


class TrustBroken(StateRefused):
    """What the installation trusts was altered by somebody who may not."""

    code = "trust_broken"
    layer = "policy"


class LedgerError(CallslipError):
    """The log could not be read or written."""

    code = "ledger"


class Fenced(LedgerError):
    """Another owner has taken this session over; this run must stop. Nothing it was about to write was written."""

    code = "fenced"


class Moved(LedgerError):
    """New facts arrived in the log. Nothing was written: read them, judge again, retry."""

    code = "moved"
    retryable = True


class Busy(LedgerError):
    """Another live process drives this session."""

    code = "busy"
    retryable = True


class LedgerUnavailable(LedgerError):
    """The log can't be written now. Nothing was written."""

    code = "ledger_unavailable"
    retryable = True


class CommitUnknown(LedgerError):
    """A commit failed and the log could not be read back to see whether it took place."""

    code = "commit_unknown"


class LogBroken(LedgerError):
    """The log contradicts itself, so the session is closed to any further effect."""

    code = "log_broken"

    def __init__(self, message: str, *, seq: int | None = None) -> None:
        super().__init__(message)
        self.seq = seq


class ModelError(CallslipError):
    """The model gave nothing that can be used."""

    code = "model"
    layer: ClassVar[Layer] = "model"


class ModelUnavailable(ModelError):
    """The model did not answer. ``retry_after``: seconds that its server asks to be left alone for, if it says so."""

    code = "model_unavailable"
    layer = "network"

    def __init__(self, message: str, *, retryable: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.can_retry = retryable
        self.retry_after = retry_after


class IncompleteReply(ModelError):
    """The model's reply was cut off, so nothing in it counts as a call."""

    code = "incomplete_reply"
    layer = "protocol"


class EmptyReply(ModelError):
    """The model's reply holds neither text nor calls."""

    code = "empty_reply"
    layer = "protocol"


class WorkspaceError(CallslipError):
    """A path may not be touched, or can't be."""

    code = "workspace"
    layer = "tool"


class ToolFailed(CallslipError):
    """Raised by a tool: it failed, and it knows what it did to the world.

    ``effect`` is ``"none"`` when nothing happened (safe to call again), ``"done"`` when the effect took place
    although the call failed, ``"unknown"`` when the tool can't tell. An exception of any other type from a tool
    that writes counts as unknown. ``message`` is shown to the model.

    ``transient`` says that the same attempt may succeed later, so that Callslip makes it again by itself where the
    effect allows that, after ``retry_after`` seconds at the earliest. ``retryable`` tells the model that it may call
    again.
    """

    code = "tool_failed"
    layer = "tool"

    def __init__(
        self,
        message: str,
        *,
        code: str = "tool_failed",
        effect: Literal["none", "done", "unknown"] = "none",
        retryable: bool = False,
        not_found: bool = False,
        transient: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.tool_code = code
        self.effect = effect
        self.can_retry = retryable
        self.not_found = not_found
        self.transient = transient
        self.retry_after = retry_after


class Conflict(ToolFailed):
    """Raised by a tool: what it would change has another version than the call was made for. Nothing happened.

    ``now`` is the version it has, if the service says so. The model is told, and that it should decide anew.
    """

    code = "version_conflict"

    def __init__(self, now: str | int | None = None) -> None:
        by_now = "" if now is None else f" ({now})"
        super().__init__(
            f"What this call would change has another version by now{by_now}. Nothing was executed. "
            "Read it again and decide anew.",
            code="version_conflict",
        )
        self.now = now
