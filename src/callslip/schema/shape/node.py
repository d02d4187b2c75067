"""The walk: from a canonical schema to one that a dialect takes, part by part.

Invariant: a shaped part accepts whatever the canonical part accepts (once keys have their wire names, and a property
that was left out may be null). Two things are narrower on purpose. Properties that an object doesn't declare are not
offered: a strict form closes an object that leaves `additionalProperties` out, and the forms of a union at the root
become one object. And what a strict form can't say at all is a reason against it, never a silent change.
"""

from collections.abc import Iterable
from typing import Any, Final

from callslip.schema.field_error import short_json
from callslip.schema.shape.absent import refuses_null
from callslip.schema.shape.arrays import items_of
from callslip.schema.shape.dialect import BOUNDS, Dialect
from callslip.schema.shape.flat import Flat, identity, merge
from callslip.schema.shape.keys import Keys
from callslip.schema.shape.notes import description, unsaid
from callslip.schema.shape.null import NULL, joined, nullable, takes_null
from callslip.schema.shape.plain import fitting, plain_enum, sendable, types_with
from callslip.schema.shape.reading import MOST_PARTS, MOST_WORDS, EnoughReasons, Path, Reading
from callslip.schema.shape.refs import Names
from callslip.schema.shape.way import Place, Step

CONDITIONS: Final = frozenset({"required", "not", "title", "description", "$comment"})
"""A union whose forms hold only these says which properties go together, not what they are."""
CONDITIONAL: Final = ("then", "else", "dependentSchemas", "dependencies")
OUTSIDE: Final = frozenset(
    {
        "title", "description", "default", "examples", "deprecated", "nullable", "discriminator", "$defs",
        "definitions", "$comment", "$anchor",
    }
)  # fmt: skip
"""What stands beside a union and isn't a rule for its forms."""
APPLIES: Final = {
    word: frozenset(types.split())
    for words, types in (
        ("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf", "number integer"),
        ("minLength maxLength", "string"),
        ("minItems maxItems uniqueItems", "array"),
        ("minProperties maxProperties", "object"),
    )
    for word in words.split()
}

Made = tuple[dict[str, Any], Place]
Notes = list[tuple[str, Any]]


