"""What a string says when it is read as a number, a boolean or a container: the same value, or nothing (ARGS-02).

Stands below `coerce`, which knows where the schema wants such a value. Invariant: what comes out, written as JSON and
read by whoever reads JSON, is what the string said; "five", "yes", "05" and "1_000" are no reading of anything.
"""

import math
import re
from collections.abc import Collection
from decimal import Decimal
from typing import Any, Final

from callslip.schema.parse import Parsed, parse_arguments
from callslip.schema.scrub import MOST_DIGITS

WHITE_SPACE: Final = " \t\n\r"
INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)", re.ASCII)
NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
BOOLEANS: Final = {"true": True, "false": False}
LONGEST_NUMBER: Final = MOST_DIGITS + 32
CONTAINERS: Final = {"{": "object", "[": "array"}
NOTHING: Final = object()
"""No value; None is one."""


def kind_of(value: Any) -> str:
    """The JSON Schema type of a decoded value; a float without a fraction is an integer there."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    names = {float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "")


def scalar(text: str, kinds: Collection[str]) -> Any:
    """The number or boolean that a string holds, of one of these kinds, or `NOTHING`."""
    bare = text.strip(WHITE_SPACE)
    if "boolean" in kinds and bare.lower() in BOOLEANS:
        return BOOLEANS[bare.lower()]
    if len(bare) > LONGEST_NUMBER:
        return NOTHING
    if "integer" in kinds and INTEGER.fullmatch(bare):
        return int(bare) if len(bare.lstrip("-")) <= MOST_DIGITS else NOTHING
    if "number" in kinds and NUMBER.fullmatch(bare):
        number = float(bare)
        return number if math.isfinite(number) and Decimal(repr(number)) == Decimal(bare) else NOTHING
    return NOTHING


def container(text: str, kinds: Collection[str]) -> Any:
    """The object or array that a string holds as JSON, of one of these kinds, or `NOTHING`."""
    bare = text.strip(WHITE_SPACE)
    kind = CONTAINERS.get(bare[:1])
    if kind is None or kind not in kinds:
        return NOTHING
    # An array is read inside an object, so that the same limits and the same refusals hold for it.
    parsed = parse_arguments(bare if kind == "object" else f'{{"":{bare}}}', has_parameters=True)
    if not isinstance(parsed, Parsed) or parsed.changed:
        return NOTHING
    if kind == "object":
        return parsed.value
    inner = parsed.value.get("")
    return inner if len(parsed.value) == 1 and isinstance(inner, list) else NOTHING
