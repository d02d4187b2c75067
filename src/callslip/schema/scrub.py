"""Walk a decoded arguments object once: lone surrogates out, and refuse what JSON or our limits don't allow.

Stands below `parse`. It never guesses: a surrogate is replaced by U+FFFD (two halves that belong together, as a
stream cut between them leaves behind, are joined), everything else that is wrong is a `Defect` with its place.
"""

import math
import re
from typing import Any, Final

import msgspec

from callslip.schema.field_error import path_text, short_json

MOST_DEPTH: Final = 64
"""Objects and arrays inside each other, the arguments object itself counted."""
MOST_DIGITS: Final = 1000
TOO_LONG: Final = 10**MOST_DIGITS
HALVES: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")


class Marked(msgspec.Struct, frozen=True, kw_only=True):
    """Left in a decoded value, in the place of what must be refused, so that its path can be told."""

    code: str
    text: str
    """The offending token or key."""


class Defect(Exception):  # a control-flow signal between two modules, never seen by a user
    """Raised at the first part of a value that can't be accepted."""

    def __init__(self, code: str, path: tuple[str | int, ...], reason: str, token: str = "") -> None:
        super().__init__(reason)
        self.code = code
        self.path = path_text(path)
        self.reason = reason
        self.token = token


def scrub(value: dict[str, Any] | Marked) -> tuple[dict[str, Any], bool]:
    """Return a clean copy of the arguments and whether any text in it was changed.

    Raises:
        Defect: at the first part that can't be accepted, in document order.
    """
    walk = _Walk()
    cleaned = walk.clean(value, ())
    assert isinstance(cleaned, dict)
    return cleaned, walk.changed


class _Walk:
    def __init__(self) -> None:
        self.changed = False

    def clean(self, value: Any, path: tuple[str | int, ...]) -> Any:
        """Recursion is safe: the depth limit is checked before each step down."""
        kind = type(value)
        if kind is str:
            return self._text(value)
        if kind is dict:
            return self._object(value, path)
        if kind is list:
            self._check_depth(path)
            return [self.clean(item, (*path, index)) for index, item in enumerate(value)]
        if kind is Marked:
            raise Defect(value.code, path, _marked_reason(value, path), value.text)
        if kind is float and not math.isfinite(value):
            raise Defect("not_finite", path, f"{_place(path)} is {value}, which is not a JSON number")
        if kind is int and not -TOO_LONG < value < TOO_LONG:
            raise Defect("integer_too_long", path, _too_long(path))
        if value is not None and kind not in {bool, int, float}:
            raise Defect("not_json", path, f"{_place(path)} is a {kind.__name__}, which JSON can't hold")
        return value

    def _object(self, value: dict[Any, Any], path: tuple[str | int, ...]) -> dict[str, Any]:
        self._check_depth(path)
        cleaned: dict[str, Any] = {}
        for key, item in value.items():
            if type(key) is not str:
                raise Defect("not_json", path, f"{_place(path)} has the key {key!r}, which is not text")
            name = self._text(key)
            if name in cleaned:
                raise Defect(
                    "key_collision",
                    (*path, name),
                    f"two keys of {_place(path)} become the same text {short_json(name)} once their broken "
                    "Unicode is replaced",
                )
            cleaned[name] = self.clean(item, (*path, name))
        return cleaned

    def _check_depth(self, path: tuple[str | int, ...]) -> None:
        if len(path) >= MOST_DEPTH:
            raise Defect("too_deep", path[:8], f"objects and arrays are nested more than {MOST_DEPTH} deep")

    def _text(self, text: str) -> str:
        if text.isascii() or HALVES.search(text) is None:
            return text
        self.changed = True
        return HALVES.sub(_whole, text)


def _whole(match: re.Match[str]) -> str:
    found = match.group()
    return "\ufffd" if len(found) == 1 else found.encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _place(path: tuple[str | int, ...]) -> str:
    return path_text(path) or "the arguments object"


def _too_long(path: tuple[str | int, ...]) -> str:
    return f"{_place(path)} is an integer of more than {MOST_DIGITS:,} digits"


def _marked_reason(marked: Marked, path: tuple[str | int, ...]) -> str:
    if marked.code == "duplicate_key":
        return f"the key {short_json(marked.text)} stands twice in {_place(path)}, and either value could be meant"
    if marked.code == "integer_too_long":
        return _too_long(path)
    if marked.code == "number_overflow":
        return f"{_place(path)} is a number too large for a 64-bit float"
    return f"{_place(path)} is {marked.text}, which is not a JSON number"
