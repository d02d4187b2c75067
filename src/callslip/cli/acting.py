"""Who gives an answer at this command line: the key on hand once keys are enrolled, else the account."""

from __future__ import annotations

from pathlib import Path

from callslip.application import Runtime
from callslip.cli import look
from callslip.cli.keys_on_hand import ask_on_terminal
from callslip.core.principal import Role
from callslip.errors import NotAuthorised
from callslip.ports.trust import Identity
from callslip.trust.on_hand import find_key, on_hand

ADVISORY = "answers are advisory: no key is enrolled, so whoever can write the state folder can give them"


def check_hand(runtime: Runtime, *roles: Role, on_behalf_of: str = "") -> None:
    """Refuse whose key can't answer before they read or type anything. Whether somebody has handed deciding on to them
    is looked at when they answer.

    Raises:
        NotAuthorised: no enrolled key with one of the roles is on hand.
    """
    standing = runtime.parts.trust.standing()
    if standing.advisory:
        return
    _, principal = find_key(standing, writable_roots=_roots(runtime))
    if on_behalf_of or standing.may(principal.name, *roles):
        return
    those = [name for name in standing.principals if standing.may(name, *roles)]
    handed = ", or name in --for who has handed it on to you" if Role.APPROVER in roles else ""
    raise NotAuthorised(
        f"{principal.name!r}, whose key is on hand, is no {' or '.join(roles)}. Nothing was written. Ask "
        f"{' or '.join(those) or 'an operator to enrol one'}{handed}."
    )


def acting(runtime: Runtime, *, quiet: bool = False) -> Identity:
    """Whoever sits here, with the key unlocked; its passphrase is asked for on the terminal.

    ``quiet``: don't say that the answer proves nothing.

    Raises:
        NotAuthorised: no enrolled key is on hand, or its passphrase is not.
    """
    standing = runtime.parts.trust.standing()
    if standing.advisory and not quiet:
        look.murmur(ADVISORY, dim=True)
    return on_hand(standing, ask=ask_on_terminal, writable_roots=_roots(runtime))


def _roots(runtime: Runtime) -> list[Path]:
    """What tools may write."""
    workspace = runtime.settings.workspace
    return [workspace] if workspace is not None else []
