"""A grant covers the calls it says it covers, and none that is wider."""

import msgspec
import pytest

from callslip.core.grant import Grant, Subject, covers, in_words

pytestmark = pytest.mark.requirement("APPR-08")

NOW = 1_700_000_000_000
GRANT = Grant(
    id="g1", tool="pay", tool_version="v1", executor="app:pay", requester="anna", rules=("risk", "large"),
    equal={"to": "shop", "items": [1, {"n": 2}]}, at_most={"amount": 100}, free=("note",),
)  # fmt: skip
CALL = Subject(
    session="s", requester="anna", tool="pay", tool_version="v1", executor="app:pay", rules=("risk",),
    arguments={"to": "shop", "items": [1, {"n": 2}], "amount": 100, "note": "x"},
)  # fmt: skip


def covered(grant=None, arguments=None, now=NOW, **call):
    subject = msgspec.structs.replace(CALL, **call)
    if arguments is not None:
        subject = msgspec.structs.replace(subject, arguments={**CALL.arguments, **arguments})
    return covers(msgspec.structs.replace(GRANT, **(grant or {})), subject, now=now)


def test_the_call_it_was_made_for():
    assert covered()


@pytest.mark.parametrize(
    "call",
    [
        {"tool": "refund"},
        {"tool_version": "v2"},
        {"executor": "mcp:other"},
        {"requester": "bob"},
        {"rules": ("risk", "night")},
    ],
)
def test_another_call(call):
    assert not covered(**call)


def test_fewer_rules_than_it_was_made_for():
    assert covered(rules=())
    assert covered(rules=("large", "risk"))


def test_a_session_of_its_own():
    assert covered(grant={"session": "s"})
    assert not covered(grant={"session": "t"})


@pytest.mark.parametrize(("until", "holds"), [(None, True), (NOW + 1, True), (NOW, False), (NOW - 1, False)])
def test_until(until, holds):
    assert covered(grant={"until": until}) is holds


@pytest.mark.parametrize("amount", [0, 1, 99.5, 100, 100.0, -0.0])
def test_up_to_the_bound(amount):
    assert covered(arguments={"amount": amount})


@pytest.mark.parametrize(
    "amount", [100.0001, 101, -1, -0.001, True, False, "50", None, [50], float("nan"), float("inf"), 10**400]
)
def test_beyond_the_bound_or_no_number(amount):
    assert not covered(arguments={"amount": amount})


def test_a_large_bound_is_exact():
    bound = 2**53 + 1
    assert covered(grant={"at_most": {"amount": bound}}, arguments={"amount": bound})
    assert not covered(grant={"at_most": {"amount": bound}}, arguments={"amount": bound + 1})
    again = msgspec.json.decode(msgspec.json.encode(Grant(**{**_fields(), "at_most": {"amount": bound}})), type=Grant)
    assert again.at_most == {"amount": bound}


def _fields():
    return {name: getattr(GRANT, name) for name in GRANT.__struct_fields__}


@pytest.mark.parametrize("to", ["Shop", "shop ", "ѕhop", None, ["shop"], 0])
def test_another_value(to):
    assert not covered(arguments={"to": to})


@pytest.mark.parametrize(
    "items", [[1, {"n": True}], [True, {"n": 2}], [1, {"n": 2}, 3], [{"n": 2}, 1], [1, {"n": 2, "m": None}], [1, {}]]
)
def test_another_value_inside(items):
    assert not covered(arguments={"items": items})


@pytest.mark.parametrize("items", [[1.0, {"n": 2}], [1, {"n": 2.0}]])
def test_the_same_number_in_another_spelling(items):
    assert covered(arguments={"items": items})


@pytest.mark.parametrize("value", [object(), float("nan"), "\ud800"])
def test_what_has_no_spelling_equals_nothing(value):
    assert not covered(grant={"equal": {**GRANT.equal, "to": value}}, arguments={"to": value})


def test_an_argument_nobody_spoke_of():
    assert not covered(arguments={"express": False})
    assert not covered(arguments={"express": None})


@pytest.mark.parametrize(("name", "holds"), [("to", False), ("amount", False), ("items", False), ("note", True)])
def test_an_argument_left_out(name, holds):
    left = {key: value for key, value in CALL.arguments.items() if key != name}
    assert covers(GRANT, msgspec.structs.replace(CALL, arguments=left), now=NOW) is holds


def test_in_words_says_all_of_it():
    words = in_words(msgspec.structs.replace(GRANT, until=NOW, session="s 1"))
    assert words == (
        'pay (version v1, run by app:pay) with to = "shop", items = [1, {"n": 2}], amount from 0 up to 100, '
        'note anything or left out; in session "s 1", if the rules risk and large ask, until 2023-11-14 22:13 UTC'
    )


def test_in_words_without_arguments_or_bounds():
    bare = msgspec.structs.replace(GRANT, equal={}, at_most={}, free=(), rules=())
    assert in_words(bare) == "pay (version v1, run by app:pay) with no arguments; in every session of anna"


@pytest.mark.parametrize(
    ("bound", "said"), [(1234567, "1234567"), (1234567.5, "1234567.5"), (0.1, "0.1"), (10**20, "1" + "0" * 20)]
)
def test_in_words_rounds_nothing(bound, said):
    assert f"amount from 0 up to {said};" in in_words(
        msgspec.structs.replace(GRANT, equal={}, free=(), at_most={"amount": bound})
    )


def test_a_name_that_would_read_as_more_is_quoted():
    odd = msgspec.structs.replace(GRANT, equal={}, at_most={}, free=("note; in every session", "a, b"))
    assert '"note; in every session" anything or left out, "a, b" anything' in in_words(odd)


def test_a_time_beyond_the_calendar():
    assert "until 100000000000000000000 ms after 1970" in in_words(msgspec.structs.replace(GRANT, until=10**20))
