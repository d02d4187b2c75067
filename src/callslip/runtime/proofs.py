"""Before anything rests on an answer that stands in the log: is it whose it says it is? (APPR-08)

An answer was checked when it was taken; but a record can also be put into the log by whoever can write the file.
"""

from __future__ import annotations

from typing import Any

from callslip.core.call import CallState
from callslip.core.principal import Role
from callslip.core.standing import Standing
from callslip.core.state import SessionState
from callslip.errors import TrustBroken
from callslip.gate.proof import Asker, fault
from callslip.runtime.drive import Drive
from callslip.runtime.parts import Parts


def verdict_fault(drive: Drive, call: CallState) -> str | None:
    """Why the verdict on a parked call does not count."""
    resolved = call.resolved
    if resolved is None:
        return None
    return _fault(drive, resolved, resolved.wait_id, Role.OPERATOR)


def check_client_results(drive: Drive) -> None:
    """Let no client's result reach the model that its client did not give.

    Raises:
        TrustBroken: a result was put there by somebody else. Being the call's one response it can't be taken back, so
            the session stays closed.
    """
    step = drive.state.step
    for call_id in step.calls if step is not None else ():
        call = drive.state.calls[call_id]
        response, dispatch = call.response, call.dispatch
        if response is None or dispatch is None or response.resolved is not None:
            continue
        # Only a question may be ended by whoever drives the session: it is taken back, and nobody's words are made up.
        must_be_given = dispatch.client_owned and not dispatch.asks_user
        if not must_be_given and not call.from_outside:
            continue
        erased = call.erased_by
        if erased is not None and _fault(drive, erased, drive.session, Role.OPERATOR) is None:
            continue  # nothing of it is left that could be somebody else's
        wrong = _fault(drive, response, dispatch.nonce, Role.CALLER, Role.OPERATOR)
        if wrong is not None:
            raise TrustBroken(
                f"The result recorded for {dispatch.tool} ({call_id}) in session {drive.session!r} does not count: "
                f"{wrong}. It was shown to nobody, and the session is closed. Find out who wrote it; then begin a new "
                "session."
            )


def in_force(parts: Parts, state: SessionState) -> Standing:
    """What the installation trusts now.

    Raises:
        TrustBroken: the trust file does not begin with what this session has rested on before.
    """
    standing = parts.trust.standing()
    if not standing.follows(state.trust_seq, state.trust_digest):
        raise TrustBroken(
            f"The trust file is not the one that session {state.session!r} has rested on, or less of it. Nothing was "
            "executed. Put back the file that was there; else somebody could be let in whom nobody enrolled."
        )
    return standing


def asker(drive: Drive) -> Asker:
    """Who asks for everything in this session, and whether that has been shown."""
    started = drive.state.started
    shown = started is not None and started.proof is not None
    return Asker(name=drive.state.requester, uid=drive.state.requester_uid, shown=shown)


def requester_fault(drive: Drive) -> str | None:
    """Why a session that says whose key began it was not begun by them, or by somebody who may not (any more).

    A session begun without a key names an account of the operating system, and passes: what needs to know who asks
    refuses it by itself.
    """
    started = drive.state.started
    if started is None or started.proof is None:
        return None
    wrong = _fault(drive, started, drive.session, Role.CALLER)
    if wrong is None and started.proof.principal != started.requester:
        wrong = f"it names {started.requester!r}, and {started.proof.principal!r} has signed"
    return wrong


def revert_fault(drive: Drive) -> str | None:
    """Why the statement that a turn is to be undone does not count."""
    revert = drive.state.revert
    return "nobody has asked for it" if revert is None else _fault(drive, revert, drive.session, Role.OPERATOR)


def workspace_fault(drive: Drive) -> str | None:
    """Why the acceptance of another workspace does not count."""
    accepted = drive.state.workspace_accepted
    return None if accepted is None else _fault(drive, accepted, accepted.wait_id, Role.OPERATOR)


def _fault(drive: Drive, event: Any, wait_id: str, *roles: Role) -> str | None:
    return fault(
        event,
        session=drive.session,
        wait_id=wait_id,
        roles=roles,
        standing=in_force(drive.parts, drive.state),
        verify=drive.parts.trust.verified,
    )
