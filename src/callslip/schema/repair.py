"""Read argument text that is not JSON and has exactly one reading all the same (ARGS-01).

Stands on `parse`, which is asked first and has the last word: what is rewritten here is parsed strictly again. It is
for tools that only read; what a writing tool is told must be JSON. It never completes, closes or chooses: text that
was cut, values one after the other and keys that stand twice stay refused. Invariants: JSON is left as it is; whatever
is accepted is recorded by name; the time is linear in the text.
"""

import re
from typing import Final

import msgspec

from callslip.schema.parse import WHITE_SPACE, Parsed, ParseFailure, parse_arguments

NAMES: Final = (
    "prose", "fence", "python_literal", "single_quotes", "unquoted_key", "trailing_comma", "line_break", "escape",
)  # fmt: skip
"""Every repair, in the order in which they are told."""
MOST_PIECES: Final = 50_000
"""Strings, words, commas and escapes that are rewritten in one text; one with more is refused."""
MAY_BE_READ: Final = frozenset({"syntax", "trailing_text", "invalid_escape", "control_character"})
"""Refusals that are about the spelling; the others say that the text is cut, ambiguous or no arguments."""
TOKEN: Final = re.compile(
    r"""
    (?P<double>"(?:[^"\\]++|\\.)*+")
    |(?P<single>'(?:[^'\\]++|\\.)*+')
    |(?P<open>["'])                        # a string without an end
    |(?<![\w.$])(?:(?P<key>[^\W\d][\w$]*+(?=\s*+:))|(?P<word>[^\W\d][\w$]*+))  # not the e of 1e5
    |(?P<hollow>[{\[]\s*+,)                # a comma after nothing
    |(?P<comma>,\s*+(?=[}\]]))
    """,
    re.VERBOSE | re.DOTALL,
)
UNUSUAL: Final = re.compile(r"\\'|[\n\r\t]")
IN_STRING: Final = re.compile(r'\\.|[\n\r\t"]', re.DOTALL)
CONTROL: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
ESCAPES: Final = frozenset('bfnrtu"\\')
"""What a backslash makes of these is the same in JSON, Python and JavaScript."""
JSON_WORDS: Final = frozenset({"true", "false", "null"})
LEFT: Final = JSON_WORDS | {"NaN", "Infinity"}
"""The strict parser has its own word on the last two."""
PYTHON_WORDS: Final = {"True": "true", "False": "false", "None": "null"}
FENCE_BEFORE: Final = re.compile(r"(?:```[\w+-]*+|`)\s*+\Z")
FENCE_AFTER: Final = re.compile(r"\s*+(?:```|`)")
ANOTHER_VALUE: Final = re.compile(
    r"[-+]?[0-9][0-9_]*+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
    r"|true|false|null|True|False|None|NaN|[-+]?Infinity|'[^']*+'",
    re.ASCII,
)
"""Beside the object, these are no prose: they are a second value."""


class Repaired(msgspec.Struct, frozen=True, kw_only=True):
    """The one reading, as JSON text that has yet to be parsed."""

    text: str
    changed: tuple[str, ...]
    """Which of `NAMES` it took; none: the text is as it was."""


class _NoReading(Exception):  # a control-flow signal inside this module
    pass


def read_repaired(raw: str, failure: ParseFailure, *, has_parameters: bool) -> Parsed | ParseFailure:
    """The arguments that text means which `parse_arguments` has refused, or that refusal."""
    if failure.code not in MAY_BE_READ:
        return failure
    repaired = repair(raw)
    if repaired is None or not repaired.changed:
        return failure
    parsed = parse_arguments(repaired.text, has_parameters=has_parameters)
    if isinstance(parsed, Parsed):
        return Parsed(value=parsed.value, changed=(*repaired.changed, *parsed.changed))
    if parsed.code in MAY_BE_READ:
        return failure
    # What is wrong there is worth more than that the spelling is; but its place is one of the rewritten text.
    return msgspec.structs.replace(parsed, position=None, line=None, column=None)


def repair(text: str) -> Repaired | None:
    """Rewrite the one object in a text as JSON; None where there is not exactly one reading."""
    start, end = text.find("{"), text.rfind("}") + 1
    if start < 0 or end <= start:
        return None
    try:
        names = _around(text[:start], text[end:])
        body = _Rewriting(text[start:end])
    except _NoReading:
        return None
    names |= body.names
    if not names:
        return Repaired(text=text, changed=())
    return Repaired(text=body.text, changed=tuple(name for name in NAMES if name in names))


def _around(before: str, after: str) -> set[str]:
    """What stands around the object, which must be fences and prose: nothing that could be data or another value."""
    names: set[str] = set()
    bare_before, bare_after = FENCE_BEFORE.sub("", before, count=1), after
    if bare_before != before:
        names.add("fence")
        closing = FENCE_AFTER.match(after)
        bare_after = after[closing.end() :] if closing is not None else after
    named = names | ({"prose"} if bare_before.strip(WHITE_SPACE) or bare_after.strip(WHITE_SPACE) else set())
    bare_before, bare_after = bare_before.strip(), bare_after.strip()
    if bare_before or bare_after:
        if any(mark in around for around in (bare_before, bare_after) for mark in '[]{}"') or "```" in bare_before:
            raise _NoReading
        if ANOTHER_VALUE.fullmatch(bare_before) or ANOTHER_VALUE.fullmatch(bare_after):
            raise _NoReading
        label = bare_before[:-1].rstrip()
        if (bare_before[-1:] in {":", "=", ","} and label[-1:] in {"'", "’", "`"}) or bare_after[:1] in {",", ":"}:
            raise _NoReading  # the object is the value of a key whose own object was cut
    return named


class _Rewriting:
    """One pass over the object's text. What is neither string, word nor trailing comma is left to the strict parser."""

    def __init__(self, text: str) -> None:
        self.names: set[str] = set()
        self._unusual = UNUSUAL.search(text) is not None
        self._left = MOST_PIECES
        self.text = TOKEN.sub(self._token, text)
        if "python_literal" in self.names:
            self.names.discard("single_quotes")  # which Python writes by itself

    def _token(self, match: re.Match[str]) -> str:
        kind, text = match.lastgroup, match.group()
        self._count()
        if kind == "double":
            return self._string(text) if self._unusual and UNUSUAL.search(text) else text
        if kind == "single":
            self.names.add("single_quotes")
            return self._string(text) if "\\" in text or '"' in text or self._unusual else f'"{text[1:-1]}"'
        if kind == "comma":
            self.names.add("trailing_comma")
            return text[1:]
        if kind == "word":
            return self._word(text)
        if kind == "key" and text not in JSON_WORDS and text not in PYTHON_WORDS:
            self.names.add("unquoted_key")
            return f'"{text}"'
        raise _NoReading

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise _NoReading

    def _word(self, text: str) -> str:
        if text in LEFT:
            return text
        if text not in PYTHON_WORDS:
            raise _NoReading
        self.names.add("python_literal")
        return PYTHON_WORDS[text]

    def _string(self, text: str) -> str:
        own = text[0] == "'"

        def spelled(match: re.Match[str]) -> str:
            found = match.group()
            self._count()
            if found in CONTROL:
                self.names.add("line_break")
                return CONTROL[found]
            if found == '"':
                return '\\"'
            if found == "\\'":
                if not own:
                    self.names.add("escape")
                return "'"
            if own and found[1] not in ESCAPES:
                raise _NoReading
            return found

        return f'"{IN_STRING.sub(spelled, text[1:-1])}"'
