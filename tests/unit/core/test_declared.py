"""A declaration that means nothing, whoever made it (SPEC-01, PARA-02)."""

import pytest

from callslip.core.declared import LONGEST_MS, complaint
from callslip.core.tool import ToolSpec

pytestmark = pytest.mark.requirement("SPEC-01")

ONE = {"type": "object", "properties": {"path": {}}}


def said(**declared):
    found = complaint(ToolSpec(name="t", **{"input_schema": ONE, **declared}))
    return None if found is None else (found.field, found.said)


@pytest.mark.parametrize(
    ("declared", "field", "told"),
    [
        ({"claims": "file:{path}"}, "claims", "is a text alone: write claims=['file:{path}']"),
        ({"claims": (3,)}, "claims", "3 in it is none"),
        ({"claims": ("reads file:{path}",)}, "claims", "A claim is file:{argument}"),
        ({"tags": 3}, "tags", "and is 3"),
        ({"requires": {"a": 1}}, "requires", "list of texts"),
        ({"requires": ("t",)}, "requires", "could never be called"),
        ({"target": "{hst}"}, "target", "names {hst}"),
        ({"target": 3}, "target", "has to be a text, and is 3"),
        ({"fallback": ["a"]}, "fallback", "has to be a text, and is ['a']"),
        ({"breaker": "no"}, "breaker", "has to be True or False, and is 'no'"),
        ({"risk": 3}, "risk", "has to be one of its words"),
        ({"timeout_ms": 1.5}, "timeout", "whole number of milliseconds"),
        ({"timeout_ms": LONGEST_MS + 1}, "timeout", "more than ten years"),
        ({"quiet_ms": -1}, "timeout", "quiet not negative"),
        ({"background_timeout_ms": LONGEST_MS + 1}, "background_timeout", "more than ten years"),
    ],
)
def test_what_means_nothing_is_said(declared, field, told):
    found = said(**declared)
    assert found is not None
    assert (found[0], told in found[1]) == (field, True), found


@pytest.mark.parametrize(
    "declared",
    [
        {}, {"claims": ("file:{path}",), "target": "{path}"}, {"fallback": None, "compensation": None},
        {"timeout_ms": LONGEST_MS}, {"claims": ("file:{other}",), "input_schema": {"type": "object"}},
        {"claims": ("file:{other}",), "input_schema": {**ONE, "allOf": [{"properties": {"other": {}}}]}},
    ],
)  # fmt: skip
def test_what_means_something_is_let_be(declared):
    assert said(**declared) is None


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("", "a tool needs a name, and this one is empty"),
        (" \t", "a tool needs a name, and this one is empty"),
        ("pay\nrefund", r"its name holds a line break (\n)"),
        ("pay\u2028refund", r"its name holds a line break (\u2028)"),
        ("pay\x85", r"its name holds a line break (\x85)"),
        ("pay\x00refund", r"its name holds a control character (\x00)"),
        ("pay\x1b[2J", r"its name holds a control character (\x1b)"),
        ("pay\ud800", r"its name holds a control character (\ud800)"),
    ],
)
def test_a_name_that_cannot_be_written_on_a_line_is_none(name, told):
    found = complaint(ToolSpec(name=name))
    assert found is not None
    assert (found.field, found.said) == ("name", told)


@pytest.mark.parametrize(
    "name", ["pay.refund", "a/b", "天气.查询", "نام\u200cها", "mcp__x__y", "a b", "é:1", "x" * 300]
)
def test_other_names_are_fine(name):
    assert complaint(ToolSpec(name=name)) is None
