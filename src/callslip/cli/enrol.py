"""``callslip enrol``: somebody's key comes into force."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path
from typing import NamedTuple

import click

from callslip.cli import look
from callslip.cli.command import command
from callslip.cli.document import print_document
from callslip.cli.keys_on_hand import Installation, ask_on_terminal, installation, new_passphrase, who
from callslip.cli.options import Given
from callslip.core.principal import Principal, Role
from callslip.core.shown import visible
from callslip.core.standing import NAME, Enrolled
from callslip.errors import CallslipError, CommitUnknown, NotAuthorised, UsageError
from callslip.ports.trust import Identity
from callslip.trust.file import ROOT, FileTrust
from callslip.trust.key_file import SUFFIX, KeyFile, keys_folder, make_folder, read_key
from callslip.trust.keys import make_key
from callslip.trust.on_hand import open_key
from callslip.trust.owned_file import write_owned
from callslip.trust.public_half import SUFFIX as PUBLIC, public_half, read_public

ROOT_ROLES = (Role.OPERATOR, Role.APPROVER, Role.CALLER)
"""Of the first one, when nothing else is said."""


class _Own(NamedTuple):
    """A key of this account."""

    path: Path
    file: KeyFile
    made: Identity | None
    """Unlocked, when it was made just now."""

    def unlocked(self) -> Identity:
        """Ready to sign."""
        return self.made or open_key(self.path, ask=ask_on_terminal)

    def take_back(self) -> None:
        """Remove what was made for an enrolment that came to nothing."""
        if self.made is not None:
            with contextlib.suppress(OSError):
                self.path.unlink()


@command
@click.argument("name")
@click.option(
    "--role",
    "roles",
    multiple=True,
    type=click.Choice([role.value for role in Role]),
    help="What they may do; once for each. The first one is operator, approver and caller unless you say.",
)
@click.option("--public", type=click.Path(path_type=Path), metavar="FILE", help="Enrol this key, made elsewhere.")
@click.option("--key-only", is_flag=True, help="Make a key and NAME.pub to hand over; enrol nobody.")
@click.option("--no-passphrase", is_flag=True, help="Whoever can read the key's file can sign with it.")
def enrol(
    given: Given, name: str, roles: tuple[str, ...], public: Path | None, key_only: bool, no_passphrase: bool
) -> None:
    """Enrol NAME's key. The first one is the root, and from then on answers count only when they are signed.

    Further ones are enrolled by an operator whose key is on hand: with --public, somebody's on another account or
    machine, who has made the key there with --key-only. A key that NAME has already is used again.
    """
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name: a letter or digit, then up to 63 of those and of '._@-'. Nothing was done."
        )
    if public is not None and (key_only or no_passphrase):
        raise UsageError("--public goes with neither --key-only nor --no-passphrase. Nothing was done.")
    if key_only and roles:
        raise UsageError("--key-only enrols nobody, so it takes no --role. Nothing was done.")
    at = installation(given, make=not key_only)
    if key_only:
        _hand_over(given, at, name, no_passphrase=no_passphrase)
        return
    _check_name(at, name)
    wanted = tuple(dict.fromkeys(Role(role) for role in roles))
    enrol_one = _root if at.standing.advisory else _another
    enrol_one(given, at, name, wanted, public, no_passphrase=no_passphrase)


def _check_name(at: Installation, name: str) -> None:
    """Before anything is asked for; the statement itself is checked again."""
    standing = at.standing
    if name in standing.principals or name in standing.revoked:
        known = "is enrolled already" if name in standing.principals else "was revoked, and its name is not given again"
        raise UsageError(f"{name!r} {known}. Nothing was done. See `callslip principals`.")


def _root(
    given: Given, at: Installation, name: str, roles: tuple[Role, ...], public: Path | None, *, no_passphrase: bool
) -> None:
    if public is not None:
        raise UsageError(
            "The first one must be an operator with a key of this account, who signs for itself. Nobody was enrolled. "
            "Enrol yourself first, without --public."
        )
    own = _own(at, name, no_passphrase=no_passphrase)
    identity = own.unlocked()
    _enrol(given, at, _principal(own.file, roles or ROOT_ROLES, name), identity, own)


def _another(
    given: Given, at: Installation, name: str, roles: tuple[Role, ...], public: Path | None, *, no_passphrase: bool
) -> None:
    if not roles:
        raise UsageError("Say what they may do with --role, once for each. Nobody was enrolled.")
    if public is not None:
        half = read_public(public)
        if half.name != name:
            raise UsageError(f"{public} is the key of {half.name!r}, not of {name!r}. Nobody was enrolled.")
        principal = Principal(name=name, roles=roles, key=half.key, uid=half.uid, host=half.host)
        _enrol(given, at, principal, who(at, Role.OPERATOR), None)
        return
    operator = who(at, Role.OPERATOR)
    own = _own(at, name, no_passphrase=no_passphrase)
    _enrol(given, at, _principal(own.file, roles, name), operator, own)


def _principal(file: KeyFile, roles: tuple[Role, ...], name: str) -> Principal:
    if file.name != name:
        raise UsageError(f"The key of {name!r} says it is {file.name!r}'s. Nobody was enrolled. Move it away.")
    return Principal(name=name, roles=roles, key=file.key, uid=file.uid, host=file.host)


def _own(at: Installation, name: str, *, no_passphrase: bool) -> _Own:
    """NAME's key on this account, made if there is none."""
    folder = keys_folder(at.roots)
    path = folder / f"{name}{SUFFIX}"
    if path.exists() or path.is_symlink():
        return _Own(path, read_key(path), None)
    make_folder(folder)
    passphrase = None if no_passphrase else new_passphrase(path.name)
    made = make_key(path, name, passphrase=passphrase, host=socket.gethostname())
    return _Own(path, read_key(path), made)


