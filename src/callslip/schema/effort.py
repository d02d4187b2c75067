"""How often a value would be looked at by a schema, told before it is: some schemas double the work at each level.

`{"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}` looks at a part that is 60 levels down 2^60 times, and whoever judges by it
never comes back: jsonschema-rs remembers what it has judged, but not while it collects faults. Stands below `validate`;
it judges nothing. Counted is without memory and without a stop at the first fault, so that no order of the branches
makes it more. Invariant: counting is linear in the places of the schema and the parts of the value that meet.

References are followed wherever they lead inside the schema: by pointer, by anchor, through an `$id`.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import unquote, urljoin

IN_PLACE: Final = ("allOf", "anyOf", "oneOf")
IN_PLACE_ALONE: Final = ("not", "if", "then", "else")
REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
OF_PROPERTIES: Final = ("additionalProperties", "unevaluatedProperties")
OF_ITEMS: Final = ("items", "additionalItems", "unevaluatedItems")
MOST_FAULTS: Final = 5000
"""Faults that may be collected, at about 10 us each."""
MOST_MEETINGS: Final = 10_000
"""Pairs of a place and a part that are counted for one value, where it matters in which union they lie."""
CARRIED: Final = 64
"""Parts of a value that cost as much as one fault."""
NONE: Final[Mapping[str, Any]] = MappingProxyType({})
MANY: Final = 10**9
"""Where counting ends."""


class _TooMuch(Exception):  # a control-flow signal inside this module
    pass


class Place:
    """One schema inside the whole, with those that lie in the same place of a value and those one level down."""

    __slots__ = ("cost", "each", "every_item", "here", "items", "named", "names", "others", "prefix", "union")

    def __init__(self) -> None:
        self.cost = 1
        """Faults that it may find by itself, at least one."""
        self.names = 0
        """Faults that each name of a property may have."""
        self.union = False
        self.here: Sequence[Place] = ()
        self.named: Mapping[str, Place] = NONE
        self.each: Sequence[Place] = ()
        """Of every property: patterns, which may match any."""
        self.others: Sequence[Place] = ()
        """Of properties without a name of their own."""
        self.prefix: Sequence[Place] = ()
        self.items: Sequence[Place] = ()
        self.every_item: Sequence[Place] = ()

    def of_item(self, index: int) -> list["Place"]:
        if index < len(self.prefix):
            return [*self.every_item, self.prefix[index]]
        return [*self.every_item, *self.items]


class Effort:
    """What can be said of one schema."""

    __slots__ = ("_root", "branching", "unions")

    def __init__(self, schema: Any) -> None:
        self.unions = True
        self._root = Place()
        try:
            reading = _Reading(schema)
            self._root = reading.place(schema, "")
            self.branching = _branching(self._root, {})
        except RecursionError:
            self.branching = MANY
            return
        self.unions = any(place.union for place in reading.places.values())

    def of(self, value: Any, parts: int) -> tuple[int, int]:
        """How many faults may be found in this value in all, and in the widest union of it; `MANY` for what is not
        counted to its end. `parts` is how many the value has.
        """
        if self.branching >= MANY:
            return MANY, MANY
        if parts > MOST_FAULTS and not self.unions:
            return MANY, 0
        counting = _Counting(MOST_MEETINGS if self.unions else MOST_FAULTS)
        try:
            return counting.count(self._root, value), counting.widest
        except (_TooMuch, RecursionError):
            return MANY, MANY if self.unions else 0


def _branching(place: Place, known: dict[int, int]) -> int:
    """How often one part is looked at, without what leads back to where it came from: that is remembered by who judges,
    as long as nobody asks for the faults.
    """
    key = id(place)
    if key not in known:
        known[key] = 0
        below = (*place.named.values(), *place.others, *place.prefix, *place.items)
        down = max((_branching(inner, known) for inner in below), default=0)
        beside = sum(_branching(inner, known) for inner in (*place.here, *place.each, *place.every_item))
        known[key] = min(MANY, 1 + down + beside)
    return known[key]


class _Counting:
    """One value against one schema; what meets twice is counted twice and worked out once."""

    def __init__(self, most: int) -> None:
        self.widest = 0
        self._most = most
        self._known: dict[tuple[int, int], int] = {}
        self._sizes: dict[int, int] = {}

    def count(self, place: Place, value: Any) -> int:
        kind = type(value)
        key = (id(place), id(value) if kind is dict or kind is list else 0)
        known = self._known.get(key)
        if known is not None:
            return known
        if len(self._known) >= self._most:
            raise _TooMuch
        self._known[key] = 0
        here = sum(self.count(inner, value) for inner in place.here)
        if place.union:
            self.widest = max(self.widest, here)
        own, down = place.cost, 0
        if kind is dict:
            own += len(value) * place.names
            down = self._object(place, value) if place.named or place.each or place.others else 0
        elif kind is list:
            down = self._list(place, value)
        total = self._known[key] = min(MANY, own * (1 + self._size(value) // CARRIED) + here + down)
        return total

    def _size(self, value: Any) -> int:
        """The parts of a value, each of which a fault of the whole carries along."""
        if not isinstance(value, dict | list):
            return 0
        known = self._sizes.get(id(value))
        if known is None:
            inner = value.values() if isinstance(value, dict) else value
            known = self._sizes[id(value)] = len(value) + sum(
                self._size(one) for one in inner if isinstance(one, dict | list)
            )
        return known

    def _object(self, place: Place, value: dict[str, Any]) -> int:
        down = 0
        for name, item in value.items():
            known = place.named.get(name)
            if known is not None:
                down += self.count(known, item)
            for inner in place.each if known is not None else (*place.each, *place.others):
                down += self.count(inner, item)
        return down

    def _list(self, place: Place, value: list[Any]) -> int:
        if not (place.prefix or place.items or place.every_item):
            return 0
        held = enumerate(value) if place.prefix else ((MANY, one) for one in value if type(one) in {dict, list})
        down = sum(self.count(inner, one) for index, one in held for inner in place.of_item(index))
        if not place.prefix:  # all the others cost the same
            plain = sum(type(one) not in {dict, list} for one in value)
            down += plain * sum(self.count(inner, None) for inner in place.of_item(MANY)) if plain else 0
        return down


class _Reading:
    """The schema as places that lead to each other."""

    def __init__(self, root: Any) -> None:
        self.places: dict[int, Place] = {}
        self._found: dict[str, Any] = {}
        self._collect(root, "")
        self._found[""] = root

    def place(self, schema: Any, base: str) -> Place:
        known = self.places.get(id(schema))
        if known is not None:
            return known
        made = self.places[id(schema)] = Place()
        if not isinstance(schema, dict) or not schema:
            return made
        base = _base(schema, base)
        lacking = [schema.get("required"), *_values(schema.get("dependentRequired"))]
        made.cost = max(1, sum(len(names) for names in lacking if isinstance(names, list)))
        made.cost += len(schema["enum"]) // 60 if isinstance(schema.get("enum"), list) else 0
        made.names = int("propertyNames" in schema)
        made.union = any(isinstance(schema.get(key), list) for key in ("anyOf", "oneOf"))
        made.here = tuple(self.place(one, base) for one in self._in_place(schema, base))
        if "properties" in schema:
            made.named = {name: self.place(one, base) for name, one in _items(schema["properties"])}
        if "patternProperties" in schema:
            made.each = tuple(self.place(one, base) for one in _values(schema["patternProperties"]))
        made.others = tuple(self.place(schema[key], base) for key in OF_PROPERTIES if isinstance(schema.get(key), dict))
        self._of_items(made, schema, base)
        return made

    def _of_items(self, made: Place, schema: dict[str, Any], base: str) -> None:
        first = schema.get("prefixItems", schema.get("items"))
        if isinstance(first, list):
            made.prefix = tuple(self.place(one, base) for one in first)
        rest = [schema[key] for key in OF_ITEMS if isinstance(schema.get(key), dict)]
        if rest:
            made.items = tuple(self.place(one, base) for one in rest)
        if isinstance(schema.get("contains"), dict):
            made.every_item = (self.place(schema["contains"], base),)

    def _in_place(self, schema: dict[str, Any], base: str) -> Iterator[Any]:
        for key in REFERENCES:
            if isinstance(schema.get(key), str):
                yield self._target(schema[key], base)
        for key in IN_PLACE:
            yield from schema[key] if isinstance(schema.get(key), list) else ()
        for key in IN_PLACE_ALONE:
            if isinstance(schema.get(key), dict):
                yield schema[key]
        yield from _values(schema.get("dependentSchemas"))
        yield from (one for one in _values(schema.get("dependencies")) if isinstance(one, dict))

    def _target(self, reference: str, base: str) -> Any:
        """What it leads to; nothing where that is not inside, as a draft's own schema, which is known."""
        whole = base + reference if reference.startswith("#") else urljoin(base, reference)
        if whole in self._found:
            return self._found[whole]
        address, _, fragment = whole.partition("#")
        place = self._found.get(address)
        for part in fragment.split("/")[1:] if fragment.startswith("/") or not fragment else [fragment]:
            name = unquote(part).replace("~1", "/").replace("~0", "~")
            try:
                place = place[int(name)] if isinstance(place, list) else place[name] if place is not None else None
            except (KeyError, IndexError, ValueError, TypeError):
                return None
        return place

    def _collect(self, root: Any, base: str) -> None:
        left: list[tuple[Any, str]] = [(root, base)]
        while left:
            schema, above = left.pop()
            if isinstance(schema, list):
                left.extend((one, above) for one in schema)
            elif isinstance(schema, dict):
                here = _base(schema, above)
                if here != above:
                    self._found[here] = schema
                for key in ("$anchor", "$dynamicAnchor"):
                    if isinstance(schema.get(key), str):
                        self._found[f"{here}#{schema[key]}"] = schema
                left.extend((one, here) for one in schema.values() if isinstance(one, dict | list))


def _base(schema: dict[str, Any], above: str) -> str:
    named = schema.get("$id", schema.get("id"))
    if not isinstance(named, str):
        return above
    if named.startswith("#"):  # before 2019-09, an anchor
        return above
    return urljoin(above, named).removesuffix("#")


def _items(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _values(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else []
