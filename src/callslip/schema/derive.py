"""From a typed Python function to a tool's name, description and schemas, and from JSON arguments to its types.

Stands on `signature` (what it takes), `docstring` (what it says) and `typed` (types to JSON Schema). What it is
not: it judges no arguments, `validate` does that first. Invariant: a default is noted in the schema and left to
Python; nothing is put into a call that the model didn't say.
"""

import copy
import inspect
import json
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec
from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from callslip.schema.docstring import read_docstring
from callslip.schema.field_error import BindError, FieldError, path_text, short_json, shorten
from callslip.schema.signature import UnsupportedSignature, read_signature
from callslip.schema.typed import adapter_for, input_schema_of, output_schema_of

SHORTEST_TOO_LARGE = 309
"""Digits of the smallest integer that no 64-bit float holds."""

__all__ = ["BindError", "Derived", "UnsupportedSignature", "bind", "derive"]


class Derived(msgspec.Struct, frozen=True, kw_only=True):
    """What a function tells about itself as a tool."""

    name: str
    description: str
    """The docstring without its sections; empty when there is none."""
    input_schema: dict[str, Any]
    """JSON Schema 2020-12 of the arguments object; closed to unknown properties, also in nested objects."""
    output_schema: dict[str, Any] | None
    """Schema of the result; None when unannotated, None, Any, a stream, or of a type without JSON form."""
    context_parameter: str | None
    """The parameter that the runtime fills; not in the schema."""
    is_async: bool
    """Calling gives an awaitable or, for a stream, an async iterator."""
    is_stream: bool
    """Calling gives an async iterator of partial results; not to be awaited."""
    signature: inspect.Signature
    adapters: dict[str, TypeAdapter[Any]]
    """For each parameter in the schema, from JSON to its type."""
    insertions: dict[str, FieldInfo]
    """Parameters written `= Field(...)`: without a value Python would pass the Field itself."""

    def bind(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """As the function `bind`."""
        return bind(self, arguments)


def derive(
    function: Callable[..., Any],
    *,
    context_type: type | str | None = None,
    name: str | None = None,
    output_schema: dict[str, Any] | None = None,
) -> Derived:
    """Derive a tool from a function, method, partial or callable object, sync or async.

    Args:
        function: what will be called, with keyword arguments only.
        context_type: the class, or its bare name, whose parameter the runtime fills.
        name: used instead of the function's own.
        output_schema: used instead of the one of the return annotation.

    Raises:
        UnsupportedSignature: the function can't be called with JSON arguments by name.
    """
    reading = read_signature(function, context_type)
    title = name or reading.name
    if title == "<lambda>":
        raise UnsupportedSignature("a lambda has no name to call it by: use def, or pass a name")
    documented = read_docstring(reading.documentation)
    adapters = {parameter.name: adapter_for(parameter, title) for parameter in reading.parameters}
    return Derived(
        name=title,
        description=documented.description,
        input_schema=input_schema_of(reading.parameters, adapters, documented.parameters),
        output_schema=output_schema if output_schema is not None else output_schema_of(reading.returns),
        context_parameter=reading.context_parameter,
        is_async=reading.is_async,
        is_stream=reading.is_stream,
        signature=reading.signature,
        adapters=adapters,
        insertions={
            one.name: one.default
            for one in reading.parameters
            if isinstance(one.default, FieldInfo) and not one.required
        },
    )


def bind(derived: Derived, arguments: dict[str, Any]) -> dict[str, Any]:
    """Turn validated JSON arguments into the function's keyword arguments, without any lossy conversion.

    Raises:
        BindError: with the same field errors as validation, for what only the Python types can judge.
    """
    bound: dict[str, Any] = {}
    errors: list[FieldError] = []
    for name, value in arguments.items():
        adapter = derived.adapters.get(name)
        if adapter is None:
            known = tuple(derived.adapters)
            errors.append(_error((name,), "additionalProperties", value, "is not a known property", known))
            continue
        try:
            text = str(value) if type(value) is int else json.dumps(value)
            bound[name] = _validated(adapter, value, text)
            if len(text) >= SHORTEST_TOO_LARGE and _overflowed(adapter, value, bound[name]):
                errors.append(_error((name,), "number_overflow", value, "holds a number too large for a 64-bit float"))
        except ValidationError as error:
            errors.extend(
                _error((name, *one["loc"]), one["type"], one.get("input"), one["msg"])
                for one in error.errors(include_url=False, include_context=False)
            )
    if errors:
        raise BindError(tuple(errors))
    for name, field in derived.insertions.items():
        if name not in bound:
            bound[name] = field.get_default(call_default_factory=True, validated_data={})
    return bound


def _error(path: tuple[str | int, ...], rule: str, got: Any, message: str, allowed: tuple[str, ...] = ()) -> FieldError:
    return FieldError(
        path=path_text(path), rule=rule, got=short_json(got), allowed=allowed, message=shorten(message, 200)
    )


def _validated(adapter: TypeAdapter[Any], value: Any, text: str) -> Any:
    """Strict, as JSON: text becomes a date or an enum where the type says so, but "5" never becomes 5."""
    try:
        return adapter.validate_json(text, strict=True)
    except ValidationError as error:
        # JSON Schema calls 3.0 an integer and pydantic doesn't: rewrite just those numbers, and only when needed.
        places = [one["loc"] for one in error.errors(include_url=False, include_context=False)]
        rewritten, changed = _whole_numbers(value, places)
        if not changed:
            raise
    return adapter.validate_json(json.dumps(rewritten), strict=True)


def _overflowed(adapter: TypeAdapter[Any], value: Any, bound: Any) -> bool:
    """Whether an integer became an infinity, since the function takes a float: JSON has no limit there."""
    if isinstance(value, str):
        return False
    left = [adapter.dump_python(bound, warnings=False)]
    while left:
        one = left.pop()
        if isinstance(one, float) and math.isinf(one):
            return True
        if isinstance(one, dict):
            left.extend(one.values())
        elif isinstance(one, list | tuple | set | frozenset):
            left.extend(one)
    return False


def _whole_numbers(value: Any, places: list[tuple[int | str, ...]]) -> tuple[Any, bool]:
    root: dict[str, Any] = {"": copy.deepcopy(value)}
    changed = False
    for place in places:
        holder: Any = root
        key: int | str = ""
        for part in place:
            inner = holder[key]
            known = range(len(inner)) if isinstance(inner, list) else inner if isinstance(inner, dict) else ()
            if part in known:  # else it is pydantic's label for a branch of a union
                holder, key = inner, part
        number = holder[key]
        if type(number) is float and number.is_integer():
            # As its digits say: int(1e23) would be 99999999999999991611392.
            holder[key], changed = int(Decimal(repr(number))), True
    return root[""], changed