def _enrol(given: Given, at: Installation, principal: Principal, by: Identity, own: _Own | None) -> None:
    trust = at.trust
    assert isinstance(trust, FileTrust)
    before = trust.standing()
    try:
        trust.state(Enrolled(principal=principal), by)
    except CommitUnknown:
        raise
    except CallslipError:
        if own is not None:
            own.take_back()
        raise
    is_root = trust.standing().root == principal.key
    path = own.path if own is not None else None
    if given.as_json:
        document = {"name": principal.name, "roles": principal.roles, "key": principal.key, "uid": principal.uid}
        where = {"key_file": None if path is None else str(path), "state": str(at.folder)}
        print_document({**document, "root": is_root, **where})
        return
    look.say(f"{look.mark('ok')} {principal.name} is enrolled: {', '.join(principal.roles)}.")
    _fact("key", principal.key)
    if path is not None:
        _fact("kept in", str(path))
    _fact("in force for", str(at.folder))
    if own is None:
        look.say(f"  Compare the key's digits with what {principal.name} sees; if they differ, revoke it.")
    elif not own.file.locked:
        look.say(f"{look.mark('warn')} It has no passphrase: every process of this account can sign with it.")
    if is_root:
        look.say(f"  {principal.name} is the root. From now on an answer counts only when it is signed.")
        if before.accepted or before.grants:
            look.say(f"  What was accepted and granted without a key counts no more: {given.command('trust')}")
        look.say(f"  So that no other root can be put in its place: export {ROOT}={principal.key}")


def _hand_over(given: Given, at: Installation, name: str, *, no_passphrase: bool) -> None:
    own = _own(at, name, no_passphrase=no_passphrase)
    identity = own.unlocked()
    if identity.name != name:
        raise NotAuthorised(f"{own.path} is the key of {identity.name!r}. Nothing was written.")
    path = own.path.with_suffix(PUBLIC)
    path.unlink(missing_ok=True)
    write_owned(path, public_half(identity, host=own.file.host), mode=0o644)
    if given.as_json:
        print_document(
            {"name": name, "key": own.file.key, "key_file": str(own.path), "public_file": str(path)},
        )
        return
    look.say(f"{look.mark('ok')} The key of {name} is there; nobody is enrolled by that.")
    _fact("key", own.file.key)
    _fact("kept in", str(own.path))
    _fact("hand over", str(path))
    look.say(f"  An operator enrols it: callslip enrol {name} --public FILE --role approver. Compare the key's digits.")


def _fact(label: str, text: str) -> None:
    look.say(f"  {look.paint(look.pad(label, 14), dim=True)}{visible(text)}")
