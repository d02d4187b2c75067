"""What a model can find, as a list of names in its system prompt (DEFR-01). Pure.

It stays the same as long as the same tools are bound, whatever was found meanwhile: prompt caches go by prefixes.
What tools call themselves and their categories is not always written by whoever runs them, and it stands in a prompt:
each keeps to its line and to a length, so that none can begin a line of its own or take the room of the others.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

import msgspec

from callslip.core.counting import SEARCH
from callslip.core.tool import ToolSpec

_HEAD = (
    f"Besides the tools you are shown there are more, which you find with {SEARCH} and can call from the step after. "
    "They are:"
)
_OTHERS = "other"
_REST = ", …"
_LONGEST_CATEGORY = 60
_LONGEST_NAME = 200
"""Characters; providers take 64 at most, and what is cut can't be asked for by its name."""
_NOT_SHOWN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def inventory(specs: Iterable[ToolSpec], most_bytes: int) -> str:
    """The tools by category, in at most so many bytes; empty where there are none, or no room.

    Where not all names fit, every category keeps its number and as many names as there is room for, in turns; where not
    all categories do, it says how many more there are.
    """
    groups: dict[str, list[str]] = {}
    for spec in sorted(specs, key=lambda one: one.name):
        groups.setdefault(_category(spec), []).append(_flat(spec.name, _LONGEST_NAME))
    if not groups or not most_bytes:
        return ""
    ordered = sorted(groups.items(), key=lambda group: (group[0] == _OTHERS, group[0]))
    room = most_bytes - len(_HEAD.encode())
    lines = [_line(category, names, len(names)) for category, names in ordered]
    if _size(lines) > room:
        lines = _fitted(ordered, room)
    return "\n".join([_HEAD, *lines]) if lines else ""


def _category(spec: ToolSpec) -> str:
    """As declared; else what stands before the dot in its name."""
    return _flat(spec.category, _LONGEST_CATEGORY) or _flat(spec.name.rpartition(".")[0], _LONGEST_CATEGORY) or _OTHERS


def _flat(text: str, most: int) -> str:
    """On one line, without what does not show as itself, and no longer than that."""
    if not (text.isascii() and text.isprintable()):
        text = "".join(" " if unicodedata.category(one) in _NOT_SHOWN else one for one in text[: 4 * most])
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


class _Group(msgspec.Struct):
    """A category, of which not all names may be shown."""

    category: str
    names: Sequence[str]
    shown: int = 0

    def cost(self) -> int:
        """Bytes by which its line grows with one name more."""
        more = len(self.names[self.shown].encode())
        if self.shown + 1 == len(self.names):  # with all of them, neither the number nor the rest has to be said
            return more - len(f" ({len(self.names)})") + (2 - len(_REST.encode()) if self.shown else 2)
        return more + (2 if self.shown else 2 + len(_REST.encode()))


def _fitted(groups: Sequence[tuple[str, list[str]]], room: int) -> list[str]:
    numbers = [_line(category, names, 0) for category, names in groups]
    left = room - _size(numbers)
    if left < 0:  # not even the numbers fit
        return _first(numbers, room)
    made = [_Group(category, names) for category, names in groups]
    grows = [group for group in made if group.names]
    while grows:
        still = []
        for group in grows:
            cost = group.cost()
            if cost <= left:
                left -= cost
                group.shown += 1
                if group.shown < len(group.names):
                    still.append(group)
        grows = still
    return [_line(group.category, group.names, group.shown) for group in made]


def _first(lines: Sequence[str], room: int) -> list[str]:
    """As many of the lines as there is room for, and how many more there are."""
    sizes = [len(line.encode()) + 1 for line in lines]
    left = room - sum(sizes)
    for kept in range(len(lines) - 1, 0, -1):
        left += sizes[kept]
        rest = f"- … and {len(lines) - kept:,} more categories"
        if left >= len(rest.encode()) + 1:
            return [*lines[:kept], rest]
    return []


def _line(category: str, names: Sequence[str], shown: int) -> str:
    if shown == len(names):
        return f"- {category}: {', '.join(names)}"
    some = f": {', '.join(names[:shown])}{_REST}" if shown else ""
    return f"- {category} ({len(names)}){some}"


def _size(lines: Iterable[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)
