"""Judge a JSON value by a JSON Schema and say, field by field, what is wrong and what would be right.

Stands on `engine` (compiling) and above nothing; `explain` words its errors for a model. It changes no value: no
coercion, no defaults. Invariants: a number that JSON can't hold is never valid; the errors are bounded in number and
size.
"""

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from os.path import commonprefix
from typing import Any, Final

import jsonschema_rs

from callslip.schema.effort import MOST_FAULTS, Effort
from callslip.schema.engine import SchemaError, build, canonical_text
from callslip.schema.field_error import ALLOWED_COUNT, FieldError, path_text, short_json, short_list, shorten

__all__ = ["FieldError", "SchemaError", "Validator", "compile_part", "compile_schema"]

MOST_ERRORS: Final = 100
CACHED_SCHEMAS: Final = 1024
KIND: Final = jsonschema_rs.ValidationErrorKind
ISO: Final = {
    "date": "an ISO 8601 date such as 2026-02-28",
    "date-time": "an ISO 8601 date and time with an offset, such as 2026-02-28T09:30:00Z",
    "time": "an ISO 8601 time with an offset, such as 09:30:00Z",
    "duration": "an ISO 8601 duration such as PT30M",
}
BOUNDS: Final = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "multipleOf": "must be a multiple of {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} items",
    "maxItems": "must have at most {} items",
    "minProperties": "must have at least {} properties",
    "maxProperties": "must have at most {} properties",
}
PLAIN: Final = {
    "uniqueItems": "must not hold the same item twice",
    "contains": "must hold an item of the required kind",
    "oneOf": "matches more than one of the forms of which exactly one is allowed",
    "not": "has a form that is not allowed",
    "falseSchema": "is not allowed here",
    "false": "is not allowed here",
    "propertyNames": "has a property name that is not allowed",
    "additionalItems": "has more items than are allowed",
    "unevaluatedItems": "has items that are not allowed",
}
CHECKED: Final = frozenset({dict, list, tuple, float, int})
UNJUDGED: Final = "size"
"""The rule of an error that says that nothing was judged."""
MOST_BITS: Final = 3400
"""A little over 1,000 digits; 4,300 digits are where the library would read null."""
MOST_NESTED: Final = 256
MOST_COMPARED: Final = 300
"""Known names among which the nearest to an unknown one is looked for."""
MOST_LOOKS: Final = 5_000_000
"""Looks of a place of the schema at a part of the value, at about 10 ns each."""
MOST_FORMS: Final = 4
"""Branches of a union that are told one by one."""
FORM_LENGTH: Final = 80


