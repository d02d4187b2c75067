"""The schemas of ``schemas.json``, met in the wild: bound or refused alone, shaped for everybody, judged as they are."""

import json
import time
from pathlib import Path

import pytest
from vendor_rules import faults, filled

from callslip.gate.catalogue import Catalogue, bindable
from callslip.schema.engine import SchemaError
from callslip.schema.shape import dialect
from callslip.schema.shape.shaped import shape
from callslip.schema.validate import compile_schema
from callslip.testing.fakes import FakeTool

pytestmark = pytest.mark.requirement("WIRE-03")

CASES = {case["id"]: case for case in json.loads((Path(__file__).parent / "schemas.json").read_text())["cases"]}
REFUSED = {"remote-ref", "file-ref", "broken"}
BOUND = sorted(CASES.keys() - REFUSED)
DIALECTS = {
    one.name: one
    for one in (
        dialect.OPENAI, dialect.ANTHROPIC, dialect.GEMINI, dialect.MISTRAL, dialect.COMPATIBLE, dialect.CONSTRAINED,
    )
}  # fmt: skip
GOOD = {
    "root-anyof": [{"id": "7"}, {"name": "Ada"}, {"id": "7", "name": "Ada"}],
    "defs-ref": [{"a": {"x": 1}}],
    "ref-siblings": [{"a": "here"}, {}],
    "ref-pointer": [{"a": ["x"], "b": ["y"]}, {"b": []}],
    "recursive": [{"node": {"v": 1, "next": {"v": 2, "next": None}}}, {"node": {"v": 1}}, {}],
    "nullable-openapi": [{"a": "x"}, {}],
    "regex-bomb": [{"a": "aaa"}, {}],
    "draft-07": [{"a": [1]}, {"a": []}, {}],
    "boolean-schema": [{"a": None}, {"a": {"b": [1]}}, {}],
    "no-type": [{"a": None}, {"a": 2.5}, {}],
    "optional-strict": [{"a": "x"}, {"a": "x", "b": 1}],
}
BAD = {
    "root-anyof": {"id": None, "name": None},
    "defs-ref": {"a": {"x": "1"}},
    "optional-strict": {"a": "x", "b": 0},
    "draft-07": {"a": [1, 2]},
    "recursive": {"node": {"v": 1, "next": {"v": "2"}}},
    "regex-bomb": CASES["regex-bomb"]["value"],
}


def valid(schema, value):
    return compile_schema(schema).errors(value) == ()


def sent(case, to, **how):
    return shape(CASES[case]["schema"], DIALECTS[to], **how)


def test_every_case_is_here():
    assert CASES.keys() == REFUSED | GOOD.keys()


@pytest.mark.parametrize("strict", [None, False])
@pytest.mark.parametrize("to", DIALECTS)
@pytest.mark.parametrize("case", BOUND)
class TestEachForEverybody:
    def test_no_rule_is_broken(self, case, to, strict):
        shaped = sent(case, to, strict=strict)
        assert faults(to, shaped.schema, shaped.strict) == []

    def test_valid_arguments_get_through_and_come_back_the_same(self, case, to, strict):
        shaped = sent(case, to, strict=strict)
        for arguments in GOOD[case]:
            given = shaped.redo(arguments)
            assert shaped.undo(given) == arguments
            given = filled(shaped.schema, given, valid) if shaped.strict else given
            assert valid(shaped.schema, given)
            assert valid(CASES[case]["schema"], shaped.undo(given))

    def test_what_the_canonical_schema_forbids_stays_forbidden(self, case, to, strict):
        if case in BAD:
            errors = compile_schema(CASES[case]["schema"]).errors(sent(case, to, strict=strict).undo(BAD[case]))
            assert errors
            assert all(error.message for error in errors)


STRICT = {"root-anyof", "defs-ref", "ref-siblings", "ref-pointer", "nullable-openapi", "regex-bomb", "draft-07", "optional-strict"}  # fmt: skip


@pytest.mark.parametrize("case", BOUND)
def test_strict_is_on_where_it_can_be_and_else_says_why_not(case):
    for to, recursive in (("openai", True), ("anthropic", False), ("mistral", False), ("constrained", False)):
        shaped = sent(case, to)
        assert shaped.strict == (case in STRICT or (case == "recursive" and recursive)), to
        assert bool(shaped.warnings) == (not shaped.strict)
    assert not sent(case, "gemini").strict
    assert not sent(case, "compatible").strict


def test_optional_strict_as_openai_gets_it():
    assert sent("optional-strict", "openai").schema == {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": ["integer", "null"], "description": "[minimum: 1; default: 3]"},
        },
        "required": ["a", "b"],
        "additionalProperties": False,
    }


def test_who_gets_definitions_and_who_gets_them_written_out():
    assert "$defs" in sent("defs-ref", "openai").schema
    for to in ("gemini", "compatible", "constrained"):
        assert "$ref" not in json.dumps(sent("defs-ref", to).schema)
    assert "$ref" in json.dumps(sent("recursive", "compatible").schema)


def test_a_root_union_becomes_one_object_that_says_what_belongs_together():
    schema = sent("root-anyof", "anthropic", strict=False).schema
    assert schema["properties"] == {"id": {"type": "string"}, "name": {"type": "string"}}
    assert "required" not in schema
    assert schema["description"] == "[give one of these sets of properties: {id} or {name}]"


def test_recursion_keeps_its_reference_or_is_cut_after_one_round():
    kept = sent("recursive", "openai").schema
    assert kept["$defs"]["N"]["properties"]["next"] == {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]}
    cut = sent("recursive", "gemini").schema
    assert cut["properties"]["node"]["properties"]["next"]["description"].startswith("[the same form as N once more")


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_a_schema_that_can_not_be_used_refuses_its_own_tool_alone(case):
    with pytest.raises(SchemaError, match=r"http://127|file:///etc|objekt"):
        compile_schema(CASES[case]["schema"])
    bad = FakeTool("bad", input_schema=CASES[case]["schema"])
    kept, refused = bindable([FakeTool("first"), bad, FakeTool("last")])
    assert list(Catalogue(kept)) == ["first", "last"]
    assert list(refused) == ["bad"]
    assert "The other tools are bound." in refused["bad"]


def test_a_hostile_pattern_is_judged_at_once():
    validator = compile_schema(CASES["regex-bomb"]["schema"])
    began = time.process_time()
    (error,) = validator.errors(CASES["regex-bomb"]["value"])
    assert time.process_time() - began < 0.1
    assert (error.path, error.rule) == ("a", "pattern")
