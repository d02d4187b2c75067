"""What is wrong with a tool's declaration, whoever made it: a decorator, or a source of tools from elsewhere. Pure.

A declaration is believed, so one that means nothing must not look as if it did: it is refused where the tool is bound.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from callslip.core import claim
from callslip.core.tool import ToolSpec

LONGEST_MS: Final = 10 * 366 * 86_400_000
"""What a duration may say: ten years. A moment further away than that can't be written as a date."""

_SEQUENCES = (
    "tags", "callable_from", "requires", "claims", "allowed_paths", "allowed_hosts", "identity_arguments",
    "secret_arguments", "untrusted_fields",
)  # fmt: skip
_DURATIONS = {
    "timeout_ms": "timeout", "quiet_ms": "quiet", "background_timeout_ms": "background_timeout",
    "poll_after_ms": "poll_after", "cached_fallback_ms": "cached_fallback", "hedge_after_ms": "hedge_after",
}  # fmt: skip
_OTHERS = frozenset({"input_schema", "output_schema", "examples", "normalise"})
"""Whose form is judged where they are compiled."""
_WORDS: Final[dict[type, str]] = {str: "a text", bool: "True or False"}


_NO_NAME = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Kinds of characters that no name holds: controls, halves of characters, and what ends a line."""
_FIELDS = msgspec.structs.fields(ToolSpec)
"""Worked out once: with thousands of tools it took three quarters of a start."""


class Complaint(msgspec.Struct, frozen=True):
    """What is wrong, and with which part of the declaration."""

    said: str
    """Half a sentence."""
    field: str


def complaint(spec: ToolSpec) -> Complaint | None:
    """The first thing that is wrong; ``None``: nothing is."""
    return _wrong_type(spec) or _misnamed(spec.name) or _too_long(spec) or _meaningless(spec)


def _wrong_type(spec: ToolSpec) -> Complaint | None:
    for name in _SEQUENCES:
        said = not_texts(name, getattr(spec, name))
        if said is not None:
            return Complaint(said, name)
    for field in _FIELDS:
        if field.name in _OTHERS or field.name in _SEQUENCES or field.name in _DURATIONS:
            continue
        value = getattr(spec, field.name)
        default = "" if field.default is None or field.default is msgspec.NODEFAULT else field.default
        if value is None and field.default is None:
            continue
        if not isinstance(value, type(default)):
            known = _WORDS.get(type(default), "one of its words")
            return Complaint(f"{field.name} has to be {known}, and is {_shown(value)}", field.name)
    return None


def _misnamed(name: str) -> Complaint | None:
    """A name is called, listed in prompts and printed on terminals, one to a line."""
    if not name.strip():
        return Complaint("a tool needs a name, and this one is empty", "name")
    odd = "" if name.isprintable() else next((one for one in name if unicodedata.category(one) in _NO_NAME), "")
    if odd:
        what = "a line break" if odd in "\n\r\x0b\x0c\x85\u2028\u2029" else "a control character"
        return Complaint(f"its name holds {what} ({ascii(odd)[1:-1]})", "name")
    return None


def not_texts(name: str, value: Any) -> str | None:
    """Why this is no sequence of texts, as half a sentence. A text alone would be one of its letters."""
    if isinstance(value, str):
        return f"{name} has to be a list of texts, and is a text alone: write {name}=[{_shown(value)}]"
    if isinstance(value, Mapping) or not isinstance(value, Iterable):
        return f"{name} has to be a list of texts, and is {_shown(value)}"
    other = next((one for one in value if not isinstance(one, str)), None)
    return None if other is None else f"{name} has to be a list of texts, and {_shown(other)} in it is none"


def _too_long(spec: ToolSpec) -> Complaint | None:
    for name, said in _DURATIONS.items():
        value = getattr(spec, name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            return Complaint(f"{name} has to be a whole number of milliseconds, and is {_shown(value)}", said)
        if value is not None and value > LONGEST_MS:
            return Complaint(f"{said} is more than ten years ({value / 1000:g} s)", said)
    if spec.timeout_ms <= 0 or spec.quiet_ms < 0:
        return Complaint("timeout must be positive and quiet not negative", "timeout")
    return None


def _meaningless(spec: ToolSpec) -> Complaint | None:
    arguments = _arguments(spec.input_schema)
    for one in spec.claims:
        wrong = claim.complaint(one, arguments)
        if wrong is not None:
            return Complaint(f"its claim {one!r} {wrong}. {claim.FORMS}", "claims")
    wrong = claim.unfilled(spec.target, arguments)
    if wrong is not None:
        return Complaint(f"its target {spec.target!r} {wrong}", "target")
    if spec.name in spec.requires:
        return Complaint("it requires itself, so it could never be called", "requires")
    return None


def _arguments(schema: Mapping[str, Any]) -> set[str] | None:
    """The arguments that a call may have; ``None`` where the schema doesn't name them all in one place."""
    named = schema.get("properties")
    if not isinstance(named, Mapping) or not schema.keys().isdisjoint(_ELSEWHERE):
        return None
    return set(named)


_ELSEWHERE = frozenset(
    {"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas"}
)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
