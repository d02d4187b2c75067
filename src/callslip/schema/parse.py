"""Read a tool call's arguments without repair: exactly one JSON object, or a refusal that says where and why.

What it is not: it guesses nothing (fences, single quotes and the like are for `repair`, which is only for tools that
don't write) and knows no schema. What has one reading for every tool is taken here: nothing for {}, and the whole
object sent as a JSON string, once. Invariants: integers are exact, every float is finite, no key is lost,
no lone surrogate survives, and the time is linear in the text whatever it holds.
"""

import json
import re
from typing import Any, Final

import msgspec

from callslip.schema.scrub import MOST_DEPTH, MOST_DIGITS, Defect, Marked, scrub

WHITE_SPACE: Final = " \t\n\r"
EXACT: Final = 2.0**53
"""From here on a float does not hold every integer."""
ALWAYS_KEPT: Final = 15
"""Significant digits that a float keeps of any number."""
EVER_KEPT: Final = 17
"""Significant digits that it keeps of some."""
SHORTEST_LOSS: Final = 18
"""Characters of the shortest number with an exponent whose digits a float can't keep: 9007199254740993e0."""
QUOTED: Final = r'"(?:[^"\\]++|\\.)*+"?'
NOT_BRACKETS: Final = re.compile(QUOTED + r'|[^][{}"]++', re.DOTALL)
BRACKETS: Final = re.compile(QUOTED + r"|[][{}]", re.DOTALL)
TOKENS: Final = re.compile(QUOTED + r"|[-+.\w]+", re.DOTALL)
ESCAPED_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
RAW_SURROGATE: Final = re.compile("[\ud800-\udfff]")
UNFINISHED: Final = re.compile(
    r"|-|[.eE][+-]?|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|Na?|-?I(?:n(?:f(?:i(?:n(?:it?)?)?)?)?)?"
)
"""What may be left of a text that was cut in the middle of a number or a word."""
PAIRS = list[tuple[str, Any]]


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments that were read; they are not validated yet."""

    value: dict[str, Any]
    changed: tuple[str, ...]
    """What differs from the raw text: "double_encoded" (a JSON string that holds the object), "empty" (nothing or null
    for {}), "unicode" (lone surrogates replaced)."""


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

    def _float(self, text: str) -> float | int | Marked:
        number = float(text)
        if abs(number) < EXACT:
            return number
        whole, _, fraction = text.partition(".")
        if fraction and not fraction.strip("0"):
            return self._integer(whole)  # 12345678901234567890.0 is an integer, and a float would make it another
        if abs(number) == float("inf"):
            return self._mark("number_overflow", text)
        return number if len(text) < SHORTEST_LOSS else _exact(text, number)

    def _object(self, pairs: PAIRS) -> dict[str, Any] | Marked:
        decoded = dict(pairs)
        if len(decoded) == len(pairs):
            return decoded
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        return self._mark("duplicate_key", twice)


def _exact(text: str, number: float) -> float | int:
    """The integer that a text with an exponent says, where the float would be another number; else the float."""
    mantissa, _, exponent = text.lstrip("-").lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    written = whole + fraction
    digits = written.rstrip("0")
    shift = int(exponent.lstrip("+-0") or 0) * (-1 if exponent[:1] == "-" else 1)
    shift += len(written) - len(digits) - len(fraction)
    digits = digits.lstrip("0")
    if shift < 0 or len(digits) <= ALWAYS_KEPT:
        return number
    if len(digits) <= EVER_KEPT and digits == repr(number).partition("e")[0].replace(".", "").strip("-0"):
        return number
    power: int = 10**shift
    return int(digits) * power * (-1 if text[0] == "-" else 1)


def parse_arguments(
    raw: str | bytes | dict[str, Any] | list[Any] | None, *, has_parameters: bool
) -> Parsed | ParseFailure:
    """Read the raw arguments of a call; `has_parameters` only words the advice of a refusal."""
    if isinstance(raw, bytes):
        try:
            text = raw.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            before = raw[: error.start].decode("utf-8", "surrogatepass")
            return _at("not_json", "the bytes are not UTF-8 from here on", before, len(before))
    else:
        text = raw if isinstance(raw, str) else ""
    if raw is None or (isinstance(raw, str | bytes) and text.strip(WHITE_SPACE) in {"", "null"}):
        return Parsed(value={}, changed=("empty",))
    try:
        if isinstance(raw, dict):
            return _scrubbed(raw)
        if isinstance(raw, str | bytes):
            return _parse_text(text, has_parameters)
    except Defect as defect:
        return _from_defect(defect, text)
    return _at("not_object", _wanted(_kind(raw), has_parameters), "", None)


def _scrubbed(value: dict[str, Any] | Marked) -> Parsed:
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
    if isinstance(value, str):
        return _within(value, text, start, has_parameters)
    if not isinstance(value, dict | Marked):
        return _at("not_object", _wanted(_kind(value), has_parameters), text, start)
    if hooks.marked or ESCAPED_SURROGATE.search(text) or RAW_SURROGATE.search(text):
        return _scrubbed(value)
    assert isinstance(value, dict)
    return Parsed(value=value, changed=())


def _within(inner: str, text: str, start: int, has_parameters: bool) -> Parsed | ParseFailure:
    """The arguments that a JSON string holds in their whole. A string in that string is one too many."""
    if not inner.lstrip(WHITE_SPACE).startswith('"'):
        parsed = parse_arguments(inner, has_parameters=has_parameters)
        if isinstance(parsed, Parsed):
            return Parsed(value=parsed.value, changed=("double_encoded", *parsed.changed))
    return _at("not_object", _wanted(_kind(inner), has_parameters), text, start)


def _too_deep(text: str) -> int | None:
    """Offset of the first bracket past the limit. Judged before decoding, which recurses once for each level."""
    if text.count("[") + text.count("{") <= MOST_DEPTH:
        return None
    if not _passes_limit(NOT_BRACKETS.sub("", text)):
        return None
    depth = 0
    for match in BRACKETS.finditer(text):
        mark = match.group()
        depth += 1 if mark in "[{" else -1 if mark in "]}" else 0
        if depth > MOST_DEPTH:
            return match.start()
    return None


def _passes_limit(brackets: str) -> bool:
    depth = 0
    for mark in brackets:
        if mark in "[{":
            depth += 1
            if depth > MOST_DEPTH:
                return True
        else:
            depth -= 1
    return False


def _from_decode_error(error: json.JSONDecodeError, text: str) -> ParseFailure:
    position, rest = error.pos, text[error.pos :].rstrip(WHITE_SPACE)
    cut_escape = error.msg.startswith("Invalid \\u") and len(rest) < 6 and '"' not in rest
    if error.msg.startswith("Unterminated string"):
        return _at("truncated", "the text ends inside the string that starts here", text, position)
    if UNFINISHED.fullmatch(rest) or cut_escape:
        return _at("truncated", "the text ends before the object does", text, len(text))
    if rest[0] in "0123456789" and text[position - 1] == "0":
        return _at("leading_zero", "a number starts with a zero, which JSON does not allow", text, position - 1)
    code, reason = _syntax(error.msg, at_start=not text[:position].strip(WHITE_SPACE))
    return _at(code, reason, text, position)


def _syntax(message: str, *, at_start: bool) -> tuple[str, str]:
    """Sort the standard library's message; its wording is checked by our tests on every Python we support."""
    if message.startswith("Invalid \\"):
        return "invalid_escape", 'a string holds an invalid escape: write a backslash as "\\\\"'
    if message.startswith("Invalid control"):
        return "control_character", "a string holds a raw control character: write a line break as \\n"
    if at_start:
        return "syntax", "the arguments are not one JSON object: it must start with {"
    expected = message.removesuffix(" at").removesuffix(":")
    return "syntax", f"the text is not JSON: {expected[:1].lower()}{expected[1:]}"


