import json

import pytest
from hypothesis import given, strategies as st

from callslip.core.message import CallMessage, Kept, ResultMessage
from callslip.ports.model import Request
from callslip.providers.gemini_parts import IDS, UNSIGNED, digest_of, kept_parts, model_parts, response_part
from callslip.providers.gemini_request import offer
from callslip.providers.history import Answered, ModelTurn

OFFERED = offer(Request(system="", messages=(), tools=()))
US = "gemini:m"


def answered(wire="p1", provider_id="p1", tool="read", content="ok", **more):
    call = CallMessage(call_id="c1", provider_id=provider_id, tool=tool, arguments={})
    return Answered(
        id=wire, call=call, result=ResultMessage(call_id="c1", provider_id="", tool=tool, content=content, **more)
    )


def turn(*calls, text="", items=None, model=US):
    return ModelTurn(text=text, calls=calls, kept=None if items is None else Kept(model=model, items=tuple(items)))


def response(one, of):
    return response_part(one, of, OFFERED, US, images=True)["functionResponse"]


@pytest.mark.requirement("CALL-03")
def test_a_call_of_the_asked_model_and_its_response_bear_its_id():
    own = turn(answered(), items=[{"call": 0}])
    assert model_parts(own, OFFERED, US, signed=False) == [
        {"functionCall": {"id": "p1", "name": "read", "args": {}}},
    ]
    assert response(own.calls[0], own) == {"id": "p1", "name": "read", "response": {"result": "ok"}}


@pytest.mark.requirement("CALL-03")
@pytest.mark.parametrize(
    "of",
    [
        turn(answered(provider_id=""), items=[{"call": 0}]),
        turn(answered(), items=[{"call": 0}], model="gemini:another"),
        turn(answered()),
    ],
)
def test_any_other_bears_none(of):
    (part,) = model_parts(of, OFFERED, US, signed=False)
    assert part == {"functionCall": {"name": "read", "args": {}}}
    assert "id" not in response(of.calls[0], of)


@pytest.mark.parametrize(("own", "is_legal"), [("a-1", True), ("x" * 256, True), ("x" * 257, False), ("a b", False)])
def test_which_ids_are_given_back(own, is_legal):
    assert IDS.allows(own) is is_legal


@pytest.mark.requirement("WIRE-02")
def test_an_error_is_said_to_be_one():
    one = answered(content="no such file", is_error=True)
    assert response(one, turn(one))["response"] == {"error": "no such file"}


@pytest.mark.requirement("WIRE-05")
@pytest.mark.parametrize("signed", [False, True])
def test_a_reply_of_words_alone_needs_no_signature(signed):
    assert model_parts(turn(text="Hi"), OFFERED, US, signed=signed) == [{"text": "Hi"}]


@pytest.mark.requirement("WIRE-05")
def test_only_the_first_of_another_models_calls_bears_the_stand_in():
    first, second = model_parts(turn(answered("a"), answered("b")), OFFERED, US, signed=True)
    assert (first["thoughtSignature"], "thoughtSignature" in second) == (UNSIGNED, False)


@pytest.mark.parametrize(
    "items", [[], ["x", 5], [{"call": 1}], [{"call": 0}, {"call": 0}], [{"call": None}], [{"text": "no call"}]]
)
def test_what_does_not_fit_the_calls_of_the_history_is_not_sent(items):
    assert kept_parts(turn(answered(), items=items), US) is None


def test_a_digest_is_of_the_name_and_of_what_the_arguments_mean():
    assert digest_of("a", {"n": 5, "m": [1.0]}) == digest_of("a", {"m": [1], "n": 5.0}) != ""
    others = [("b", {"n": 5}), ("a", {"n": 5.5}), ("a", {"n": "5"}), ("a", {"n": True}), ("a", {"n": [5]}), ("a", {})]
    assert len({digest_of("a", {"n": 5}), *(digest_of(*other) for other in others)}) == len(others) + 1


def nested(deep):
    value = {}
    for _ in range(deep):
        value = {"x": value}
    return value


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], nested(100_000)])
def test_what_is_no_json_has_no_digest(value):
    assert digest_of("a", {"n": value}) == ""


@given(st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()))
def test_a_digest_outlives_the_log(arguments):
    """Arguments are written and read again before they go back."""
    assert digest_of("a", json.loads(json.dumps(arguments))) == digest_of("a", arguments)
