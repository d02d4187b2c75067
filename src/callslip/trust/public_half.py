"""The public half of a key, written down to be handed to whoever enrols: signed by itself, so that nobody hands over a
key that is not theirs. That it is *that person's* key only the two of them can know: they compare its digits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from callslip.errors import NotAuthorised, NotFound, UsageError
from callslip.ports.trust import Identity
from callslip.trust.chain import verified

SUFFIX = ".pub"
_MOST = 1 << 16


class PublicHalf(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    v: Literal[1]
    name: str
    key: str
    uid: int
    """Of the account that made it, by its own word."""
    host: str
    signature: str
    """Ed25519 over :func:`message`, hex."""


_encoder = msgspec.json.Encoder(order="sorted")


def message(half: PublicHalf) -> bytes:
    """What is signed."""
    return b"callslip public key 1\n" + _encoder.encode(msgspec.structs.replace(half, signature=""))


def public_half(identity: Identity, *, host: str) -> bytes:
    """The text to hand over."""
    if identity.signer is None or identity.uid is None:
        raise NotAuthorised("There is no key to hand over the public half of. Nothing was written.")
    bare = PublicHalf(v=1, name=identity.name, key=identity.signer.key, uid=identity.uid, host=host, signature="")
    half = msgspec.structs.replace(bare, signature=identity.signer.sign(message(bare)))
    return msgspec.json.format(_encoder.encode(half), indent=2) + b"\n"


def read_public(path: Path) -> PublicHalf:
    """What somebody handed over.

    Raises:
        NotFound: there is no such file. UsageError: it is no public half, or was altered.
    """
    try:
        with path.open("rb") as file:
            half = msgspec.json.decode(file.read(_MOST), type=PublicHalf)
    except FileNotFoundError:
        raise NotFound(f"There is no file {path}. Nobody was enrolled.") from None
    except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise UsageError(f"{path} is no public half of a key: {error}. Nobody was enrolled.") from error
    if not verified(half.key, message(half), half.signature):
        raise UsageError(f"{path} was altered: its signature does not fit. Nobody was enrolled. Have it sent again.")
    return half