class Validator:
    """A compiled schema; make it with `compile_schema`. Safe to share between threads and tasks."""

    __slots__ = ("_compiled", "_effort", "_schema", "most_parts")

    def __init__(self, text: str, whole: "Validator | None" = None) -> None:
        self._compiled, self._schema = build(text)
        self._effort: Effort | None = None
        if whole is not None:
            self.most_parts: int = whole.most_parts
            return
        self._effort = Effort(self._schema)
        if self._effort.branching > MOST_LOOKS:
            raise SchemaError(
                "the schema branches into more forms, or leads on further, than can be judged in bounded time: "
                "name fewer forms"
            )
        self.most_parts = MOST_LOOKS // self._effort.branching

    def accepts(self, value: Any) -> bool:
        """Whether nothing is wrong with the value; a yes costs what `errors` costs, and a no much less."""
        try:
            foreign, parts = _survey(value)
            return foreign is None and self._bounded(value, parts) and bool(self._compiled.is_valid(value))
        except ValueError:  # a lone surrogate, or a Python type that has no JSON form
            return False

    def errors(self, value: Any) -> tuple[FieldError, ...]:
        """All that is wrong with the value, at most 100 errors, in a fixed order; empty when it is valid."""
        try:
            foreign, parts = _survey(value)
            if foreign is not None:
                return (foreign,)
            if not self._bounded(value, parts):
                return (_untold(value, UNJUDGED, "is too large for a schema that branches so much: send less at once"),)
            if self._compiled.is_valid(value):
                return ()
            found = list(islice(self._fields(self._failures(value, parts)), MOST_ERRORS))
        except UnicodeEncodeError:
            return (_not_json("", "text", "holds a lone surrogate, which is not Unicode text"),)
        except ValueError as error:  # a Python type that has no JSON form
            return (_not_json("", type(value).__name__, f"holds what JSON can't: {shorten(str(error), 100)}"),)
        if not found:
            return (
                _untold(value, "schema", "does not fit the schema, in too many ways to tell them: send less at once"),
            )
        # A value of the wrong type breaks other rules too, but they only blur what to change.
        mistyped = {one.path for one in found if one.rule == "type"}
        told = (one for one in found if one.rule == "type" or one.path not in mistyped)
        # Two parts of an `allOf`, or of a `$ref` and what stands beside it, may find the same fault.
        return tuple(sorted(dict.fromkeys(told), key=lambda one: (one.path, one.rule, one.allowed)))

    def _bounded(self, value: Any, parts: int) -> bool:
        """Whether it can be judged in bounded time; counted only where the number of its parts does not say so."""
        return parts <= self.most_parts or self._faults(value, parts)[0] <= MOST_LOOKS

    def _faults(self, value: Any, parts: int) -> tuple[int, int]:
        self._effort = self._effort or Effort(self._schema)
        return self._effort.of(value, parts)

    def _failures(self, value: Any, parts: int) -> Iterator[jsonschema_rs.ValidationError]:
        """All failures; where there may be very many the first alone, since the library collects them all, and none
        where even that one may hold as many, of the branches of a union in a union.
        """
        faults, widest = self._faults(value, parts)
        if faults <= MOST_FAULTS:
            yield from self._compiled.iter_errors(value)
        elif widest <= MOST_FAULTS:
            try:
                self._compiled.validate(value)
            except jsonschema_rs.ValidationError as error:
                yield error

    def _fields(self, errors: Iterator[jsonschema_rs.ValidationError]) -> Iterator[FieldError]:
        for error in errors:
            kind = error.kind
            if isinstance(kind, KIND.Required):
                yield self._missing(error, kind.property)
            elif isinstance(kind, KIND.AdditionalProperties | KIND.UnevaluatedProperties):
                instance: Any = error.instance
                known = self._properties(error)
                for name in kind.unexpected:
                    yield _unknown(error, name, instance.get(name), known)
            elif isinstance(kind, KIND.AnyOf | KIND.OneOfNotValid):
                yield from self._branches(error, kind.context)
            else:
                rule, (allowed, message) = kind.name, _wording(kind)
                yield FieldError(
                    path=path_text(error.instance_path),
                    rule=rule,
                    got=short_json(error.instance),
                    allowed=allowed,
                    message=message,
                )

    def _missing(self, error: jsonschema_rs.ValidationError, name: str) -> FieldError:
        known = self._properties(error).get(name)
        kind = known.get("type") if isinstance(known, dict) else None
        return FieldError(
            path=path_text([*error.instance_path, name]),
            rule="required",
            got="",
            allowed=short_list([kind] if isinstance(kind, str) else kind or []),
            message="is required but missing",
        )

    def _properties(self, error: jsonschema_rs.ValidationError) -> dict[str, Any]:
        """The properties beside the failed keyword; `schema_path` already points behind any $ref."""
        place = self._schema
        for part in error.schema_path[:-1]:
            try:
                place = place[part]
            except (KeyError, IndexError, TypeError):
                return {}
        known = place.get("properties") if isinstance(place, dict) else None
        return known if isinstance(known, dict) else {}

    def _branches(
        self, error: jsonschema_rs.ValidationError, branches: list[list[jsonschema_rs.ValidationError]]
    ) -> Iterator[FieldError]:
        """Speak of the one alternative that was meant, where the type or a constant tells; else of all of them."""
        meant = [branch for branch in branches if not any(_rules_out(inner, error) for inner in branch)]
        if len(meant) == 1:
            yield from self._fields(iter(meant[0]))
            return
        here = path_text(error.instance_path)
        allowed: dict[str, None] = {}
        forms: dict[str, None] = {}
        for branch in meant or branches:
            for inner in islice(self._fields(iter(branch)), 5):
                if inner.path == here:
                    allowed.update(dict.fromkeys(inner.allowed))
                else:
                    forms[shorten(f"{inner.path} {inner.message}", FORM_LENGTH)] = None
        wanted = "; or ".join(islice(forms, MOST_FORMS)) + ("; or …" if len(forms) > MOST_FORMS else "")
        yield FieldError(
            path=here,
            rule=error.kind.name,
            got=short_json(error.instance),
            allowed=short_list(allowed),
            message="matches none of the allowed forms" + (f": {wanted}" if wanted else ""),
        )


