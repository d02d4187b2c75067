"""Take a session over: read it, prove that its last owner has ended, claim it, begin a run (RECO-03, RECO-04)."""

from __future__ import annotations

import functools
from collections.abc import Set as AbstractSet

import msgspec

from callslip import failpoint
from callslip.core import attempts, fold, ids
from callslip.core.event import Event
from callslip.core.events.run_started import RunStarted
from callslip.core.events.session_started import SessionStarted, WorkspaceIdentity
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.principal import Proof, message
from callslip.core.state import SessionState
from callslip.core.wait import WaitKind
from callslip.errors import Busy, Moved, NotFound
from callslip.ports.ledger import Head, Owner
from callslip.ports.owners import Liveness
from callslip.ports.trust import Identity
from callslip.runtime.drive import Drive
from callslip.runtime.live import TakenOver
from callslip.runtime.parts import Parts
from callslip.runtime.proofs import in_force
from callslip.sessions.checkpoint import load_state
from callslip.sessions.proven import by_operator, doubt

_TRIES = 5
_PAUSE = 0.1


async def acquire(
    parts: Parts,
    session: str,
    *,
    active: AbstractSet[str],
    requester: Identity,
    workspace: WorkspaceIdentity | None = None,
    create: bool = True,
) -> Drive:
    """Begin a run of the session, new or not.

    ``active`` holds the sessions that this process drives at this moment; the caller adds and removes.

    Raises:
        TrustBroken: the trust file is not the one the session has rested on.
        Busy: a live owner drives it. NotFound: no such session, and ``create`` is false.
        LogBroken: the log can't be trusted; nothing was written. Sealed: the session has left.
    """
    ids.check_session(session)
    for _ in range(_TRIES):
        head = next(iter(await parts.ledger.heads(session)), None)
        if head is None and not create:
            raise NotFound(f"There is no session {session!r}. `callslip sessions` lists those there are.")
        known: dict[str, Liveness] = {}
        ended = "first" if head is None else await _prove_ended(parts, head, active, known)
        state = await load_state(parts, session) if head is not None else fold.empty(session)
        if state.sealed is not None:
            raise fold.moved_away(state)
        in_force(parts, state)
        owners = await _ended_owners(parts, state, known)
        failpoint.hit("claim.before")
        try:
            claimed = await parts.ledger.claim(
                session, parts.owners.me(), expected_epoch=head.epoch if head else 0, at=parts.clock.now()
            )
        except Moved:
            continue  # somebody else was quicker: see who
        return await _begin(parts, state, claimed, ended, owners, requester, workspace)
    raise Busy(f"Several processes want session {session!r} at once. Nothing was written. Try again.")


async def _prove_ended(parts: Parts, head: Head, active: AbstractSet[str], known: dict[str, Liveness]) -> str:
    """How it is known that the last owner has ended, as it stands in run_started.

    Raises:
        Busy: it has not.
    """
    owner = head.owner
    if owner is None:
        return "released"
    if owner.id == parts.owners.me().id and head.session in active:
        raise _busy(head, "this very process")
    liveness = known[owner.id] = await _settled(parts, owner, head.session)
    if liveness is Liveness.ALIVE:
        raise _busy(head, f"process {owner.process}")
    return liveness.value


async def _ended_owners(parts: Parts, state: SessionState, known: dict[str, Liveness]) -> dict[str, str]:
    """Which owners of open attempts have ended, each judged by itself: who released the session last need not be who
    made an attempt that is still open.
    """
    ended: dict[str, str] = {}
    for call in state.open_calls():
        driver = call.dispatched_by
        if driver is None or call.ended_seen_at is not None or driver.owner in ended:
            continue
        owner = Owner(id=driver.owner, host=driver.host, boot=driver.boot, process=driver.process)
        if owner.id not in known:
            known[owner.id] = await _settled(parts, owner, state.session)
        liveness = known[owner.id]
        if owner.id == parts.owners.me().id:
            if liveness is not Liveness.STILL_RUNNING:
                ended[owner.id] = attempts.HERE
        elif liveness not in {Liveness.ALIVE, Liveness.STILL_RUNNING}:
            ended[owner.id] = liveness.value
    return ended


