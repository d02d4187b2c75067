"""Two people with keys of their own: Olga, whose agent it is and who runs the office, and Mara, who may approve.

Each has a folder of their own for keys. The keys have no passphrase, so that nobody need type one while they watch.
"""

from __future__ import annotations

from callslip.clocks.system import SystemClock
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.principal import Principal, Role
from callslip.gate import proof
from callslip.trust.file import FileTrust
from demo.commands import quietly
from demo.stage import MARA, OLGA, SESSION, Stage


def enrol(stage: Stage) -> None:
    """Make both keys and enrol them. Olga is the root, and takes in the public half that Mara hands her."""
    if stage.options.sabotage == "no-keys":
        stage.screen.fact("the keys", "none is enrolled: whoever can write the state folder can answer", color="red")
        return
    half = stage.folder / MARA / "callslip" / "keys" / f"{MARA}.pub"
    quietly(stage, OLGA, "enrol", OLGA, "--role", "operator", "--role", "caller", "--no-passphrase")
    quietly(stage, MARA, "enrol", MARA, "--key-only", "--no-passphrase")
    quietly(stage, OLGA, "enrol", MARA, "--public", str(half), "--role", "approver")
    shown = "; ".join(f"{one.name} {one.key[:8]}… ({', '.join(one.roles)})" for one in enrolled(stage).values())
    stage.screen.fact("the keys", shown, dim=True)


def key(stage: Stage, who: str) -> str:
    """Somebody's public key, as the trust file has it; nothing where they are not enrolled."""
    principal = enrolled(stage).get(who)
    return principal.key if principal is not None else ""


def enrolled(stage: Stage) -> dict[str, Principal]:
    """Who is enrolled, by name, as the trust file says."""
    return dict(_trust(stage).standing().principals)


def fault(stage: Stage, answer: ApprovalDecided, tool: str) -> str | None:
    """What is wrong with an approver's answer as it stands in the log; nothing, if its signature is theirs."""
    trust = _trust(stage)
    return proof.fault(
        answer, session=SESSION, wait_id=answer.approval_id, roles=(Role.APPROVER,), standing=trust.standing(),
        verify=trust.verified, tool=tool,
    )  # fmt: skip


def _trust(stage: Stage) -> FileTrust:
    return FileTrust(stage.state, clock=SystemClock(), root="")