def _extra(text: str, position: int) -> ParseFailure:
    if text[position] in "[{":
        reason = "a second value follows the first, and either could be meant: send one JSON object"
        return _at("concatenated", reason, text, position)
    return _at("trailing_text", "text follows the JSON value: send one JSON object alone", text, position)


def _wanted(kind: str, has_parameters: bool) -> str:
    advice = "one with a property for each argument" if has_parameters else "{}, as the tool takes no parameters"
    return f"the arguments must be a JSON object, not {kind}: send {advice}"


def _kind(value: Any) -> str:
    names = {list: "an array", str: "a string", bool: "a boolean"}
    return names.get(type(value), "a number")


def _from_defect(defect: Defect, text: str) -> ParseFailure:
    position = None
    if defect.token and defect.code != "duplicate_key":
        position = next((match.start() for match in TOKENS.finditer(text) if match.group() == defect.token), None)
    failure = _at(defect.code, defect.reason, text, position)
    return msgspec.structs.replace(failure, path=defect.path)


def _at(code: str, reason: str, text: str, position: int | None) -> ParseFailure:
    if position is None:
        return ParseFailure(code=code, reason=reason, position=None, line=None, column=None, path="")
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return ParseFailure(code=code, reason=reason, position=position, line=line, column=column, path="")
