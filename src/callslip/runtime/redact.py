"""Take secrets out of results and errors before log and model see them: those the runtime holds, and known shapes.

A held secret is found as it is, and as JSON, a URL, HTML, Python, hexadecimal or base64 would spell it: in JSON however
deep, in base64 also amid other bytes. Most texts hold none, and one pass of RE2 over their bytes says so.
"""

from __future__ import annotations

import base64
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

import re2  # type: ignore[import-untyped]  # it ships no types

from callslip.core import canon
from callslip.runtime.secret_shapes import BEGIN, DISTINCT, PLACES, WORDS

SHORTEST = 8
"""Characters below which a held secret is not looked for: it would be found in every other word."""
_MARK = "[redacted]"
_MEMORY = 1 << 27
"""Bytes that RE2 may use for as many secrets as there are."""


class Redactor:
    """Replaces secrets by ``[redacted]``. Secrets shorter than 8 characters are not looked for."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        stripped = {canon.scrub(secret).strip() for secret in secrets}
        forms = {form for secret in stripped if len(secret) >= SHORTEST for form in _forms(secret)}
        # Where one is part of another, the longer one is looked for first.
        held = [_in_any_depth(form) for form in sorted(forms, key=lambda form: (-len(form), form))]
        self._held = _compiled("|".join(held)) if held else None
        self._hints = _compiled("|".join([*held, *DISTINCT, *WORDS, *(hint for hint, *_ in PLACES)]))

    def clean(self, text: str) -> str:
        """The text without secrets."""
        try:
            data = text.encode()
        except UnicodeEncodeError:
            data = canon.scrub(text).encode()
        return self._clean(data).decode() if self._hints.search(data) is not None else text

    def clean_json(self, text: bytes) -> bytes:
        """Canonical JSON text without secrets, still JSON."""
        if self._hints.search(text) is None:
            return text
        # Cut at the level of strings: a secret made of digits must not tear a number apart.
        return canon.canonical(_clean_strings(canon.parse(text), self.clean))

    def _clean(self, data: bytes) -> bytes:
        if self._held is not None:
            data = self._held.sub(lambda _: _MARK.encode(), data)
        distinct, words, places = _shapes()
        data = distinct.sub(lambda _: _MARK.encode(), data)
        data = words.sub(lambda match: match[1] + _MARK.encode(), data)
        for place in places:
            data = place.sub(lambda match: match[1] + _MARK.encode() + match[2], data)
        return data


def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    return re2.compile(pattern.encode(), options)


@functools.cache
def _shapes() -> tuple[Any, Any, list[Any]]:
    """The known shapes, compiled when the first text holds a hint of one."""
    return (
        _compiled("|".join(DISTINCT)),
        _compiled(f"{BEGIN}(?:{'|'.join(WORDS)})"),
        [_compiled(f"{before}(?:{secret}){after}") for _, before, secret, after in PLACES],
    )


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


def _forms(secret: str) -> Iterator[str]:
    """The secret in every form it is looked for."""
    raw = secret.encode()
    import html  # noqa: PLC0415 - its tables cost every start 1.5 ms, and are needed where there are secrets

    yield from (secret, raw.hex(), raw.hex().upper(), html.escape(secret), html.escape(secret, quote=False))
    yield from _in_url(secret)
    yield from _in_base64(raw)


_ESCAPES = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}


def _in_any_depth(text: str) -> str:
    """An expression for the text as it is, and as it stands in a JSON or Python string, in a JSON text within such a
    string, and so on: each time its backslashes are doubled.
    """
    return "".join(map(_character, text))


def _character(one: str) -> str:
    if one == "\\":
        return r"\\+"
    if one in "\"'/":
        return rf"\\*{one}"
    if one.isascii() and one.isprintable():
        return str(re2.escape(one))
    units = one.encode("utf-16-be")
    spelled = "".join(rf"\\+u(?i:{units[at : at + 2].hex()})" for at in range(0, len(units), 2))
    short = rf"|\\+{_ESCAPES[one]}" if one in _ESCAPES else ""
    return f"(?:{re2.escape(one)}|{spelled}{short})"


def _in_url(text: str) -> Iterator[str]:
    for form in (quote(text, safe=""), quote(text), quote_plus(text)):
        yield form
        yield "".join(part.lower() if part[0] == "%" else part for part in _parts(form))


def _parts(quoted: str) -> Iterator[str]:
    """The characters of a quoted text, an escape counting as one."""
    at = 0
    while at < len(quoted):
        step = 3 if quoted[at] == "%" else 1
        yield quoted[at : at + step]
        at += step


def _in_base64(raw: bytes) -> Iterator[str]:
    """Alone, and amid other bytes: of the characters that only the secret decides, wherever it begins in a group."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        alone = encode(raw).decode()
        yield alone
        yield alone.rstrip("=")
        for offset, skipped in ((0, 0), (1, 2), (2, 3)):
            decided = (offset + len(raw)) * 8 // 6
            yield encode(bytes(offset) + raw).decode()[skipped:decided]