class Walk(Reading):
    """One schema on its way into one dialect."""

    def __init__(self, document: dict[str, Any], dialect: Dialect, *, strict: bool) -> None:
        super().__init__(document, dialect, strict=strict)
        self.keys = Keys(document, dialect.keys)
        self.words_left = MOST_WORDS
        self._names = Names()
        self._places: dict[str, Place] = {}
        self._waiting: list[str] = []
        self._lasts: dict[str, str] = {}

    def node(self, raw: Any, path: Path, depth: int) -> Made | None:
        """Shape one part; None for one that accepts nothing."""
        self.left -= 1
        if self.spent(depth):
            return self._cut(path)
        if raw is False:
            return None
        reference = raw.get("$ref") if isinstance(raw, dict) else None
        if isinstance(reference, str) and (kept := self._kept(raw, reference, path)):
            return kept
        return self._inside(self.flatten(raw, depth), path, depth)

    def _inside(self, flat: Flat, path: Path, depth: int) -> Made | None:
        """Shape a part, knowing for what is in it by which references it was reached."""
        self.tell(flat, path)
        if flat.never:
            return None
        if self.spent(depth):
            return self._cut(path)
        self.open.extend(flat.through)
        made = self._flat(flat, path, depth)
        if flat.through:
            del self.open[-len(flat.through) :]
        return made

    def _flat(self, flat: Flat, path: Path, depth: int) -> Made | None:
        notes: Notes = list(flat.notes)
        if flat.unions:
            first, *others = flat.unions
            notes.extend(("anyOf", forms) for forms in others)
            if not all(isinstance(form, dict) and form.keys() <= CONDITIONS for form in first):
                return self._union(flat, first, notes, path, depth)
            notes.append(("anyOf", first))
        values, told = plain_enum(flat.keywords, strings=self.dialect.enum_of_strings)
        types = types_with(flat.keywords)
        if types is not None and not types:
            return None
        notes += told + unsaid(flat.keywords, self.kept_words(flat.keywords, types))
        if types is None:
            self.reason(path, "takes values of any type")
            made = self._anything(flat, notes, path, depth)
        else:
            made = self._typed(types, flat, values, notes, path, depth)
        return self._finished(made, flat.keywords, notes, path)

    def _finished(self, made: Made, keywords: dict[str, Any], notes: Notes, path: Path) -> Made:
        schema, place = made
        if keywords.get("nullable") is True:  # OpenAPI 3.0
            schema = nullable(schema, enums=not self.dialect.enum_of_strings)
        key = path[-1] if path and isinstance(path[-1], str) else ""
        return self._described(schema, self.words(keywords, notes, key)), place

    # --- one type, several, any ---------------------------------------------------------------------------------

    def _typed(
        self, types: tuple[str, ...], flat: Flat, values: list[Any] | None, notes: Notes, path: Path, depth: int
    ) -> Made:
        """One form for each type, so that each holds only the keywords that are for it."""
        forms: list[dict[str, Any]] = []
        place = Place()
        for name in types:
            schema: dict[str, Any] = {"type": name}
            if values is not None and name != "null":
                schema["enum"] = fitting(values, name)
            schema |= {word: flat.keywords[word] for word in self.kept_words(flat.keywords, (name,))}
            if name == "object":
                schema |= self.object(flat, place, notes, path, depth)
            elif name == "array":
                schema |= self._array(flat, place, notes, path, depth)
            forms.append(schema)
        if len(forms) == 2 and NULL in forms and "enum" not in forms[types[0] == "null"]:
            return nullable(forms[types[0] == "null"]), place
        return joined(forms, enums=not self.dialect.enum_of_strings), place

    def _anything(self, flat: Flat, notes: Notes, path: Path, depth: int) -> Made:
        """Every kind of value is valid, as far as the keywords for its kind allow."""
        schema: dict[str, Any] = {}
        place = Place()
        if "properties" in flat.keywords or flat.required:
            schema |= self.object(flat, place, notes, path, depth)
        if "items" in flat.keywords or "prefixItems" in flat.keywords:
            schema |= self._array(flat, place, notes, path, depth)
        return schema | {word: flat.keywords[word] for word in self.kept_words(flat.keywords, None)}, place

    # --- objects and arrays -------------------------------------------------------------------------------------

    def object(self, flat: Flat, place: Place, notes: Notes, path: Path, depth: int) -> dict[str, Any]:
        """The keywords of an object."""
        declared = flat.keywords.get("properties")
        declared = declared if isinstance(declared, dict) else {}
        rest = flat.keywords.get("additionalProperties", True)
        named = bool(flat.keywords.get("patternProperties"))
        if self.strict:
            self._check_closable(flat, declared, path)
        properties, whole = self._properties(flat, declared, place, path, depth)
        schema: dict[str, Any] = {}
        if properties or self.dialect.empty_properties or not path:
            schema["properties"] = properties
        required = [place.properties[name].wire for name in flat.required if name in place.properties]
        if undeclared := [name for name in flat.required if name not in declared]:
            notes.append(("required", undeclared))
        if self.strict and self.dialect.optional_as_null:
            required = list(properties)
        if required:
            schema["required"] = required
        if self.strict or (rest is False and not named and whole):
            schema["additionalProperties"] = False
        elif isinstance(rest, dict) and not named and whole:
            made = self.node(rest, (*path, "*"), depth + 1)
            schema["additionalProperties"] = False if made is None else made[0] or True
            place.rest = made[1] if made else None
        return schema

    def _properties(
        self, flat: Flat, declared: dict[str, Any], place: Place, path: Path, depth: int
    ) -> tuple[dict[str, Any], bool]:
        """The properties, and whether these are all."""
        properties: dict[str, Any] = {}
        for name, raw in declared.items():
            if self.left < 0:
                self._cut(path)
                return properties, False
            made = self.node(raw, (*path, name), depth + 1)
            if made is None:
                continue  # a property that nothing is valid for may only be left out
            schema, below = made
            optional = name not in flat.required
            if optional and self.strict and self.dialect.optional_as_null:
                schema = nullable(schema)
            wire = self.keys.wire(name)
            properties[wire] = schema
            absent = optional and takes_null(schema) and refuses_null(self, raw)
            place.properties[name] = Step(wire=wire, absent=absent, place=below)
            if wire != name:
                place.wires[wire] = name
        return properties, True

    def _check_closable(self, flat: Flat, declared: dict[str, Any], path: Path) -> None:
        """Whether a closed object can stand for this one."""
        keywords = flat.keywords
        if "properties" not in keywords and keywords.get("additionalProperties") is not False:
            self.reason(path, "takes properties that aren't named")
        elif keywords.get("additionalProperties", False) is not False or keywords.get("patternProperties"):
            self.reason(path, "takes properties beyond those named")
        elif any(name not in declared for name in flat.required):
            self.reason(path, "requires a property that it doesn't describe")
        elif "additionalProperties" not in keywords and any(word in keywords for word in CONDITIONAL):
            self.reason(path, "has properties that depend on others")

    def _array(self, flat: Flat, place: Place, notes: Notes, path: Path, depth: int) -> dict[str, Any]:
        items, told = items_of(flat.keywords)
        notes.extend(told)
        made = self.node(items, (*path, "[]"), depth + 1)
        if made is None:
            notes.append(("maxItems", 0))
            return {"items": {"type": "string"} if self.strict else {}}
        place.rest = made[1]
        return {"items": made[0]}

    # --- unions -------------------------------------------------------------------------------------------------

    def _union(self, flat: Flat, forms: list[Any], notes: Notes, path: Path, depth: int) -> Made | None:
        """Each form with what stands beside the union merged in, as nothing but a description may stand there."""
        beside = {key: value for key, value in flat.keywords.items() if key not in OUTSIDE}
        outside = {key: value for key, value in flat.keywords.items() if key in OUTSIDE}
        notes += unsaid(outside, ())
        shaped: dict[str, dict[str, Any]] = {}
        place = Place()
        for form in forms:
            if self.spent(depth):
                shaped[""] = self._cut(path)[0]
                break
            if beside or flat.required:
                inner = self.flatten(form, depth)
                self.spend(flat.required, beside.get("properties"))
                merge(inner, Flat(keywords=dict(beside), required=dict(flat.required), unions=[], notes=[]))
                made = self._inside(inner, path, depth + 1)
            else:
                made = self.node(form, path, depth + 1)
            if made is not None:
                place.alternatives.append(made[1])
                for part in made[0]["anyOf"] if made[0].keys() == {"anyOf"} else [made[0]]:
                    shaped[identity(part)] = part
        if not shaped:
            return None
        parts = list(shaped.values())
        if any(part.keys() <= {"description"} for part in parts):
            # One form takes everything, so the union does; the others are only worth telling of.
            schema: dict[str, Any] = {}
            notes += [("", " or ".join(map(_spoken, parts)))] if len(parts) > 1 else []
        else:
            schema = joined(parts, enums=not self.dialect.enum_of_strings)
            if "$ref" in schema and (notes or "description" in outside):
                schema = {"anyOf": [schema]}
        return self._finished((schema, place), outside, notes, path)

    # --- references ---------------------------------------------------------------------------------------------

    def _kept(self, raw: dict[str, Any], reference: str, path: Path) -> Made | None:
        """The part as a `$ref`, where it is to stay one."""
        reference = self._last(reference)
        inside = reference in self.open
        if inside and not (self.dialect.strict_recursion if self.strict else self.dialect.recursion):
            self.reason(path, "holds itself")
            again = f"the same form as {reference.rpartition('/')[2].strip('#') or 'the whole'} once more"
            return self._described({}, self.words(raw, [("", again)])), Place()
        alone = raw.keys() <= {"$ref"} or self.references.siblings_ignored
        short = self.left < MOST_PARTS // 2
        if not inside and (self.dialect.references == "inlined" or not (alone or short)):
            return None
        return self._reference(reference)

    def _last(self, reference: str) -> str:
        """The end of a chain of bare references."""
        if (known := self._lasts.get(reference)) is not None:
            return known
        seen: dict[str, None] = {}
        while reference not in seen:
            seen[reference] = None
            target = self.references.target(reference)
            if isinstance(target, dict) and target.keys() == {"$ref"} and isinstance(target["$ref"], str):
                reference = target["$ref"]
        self._lasts.update(dict.fromkeys(seen, reference))
        return reference

    def _reference(self, reference: str) -> Made | None:
        target = self.references.target(reference)
        if not isinstance(target, dict) or target.get("$ref") == reference or target.keys() == {"$ref"}:
            return None  # nowhere, or a circle of names that says nothing
        if reference not in self._places:
            self._places[reference] = Place()
            self._waiting.append(reference)
        return {"$ref": f"#/$defs/{self._names.name(reference)}"}, self._places[reference]

    def definitions(self) -> dict[str, Any]:
        """All parts that were referred to, and those that they refer to."""
        defined: dict[str, Any] = {}
        for reference in self._waiting:  # grows while it is walked
            name = self._names.name(reference)
            self.open = [reference]
            flat = self.flatten(self.references.target(reference), 1, (reference,))
            schema, place = self._inside(flat, (name,), 1) or ({}, Place())
            defined[name] = schema
            self._places[reference].alternatives.append(place)
        return defined

    # --- words --------------------------------------------------------------------------------------------------

    def _cut(self, path: Path) -> Made:
        self.reason(path[:8], "is larger or deeper than can be sent", loose=True)
        if self.strict:
            raise EnoughReasons
        return {}, Place()

    def kept_words(self, keywords: dict[str, Any], types: Iterable[str] | None) -> list[str]:
        """The constraint keywords that are sent as they are, for a value of one of these types."""
        keeps = self.dialect.strict_keeps if self.strict else self.dialect.keeps
        kinds = None if types is None else set(types)
        kept = []
        for word, value in keywords.items():
            if word == "format":
                wanted = ("format" in keeps or value in self.dialect.formats) and (kinds is None or "string" in kinds)
            else:
                wanted = word in keeps and (word not in BOUNDS or kinds is None or bool(APPLIES[word] & kinds))
            if wanted and sendable(word, value):
                kept.append(word)
        return kept

    def words(self, keywords: dict[str, Any], notes: Notes, key: str = "") -> str:
        """The description of a part, within what is left for all of them."""
        text = description(keywords, notes, key=key, room=max(self.words_left, 0))
        self.words_left -= len(text)
        return text

    def _described(self, schema: dict[str, Any], text: str) -> dict[str, Any]:
        if not text:
            return schema
        if "anyOf" in schema and not self.dialect.union_described:
            first, *others = schema["anyOf"]
            return schema | {"anyOf": [self._described(first, text), *others]}
        if (inner := schema.get("description")) and inner != text:  # of the one form that was left of a union
            text = f"{text} {inner}"
        return schema | {"description": text}


def _spoken(part: dict[str, Any]) -> str:
    """A form of a union in a word or two."""
    if part.keys() <= {"description"}:
        return str(part.get("description", "any value")).strip("[]")
    return short_json({key: value for key, value in part.items() if key != "description"}, 120)
