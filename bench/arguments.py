"""What it costs to read a call's arguments: those that are right, those that must be changed, and those made to hurt.

    python bench/arguments.py [--rounds 7] [--calls 2000]

CPU time of the whole process. `validate` is the schema alone, compiled beforehand; `read` goes from the raw text to
canonical, validated arguments: once as they should be, and once with values to coerce. Everything hostile is judged
once for a tool that reads, which is the longer way, and timed as a whole: texts of 200 KB, each broken in a way of its
own, and schemas that refer to themselves, branch without end or hold patterns that make a backtracking engine wait.
"""

import argparse
import datetime
import json
from collections.abc import Callable
from functools import partial
from typing import Any

from callslip import tool
from callslip.errors import ToolDefinitionError
from callslip.gate.arguments import read_arguments
from callslip.gate.catalogue import Catalogue, Entry
from callslip.gate.refusal import Refusal
from callslip.schema.normalise import Moment
from measure import Cpu, Figures, at_most, middle

SIZE = 200_000
"""Characters of a broken text."""
MOMENT = Moment(at=0, zone=datetime.UTC)
CITY = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "detailed": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["city"],
    "additionalProperties": False,
}
COUNTS = {"type": "object", "properties": {"x": {"type": "array", "items": {"type": "integer", "maximum": 9}}}}
RIGHT = '{"city":"Oslo","unit":"celsius","days":5,"detailed":true,"tags":["a","b"]}'
WRONG = '{"city":"Oslo","unit":"Celsius ","days":"5","detailed":"true","tags":"[\\"a\\",\\"b\\"]"}'


def entry(schema: dict[str, Any]) -> Entry:
    @tool(name="measured", risk="read", input_schema=schema)
    def measured() -> None: ...

    return Catalogue([measured])["measured"]


