"""What the installation trusts, and who acts: principals with keys, grants, accepted files."""

from __future__ import annotations

from typing import Protocol

import msgspec

from callslip.core.standing import Body, Standing, Statement


class Signer(Protocol):
    """An unlocked private key."""

    @property
    def key(self) -> str:
        """The public key, 64 hex digits."""
        ...

    def sign(self, message: bytes) -> str:
        """Ed25519, 128 hex digits."""
        ...


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who acts, as far as it has been shown: by a key, or by the operating system's account alone."""

    name: str
    uid: int | None
    """``None`` when it acts over a network."""
    signer: Signer | None = None


class Trust(Protocol):
    def standing(self) -> Standing:
        """What holds now; read again when the file has changed.

        Raises:
            TrustBroken: it was altered by somebody who may not.
        """
        ...

    def verified(self, key: str, message: bytes, signature: str) -> bool:
        """Whether the signature is that key's. Never raises on what is not even a key."""
        ...

    def state(self, body: Body, by: Identity) -> Statement:
        """Append a statement, signed if a key is in force; durable when it returns.

        Raises:
            NotAuthorised: ``by`` may not state it. TrustBroken, LedgerUnavailable: nothing was written.
        """
        ...
