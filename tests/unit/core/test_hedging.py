"""Which reads may be executed twice, and how often."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from callslip.core import hedging
from callslip.core.hedging import CALLS, MOST, NEW, Allowance
from callslip.core.tool import Risk, ToolSpec

pytestmark = pytest.mark.requirement("RESI-01")


def played(slow, allowance=NEW):
    """Which calls of a row are hedged, if each that is slow asks for it."""
    found = []
    for one in slow:
        allowance = hedging.called(allowance)
        left = hedging.hedged(allowance) if one else None
        allowance = left or allowance
        found.append(left is not None)
    return found


def test_the_first_slow_call_may_be_hedged_and_then_one_in_ten():
    assert [at for at, hedged in enumerate(played([True] * 41), 1) if hedged] == [1, 10, 20, 30, 40]


def test_what_quick_calls_have_saved_can_not_all_be_spent_at_once():
    assert sum(played([*[False] * 1000, *[True] * 9])) == MOST


@given(st.lists(st.booleans(), max_size=300), st.integers(0, CALLS * MOST))
def test_of_any_row_of_calls_at_most_one_in_ten_is_hedged_beside_what_was_saved(slow, saved):
    hedges = played(slow, Allowance(saved))
    assert sum(hedges) * CALLS <= saved + len(slow)
    assert all(one or not hedged for one, hedged in zip(slow, hedges, strict=True))


@given(st.lists(st.booleans(), min_size=1, max_size=300))
def test_an_allowance_is_never_negative_nor_more_than_its_most(slow):
    allowance = NEW
    for one in slow:
        allowance = hedging.called(allowance)
        allowance = (hedging.hedged(allowance) if one else None) or allowance
        assert 0 <= allowance.calls <= CALLS * MOST


def spec(**declared):
    return ToolSpec(name="look", **{"risk": Risk.READ, "hedge_after_ms": 200, **declared})


def test_a_read_may_declare_it():
    assert hedging.complaint(spec()) is None
    assert hedging.complaint(spec(claims=("read file:{path}", "read browser"))) is None
    assert hedging.complaint(ToolSpec(name="pay", claims=("file:{path}",))) is None, "what does not may be anything"


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"risk": Risk.WRITE}, "only read"),
        ({"risk": Risk.DANGEROUS}, "only read"),
        ({"client_owned": True}, "answer here"),
        ({"background": True}, "answer here"),
        ({"hedge_after_ms": 0}, "positive"),
        ({"hedge_after_ms": -1}, "positive"),
        ({"timeout_ms": 200}, "less than timeout"),
        ({"claims": ("file:{path}",)}, "its claim 'file:{path}' is for one alone"),
        ({"claims": ("read file:{path}", "slot:api")}, "'slot:api'"),
        ({"claims": ("read slot:api",)}, "'read slot:api'"),
    ],
)
def test_anything_else_is_refused_with_a_reason(declared, said):
    assert said in hedging.complaint(spec(**declared))
