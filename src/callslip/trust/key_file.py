"""A private key at rest: its file's format and its place. Opening one is ``trust/keys``'s (docs/reference/trust.md)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from callslip.core import canon
from callslip.errors import StateRefused
from callslip.trust.owned_file import check, out_of_reach, read_owned, write_owned

SUFFIX = ".key"


class Kdf(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the passphrase becomes the key that the seed is sealed with."""

    ops: int
    """Passes."""
    mem: int
    """Bytes."""
    salt: str
    """16 bytes, hex."""
    name: Literal["argon2id"] = "argon2id"


class KeyFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Exactly one of ``sealed`` and ``seed`` is there."""

    v: Literal[1]
    name: str
    key: str
    """The public half, 64 hex digits."""
    uid: int
    """Of the account that made it."""
    host: str = ""
    kdf: Kdf | None = None
    sealed: str = ""
    """The seed in libsodium's secretbox (nonce, then XSalsa20-Poly1305), hex."""
    seed: str = ""
    """32 bytes, hex: it was made without a passphrase."""
    check: str = ""
    """SHA-256 of all the rest, hex, so that a damaged file is told apart from a wrong passphrase."""

    @property
    def locked(self) -> bool:
        """Whether it takes a passphrase to use."""
        return bool(self.sealed)


_encoder = msgspec.json.Encoder(order="sorted")


def _check(value: KeyFile) -> str:
    return canon.digest(_encoder.encode(msgspec.structs.replace(value, check="")))


def write_key(path: Path, value: KeyFile) -> None:
    """Write the key's file, mode 0600. There is none yet.

    Raises:
        StateRefused: there is, or the system refuses.
    """
    whole = msgspec.structs.replace(value, check=_check(value))
    write_owned(path, msgspec.json.format(_encoder.encode(whole), indent=2) + b"\n")


def read_key(path: Path) -> KeyFile:
    """What stands in a key's file.

    Raises:
        NotFound: there is none. StateRefused: it is damaged, a link, not ours, or open to others.
    """
    text = read_owned(path, "key")
    try:
        value = msgspec.json.decode(text, type=KeyFile)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise damaged(path, str(error)[:200]) from error
    if value.check != _check(value):
        raise damaged(path, "its check sum does not fit")
    if bool(value.sealed) == bool(value.seed) or bool(value.sealed) != (value.kdf is not None):
        raise damaged(path, "it holds no seed, or two")
    return value


def damaged(path: Path, why: str) -> StateRefused:
    return StateRefused(
        f"The key {path} is damaged: {why}. Nothing was done. Restore it from a backup, or have another enrolled."
    )


def keys_folder(writable_roots: Iterable[Path] = ()) -> Path:
    """``$XDG_CONFIG_HOME/callslip/keys`` (XDG Base Directory Specification); it need not be there.

    Raises:
        StateRefused: it lies where tools may write, is a link, is not ours, or is open to others.
    """
    base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    folder = (base / "callslip" / "keys").absolute()
    out_of_reach(folder, writable_roots, "folder of keys")
    if os.path.lexists(folder):
        check(folder, folder.lstat(), most=0o700)
    return folder


def make_folder(folder: Path) -> None:
    """Make the folder of keys, its owner's alone.

    Raises:
        StateRefused: the system refuses.
    """
    try:
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    except OSError as error:
        raise StateRefused(f"The folder {folder} can't be made ({error.strerror}). Nothing was written.") from error
    check(folder, folder.lstat(), most=0o700)
