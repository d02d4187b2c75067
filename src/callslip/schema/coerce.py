"""Bring arguments to the types their schema wants, where nothing is lost and one reading is left (ARGS-02).

Stands on `node` (what the schema says of a place), `lossless` (what a string says) and `validate`, which is asked first
and has the last word. Only what can't be valid as it is gets touched: a value of the wrong type, or none of the
constants. No default is put in, no scalar wrapped, no property renamed. Invariants: valid arguments are never changed;
arguments that stay invalid are given back untouched; the work is bounded whatever schema and value hold.
"""

import contextlib
import json
from typing import Any, Final

import msgspec

from callslip.schema.change import Change
from callslip.schema.engine import SchemaError
from callslip.schema.field_error import FieldError
from callslip.schema.lossless import NOTHING, container, kind_of, scalar
from callslip.schema.node import ROOT, Node, Pointer, read_node, reference
from callslip.schema.scrub import Defect, scrub
from callslip.schema.validate import UNJUDGED, Validator, compile_part

MOST_PLACES: Final = 2000
"""Parts of the value, and constants of the schema, that are looked at; where there are more, nothing is changed."""
MOST_JUDGED: Final = 20_000
"""Parts that are judged by branches of unions, one by one."""
MOST_EXPLAINED: Final = 200
"""Changes after which what is left to correct is not told anew."""
MOST_NODES: Final = 2000
MOST_BRANCHES: Final = 32
"""Branches of unions that are compiled for themselves, for one tool."""
MOST_COMPILED: Final = 300_000
"""Bytes of schema that are compiled for them: each takes the whole along."""
SELF: Final = "urn:callslip:arguments"

Path = tuple[str | int, ...]
Places = tuple[Pointer, ...]


