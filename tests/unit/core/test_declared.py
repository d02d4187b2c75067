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
