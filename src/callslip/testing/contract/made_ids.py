"""Ids as the vendors make them: random, so that two servers never give the same one."""

from __future__ import annotations

import secrets
import string

_LETTERS = string.ascii_letters + string.digits


def made_id(prefix: str, length: int, letters: str = _LETTERS) -> str:
    """``prefix`` and so many random characters."""
    return prefix + "".join(secrets.choice(letters) for _ in range(length))
