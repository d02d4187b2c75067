"""Ed25519 keys: made, opened, signed with, verified. The one module that loads the cryptography (PyNaCl, libsodium)."""

from __future__ import annotations

import os
import re
import unicodedata
from pathlib import Path
from typing import NamedTuple

from nacl import exceptions, pwhash, secret, signing, utils

from callslip.errors import NotAuthorised, StateRefused, UsageError
from callslip.ports.trust import Identity
from callslip.trust.key_file import Kdf, KeyFile, damaged, read_key, write_key

_HEX = re.compile(r"(?:[0-9a-f]{2})+")
_MOST_MEMORY = pwhash.argon2id.MEMLIMIT_SENSITIVE
_MOST_PASSES = 16


class Cost(NamedTuple):
    """What trying a passphrase costs whoever guesses."""

    ops: int = pwhash.argon2id.OPSLIMIT_MODERATE
    mem: int = pwhash.argon2id.MEMLIMIT_MODERATE


USUAL = Cost()
LEAST = Cost(ops=pwhash.argon2id.OPSLIMIT_MIN, mem=pwhash.argon2id.MEMLIMIT_MIN)
"""For tests."""


class PrivateKey:
    """Implements ``Signer``."""

    __slots__ = ("_key",)

    def __init__(self, seed: bytes) -> None:
        self._key = signing.SigningKey(seed)

    @classmethod
    def fresh(cls) -> PrivateKey:
        """A key nobody has had before."""
        return cls(utils.random(32))

    @property
    def key(self) -> str:
        return self._key.verify_key.encode().hex()

    def sign(self, message: bytes) -> str:
        return self._key.sign(message).signature.hex()

    def __reduce__(self) -> str:
        raise TypeError("a private key is not written down")


def verified(key: str, message: bytes, signature: str) -> bool:
    """Whether the signature is that key's: both in lower-case hex, so that each has one spelling."""
    if not (_hex(key, 32) and _hex(signature, 64)):
        return False
    try:
        signing.VerifyKey(bytes.fromhex(key)).verify(message, bytes.fromhex(signature))
    except (exceptions.CryptoError, ValueError, TypeError):
        return False
    return True


def make_key(path: Path, name: str, *, passphrase: str | None, host: str = "", cost: Cost = USUAL) -> Identity:
    """Make a key of this account, and its file. ``passphrase`` ``None``: whoever can read the file can sign.

    Raises:
        UsageError: an empty passphrase. StateRefused: there is a file already, or it can't be written.
    """
    if passphrase == "":
        raise UsageError("The passphrase is empty. No key was made. Give one, or say --no-passphrase.")
    seed, uid = utils.random(32), os.getuid()
    signer = PrivateKey(seed)
    kdf = None
    sealed = ""
    if passphrase is not None:
        kdf = Kdf(ops=cost.ops, mem=cost.mem, salt=utils.random(pwhash.argon2id.SALTBYTES).hex())
        sealed = bytes(_box(passphrase, kdf).encrypt(seed)).hex()
    bare = "" if sealed else seed.hex()
    value = KeyFile(v=1, name=name, key=signer.key, uid=uid, host=host, kdf=kdf, sealed=sealed, seed=bare)
    write_key(path, value)
    return Identity(name=name, uid=uid, signer=signer)


def load_key(path: Path, passphrase: str | None) -> Identity:
    """Open a key's file. A passphrase that is not needed is not looked at.

    Raises:
        NotAuthorised: the passphrase is missing or wrong.
        NotFound: there is no such file. StateRefused: it is damaged, a link, not ours, or open to others.
    """
    value, uid = read_key(path), os.getuid()
    if value.kdf is None:
        return Identity(name=value.name, uid=uid, signer=_opened(path, value, value.seed))
    if passphrase is None:
        raise NotAuthorised(
            f"The key {path.name} needs its passphrase, and there is none. Nothing was done. Run this on a terminal, "
            "or name a file of yours in CALLSLIP_PASSPHRASE_FILE."
        )
    if not (_hex(value.sealed, 72) and _hex(value.kdf.salt, 16)) or not (
        LEAST.ops <= value.kdf.ops <= _MOST_PASSES and LEAST.mem <= value.kdf.mem <= _MOST_MEMORY
    ):
        raise damaged(path, "what the seed is sealed with is out of all bounds")
    try:
        seed = _box(passphrase, value.kdf).decrypt(bytes.fromhex(value.sealed))
    except exceptions.CryptoError:
        raise NotAuthorised(f"The passphrase of {path.name} is wrong. Nothing was done. Try again.") from None
    return Identity(name=value.name, uid=uid, signer=_opened(path, value, seed.hex()))


def _opened(path: Path, value: KeyFile, seed: str) -> PrivateKey:
    if not _hex(seed, 32):
        raise damaged(path, "its seed is none")
    signer = PrivateKey(bytes.fromhex(seed))
    if signer.key != value.key:
        raise damaged(path, "its two halves don't belong together")
    return signer


def _box(passphrase: str, kdf: Kdf) -> secret.SecretBox:
    # One passphrase may be typed in several encodings of the same characters.
    text = unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogateescape")
    try:
        return secret.SecretBox(
            pwhash.argon2id.kdf(secret.SecretBox.KEY_SIZE, text, bytes.fromhex(kdf.salt), kdf.ops, kdf.mem)
        )
    except (exceptions.RuntimeError, MemoryError) as error:
        raise StateRefused(
            f"There is no memory to try the passphrase ({kdf.mem >> 20} MiB). Nothing was done. Make room, try again."
        ) from error


def _hex(text: str, size: int) -> bool:
    return len(text) == 2 * size and _HEX.fullmatch(text) is not None
