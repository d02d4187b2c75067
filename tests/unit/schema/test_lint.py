"""Advice on definitions that lead models astray, and silence on good ones."""

import msgspec
import pytest

from callslip.schema.lint import LintInput, lint

pytestmark = pytest.mark.requirement("SPEC-04")

GOOD = {"type": "object", "properties": {"order_id": {"type": "string", "description": "Like A-1234."}}}


def tool(name="find_order", description="Finds an order.", properties=None):
    schema = GOOD if properties is None else {"type": "object", "properties": properties}
    return LintInput(name=name, description=description, input_schema=schema)


def codes(*tools):
    return [warning.code for warning in lint(tools)]


@pytest.mark.parametrize(
    "name",
    [
        "process",
        "tool1",
        "do_it",
        "handleData",
        "run_tool",
        "search",
        "helper",
        "customer_profile",
        "process_data",
        "x",
    ],
)
def test_vague_names_are_named(name):
    (warning,) = lint([tool(name)])
    assert (warning.code, warning.tool) == ("vague_name", name)
    assert name in warning.message


@pytest.mark.parametrize(
    "name",
    [
        "find_order",
        "createInvoice",
        "refund-payment",
        "send_email",
        "run_query",
        "github__create_issue",
        "process_refund",
    ],
)
def test_a_verb_with_its_object_is_fine(name):
    assert codes(tool(name)) == []


def test_missing_descriptions():
    assert codes(tool(description=" \n")) == ["missing_description"]
    (warning,) = lint([tool(properties={"id": {"type": "string"}})])
    assert (warning.code, "'id'" in warning.message) == ("missing_parameter_description", True)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "description": "One of red, green."}, ["missing_enum"]),
        ({"enum": ["red", "green"], "description": "One of red, green."}, []),
        ({"anyOf": [{"enum": ["red"]}, {"type": "null"}], "description": "Either red or nothing."}, []),
        ({"$ref": "#/$defs/Colour", "description": "One of the colours."}, []),
        ({"type": "integer", "default": 5, "description": "How many."}, ["missing_default_note"]),
        ({"type": "integer", "default": 5, "description": "How many; default 5."}, []),
        ({"default": None, "description": "How many."}, []),
        ({"type": "integer", "description": "How many, defaults to 5."}, ["missing_default"]),
    ],
)
def test_choices_and_defaults_stand_in_schema_and_words(schema, expected):
    assert codes(tool(properties={"p": schema})) == expected


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (("search_orders", "Text search."), ("find_order", "By its number."), True),
        (("get_invoice", "A"), ("fetch_invoices", "B"), True),
        (("ship_parcel", "Hand a parcel to the carrier."), ("route_box", "Hand the parcel to a carrier"), True),
        (("create_order", "Makes one."), ("delete_order", "Removes one."), False),
        (("find_order", "Finds it."), ("find_customer", "Looks someone up."), False),
        (("find_order", "Do not use for drafts."), ("get_order", "B"), False),
        (("find_order", "A"), ("get_order", "Use find_order for open orders."), False),
        (("find_order", ""), ("send_letter", ""), False),
    ],
)
def test_similar_tools_need_a_word_on_when_not(one, other, alike):
    found = [warning for warning in lint([tool(*one), tool(*other)]) if warning.code == "missing_negative_guidance"]
    assert len(found) == alike
    assert all(warning.tool == one[0] and other[0] in warning.message for warning in found)


def test_more_than_twenty_tools_are_too_many():
    tools = [tool(f"find_{word}", f"About {word}.") for word in "abcdefghijklmnopqrstu"]
    assert "too_many_tools" not in codes(*tools[:20])
    (warning,) = [one for one in lint(tools) if one.code == "too_many_tools"]
    assert (warning.tool, "21" in warning.message) == ("", True)
    found = [msgspec.structs.replace(one, deferred=True) for one in tools[20:]]
    assert "too_many_tools" not in codes(*tools[:20], *found), "what has to be found is not visible"


def test_odd_schemas_do_no_harm():
    assert codes(tool(properties={"p": True})) == ["missing_parameter_description"]
    assert lint([LintInput(name="find_order", description="d", input_schema={"properties": []})]) == ()
    assert lint([]) == ()