class Coerced(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it: valid arguments with what was changed, or the same arguments with what is wrong."""

    value: Any
    changes: tuple[Change, ...]
    errors: tuple[FieldError, ...]


class Coercer:
    """Coerces the arguments of one tool. Safe to share between tasks of one thread."""

    __slots__ = ("_branches", "_nodes", "_schema", "_size", "_validator")

    def __init__(self, schema: Any, validator: Validator) -> None:
        self._schema = schema
        self._validator = validator
        self._nodes: dict[Places, Node] = {}
        self._branches: dict[Pointer, Validator | None] = {}
        self._size: int | None = None

    def coerce(self, value: Any, errors: tuple[FieldError, ...] | None = None) -> Coerced:
        """Make the value valid if that loses nothing; `errors` are the validator's own of it, where they are known."""
        found = self._validator.errors(value) if errors is None else errors
        if not found or found[0].rule == UNJUDGED:
            return Coerced(value=value, changes=(), errors=found)
        walk = _Walk(self)
        try:
            made = walk.visit(value, ROOT, ())
            if walk.changes:
                scrub(made)  # an unfolded string may have made it too deep
        except (_TooMuch, Defect):
            return Coerced(value=value, changes=(), errors=found)
        if self._validator.accepts(made):
            return Coerced(value=made, changes=tuple(walk.changes), errors=())
        rest = self._validator.errors(made) if 0 < len(walk.changes) <= MOST_EXPLAINED else ()
        # What is left to correct is told of the value as it was read: "50" breaks a maximum, not a type.
        return Coerced(value=value, changes=(), errors=rest if rest and _nothing_new(rest, found) else found)

    def node(self, places: Places) -> Node:
        """What holds at these places of the schema."""
        known = self._nodes.get(places)
        if known is None:
            if len(self._nodes) == MOST_NODES:
                raise _TooMuch
            known = self._nodes[places] = read_node(self._schema, places)
        return known

    def fits(self, branch: Pointer, value: Any) -> bool | None:
        """Whether the value is valid by this branch of a union; None: that can't be told."""
        if branch not in self._branches:
            if not self._affordable(len(self._branches) + 1):
                return None
            self._branches[branch] = self._compiled(branch)
        validator = self._branches[branch]
        return None if validator is None else validator.accepts(value)

    def _affordable(self, branches: int) -> bool:
        if self._size is None:
            self._size = len(json.dumps(self._schema))
        return branches <= MOST_BRANCHES and branches * self._size <= MOST_COMPILED

    def _compiled(self, branch: Pointer) -> Validator | None:
        # The whole schema goes along under a name of its own, so that the references in it lead where they did.
        whole = {**self._schema, "$id": SELF}
        with contextlib.suppress(SchemaError):
            return compile_part({"$ref": f"{SELF}#{reference(branch)}", "$defs": {"whole": whole}}, self._validator)
        return None


class _TooMuch(Exception):  # a control-flow signal inside this module
    pass


class _Walk:
    """One attempt on one value; what it changes it copies first."""

    def __init__(self, coercer: Coercer) -> None:
        self.changes: list[Change] = []
        self._coercer = coercer
        self._left = MOST_PLACES
        self._unjudged = MOST_JUDGED

    def visit(self, value: Any, places: Places, path: Path, *, unfolded: bool = False) -> Any:
        """The value as it stands at these places; `unfolded`: it comes out of a string already."""
        node = self._coercer.node(places)
        if not node.facets:
            return value
        if isinstance(value, str):
            value, out_of_string = self._string(value, node, path, unfolded=unfolded)
            unfolded = unfolded or out_of_string
        if isinstance(value, dict):
            value = self._object(value, node, path, unfolded=unfolded)
        elif isinstance(value, list):
            value = self._array(value, node, path, unfolded=unfolded)
        for branches in node.unions:
            value = self._union(value, branches, path, unfolded=unfolded)
        return value

    def _string(self, text: str, node: Node, path: Path, *, unfolded: bool) -> tuple[Any, bool]:
        """What a string means that can't be valid here, and whether it held a container."""
        kinds = node.kinds
        if (kinds is None or "string" in kinds) and all(text in texts for texts in node.texts):
            return text, False
        self._spend(sum(map(len, node.choices)))
        found = _one_of(text, node) if node.choices else NOTHING if kinds is None else scalar(text, kinds)
        inside = False
        if found is NOTHING and kinds is not None and not unfolded and not node.choices:
            found = container(text, kinds)
            inside = found is not NOTHING
        if found is NOTHING:
            return text, False
        self.changes.append(Change(path=path, before=text, after=found))
        return found, inside

    def _object(self, value: dict[str, Any], node: Node, path: Path, *, unfolded: bool) -> dict[str, Any]:
        self._spend(len(value))
        made: dict[str, Any] | None = None
        for name, item in value.items():
            places = node.property(name)
            if not places:
                continue
            if item is None and name not in node.required and node.declares(name) and not self._nullable(places):
                self.changes.append(Change(path=(*path, name), before=None, dropped=True))
                made = dict(value) if made is None else made
                del made[name]
                continue
            after = self.visit(item, places, (*path, name), unfolded=unfolded)
            if after is not item:
                made = dict(value) if made is None else made
                made[name] = after
        return value if made is None else made

    def _array(self, value: list[Any], node: Node, path: Path, *, unfolded: bool) -> list[Any]:
        self._spend(len(value))
        made = [
            self.visit(item, places, (*path, index), unfolded=unfolded) if (places := node.item(index)) else item
            for index, item in enumerate(value)
        ]
        return made if any(after is not item for after, item in zip(made, value, strict=True)) else value

    def _union(self, value: Any, branches: tuple[Pointer, ...], path: Path, *, unfolded: bool) -> Any:
        """Through the one branch by which the value can be read, unless it is valid by one as it is."""
        self._spend(len(branches))
        tries: list[tuple[Pointer, Any, list[Change]]] = []
        before = self.changes
        for branch in branches:
            self.changes = []
            after = self.visit(value, (branch,), path, unfolded=unfolded)
            if self.changes:
                tries.append((branch, after, self.changes))
        self.changes = before
        if not tries or any(self._fits(branch, value) is not False for branch in branches):
            return value
        made = {_text(after): (after, changes) for branch, after, changes in tries if self._fits(branch, after)}
        if len(made) != 1:
            return value
        ((after, changes),) = made.values()
        self.changes.extend(changes)
        return after

    def _fits(self, branch: Pointer, value: Any) -> bool | None:
        self._unjudged -= _parts(value, self._unjudged)
        if self._unjudged <= 0:
            raise _TooMuch
        return self._coercer.fits(branch, value)

    def _spend(self, places: int) -> None:
        self._left -= places
        if self._left < 0:
            raise _TooMuch

    def _nullable(self, places: Places, depth: int = 0) -> bool:
        """Whether null may be valid there."""
        self._spend(1)
        node = self._coercer.node(places)
        if not node.facets or depth > 8:
            return True
        if (node.kinds is not None and "null" not in node.kinds) or any(None not in one for one in node.choices):
            return False
        return all(any(self._nullable((branch,), depth + 1) for branch in union) for union in node.unions)


def _one_of(text: str, node: Node) -> Any:
    """The constant that a string means: by white space, by case, or as the number or boolean that it spells."""
    first, *others = node.choices
    kinds = node.kinds
    able = [
        one
        for one in first
        if (kinds is None or kind_of(one) in kinds) and all(any(_same(one, other) for other in more) for more in others)
    ]
    bare = text.strip()
    named = [one for one in able if isinstance(one, str)]
    for near in ([one for one in named if one == bare], [one for one in named if one.strip().lower() == bare.lower()]):
        if len(near) == 1:
            return near[0]
    if any(one.strip().lower() == bare.lower() for one in named):
        return NOTHING
    read = scalar(text, {kind_of(one) for one in able})
    return read if any(_same(one, read) for one in able) else NOTHING


def _same(one: Any, other: Any) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _parts(value: Any, most: int) -> int:
    """How many parts a value has; counted no further than `most`."""
    left, count = [value], 1
    while left and count <= most:
        one = left.pop()
        if isinstance(one, dict | list):
            count += len(one)
            left.extend(one.values() if isinstance(one, dict) else one)
    return count


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _nothing_new(rest: tuple[FieldError, ...], found: tuple[FieldError, ...]) -> bool:
    """Whether every fault that is left lies where there was one before."""
    return all(any(one.path.startswith(other.path) for other in found) for one in rest)
