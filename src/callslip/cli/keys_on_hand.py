"""Who sits at this command line: the trust of the state folder, the key on hand, the passphrase they type."""

from __future__ import annotations

import contextlib
import getpass
import os
import warnings
from pathlib import Path
from typing import NamedTuple

from callslip.cli.options import Given
from callslip.cli.project import find
from callslip.cli.prompt import interruptible
from callslip.clocks.system import SystemClock
from callslip.core.principal import Role
from callslip.core.shown import visible
from callslip.core.standing import Body, Standing, Statement
from callslip.errors import NotAuthorised, NotFound, StateRefused, UsageError
from callslip.ledgers.state_folder import open_state
from callslip.ports.trust import Identity
from callslip.trust.file import FileTrust
from callslip.trust.key_file import read_key
from callslip.trust.on_hand import KEY, PASSPHRASE_FILE, find_key, on_hand, passphrase


class Installation(NamedTuple):
    """What these commands work on: the state folder alone, so that no application's code is loaded for them."""

    folder: Path
    roots: list[Path]
    """What tools may write."""
    trust: FileTrust | None
    """``None``: there is no state folder yet."""

    @property
    def standing(self) -> Standing:
        """What holds now; of a folder that is not there, nothing."""
        return Standing() if self.trust is None else self.trust.standing()


def installation(given: Given, *, make: bool = False) -> Installation:
    """The project's state folder and the trust in it. ``make``: the folder too, where there is none.

    Raises:
        ConfigError: no such project. StateRefused: the folder is not safe to use.
    """
    project = find(given).settled()
    roots = [project.workspace] if project.workspace is not None else []
    if not make and not project.state.exists():
        return Installation(project.state, roots, None)
    folder = open_state(project.state, writable_roots=roots)
    return Installation(folder, roots, FileTrust(folder, clock=SystemClock()))


def beginner(state_folder: Path | None, workspace: Path | None) -> Identity | None:
    """Who begins a session, so that it is known who asks: the key that is named, or the only caller's on hand if it
    takes no passphrase. ``None``: the operating system's account.

    Raises:
        NotAuthorised: the key that is named can't be used.
    """
    if state_folder is None or not state_folder.is_dir():
        return None
    standing = FileTrust(state_folder, clock=SystemClock()).standing()
    roots = [workspace] if workspace is not None else []
    if standing.advisory:
        return None
    if os.environ.get(KEY):
        return on_hand(standing, ask=ask_on_terminal, writable_roots=roots)
    with contextlib.suppress(NotAuthorised, NotFound, StateRefused):
        path, principal = find_key(standing, writable_roots=roots)
        if Role.CALLER in principal.roles and not read_key(path).locked:
            return on_hand(standing, writable_roots=roots)
    return None


def state(at: Installation, body: Body, *roles: Role) -> Statement:
    """Append a statement as whoever sits here; ``roles``, one of which it takes, are looked at before a passphrase is
    asked for.

    Raises:
        NotAuthorised: no key with the role is on hand. UsageError, NotFound: it can't be stated.
    """
    if at.trust is None:
        raise UsageError(f"There is no state folder {at.folder} yet. Nothing was written. Enrol somebody first.")
    return at.trust.state(body, who(at, *roles))


def who(at: Installation, *roles: Role) -> Identity:
    """Who sits here, with the key unlocked.

    Raises:
        NotAuthorised: no enrolled key with one of the roles is on hand, or its passphrase is not.
    """
    standing = at.standing
    if not standing.advisory:
        _, principal = find_key(standing, writable_roots=at.roots)
        if not standing.may(principal.name, *roles):
            raise NotAuthorised(
                f"{principal.name!r}, whose key is on hand, is no {' or '.join(roles)}. Nothing was written. Ask "
                f"{_those(standing, roles)}."
            )
    return on_hand(standing, ask=ask_on_terminal, writable_roots=at.roots)


def _those(standing: Standing, roles: tuple[Role, ...]) -> str:
    return " or ".join(name for name in standing.principals if standing.may(name, *roles)) or "an operator to enrol one"


def ask_on_terminal(what: str) -> str:
    """The passphrase, typed on the terminal itself, whatever standard input and output are.

    Raises:
        NotAuthorised: there is no terminal.
    """
    return _typed(f"Passphrase of {visible(what)}: ")


def new_passphrase(what: str) -> str:
    """A passphrase for a new key, typed twice, or from the file that the environment names.

    Raises:
        NotAuthorised: there is no terminal. UsageError: it is empty, or not the same twice.
    """

    def ask(_: str) -> str:
        first = _typed(f"A passphrase for {visible(what)}: ")
        if not first:
            raise UsageError("The passphrase is empty. No key was made. Give one, or say --no-passphrase.")
        if first != _typed("The same again: "):
            raise UsageError("The passphrases are not the same. No key was made. Try again.")
        return first

    return passphrase(what, ask) or ""


def _typed(prompt: str) -> str:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)  # it would go on, and show what is typed
            with interruptible("Nothing was written."):
                return getpass.getpass(prompt)
    except (OSError, EOFError, getpass.GetPassWarning) as error:
        raise NotAuthorised(
            "A passphrase is needed, and there is no terminal to ask for it. Nothing was written. Name a file of yours "
            f"in {PASSPHRASE_FILE}, mode 0600."
        ) from error
