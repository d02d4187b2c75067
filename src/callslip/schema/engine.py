"""Compile JSON Schemas from anyone: nothing is fetched, and no pattern can cost more than linear time.

What it is not: it reports no field errors (`validate` does). Invariant: a schema that comes out of `build` can be
run against any JSON value on the hot path; one that can't is refused here with `SchemaError`.

Patterns run on an engine that is linear in the text. What that engine doesn't have (look-around, which zod writes
into every e-mail schema, and back-references) or finds too large runs on a backtracking one, with a bounded number
of steps, and only against strings of at most 1,000 characters, since look-ahead alone makes it quadratic.
"""

import json
from typing import Any, Final

import jsonschema_rs

from callslip.schema.field_error import path_text, short_json

GUARDED_LENGTH: Final = 1000
"""The longest string, in characters, that a pattern with look-around is tried on."""
MOST_GUARDED_PATTERNS: Final = 100
LINEAR: Final = jsonschema_rs.RegexOptions(size_limit=1 << 18, dfa_size_limit=1 << 20)
BACKTRACKING: Final = jsonschema_rs.FancyRegexOptions(
    backtrack_limit=10_000, size_limit=1 << 22, dfa_size_limit=1 << 20
)
CONDITIONLESS: Final = (jsonschema_rs.Draft4Validator, jsonschema_rs.Draft6Validator)
"""Drafts without if/then, where the guard would silently be ignored."""

JSON_TYPES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")


class SchemaError(ValueError):
    """This schema can't be used to judge arguments; the message says where it is wrong and what to change."""


def canonical_text(schema: Any) -> str:
    """Write a schema as one text for equal schemas: sorted keys, no white space."""
    try:
        text = json.dumps(schema, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        text.encode()
    except RecursionError as error:
        raise SchemaError("the schema is nested too deeply: flatten it, or name its parts under $defs") from error
    except (TypeError, ValueError) as error:
        raise SchemaError(f"the schema is not JSON ({error}): use objects, lists, strings and numbers only") from error
    return text


def build(text: str) -> tuple[jsonschema_rs.Validator, Any]:
    """Compile a schema's text (draft 2020-12 unless its $schema says otherwise), with formats asserted.

    Returns the compiled schema and the schema as read, for looking things up in.
    """
    try:
        schema = json.loads(text)
        return _compile(schema, LINEAR), schema
    except jsonschema_rs.ValidationError as error:
        if not _is_pattern(error):
            raise _explained(error) from error
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"the schema can't be read ({error}): flatten it, or name its parts under $defs") from error
    return _build_guarded(json.loads(text)), schema


def _compile(
    schema: Any, engine: jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions
) -> jsonschema_rs.Validator:
    # Never from text: the library would read 0.1 as a decimal there, and then find a value of 0.1 different.
    return jsonschema_rs.validator_for(schema, validate_formats=True, pattern_options=engine, retriever=_refuse)


def _refuse(uri: str) -> Any:
    raise SchemaError(uri)


def _is_pattern(error: jsonschema_rs.ValidationError) -> bool:
    return (
        error.kind.name == "format"
        and error.kind.value == "regex"
        and error.instance_path[-1:] == ["pattern"]
        and isinstance(error.instance, str)
    )


def _build_guarded(schema: Any) -> jsonschema_rs.Validator:
    """Take out each pattern that the linear engine refuses, then put them back behind a length guard."""
    taken: list[tuple[dict[str, Any], str]] = []
    while True:
        try:
            linear = _compile(schema, LINEAR)
            break
        except jsonschema_rs.ValidationError as error:
            if not _is_pattern(error) or len(taken) == MOST_GUARDED_PATTERNS:
                raise _explained(error) from error
            holder = _at(schema, error.instance_path[:-1])
            _check_pattern(error)
            taken.append((holder, holder.pop("pattern")))
    if isinstance(linear, CONDITIONLESS):
        raise SchemaError(
            f"the pattern {short_json(taken[0][1])} needs look-around or back-references, which can be "
            "bounded from draft 7 on only: raise $schema, or write the pattern without them"
        )
    for holder, pattern in taken:
        short = {"maxLength": GUARDED_LENGTH}
        holder.setdefault("allOf", []).append({"if": short, "then": {"pattern": pattern}, "else": short})
    try:
        return _compile(schema, BACKTRACKING)
    except jsonschema_rs.ValidationError as error:
        raise _explained(error) from error


def _at(schema: Any, path: list[str | int]) -> Any:
    for part in path:
        schema = schema[part]
    return schema


def _check_pattern(error: jsonschema_rs.ValidationError) -> None:
    """Refuse here what neither engine compiles, while its place in the author's own schema is known."""
    try:
        _compile({"pattern": error.instance}, BACKTRACKING)
    except jsonschema_rs.ValidationError:
        raise _explained(error) from error


def _explained(error: jsonschema_rs.ValidationError) -> SchemaError:
    if error.kind.name == "$ref":
        return _unresolved(str(error.kind.value))
    place = path_text(error.instance_path) or "its root"
    got = short_json(error.instance)
    if error.kind.name == "format" and error.kind.value == "regex":
        return SchemaError(
            f"the pattern {got} at {place} is not a regular expression that can be matched in bounded time: "
            "correct it, or make it smaller"
        )
    if error.instance_path[-1:] == ["type"]:
        return SchemaError(f"{got} at {place} is not a JSON type: use {', '.join(JSON_TYPES)} or a list of these")
    allowed = error.message if len(error.message) <= 200 else f"{got} breaks the rule {error.kind.name!r}"
    return SchemaError(f"the schema is not valid JSON Schema at {place}: {allowed}")


def _unresolved(detail: str) -> SchemaError:
    # The library's text is "Resource '<uri>' is not present in a registry and retrieving it failed: ...".
    reference = detail.split("'")[1] if detail.count("'") >= 2 else detail
    if detail.startswith("Unknown meta-schema"):
        return SchemaError(f"the schema names the unknown draft {short_json(reference, 200)}: leave $schema out")
    return SchemaError(
        f"the schema refers to {short_json(reference, 200)}, which is not inside it: nothing is ever fetched, "
        'so put the target under "$defs" and refer to it as "#/$defs/..."'
    )
