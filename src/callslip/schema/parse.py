"""Read a tool call's arguments without repair: exactly one JSON object, or a refusal that says where and why.

What it is not: it guesses nothing (fences, single quotes and the like are for a repair step, which must know whether
the tool writes) and knows no schema. Invariants: integers are exact, every float is finite, no key is lost, no lone
surrogate survives, and the time is linear in the text whatever it holds.
"""

import json
import re
from typing import Any, Final

import msgspec

from callslip.schema.field_error import path_text
from callslip.schema.scrub import MOST_DEPTH, MOST_DIGITS, Defect, Marked, scrub

WHITE_SPACE: Final = " \t\n\r"
QUOTED: Final = r'"(?:[^"\\]++|\\.)*+"?'
NOT_BRACKETS: Final = re.compile(QUOTED + r"|[^][{}]", re.DOTALL)
BRACKETS: Final = re.compile(QUOTED + r"|[][{}]", re.DOTALL)
TOKENS: Final = re.compile(QUOTED + r"|[-+.\w]+", re.DOTALL)
ESCAPED_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
RAW_SURROGATE: Final = re.compile("[\ud800-\udfff]")
UNFINISHED: Final = re.compile(r'(?:-|-?\d[\d.eE+-]*|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|\\u?[0-9a-fA-F]{0,3}"?)')
PAIRS = list[tuple[str, Any]]


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments that were read; they are not validated yet."""

    value: dict[str, Any]
    changed: tuple[str, ...]
    """What differs from the raw text: "empty" (nothing or null stood for {}), "unicode" (lone surrogates replaced)."""


class ParseFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Why the text is not taken for arguments."""

    code: str
    """truncated, concatenated, trailing_text, duplicate_key, key_collision, not_finite, number_overflow,
    integer_too_long, leading_zero, invalid_escape, control_character, not_object, too_deep, not_json or syntax."""
    reason: str
    """What is wrong, for the model; without the text itself beyond a key or a number."""
    position: int | None
    """Characters before the fault, counted from 0; None where a value came already decoded, or it isn't known."""
    line: int | None
    """Counted from 1."""
    column: int | None
    """Counted from 1."""
    path: str
    """The field, as in field errors; empty when the fault is not in one."""


class _Decoder:
    """The hooks of one decoding: what they can't accept they leave as a mark, to be found with its path."""

    def __init__(self) -> None:
        self.marked = False
        self.decoder = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_constant=lambda text: self._mark("not_finite", text),
            parse_int=self._integer,
            parse_float=self._float,
        )

    def _mark(self, code: str, text: str) -> Marked:
        self.marked = True
        return Marked(code=code, text=text)

    def _integer(self, text: str) -> int | Marked:
        if len(text) > MOST_DIGITS and len(text.lstrip("-")) > MOST_DIGITS:
            return self._mark("integer_too_long", text)
        return int(text)

    def _float(self, text: str) -> float | Marked:
        number = float(text)
        return number if abs(number) != float("inf") else self._mark("number_overflow", text)

    def _object(self, pairs: PAIRS) -> dict[str, Any] | Marked:
        decoded = dict(pairs)
        if len(decoded) == len(pairs):
            return decoded
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        return self._mark("duplicate_key", twice)


def parse_arguments(raw: str | bytes | dict[str, Any] | None, *, has_parameters: bool) -> Parsed | ParseFailure:
    """Read the raw arguments of a call; `has_parameters` only words the advice of a refusal."""
    if isinstance(raw, bytes):
        try:
            raw = raw.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            text = raw[: error.start].decode("utf-8", "surrogatepass")
            return _at("not_json", "the bytes are not UTF-8 from here on", text, len(text))
    if raw is None or (isinstance(raw, str) and raw.strip(WHITE_SPACE) in {"", "null"}):
        return Parsed(value={}, changed=("empty",))
    try:
        if isinstance(raw, dict):
            return _scrubbed(raw)
        if isinstance(raw, str):
            return _parse_text(raw, has_parameters)
    except Defect as defect:
        return _from_defect(defect, raw if isinstance(raw, str) else "")
    return _at("not_object", _wanted(type(raw).__name__, has_parameters), "", None)


def _scrubbed(value: dict[str, Any]) -> Parsed:
    cleaned, changed = scrub(value)
    return Parsed(value=cleaned, changed=("unicode",) if changed else ())


def _parse_text(text: str, has_parameters: bool) -> Parsed | ParseFailure:
    if (deep := _too_deep(text)) is not None:
        return _at("too_deep", f"objects and arrays are nested more than {MOST_DEPTH} deep", text, deep)
    hooks = _Decoder()
    start = len(text) - len(text.lstrip(WHITE_SPACE))
    try:
        value, end = hooks.decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return _from_decode_error(error, text)
    rest = text[end:].lstrip(WHITE_SPACE)
    if rest:
        return _extra(text, len(text) - len(rest))
    if not isinstance(value, dict | Marked):
        return _at("not_object", _wanted(_kind(value), has_parameters), text, start)
    if hooks.marked or ESCAPED_SURROGATE.search(text) or RAW_SURROGATE.search(text):
        # A mark at the root has the empty path.
        return _scrubbed(value if isinstance(value, dict) else _raise_root(value))
    assert isinstance(value, dict)
    return Parsed(value=value, changed=())