def _filled(before: str, piece: str, after: str = "") -> str:
    """A text of the size, of as many pieces as fit."""
    return before + piece * ((SIZE - len(before) - len(after)) // len(piece)) + after


BROKEN: dict[str, str] = {
    "brackets": _filled('{"x":', "["),
    "cut_array": _filled('{"x":[', "1,"),
    "cut_string": _filled('{"city": "', "a"),
    "escaped_quotes": _filled("{'x': '", '\\"', "'}"),
    "backslashes": _filled('{"x": "', "\\", '"}'),
    "line_breaks": _filled('{"x": "', "\n", '"}'),
    "single_quotes": _filled("{'x': [", "'12',", "'5']}"),
    "empty_strings": _filled("{", "''", "}"),
    "bare_keys": _filled("{", "a:", "}"),
    "python_words": _filled("{'x': [", "None,", "]}"),
    "trailing_commas": _filled("{", ",]", "}"),
    "hollow": _filled("{", "[ ", ",]}"),
    "white_space": _filled("{,", " ", "}"),
    "fences": _filled("", "``` ", "{}"),
    "prose": _filled("", "It's ", '{"x": 1'),
    "many_objects": _filled("", '{"a":1}'),
    "many_keys": _filled("{", '"a":1,', '"a":2}'),
    "one_number": _filled('{"x":', "9", "}"),
    "one_number_in_a_string": _filled('{"x": ["', "9", '"]}'),
    "exponents": _filled('{"x":[', "9007199254740993e0,", "1]}"),
    "large_exponents": _filled('{"x":[', "1.234567890123456789e300,", "1],}"),
    "one_exponent": _filled('{"x":1', "0", "e-199800,}"),
    "surrogates": _filled('{"x":["', "\\ud800", '",]}'),
    "numbers_in_strings": _filled('{"x":[', '"5",', '"x"]}'),
    "few_long_strings": _filled('{"x":[', f'"{"9":<190}",', '"5"]}'),
    "strings_out_of_range": _filled('{"x":[', f'"{"50":<100}",', '"5"]}'),
    "arrays_in_strings": _filled('{"x":[', '"[1,2]",', '"[3]"]}'),
    "array_in_a_string": _filled('{"x":"[', "1,", '1]"}'),
}


def _nested(key: str, depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(depth):
        schema = {key: [schema, {"type": "object", "properties": {"x": schema}}]}
    return schema


def _schema(place: dict[str, Any], **root: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": place}, **root}


BRANCHES = [{"properties": {f"p{n}": {"type": "integer", "minimum": n}}, "required": [f"p{n}"]} for n in range(300)]
HOSTILE: dict[str, tuple[dict[str, Any], Any]] = {
    "itself": (_schema({"$ref": "#/properties/x"}), "5"),
    "itself_twice": (_schema({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}), {"x": {"x": {"x": {"x": {"x": "5"}}}}}),
    "itself_twice_at_60_levels": (_schema({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}),
        json.loads('{"x":' * 60 + '"5"' + "}" * 60)),
    "each_twice_the_next": (_schema({"$ref": "#/$defs/0"}, **{"$defs": {str(n): {"anyOf": [
        {"$ref": f"#/$defs/{n + 1}"}, {"$ref": f"#/$defs/{n + 1}"}]} for n in range(30)}
        | {"30": {"type": "integer"}}}), "5"),
    "all_that_is_required": (_schema({"type": "array", "items": {"required": [f"r{n}" for n in range(1000)]}}),
        [{}] * 4000),
    "required_by_branches": (_schema({"type": "array", "items": {"anyOf": [
        {"required": [f"r{n}_{m}" for m in range(20)]} for n in range(50)]}}), [{}] * 90),
    "names": (_schema({"propertyNames": {"maxLength": 1}}), {f"name{n}": n for n in range(10_000)}),
    "unknown_names": (_schema({"properties": {f"p{n}": {} for n in range(2000)}, "additionalProperties": False}),
        {f"name{n}": n for n in range(10_000)}),
    "tree_of_unions": (_schema({"$ref": "#/$defs/t"}, **{"$defs": {"t": {"anyOf": [
        {"type": "object", "properties": {"l": {"$ref": "#/$defs/t"}, "r": {"$ref": "#/$defs/t"}}, "required": ["r"]},
        {"type": "array", "items": {"$ref": "#/$defs/t"}}, {"type": "integer"}, {"type": "null"}]}}}),
        json.loads('{"l":' * 30 + '"5"' + ',"r":"x"}' * 30)),
    "unions_in_unions": (_schema(_nested("anyOf", 9)), {"x": {"x": {"x": "5"}}}),
    "all_of_in_all_of": (_schema(_nested("allOf", 9)), "5"),
    "wide_union": (_schema({"oneOf": BRANCHES}), {f"p{n}": f"{n}" for n in range(300)}),
    "wide_union_of_items": (_schema({"type": "array", "items": {"anyOf": BRANCHES}}), [{"p9": "9"}] * 300),
    "many_constants": (_schema({"type": "array", "items": {"enum": [f"c{n}" for n in range(20_000)]}}), ["C7"] * 500),
    "pattern": (_schema({"type": "string", "pattern": "^(a+)+$"}), "a" * 100_000 + "!"),
    "pattern_with_look_ahead": (_schema({"type": "string", "pattern": "^(?=(a+)+b)(a|aa)+$"}), "a" * 900 + "!"),
    "many_patterns": (_schema({"patternProperties": {f"^(x+)+{n}$": {"type": "integer"} for n in range(50)}}),
        {"x" * 500: "5"}),
}  # fmt: skip


def once(work: Callable[[], Any]) -> float:
    """CPU milliseconds of one time."""
    cpu = Cpu()
    work()
    return cpu.per(1000)


def each(work: Callable[[], Any], calls: int) -> float:
    """CPU microseconds of one of so many times."""
    cpu = Cpu()
    for _ in range(calls):
        work()
    return cpu.per(calls)


def _judge(schema: dict[str, Any], value: Any) -> Any:
    """From a schema that nobody has seen to the judgement; one that is refused is one too."""
    try:
        return read_arguments(json.dumps({"x": value}), entry(schema), MOMENT)
    except ToolDefinitionError:
        return None


def common(rounds: int, calls: int) -> Figures:
    city = entry(CITY)
    value = json.loads(RIGHT)
    assert not isinstance(read_arguments(RIGHT, city, MOMENT), Refusal)
    coerced = read_arguments(WRONG, city, MOMENT)
    assert not isinstance(coerced, Refusal)
    assert coerced.changed
    turns: dict[str, list[float]] = {"validate": [], "read": [], "read_and_coerce": []}
    for _ in range(rounds):
        turns["validate"].append(each(lambda: city.arguments.errors(value), calls))
        turns["read"].append(each(lambda: read_arguments(RIGHT, city, MOMENT), calls))
        turns["read_and_coerce"].append(each(lambda: read_arguments(WRONG, city, MOMENT), calls))
    seen = {name: middle(times) for name, times in turns.items()}
    return {
        "validate_cpu_us": at_most(seen["validate"], 20),
        "read_cpu_us": seen["read"],
        "read_and_coerce_cpu_us": seen["read_and_coerce"],
    }


def hostile(rounds: int) -> Figures:
    counts = entry(COUNTS)
    texts: dict[str, list[float]] = {name: [] for name in BROKEN}
    schemas: dict[str, list[float]] = {name: [] for name in HOSTILE}
    for number in range(rounds):
        for name, text in BROKEN.items():
            texts[name].append(once(partial(read_arguments, text, counts, MOMENT)))
        for name, (schema, value) in HOSTILE.items():
            fresh = {**schema, "title": f"round {number}"}  # compiled anew: the cache goes by content
            schemas[name].append(once(partial(_judge, fresh, value)))
    worst = {
        kind: {name: middle(times) for name, times in seen.items()} for kind, seen in (("t", texts), ("s", schemas))
    }
    return {
        "broken_text_200_kb_cpu_ms": at_most(max(worst["t"].values()), 100) | {"seen": worst["t"]},
        "hostile_schema_cpu_ms": at_most(max(worst["s"].values()), 100) | {"seen": worst["s"]},
    }


def document(*, rounds: int, calls: int) -> Figures:
    return common(rounds, calls) | hostile(rounds)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Measure what reading a call's arguments costs, hostile ones included."
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=2000, help="calls of each kind in each round")
    args = parser.parse_args()
    print(json.dumps(document(rounds=args.rounds, calls=args.calls), indent=2))


if __name__ == "__main__":
    main()