def compile_schema(schema: dict[str, Any] | bool) -> Validator:
    """Compile a schema, or take it from the cache of the last 1,024 (by content: the caller may change its dict).

    Raises:
        SchemaError: the schema is invalid, refers to something outside itself, or holds an unusable pattern.
    """
    if not isinstance(schema, dict | bool):
        raise SchemaError(f"a schema is a JSON object, not {type(schema).__name__}: pass a dict")
    return _cached(canonical_text(schema))


def compile_part(schema: dict[str, Any], whole: Validator) -> Validator:
    """Compile what says no more than a part of a schema that is compiled: it can't branch more than the whole does."""
    return Validator(canonical_text(schema), whole)


@lru_cache(maxsize=CACHED_SCHEMAS)
def _cached(text: str) -> Validator:
    return Validator(text)


def _unknown(error: jsonschema_rs.ValidationError, name: str, value: Any, known: dict[str, Any]) -> FieldError:
    names = list(known)
    if ALLOWED_COUNT < len(names) <= MOST_COMPARED:  # the nearest must not be cut off
        names.sort(key=lambda other: -len(commonprefix((other, name))))  # noqa: RUF071  # letters are meant
    return FieldError(
        path=path_text([*error.instance_path, name]),
        rule=error.kind.name,
        got=short_json(value),
        allowed=short_list(names),
        message="is not a known property" if known else "is not known: no properties are expected here",
    )


def _rules_out(inner: jsonschema_rs.ValidationError, outer: jsonschema_rs.ValidationError) -> bool:
    kind = inner.kind
    if isinstance(kind, KIND.Type):
        return inner.instance_path == outer.instance_path
    return isinstance(kind, KIND.Constant)


def _wording(kind: jsonschema_rs.ValidationErrorKind) -> tuple[tuple[str, ...], str]:
    rule, value = kind.name, kind.value
    if isinstance(kind, KIND.Type):
        names = short_list(kind.types)
        return names, f"must be {' or '.join('null' if name == 'null' else f'of type {name}' for name in names)}"
    if isinstance(kind, KIND.Enum | KIND.Constant):
        options = short_list(short_json(option) for option in (value if isinstance(kind, KIND.Enum) else [value]))
        return options, f"must be {'one of ' if len(options) > 1 else ''}{', '.join(options)}"
    if isinstance(kind, KIND.Format):
        return (kind.format,), f"must be {ISO.get(kind.format, f'a valid {kind.format}')}"
    if isinstance(kind, KIND.Pattern):
        return (shorten(kind.pattern, 200),), f"must match the pattern {shorten(kind.pattern, 200)}"
    if rule in BOUNDS:
        return (short_json(value),), BOUNDS[rule].format(short_json(value))
    return (), PLAIN.get(rule, f"breaks the rule {rule!r}")


def _survey(root: Any) -> tuple[FieldError | None, int]:
    """Count the parts, and find what the compiled schema would silently read as null: NaN, endless integers."""
    stack: list[tuple[Any, tuple[str | int, ...]]] = [(root, ())]
    parts = 0
    while stack:
        value, path = stack.pop()
        kind = type(value)
        if len(path) > MOST_NESTED:
            return _not_json(path_text(path[:8]), kind.__name__, "is nested too deeply"), parts
        if kind is dict:
            parts += len(value)
            stack.extend((item, (*path, key)) for key, item in value.items() if type(item) in CHECKED)
        elif kind is list or kind is tuple:
            parts += len(value)
            stack.extend((item, (*path, index)) for index, item in enumerate(value) if type(item) in CHECKED)
        elif kind is float and not math.isfinite(value):
            return _not_json(path_text(path), str(value), "is not a finite number, which JSON can't hold"), parts
        elif kind is int and value.bit_length() > MOST_BITS:
            return _not_json(path_text(path), short_json(value), "is an integer of more than 1,000 digits"), parts
    return None, parts


def _untold(value: Any, rule: str, message: str) -> FieldError:
    return FieldError(path="", rule=rule, got=short_json(value), allowed=(), message=message)


def _not_json(path: str, got: str, message: str) -> FieldError:
    return FieldError(path=path, rule="json", got=got, allowed=(), message=message)
