"""Where a `$ref` points inside its own schema; nothing is ever looked up elsewhere.

Only what can be followed without a base address is: `#`, `#/a/pointer`, `#an-anchor`, and the same behind the root's
own `$id`. Anything else (a resource embedded by its own `$id`, `$dynamicRef`) is unknown here; the canonical schema
still judges it.
"""

import re
from typing import Any, Final
from urllib.parse import unquote

OLD_DRAFT: Final = re.compile(r"draft-0?[3-7]\b")
MISSING: Final = object()


class References:
    """The references of one schema."""

    def __init__(self, document: Any) -> None:
        self._document = document
        root = document if isinstance(document, dict) else {}
        self._base = _text(root.get("$id")) or _text(root.get("id"))
        self._anchors: dict[str, Any] | None = None
        self.siblings_ignored = OLD_DRAFT.search(_text(root.get("$schema"))) is not None
        """Up to draft 7 a schema with `$ref` is that reference alone."""

    def target(self, reference: str) -> Any:
        """What it points to, or MISSING."""
        address, _, fragment = reference.partition("#")
        if address and address != self._base.partition("#")[0]:
            return MISSING
        fragment = unquote(fragment)
        if not fragment:
            return self._document
        if not fragment.startswith("/"):
            return self._named().get(fragment, MISSING)
        place = self._document
        for part in fragment[1:].split("/"):
            step = part.replace("~1", "/").replace("~0", "~")
            if isinstance(place, dict) and step in place:
                place = place[step]
            elif isinstance(place, list) and re.fullmatch(r"0|[1-9][0-9]{0,5}", step) and int(step) < len(place):
                place = place[int(step)]
            else:
                return MISSING
            if isinstance(place, dict) and place is not self._document and _text(place.get("$id")):
                return MISSING  # a schema with an address of its own: what it refers to is meant relative to that
        return place

    def _named(self) -> dict[str, Any]:
        if self._anchors is None:
            self._anchors = {}
            stack = [self._document]
            while stack:
                part = stack.pop()
                if isinstance(part, dict):
                    for word in ("$anchor", "$dynamicAnchor", "$id", "id"):
                        name = _text(part.get(word)).removeprefix("#" if word.endswith("id") else "")
                        if name and (word.endswith("nchor") or part[word].startswith("#")):
                            self._anchors.setdefault(name, part)
                    stack.extend(part.values())
                elif isinstance(part, list):
                    stack.extend(part)
        return self._anchors


class Names:
    """Names for the parts that stand under `$defs`: the last word of their pointer, made unique."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}
        self._taken: dict[str, int] = {}
        """With the number that the next one of that name tries first, so that a thousand of one name are quick."""

    def name(self, reference: str) -> str:
        """The same reference always has the same name."""
        if reference not in self._given:
            word = re.sub(r"[^A-Za-z0-9_-]", "_", unquote(reference).rpartition("#")[2].rpartition("/")[2])[:50]
            name = word = word or "Root"
            while name in self._taken:
                self._taken[word] += 1
                name = f"{word}_{self._taken[word]}"
            self._given[reference] = name
            self._taken[name] = 1
        return self._given[reference]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
