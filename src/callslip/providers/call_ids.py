"""The id each call goes by on the wire (CALL-03).

Providers disagree on what an id is: OpenAI's may have up to 40 characters, Anthropic's must be unique over the whole
conversation, Mistral's has exactly nine letters and digits, Gemini's may be missing. A session may change from one to
the other. So the provider's own id is given back where it is legal and no earlier call has it; else one is made of our
call id, equal in call and result and the same at every replay.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

import msgspec

from callslip.core.message import CallMessage

_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class IdRule(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider accepts as a call's id."""

    pattern: str
    """Of a whole legal id."""
    prefix: str = "call_"
    """Of a made one."""
    length: int = 24
    """Characters of a made one after the prefix."""
    refused: frozenset[str] = frozenset()
    """Texts that a provider gives as an id and means none by."""

    def allows(self, provider_id: str) -> bool:
        """Whether the provider takes this very id."""
        return provider_id not in self.refused and re.fullmatch(self.pattern, provider_id) is not None


def wire_ids(calls: Iterable[CallMessage], rule: IdRule) -> dict[str, str]:
    """By ``call_id``. The first holder keeps a repeated id: what was sent once is never sent differently later."""
    ids: dict[str, str] = {}
    taken: set[str] = set()
    for call in calls:
        own = call.provider_id
        wire = own if rule.allows(own) and own not in taken else made_id(call.call_id, rule, taken)
        ids[call.call_id] = wire
        taken.add(wire)
    return ids


def made_id(call_id: str, rule: IdRule, taken: set[str]) -> str:
    """An id for a call whose provider gave none that can be used."""
    made, attempt = call_id, 0
    while not rule.allows(made) or made in taken:
        source = f"{call_id}\0{attempt}".encode("utf-8", "surrogatepass")
        number = int.from_bytes(hashlib.sha256(source).digest(), "big")
        letters = []
        for _ in range(rule.length):
            number, letter = divmod(number, len(_LETTERS))
            letters.append(_LETTERS[letter])
        made = rule.prefix + "".join(letters)
        attempt += 1
    return made
