"""Who acts: principals, what they may do, and the proof that an answer is theirs (APPR-08)."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Role(StrEnum):
    """What a principal may do. A principal may have several."""

    CALLER = "caller"
    """Begins sessions, answers the model's questions, hands in results of a client's tools."""
    APPROVER = "approver"
    """Decides on calls that need a person's word, and grants."""
    OPERATOR = "operator"
    """Enrols and revokes, accepts what the project is made of, gives verdicts, erases, reverts."""
    VIEWER = "viewer"
    """Reads what others decide on."""


class Principal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Somebody whose key is enrolled."""

    name: str
    roles: tuple[Role, ...]
    key: str
    """Ed25519 public key, 64 hex digits."""
    uid: int | None = None
    """The operating system's account that made the key, where it is known."""
    host: str = ""


class Proof(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who gave an answer, signed with their key. Without a key it names the operating system's account and proves
    nothing to a reader who does not trust whoever can write the state folder.
    """

    principal: str
    uid: int | None = None
    """Of the process that gave the answer; ``None`` when it came over a network."""
    key: str = ""
    signature: str = ""
    """Ed25519 over :func:`message`, 128 hex digits."""
    on_behalf_of: str = ""
    """Who had handed the deciding on to this principal."""
    at: int = 0
    """When it was signed, milliseconds since 1970, UTC."""


_encoder = msgspec.json.Encoder(order="sorted")


def message(session: str, wait_id: str, event: msgspec.Struct, proof: Proof) -> bytes:
    """What is signed: the answer as it will stand in the log, which wait of which session it answers, and for whom."""
    bare = msgspec.structs.replace(event, proof=msgspec.structs.replace(proof, signature=""))
    return b"callslip answer 1\n" + _encoder.encode({"event": bare, "session": session, "wait": wait_id})
