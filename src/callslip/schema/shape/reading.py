"""Reading a canonical schema within a budget: following references, and noting what can't be said.

Stands below `node`, which writes what is read here. The budget is what makes shaping safe: each part costs, copies
made by inlining too, so a schema that refers to itself a billion times over costs as much as a large one.
"""

from typing import Any, Final

from callslip.schema.field_error import path_text
from callslip.schema.shape.dialect import Dialect
from callslip.schema.shape.flat import Flat, annotations, merge, never, own
from callslip.schema.shape.refs import MISSING, References

MOST_PARTS: Final = 2000
MOST_DEPTH: Final = 40
MOST_WORDS: Final = 60_000
"""Characters of all descriptions together."""
MOST_REASONS: Final = 5

Path = tuple[str | int, ...]


class EnoughReasons(Exception):  # a control-flow signal to `shaped`, never seen by a user
    """A strict form is out of the question, and why has been said."""


class Reading:
    """One schema being read for one dialect."""

    def __init__(self, document: dict[str, Any], dialect: Dialect, *, strict: bool) -> None:
        self.dialect = dialect
        self.strict = strict
        self.references = References(document)
        self.reasons: dict[str, None] = {}
        """Why it can't be strict, or what could not be said; in the order found."""
        self.left = MOST_PARTS
        self.open: list[str] = []
        """The references that the walk stands inside of."""

    def reason(self, path: Path, text: str, *, loose: bool = False) -> None:
        """Note what can't be said; unless `loose`, it only matters to a strict form."""
        if not self.strict and not loose:
            return
        if len(self.reasons) < MOST_REASONS:
            self.reasons[f"{path_text(path) or 'the arguments object'} {text}"] = None
        if self.strict and len(self.reasons) >= MOST_REASONS:
            raise EnoughReasons

    def spend(self, *copied: Any) -> None:
        """Pay for containers that are copied into another part."""
        self.left -= 1 + sum(len(container) for container in copied if isinstance(container, dict))

    def spent(self, depth: int) -> bool:
        """Whether the walk must not go on."""
        return self.left < 0 or depth > MOST_DEPTH

    def flatten(self, raw: Any, depth: int, seen: tuple[str, ...] = ()) -> Flat:
        """Follow `$ref` and `allOf` at the top of a part, as far as the budget goes."""
        if raw is False:
            return never()
        self.left -= 1
        if not isinstance(raw, dict):
            return own({})
        reference = raw.get("$ref")
        if isinstance(reference, str) and self.references.siblings_ignored:
            flat = annotations(raw)
            self._follow(flat, reference, depth, seen)
            return flat
        flat = own(raw)
        if isinstance(reference, str):
            self._follow(flat, reference, depth, seen)
        if "$dynamicRef" in raw or "$recursiveRef" in raw:
            flat.unknown = flat.unknown or "another schema at run time"
        parts = raw.get("allOf")
        for part in parts if isinstance(parts, list) else ():
            if self.spent(depth):
                flat.unknown = flat.unknown or "too many parts"
                break
            other = self.flatten(part, depth + 1, seen)
            self.left -= len(other.keywords.get("enum", ())) // 5  # compared value by value
            merge(flat, other)
        return flat

    def _follow(self, flat: Flat, reference: str, depth: int, seen: tuple[str, ...]) -> None:
        if reference in seen:
            return  # it says that it is itself, which is no rule
        if reference in self.open:
            flat.recursive = reference
            return
        target = self.references.target(reference)
        if target is MISSING or self.spent(depth):
            flat.unknown = flat.unknown or reference
            return
        flat.through += (reference,)
        merge(flat, self.flatten(target, depth + 1, (*seen, reference)))

    def tell(self, flat: Flat, path: Path) -> None:
        """Note what could not be followed in a part."""
        if flat.unknown:
            self.reason(path, f"refers to {flat.unknown}, which can't be sent", loose=True)
        if flat.recursive:
            self.reason(path, f"refers to {flat.recursive}, which it stands in", loose=True)
