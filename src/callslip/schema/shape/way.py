"""The way from a shaped schema's arguments back to the canonical ones, and there again.

A `Place` is what shaping did at one point of a schema. A value may stand at several places at once, one for each form
of a union, and a recursive schema's places refer to each other; so a walk carries the list of places where it stands.
It follows the value, never the schema alone, and takes each place once, so it ends and its cost is the value's.
"""

from collections.abc import Iterable
from typing import Any, Final

MOST_DEPTH: Final = 100
"""Below it a value is left as it is. Arguments nested this deep are refused by parsing anyway."""


class Place:
    """What shaping did at one point. Compared by identity, as places may refer to each other in circles."""

    __slots__ = ("alternatives", "properties", "rest", "wires")

    def __init__(self) -> None:
        self.properties: dict[str, Step] = {}
        """By canonical key."""
        self.wires: dict[str, str] = {}
        """From the key on the wire to the canonical one."""
        self.rest: Place | None = None
        """Where the items of an array, or the values of keys that are not declared, stand."""
        self.alternatives: list[Place] = []
        """A value here stands at these too."""

    def matters(self) -> bool:
        """Whether any value at all is changed on the way from here."""
        seen: set[int] = set()
        stack = [self]
        while stack:
            place = stack.pop()
            if id(place) in seen:
                continue
            seen.add(id(place))
            if place.wires or any(step.absent for step in place.properties.values()):
                return True
            stack.extend(step.place for step in place.properties.values())
            stack.extend([*place.alternatives, *([place.rest] if place.rest else [])])
        return False


class Step:
    """From an object to one of its properties."""

    __slots__ = ("absent", "place", "wire")

    def __init__(self, *, wire: str, absent: bool, place: Place) -> None:
        self.wire = wire
        self.absent = absent
        """Null here can only mean that the property was left out: the canonical schema refuses it."""
        self.place = place


def undo(value: Any, start: Place) -> Any:
    """Arguments for the shaped schema as arguments for the canonical one. The value given is not changed."""
    return _undone(value, [start], 0)


def redo(value: Any, start: Place) -> Any:
    """Canonical arguments with the keys that the shaped schema has. The value given is not changed."""
    return _redone(value, [start], 0)


def _undone(value: Any, places: list[Place], depth: int) -> Any:
    places = _all(places)
    if not places or depth > MOST_DEPTH:
        return value
    if isinstance(value, list):
        below = _rest(places)
        return [_undone(item, below, depth + 1) for item in value] if below else value
    if not isinstance(value, dict):
        return value
    undone: dict[str, Any] = {}
    for wire, item in value.items():
        key = next((place.wires[wire] for place in places if wire in place.wires), wire)
        if key != wire and key in value:
            key, steps = wire, []  # somebody gave both: only one of them can be meant by the name
        else:
            steps = _steps(places, key)
        if item is None and steps and all(step.absent for step in steps):
            continue
        undone[key] = _undone(item, [step.place for step in steps] or _rest(places), depth + 1)
    return undone


def _redone(value: Any, places: list[Place], depth: int) -> Any:
    places = _all(places)
    if not places or depth > MOST_DEPTH:
        return value
    if isinstance(value, list):
        below = _rest(places)
        return [_redone(item, below, depth + 1) for item in value] if below else value
    if not isinstance(value, dict):
        return value
    redone: dict[str, Any] = {}
    for key, item in value.items():
        steps = _steps(places, key)
        wire = steps[0].wire if steps else key
        redone[key if wire in value else wire] = _redone(
            item, [step.place for step in steps] or _rest(places), depth + 1
        )
    return redone


def _steps(places: list[Place], key: str) -> list[Step]:
    return [place.properties[key] for place in places if key in place.properties]


def _rest(places: list[Place]) -> list[Place]:
    return [place.rest for place in places if place.rest is not None]


def _all(places: Iterable[Place]) -> list[Place]:
    """The places and their alternatives, each once, in a fixed order."""
    found: dict[int, Place] = {}
    stack = list(places)[::-1]
    while stack:
        place = stack.pop()
        if id(place) not in found:
            found[id(place)] = place
            stack.extend(reversed(place.alternatives))
    return list(found.values())
