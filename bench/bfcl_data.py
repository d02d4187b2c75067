"""Read the leaderboard's own files out of its wheel: its dialect of schemas, and its tables of acceptable values.

    pip download --no-deps bfcl-eval==2026.3.23      # only the file is read; don't install it

A schema's types are Python's and other languages' names; an answer lists the acceptable values of each argument, where
"" stands for "may be left out". A case takes the first value of each argument that must be there. Calls that break
their tool's own schema (26 of 2,351) are left out: no wire could make them right.
"""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from jsonschema_rs import ValidationError, validator_for

CATEGORIES = (
    "simple_python", "multiple", "parallel", "parallel_multiple",
    "live_simple", "live_multiple", "live_parallel", "live_parallel_multiple",
)  # fmt: skip
_TYPES = {
    "dict": "object", "float": "number", "double": "number", "tuple": "array", "bool": "boolean", "String": "string",
    "Integer": "integer", "long": "integer",
}  # fmt: skip


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """Real tools and the calls that are right."""

    id: str
    functions: list[dict[str, Any]]
    """``name``, ``description`` and ``parameters``, a JSON Schema."""
    calls: list[dict[str, Any]]
    """``name`` and ``arguments``."""


def read_cases(path: Path) -> Iterator[Case]:
    """The valid cases of a wheel, or of lines that hold a case each."""
    if path.suffix == ".whl":
        found = _of_wheel(path)
    else:
        found = (msgspec.json.decode(line, type=Case) for line in path.read_bytes().splitlines())
    return (case for case in found if _valid(case))


def _of_wheel(path: Path) -> Iterator[Case]:
    with zipfile.ZipFile(path) as wheel:
        for category in CATEGORIES:
            asked = {one["id"]: one for one in _lines(wheel, f"BFCL_v4_{category}.json")}
            for answer in _lines(wheel, f"possible_answer/BFCL_v4_{category}.json"):
                yield Case(
                    id=answer["id"],
                    functions=[_function(one) for one in asked[answer["id"]]["function"]],
                    calls=[
                        {"name": name, "arguments": _arguments(table)}
                        for truth in answer["ground_truth"]
                        for name, table in truth.items()
                    ],
                )


def _lines(wheel: zipfile.ZipFile, name: str) -> Iterator[dict[str, Any]]:
    return map(json.loads, wheel.read(f"bfcl_eval/data/{name}").splitlines())


def _function(given: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": given["name"],
        "description": given.get("description", ""),
        "parameters": _schema(given["parameters"]),
    }


def _schema(given: Any) -> Any:
    if not isinstance(given, dict):
        return given
    made: dict[str, Any] = {}
    for key, value in given.items():
        if key == "properties":
            made[key] = {name: _schema(part) for name, part in value.items()}
        elif key == "type" and isinstance(value, str):
            if value != "any":
                made[key] = _TYPES.get(value, value)
        elif key != "optional":
            made[key] = _schema(value)
    return made


def _arguments(table: dict[str, Any]) -> dict[str, Any]:
    """The first value of each argument; one that may be left out is left out."""
    made = {}
    for name, values in table.items():
        if not isinstance(values, list):
            made[name] = _value(values)
        elif values and values[0] != "":
            made[name] = _value(values[0])
    return made


def _value(given: Any) -> Any:
    """A value; an object among them is a table again."""
    if isinstance(given, dict):
        return _arguments(given)
    return [_value(one) for one in given] if isinstance(given, list) else given


def _valid(case: Case) -> bool:
    schemas = {one["name"]: one["parameters"] for one in case.functions}
    try:
        return all(validator_for(schemas[call["name"]]).is_valid(call["arguments"]) for call in case.calls)
    except (KeyError, ValueError, ValidationError):
        return False
