"""Whose key is on hand: found by the environment or in the folder of keys, and opened with its passphrase.

The passphrase comes from a file that ``CALLSLIP_PASSPHRASE_FILE`` names or from whoever asks for it, such as a
terminal. It is never an argument or a variable: every process of the account can read those, and histories keep them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from callslip.core.principal import Principal
from callslip.core.standing import NAME, Standing
from callslip.errors import CallslipError, ConfigError, NotAuthorised, NotFound, StateRefused
from callslip.ports.trust import Identity
from callslip.trust.account import account
from callslip.trust.key_file import SUFFIX, keys_folder, read_key
from callslip.trust.owned_file import out_of_reach, read_owned

KEY = "CALLSLIP_KEY"
PASSPHRASE_FILE = "CALLSLIP_PASSPHRASE_FILE"  # noqa: S105 - the name of a variable

Ask = Callable[[str], str]
"""Asks a person for the passphrase of the key that is named."""


def on_hand(standing: Standing, *, ask: Ask | None = None, writable_roots: Iterable[Path] = ()) -> Identity:
    """Who acts: whose enrolled key is on hand, or the operating system's account while no key is enrolled.

    Raises:
        NotAuthorised: no enrolled key is on hand, several are, or the passphrase is missing or wrong.
        NotFound, ConfigError: what ``CALLSLIP_KEY`` names is not there, or is no name.
        StateRefused: a key's file or folder is damaged, not ours, open to others, or where tools may write.
    """
    if standing.advisory:
        return account()
    path, principal = find_key(standing, writable_roots=writable_roots)
    identity = open_key(path, ask=ask)
    return msgspec.structs.replace(identity, name=principal.name)


def find_key(standing: Standing, *, writable_roots: Iterable[Path] = ()) -> tuple[Path, Principal]:
    """The key's file and its principal, without opening the key.

    Raises:
        As :func:`on_hand`.
    """
    roots = list(writable_roots)
    by_key = {principal.key: principal for principal in standing.principals.values()}
    named = os.environ.get(KEY)
    if named:
        path = key_path(named, writable_roots=roots)
        principal = by_key.get(read_key(path).key)
        if principal is None:
            raise NotAuthorised(
                f"The key {path}, which {KEY} names, is not enrolled here. Nothing was done. Enrolled are: "
                f"{', '.join(standing.principals)}."
            )
        return path, principal
    found, refused = _enrolled(by_key, roots)
    if len(found) == 1:
        return found[0]
    if found:
        raise NotAuthorised(
            f"Several enrolled keys are on hand: {', '.join(path.stem for path, _ in found)}. Nothing was done. Say "
            f"which in {KEY}, such as {KEY}={found[0][0].stem}."
        )
    if refused is not None:
        raise refused
    raise NotAuthorised(
        f"No enrolled key is on hand in {keys_folder()}. Nothing was done. Enrolled are: "
        f"{', '.join(standing.principals)}. Name your key in {KEY}, or ask an operator to enrol you."
    )


def _enrolled(
    by_key: dict[str, Principal], roots: list[Path]
) -> tuple[list[tuple[Path, Principal]], CallslipError | None]:
    """The enrolled keys in the folder of keys, and why one of the others could not be looked at."""
    found: list[tuple[Path, Principal]] = []
    refused: CallslipError | None = None
    for path in sorted(keys_folder(roots).glob(f"*{SUFFIX}")):
        try:
            key = read_key(path).key
        except CallslipError as error:
            refused = refused or error
            continue
        if key in by_key:
            found.append((path, by_key[key]))
    return found, refused


def key_path(named: str, *, writable_roots: Iterable[Path] = ()) -> Path:
    """The file of a key by its path, or by its name in the folder of keys.

    Raises:
        ConfigError: it is neither. StateRefused: it lies where tools may write.
    """
    roots = list(writable_roots)
    if os.sep in named or named.endswith(SUFFIX):
        path = Path(named).expanduser().absolute()
        out_of_reach(path, roots, "key")
        return path
    if not NAME.fullmatch(named):
        raise ConfigError(f"{named!r} is neither a path nor a name of a key. Nothing was done.")
    return keys_folder(roots) / f"{named}{SUFFIX}"


def open_key(path: Path, *, ask: Ask | None = None) -> Identity:
    """The key, unlocked.

    Raises:
        As :func:`on_hand`.
    """
    from callslip.trust import keys  # noqa: PLC0415 - the cryptography is loaded when there is something to sign

    return keys.load_key(path, passphrase(path.name, ask) if read_key(path).locked else None)


def passphrase(what: str, ask: Ask | None) -> str | None:
    """The passphrase, from the file that the environment names or from whoever can be asked; ``None``: from nobody.

    Raises:
        ConfigError: there is no such file, or it is empty. StateRefused: it is not ours alone.
    """
    named = os.environ.get(PASSPHRASE_FILE)
    if not named:
        return ask(what) if ask is not None else None
    try:
        text = read_owned(Path(named).expanduser().absolute(), "passphrase's file")
    except NotFound as error:
        raise ConfigError(f"{error} {PASSPHRASE_FILE} names it.") from error
    line = text.decode("utf-8", "surrogateescape").removesuffix("\n").removesuffix("\r")
    if not line:
        raise ConfigError(f"{named}, which {PASSPHRASE_FILE} names, is empty. Nothing was done.")
    return line


def unlocked_keys(writable_roots: Iterable[Path] = ()) -> tuple[list[str], list[StateRefused]]:
    """Keys in the folder that take no passphrase, and those that are not safe to use: what ``doctor`` tells of."""
    bare: list[str] = []
    unsafe: list[StateRefused] = []
    for path in sorted(keys_folder(writable_roots).glob(f"*{SUFFIX}")):
        try:
            if not read_key(path).locked:
                bare.append(path.stem)
        except StateRefused as error:
            unsafe.append(error)
    return bare, unsafe
