"""Which known names are nearest to one that nobody has."""

import string

import pytest
from hypothesis import given, strategies as st

from callslip.core.near_names import NearNames

pytestmark = pytest.mark.requirement("DEFR-02")
KNOWN = NearNames(
    [
        "pay.refund",
        "pay.void",
        "mail.send",
        "mail__forward",
        "geo.weather",
        "crm.find_customer",
        "crm.findOrder",
        "天气.查询",
    ]
)


@pytest.mark.parametrize(
    ("name", "best"),
    [
        ("pay.refnud", "pay.refund"),  # a slip
        ("PAY.REFUND", "pay.refund"),  # another case
        ("pay_refund", "pay.refund"),  # another separator
        ("stripe.refund", "pay.refund"),  # another server
        ("salesforce_marketing.refund", "pay.refund"),
        ("refund", "pay.refund"),  # none
        ("stripe.refnd", "pay.refund"),  # a slip and another server
        ("forward", "mail__forward"),
        ("find_customers", "crm.find_customer"),
        ("crm.find_order", "crm.findOrder"),
        ("天气.查", "天气.查询"),
    ],
)
def test_what_was_probably_meant_comes_first(name, best):
    assert KNOWN.near(name)[0] == best


@pytest.mark.parametrize("name", ["", " ", ".", "...", "__", "🙂", "xylophone", "\ud800", "x" * 50_000])
def test_what_is_near_to_nothing(name):
    assert KNOWN.near(name) == ()


def test_the_same_name_at_several_servers_and_no_more_than_so_many():
    known = NearNames(f"server{n}.refund" for n in range(9))
    assert known.near("refund") == ("server0.refund", "server1.refund", "server2.refund")
    assert known.near("server7.refund")[0] == "server7.refund"
    assert len(known.near("refund", 5)) == 5


def test_without_any_names():
    assert NearNames([]).near("refund") == ()


@given(st.lists(st.text(max_size=30), max_size=30), st.text(max_size=30))
def test_whatever_the_names_are(names, name):
    near = NearNames(names).near(name)
    assert set(near) <= set(names)
    assert len(near) == len(set(near)) <= 3


def test_only_a_few_of_twenty_thousand_are_compared_letter_by_letter(monkeypatch):
    letters = string.ascii_lowercase
    names = [f"server{n % 50}.{letters[n % 26]}{letters[n // 26 % 26]}_tool_number_{n}" for n in range(20_000)]
    compared = []
    real = NearNames.__init__.__globals__["_ratio"]
    monkeypatch.setitem(NearNames.__init__.__globals__, "_ratio", lambda *two: compared.append(two) or real(*two))
    known = NearNames([*names, "pay.refund"])
    assert known.near("pay.refnud") == ("pay.refund",)
    assert len(compared) <= 100
