"""What a decision's body may say. A field that is not known here is refused: an answer can't change the tool, the
session or the binding, because there is no word for it.
"""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec

from callslip.answering.faults import Refused
from callslip.core.principal import Proof
from callslip.errors import UsageError

MOST = 256 * 1024
"""Bytes of a body."""


class ProofGiven(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who decides, signed by their key over the whole answer (``core/principal.message``)."""

    principal: str
    key: str
    """Ed25519 public key, 64 hex digits."""
    signature: str
    """128 hex digits."""
    at: int
    """When it was signed, milliseconds since 1970, UTC."""
    on_behalf_of: str = ""

    def proof(self) -> Proof:
        """As it will stand in the log: over a network no account of the operating system is known."""
        return Proof(
            principal=self.principal, key=self.key, signature=self.signature, on_behalf_of=self.on_behalf_of, at=self.at
        )


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer."""

    decision: Literal["approved", "denied"]
    reason: str = ""
    edited_arguments: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    """All of them, in the place of those asked about."""
    proof: ProofGiven | msgspec.UnsetType = msgspec.UNSET
    """Needed once keys are enrolled."""


def read_body(text: bytes) -> Body:
    """The body.

    Raises:
        Refused: no JSON. UsageError: it says something that no answer says; the question stays open.
    """
    try:
        json.loads(text, object_pairs_hook=_once)
        return msgspec.json.decode(text, type=Body)
    except msgspec.ValidationError as error:
        raise UsageError(f"This is no answer: {error}. Nothing was written; the question stays open.") from error
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise Refused(400, "bad_request", f"The body is no JSON: {error}. Nothing was written.") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two values for one name would be read differently by different readers."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return found
