"""What the aliases of tools end in: a digest of the whole name, the same at every run and for every provider. Pure.

Providers refuse some names and are sent aliases (``providers/aliases``). A model that has seen one in its history may
write it anywhere, so others than a provider's adapter have to know it again.
"""

from __future__ import annotations

import base64
import hashlib
import re

DIGEST_LENGTH = 12
"""Base32 characters, 60 bits."""
_TAIL = re.compile(rf"_([a-z2-7]{{{DIGEST_LENGTH}}})\Z")


def digest(name: str, attempt: int = 0) -> str:
    """What the name's alias ends in. ``attempt``: more than 0 where another tool has taken the alias."""
    # A name is hashed as it is, lone surrogates included: it is only ever compared with itself.
    source = name.encode("utf-8", "surrogatepass") + (b"\0%d" % attempt if attempt else b"")
    return base64.b32encode(hashlib.sha256(source).digest()).decode("ascii").lower()[:DIGEST_LENGTH]


def digest_in(text: str) -> str:
    """What stands where an alias has its digest; empty: it doesn't look like an alias."""
    tail = _TAIL.search(text)
    return tail.group(1) if tail else ""