async def _settled(parts: Parts, owner: Owner, session: str) -> Liveness:
    """The owner's liveness; a process that it left behind is given the grace time to end."""
    if owner.id == parts.owners.me().id:
        look = functools.partial(_own_liveness, parts, session)
    else:
        look = functools.partial(parts.owners.liveness, owner)
    waited, liveness = 0.0, look()
    while liveness is Liveness.STILL_RUNNING and waited < parts.limits.grace:
        await parts.clock.sleep(_PAUSE)
        waited += _PAUSE
        liveness = look()
    return liveness


def _own_liveness(parts: Parts, session: str) -> Liveness:
    """Whether a thread or coroutine of an earlier run of this process still works for the session."""
    left = any(context.session == session and context.still_running for context in parts.left_behind)
    return Liveness.STILL_RUNNING if left else Liveness.LOCK_FREE


def _busy(head: Head, who: str) -> Busy:
    return Busy(
        f"Session {head.session!r} is driven by {who} right now. Nothing was written. "
        "Wait for it to end, or stop it with `callslip stop`."
    )


async def _begin(
    parts: Parts,
    state: SessionState,
    head: Head,
    ended: str,
    owners: dict[str, str],
    requester: Identity,
    workspace: WorkspaceIdentity | None,
) -> Drive:
    owner = parts.owners.me()
    drive = Drive(parts.of(state.session), state, epoch=head.epoch, run=ids.random_id("run"), owner=owner.id)
    await drive.refresh()
    events: list[Event] = []
    standing = in_force(parts, state)
    doubtful = doubt(parts, state)
    if not state.seq:
        events.append(_started(parts, state.session, requester, workspace))
    events.append(
        RunStarted(
            owner=owner.id,
            host=owner.host,
            boot=owner.boot,
            process=owner.process,
            marker=doubtful is None,
            parent=state.run,
            anchor_seq=state.seq,
            anchor_digest=state.digest.hex(),
            parent_ended=ended,
            ended=owners,
            trust_seq=standing.seq,
            trust_digest=standing.digest if standing.seq else "",
            workspace=workspace if _accepted(parts, state, workspace) else None,
        )
    )
    if doubtful is not None and not any(wait.kind is WaitKind.COPY for wait in state.waits.values()):
        events.append(WaitOpened(wait_id=ids.wait_id("wait", state.session), kind=WaitKind.COPY, reason=doubtful))
    known = {call.call.call_id: call.call.tool for call in state.open_calls()}
    parts.watch(TakenOver(session=state.session, calls=known))
    await drive.append(*events)
    return drive


def _accepted(parts: Parts, state: SessionState, workspace: WorkspaceIdentity | None) -> bool:
    """Whether an operator has said that the session goes on in this very folder."""
    accepted = state.workspace_accepted
    return (
        accepted is not None
        and accepted.workspace == workspace
        and by_operator(parts, state.session, accepted, accepted.wait_id) is None
    )


def _started(parts: Parts, session: str, requester: Identity, workspace: WorkspaceIdentity | None) -> SessionStarted:
    """The first event, naming who asks: shown by their key if they have one, else by the operating system's account."""
    signer = requester.signer
    key = signer.key if signer is not None else ""
    proof = Proof(principal=requester.name, uid=requester.uid, key=key, at=parts.clock.now())
    event = SessionStarted(requester=requester.name, uid=requester.uid, workspace=workspace, proof=proof)
    if signer is None:
        return msgspec.structs.replace(event, proof=None)
    signed = msgspec.structs.replace(proof, signature=signer.sign(message(session, session, event, proof)))
    return msgspec.structs.replace(event, proof=signed)
