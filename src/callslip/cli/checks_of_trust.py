"""Who may answer: the trust file, the enrolled keys, and the keys of this account. Looked at without any passphrase."""

from __future__ import annotations

import os
from pathlib import Path

from callslip.cli.checks import Finding, bad, ok, warn
from callslip.clocks.system import SystemClock
from callslip.errors import CallslipError
from callslip.trust.file import ROOT, FileTrust
from callslip.trust.on_hand import unlocked_keys

_ADVISORY = (
    "approvals advisory: no key is enrolled; anybody who can write as this user can answer (`callslip enrol NAME`)"
)
_LEFT = (
    "a process of this account can't approve, grant, enrol or accept code; it can still act without Callslip, write as "
    "the driver of a session, stop things, and put an older or its own state folder here (docs: threat model)"
)
"""Said wherever keys are in force: what they do not keep out."""


def check_trust(folder: Path | None, workspace: Path | None) -> list[Finding]:
    """What the state folder trusts, and whether the keys that answer are out of others' reach."""
    trust = _trust(folder)
    left = [ok("what is left", _LEFT)] if trust.level == "ok" else []
    return [trust, *left, *_keys(workspace)]


def _trust(folder: Path | None) -> Finding:
    if folder is None:
        return warn("trust", _ADVISORY)
    try:
        standing = FileTrust(folder, clock=SystemClock()).standing()
    except CallslipError as error:
        return bad("trust", str(error))
    if standing.advisory:
        return warn("trust", _ADVISORY)
    who = ", ".join(f"{one.name} ({', '.join(one.roles)})" for one in standing.principals.values())
    root = next((one.name for one in standing.principals.values() if one.key == standing.root), "")
    pinned = f"as {ROOT} says" if os.environ.get(ROOT) else f"not pinned by {ROOT}"
    return ok("trust", f"answers must be signed; enrolled: {who}; root {root}, {pinned}; {standing.seq} statements")


def _keys(workspace: Path | None) -> list[Finding]:
    try:
        bare, unsafe = unlocked_keys([workspace] if workspace is not None else [])
    except CallslipError as error:
        return [bad("keys", str(error))]
    found = [bad("keys", str(error)) for error in unsafe]
    if bare:
        found.append(warn("keys", f"without a passphrase: {', '.join(bare)}; any process of this user can sign"))
    return found
