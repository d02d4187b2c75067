"""Take secrets out of results and errors before log and model see them: those the runtime holds, and known shapes.

Shapes: vendor prefixes as documented by OpenAI, Anthropic, GitHub, Slack, AWS, Google and Stripe, JSON Web Tokens
(RFC 7519) and PEM private keys (RFC 7468).
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote

from callslip.core import canon

_SHAPES = re.compile(
    r"sk-(?:ant-|proj-)?[A-Za-z0-9_-]{20,}"
    r"|gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|AIza[0-9A-Za-z_-]{35}"
    r"|(?:sk|rk)_(?:live|test)_[0-9A-Za-z]{16,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[^\"]*?-----END [A-Z ]*PRIVATE KEY-----"
)
_HINTS = ("sk", "gh", "github_pat_", "xox", "AKIA", "ASIA", "AIza", "rk_", "eyJ", "PRIVATE KEY")
_SHORTEST = 8


class Redactor:
    """Replaces secrets by ``[redacted]``. Secrets shorter than 8 characters are not looked for."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        spellings = {spelling for secret in secrets if len(secret) >= _SHORTEST for spelling in _spellings(secret)}
        ordered = sorted(spellings, key=len, reverse=True)
        self._held = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def clean(self, text: str) -> str:
        """The text without secrets."""
        if self._held is not None:
            text = self._held.sub("[redacted]", text)
        if any(hint in text for hint in _HINTS):
            text = _SHAPES.sub("[redacted]", text)
        return text

    def clean_json(self, text: bytes) -> bytes:
        """Canonical JSON text without secrets, still JSON."""
        whole = text.decode()
        cleaned = self.clean(whole)
        if cleaned == whole:
            return text
        # Cut at the level of strings: a secret made of digits must not tear a number apart.
        return canon.canonical(_clean_strings(canon.parse(text), self.clean))


def _clean_strings(value: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        cleaned: dict[str, Any] = {}
        for key, item in value.items():
            name = clean(key)
            while name in cleaned:  # two secrets used as keys must not hide each other's values
                name += "'"
            cleaned[name] = _clean_strings(item, clean)
        return cleaned
    if isinstance(value, list):
        return [_clean_strings(item, clean) for item in value]
    return value


def _spellings(secret: str) -> set[str]:
    """As it is, inside JSON, inside a URL, and in base64."""
    return {
        secret,
        json.dumps(secret, ensure_ascii=False)[1:-1],
        json.dumps(secret)[1:-1],
        quote(secret, safe=""),
        base64.b64encode(secret.encode()).decode(),
    }
