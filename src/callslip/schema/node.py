"""What a JSON Schema says without any condition of one place in a value: its types, constants, properties and unions.

Stands below `coerce`. `$ref` and `allOf` are followed; `if`, `not`, `dependentSchemas`, anchors and schemas with an
`$id` of their own are not, so nothing is known from them. Invariant: whatever breaks what a `Node` says is not valid.
"""

from typing import Any, Final
from urllib.parse import quote, unquote

import msgspec

Pointer = tuple[str, ...]
"""Where a schema stands in the whole, as the keys that lead to it."""
Facet = tuple[Pointer, dict[str, Any]]
ROOT: Final[tuple[Pointer, ...]] = ((),)
MOST_FACETS: Final = 64


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One place, as all schemas that hold there together describe it."""

    facets: tuple[Facet, ...]
    kinds: frozenset[str] | None
    """JSON Schema types, "integer" beside every "number"; None: any."""
    choices: tuple[tuple[Any, ...], ...]
    """Values of `enum` and `const`; the value must be in each tuple."""
    texts: tuple[frozenset[str], ...]
    """The strings among them."""
    required: frozenset[str]
    unions: tuple[tuple[Pointer, ...], ...]
    """The branches of every `anyOf` and `oneOf`."""

    def property(self, name: str) -> tuple[Pointer, ...]:
        """The schemas of a property, without those that a pattern gives it."""
        found: list[Pointer] = []
        for pointer, facet in self.facets:
            known = facet.get("properties")
            if isinstance(known, dict) and name in known:
                found.append((*pointer, "properties", name))
            elif "patternProperties" not in facet and isinstance(facet.get("additionalProperties"), dict):
                found.append((*pointer, "additionalProperties"))
        return tuple(found)

    def declares(self, name: str) -> bool:
        """Whether it is a property by name."""
        listed = (facet.get("properties") for _, facet in self.facets)
        return any(isinstance(known, dict) and name in known for known in listed)

    def item(self, index: int) -> tuple[Pointer, ...]:
        """The schemas of an array's item."""
        found: list[Pointer] = []
        for pointer, facet in self.facets:
            key, rest = ("prefixItems", "items") if "prefixItems" in facet else ("items", "additionalItems")
            first = facet.get(key)
            if isinstance(first, list):
                if index < len(first):
                    found.append((*pointer, key, str(index)))
                elif isinstance(facet.get(rest), dict):
                    found.append((*pointer, rest))
            elif isinstance(first, dict):
                found.append((*pointer, key))
        return tuple(found)


def read_node(schema: Any, pointers: tuple[Pointer, ...]) -> Node:
    """What the schemas at these pointers say together."""
    facets = _facets(schema, pointers)
    kinds: frozenset[str] | None = None
    choices: list[tuple[Any, ...]] = []
    required: set[str] = set()
    unions: list[tuple[Pointer, ...]] = []
    for pointer, facet in facets:
        kinds = _narrowed(kinds, facet.get("type"))
        if isinstance(facet.get("enum"), list):
            choices.append(tuple(facet["enum"]))
        if "const" in facet:
            choices.append((facet["const"],))
        if isinstance(facet.get("required"), list):
            required.update(name for name in facet["required"] if isinstance(name, str))
        held = [key for key in ("anyOf", "oneOf") if isinstance(facet.get(key), list)]
        unions.extend(tuple((*pointer, key, str(index)) for index in range(len(facet[key]))) for key in held)
    return Node(
        facets=facets,
        kinds=kinds,
        choices=tuple(choices),
        texts=tuple(frozenset(one for one in values if isinstance(one, str)) for values in choices),
        required=frozenset(required),
        unions=tuple(unions),
    )


def reference(pointer: Pointer) -> str:
    """The pointer as a URI fragment (RFC 6901, section 6)."""
    return "".join("/" + quote(part.replace("~", "~0").replace("/", "~1")) for part in pointer)


def _facets(schema: Any, pointers: tuple[Pointer, ...]) -> tuple[Facet, ...]:
    found: dict[Pointer, dict[str, Any]] = {}
    left = list(pointers)
    while left and len(found) < MOST_FACETS:
        pointer = left.pop(0)
        facet = _at(schema, pointer)
        if pointer in found or not isinstance(facet, dict) or (pointer and "$id" in facet):
            continue
        found[pointer] = facet
        target = _target(facet.get("$ref"))
        if target is not None:
            left.append(target)
        if isinstance(facet.get("allOf"), list):
            left.extend((*pointer, "allOf", str(index)) for index in range(len(facet["allOf"])))
    return tuple(found.items())


def _target(ref: Any) -> Pointer | None:
    if not isinstance(ref, str) or (ref != "#" and not ref.startswith("#/")):
        return None
    return tuple(unquote(part).replace("~1", "/").replace("~0", "~") for part in ref.split("/")[1:])


def _at(schema: Any, pointer: Pointer) -> Any:
    for part in pointer:
        try:
            schema = schema[int(part)] if isinstance(schema, list) else schema[part]
        except (KeyError, IndexError, ValueError, TypeError):
            return None
    return schema


def _narrowed(kinds: frozenset[str] | None, said: Any) -> frozenset[str] | None:
    names = [said] if isinstance(said, str) else said
    if not isinstance(names, list):
        return kinds
    here = frozenset(name for name in names if isinstance(name, str))
    if "number" in here:
        here |= {"integer"}
    return here if kinds is None else kinds & here
