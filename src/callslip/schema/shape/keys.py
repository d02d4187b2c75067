"""Property keys that a provider takes, for those it refuses, and the same ones at every run.

As for tool names: the legible part of the key and a digest of all of it, made of the key alone. An alias that is
already a key somewhere in the same schema is passed over, so no two keys of one object ever meet.
"""

import base64
import hashlib
import re
from typing import Any

from callslip.schema.shape.dialect import KeyRule

DIGEST_LENGTH = 12
"""Base32 characters, 60 bits."""


class Keys:
    """The keys of one schema and how they stand on the wire."""

    def __init__(self, document: Any, rule: KeyRule | None) -> None:
        self._rule = rule
        self._taken = _all_keys(document) if rule else frozenset()
        self._wires: dict[str, str] = {}
        self._legal = re.compile(f"[{rule.first}][{rule.characters}]{{0,{rule.longest - 1}}}") if rule else None

    def wire(self, key: str) -> str:
        """The key to send."""
        if self._rule is None or self._legal is None or self._legal.fullmatch(key):
            return key
        if key not in self._wires:
            attempt = 0
            while (alias := _alias(key, self._rule, attempt)) in self._taken:
                attempt += 1
            self._wires[key] = alias
        return self._wires[key]


def _alias(key: str, rule: KeyRule, attempt: int) -> str:
    legible = re.sub(f"[^{rule.characters}]", "_", key)[: rule.longest - DIGEST_LENGTH - 2] or "key"
    if not re.match(f"[{rule.first}]", legible):
        legible = f"_{legible}"
    source = key.encode("utf-8", "surrogatepass") + (b"\0%d" % attempt if attempt else b"")
    return f"{legible}_{base64.b32encode(hashlib.sha256(source).digest()).decode('ascii').lower()[:DIGEST_LENGTH]}"


def _all_keys(document: Any) -> frozenset[str]:
    """Every key of every object in the schema, property or not: a few too many cost nothing."""
    found: set[str] = set()
    stack = [document]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            found.update(part)
            stack.extend(part.values())
        elif isinstance(part, list):
            stack.extend(part)
    return frozenset(found)
